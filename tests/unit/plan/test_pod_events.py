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
        "a Pod that no node takes": ([UNSCHEDULED], "0/3 nodes are available: 3 Insufficient nvidia.com/gpu"),
        "with what the autoscaler says to it": (
            [NOT_TRIGGERED, UNSCHEDULED],
            "0/3 nodes are available: 3 Insufficient nvidia.com/gpu; pod didn't trigger scale-up: 1 max node group "
            "size reached",
        ),
        "the autoscaler alone, who may just have seen it": ([NOT_TRIGGERED], None),
        "an image that is not there": (
            [
                _event("Failed", "Error: ErrImagePull"),
                _event("Failed", 'Failed to pull image "x": not found'),
            ],
            'Failed to pull image "x": not found',
        ),
        "a probe that fails while a model is loaded": ([_event("Unhealthy", "Startup probe failed")], None),
        "somebody else's Pod": ([_event("FailedMount", "x", "other-1")], None),
    },
)
def test_hindrance(events: list[Event], text: str | None) -> None:
    assert hindrance(events, OWNER) == text
    assert hindrance(events[::-1], OWNER) == text


def test_a_volume_that_cannot_be_mounted_comes_first() -> None:
    events = [UNSCHEDULED, _event("FailedMount", "Is the MGS running?")]
    assert str(hindrance(events, OWNER)).startswith("the node does not reach the instance")


def test_what_several_pods_say_does_not_depend_on_who_said_it_last() -> None:
    events = [_event("FailedScheduling", text, f"{OWNER}-{text}") for text in ("b", "a")]
    assert hindrance(events, OWNER) == hindrance(events[::-1], OWNER) == "a"


ANYWHERE = pool(tiers={"lustre": None})
OUT = SCALE_UP.format("GCE out of resources")
ZONED: dict[str, Any] = {"nodePool": {"zones": ["us-central1-b"]}}


@table(
    "of, event, words",
    {
        "a zone without GPUs, where the instance binds the engines": (
            pool(),
            _event("FailedScaleUp", OUT),
            "GKE cannot add a node in us-central1-a: GCE out of resources. It tries again by itself; reserve the "
            "machines, or choose another machine type; engines run in the zone of their Lustre instance, so another "
            "zone needs another pool",
        ),
        "a zone without GPUs, where nothing binds them": (
            pool(tiers={"lustre": None}, **ZONED),
            _event("FailedScaleUp", OUT),
            "in us-central1-b: GCE out of resources. It tries again by itself; reserve the machines, or choose another "
            "machine type, or other nodePool.zones",
        ),
        "a pool that may run anywhere": (
            ANYWHERE,
            _event("FailedScaleUp", SCALE_UP.format("x")),
            "GKE cannot add a node: x.",
        ),
        "a quota": (
            ANYWHERE,
            _event("FailedScaleUp", SCALE_UP.format("GCE quota exceeded")),
            "ask for more quota of this machine",
        ),
        "several reasons, in an order of their own": (
            ANYWHERE,
            _event("FailedScaleUp", SCALE_UP.format("b, a")),
            "GKE cannot add a node: a, b.",
        ),
        "the cloud's own words": (
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
