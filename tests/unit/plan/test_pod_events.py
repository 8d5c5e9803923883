"""Why Pods do not start, from Events about them."""

from typing import Any

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Event
from kvtier.plan.pod_events import capacity_unavailable, hindrance
from unit.builders import pool
from unit.tables import table
from unit.verdicts import assert_verdict

OWNER = "chat-llama-12345678"
LACKING = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: 0/3 nodes are available: 3 No victims."
SCALE_UP = (
    "Node scale up in zones us-central1-a associated with this pod failed: {}. "
    "Pod is at risk of not being scheduled."
)


def _event(reason: str, message: str, pod: str = f"{OWNER}-a-b") -> Event:
    return Event("Pod", pod, reason, message, "Warning")


UNSCHEDULED = _event("FailedScheduling", LACKING)
NOT_TRIGGERED = _event("NotTriggerScaleUp", "pod didn't trigger scale-up: 1 max node group size reached")


@table(
    "events, text",
    {
        "no Events": ([], None),
        "a Pod that fits on no node": (
            [UNSCHEDULED],
            "The scheduler reports: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
        ),
        "with the message of the autoscaler": (
            [NOT_TRIGGERED, UNSCHEDULED],
            "The scheduler reports: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu. The autoscaler reports: "
            "pod didn't trigger scale-up: 1 max node group size reached.",
        ),
        "only the autoscaler, which may just have seen the Pod": ([NOT_TRIGGERED], None),
        "an image that does not exist": (
            [
                _event("Failed", "Error: ErrImagePull"),
                _event("Failed", 'Failed to pull image "x": not found'),
            ],
            'The kubelet reports: Failed to pull image "x": not found.',
        ),
        "a probe that fails while the engine loads a model": (
            [_event("Unhealthy", "Startup probe failed")],
            None,
        ),
        "a Pod of another owner": ([_event("FailedMount", "x", "other-1")], None),
    },
)
def test_hindrance(events: list[Event], text: str | None) -> None:
    assert hindrance(events, OWNER) == text
    assert hindrance(events[::-1], OWNER) == text


def test_a_volume_that_cannot_be_mounted_comes_first() -> None:
    events = [UNSCHEDULED, _event("FailedMount", "Is the MGS running?")]
    assert str(hindrance(events, OWNER)).startswith("The node does not reach the instance")


def test_the_message_for_several_pods_does_not_depend_on_their_order() -> None:
    events = [_event("FailedScheduling", text, f"{OWNER}-{text}") for text in ("b", "a")]
    assert hindrance(events, OWNER) == hindrance(events[::-1], OWNER) == "The scheduler reports: a."


ANYWHERE = pool(tiers={"lustre": None})
OUT = SCALE_UP.format("GCE out of resources")
ZONED: dict[str, Any] = {"nodePool": {"zones": ["us-central1-b"]}}


@table(
    "of, event, words",
    {
        "a zone without GPUs, where the instance binds the engines": (
            pool(),
            _event("FailedScaleUp", OUT),
            "GKE cannot add a node in us-central1-a: GCE out of resources. GKE retries automatically. Reserve the "
            "machines, or choose another machine type. Engines run in the zone of their Lustre instance, so another "
            "zone needs another pool.",
        ),
        "a zone without GPUs, where nothing binds them": (
            pool(tiers={"lustre": None}, **ZONED),
            _event("FailedScaleUp", OUT),
            "in us-central1-b: GCE out of resources. GKE retries automatically. Reserve the machines, or choose "
            "another machine type or other nodePool.zones.",
        ),
        "a pool that may run anywhere": (
            ANYWHERE,
            _event("FailedScaleUp", SCALE_UP.format("x")),
            "GKE cannot add a node: x.",
        ),
        "a quota": (
            ANYWHERE,
            _event("FailedScaleUp", SCALE_UP.format("GCE quota exceeded")),
            "Request more quota for this machine type and its GPUs.",
        ),
        "several reasons, sorted": (
            ANYWHERE,
            _event("FailedScaleUp", SCALE_UP.format("b, a")),
            "GKE cannot add a node: a, b.",
        ),
        "a message in another form": (
            ANYWHERE,
            _event("FailedScaleUp", "ZONE_RESOURCE_POOL_EXHAUSTED: the zone has not enough resources"),
            "a node: ZONE_RESOURCE_POOL_EXHAUSTED",
        ),
        "an autoscaler that waits after a failure": (
            ANYWHERE,
            _event("NotTriggerScaleUp", "pod didn't trigger scale-up: 1 in backoff after failed scale-up"),
            "the last attempt failed",
        ),
    },
)
def test_capacity_that_is_not_available(of: KVCachePool, event: Event, words: str) -> None:
    condition = capacity_unavailable(of, [UNSCHEDULED, event])
    assert condition is not None
    assert_verdict(condition, "NodePoolReady", "False", "CapacityUnavailable", words)


def test_a_pod_without_a_node_does_not_mean_that_there_is_no_capacity() -> None:
    assert capacity_unavailable(ANYWHERE, [UNSCHEDULED, NOT_TRIGGERED]) is None
