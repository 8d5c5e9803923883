"""What keeps Pods from starting, and who is told of it."""

from dataclasses import replace
from typing import Any

import pytest

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Event, Observed
from kvtier.plan.lustre.shared_tier import SharedTier
from kvtier.plan.nodes import nodes_usable, plan_nodes
from kvtier.plan.plan import plan
from kvtier.plan.serving import plan_serving
from unit.builders import NOW, checks, deployment, facts, live, manifest, node, observed, pool
from unit.tables import table
from unit.verdicts import assert_verdict

POOL = pool(tiers={"lustre": None})
SHARED = pool()
ENGINE = manifest(POOL, "Deployment")["metadata"]["name"]
LACKING = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: 0/3 nodes are available: 3 No victims."
SCALE_UP = (
    "Node scale up in zones us-central1-a associated with this pod failed: {}. "
    "Pod is at risk of not being scheduled."
)


def _news(reason: str, message: str, pod: str = f"{ENGINE}-a-b") -> Event:
    return Event("Pod", pod, reason, message, "Warning")


def _world(of: KVCachePool, *news: Event, ready: int = 0) -> Observed:
    children = [live(manifest(of, kind)) for kind in ("ComputeClass", "Service")]
    found = observed(*children, deployment(of, ready=ready), facts=facts(node(of)))
    return replace(found, pod_events=news)


@table(
    "news, words",
    {
        "no news add nothing": ([], "Pods ready: llama 0/1"),
        "a Pod that no node takes": (
            [_news("FailedScheduling", LACKING)],
            "Pods ready: llama 0/1; 0/3 nodes are available: 3 Insufficient nvidia.com/gpu",
        ),
        "with what the autoscaler says to it": (
            [
                _news("NotTriggerScaleUp", "pod didn't trigger scale-up: 1 max node group size reached"),
                _news("FailedScheduling", LACKING),
            ],
            "nvidia.com/gpu; pod didn't trigger scale-up: 1 max node group size reached",
        ),
        "a volume that cannot be mounted comes first": (
            [_news("FailedScheduling", LACKING), _news("FailedMount", "Is the MGS running?")],
            "Pods ready: llama 0/1; the node does not reach the instance",
        ),
        "an image that is not there": (
            [_news("Failed", "Error: ErrImagePull"), _news("Failed", 'Failed to pull image "x": not found')],
            'llama 0/1; Failed to pull image "x": not found',
        ),
        "a probe that fails while a model is loaded is nothing to tell of": (
            [_news("Unhealthy", "Startup probe failed")],
            "Pods ready: llama 0/1",
        ),
        "somebody else's Pod": ([_news("FailedMount", "x", "other-1")], "Pods ready: llama 0/1"),
    },
)
def test_models_ready(news: list[Event], words: str) -> None:
    part = plan_serving(POOL, _world(POOL, *news), checks(), SharedTier(), nodes_usable=True)
    assert_verdict(part.conditions[0], "ModelsReady", "False", "Starting", words)
    assert part.conditions[0].message.endswith(words) or "Pods ready" in words
    assert part.again == 20


def test_what_several_pods_say_does_not_depend_on_who_said_it_last() -> None:
    news = [_news("FailedScheduling", text, f"{ENGINE}-{text}") for text in ("a", "b")]
    one, other = (
        plan_serving(POOL, _world(POOL, *order), checks(), SharedTier(), nodes_usable=True).conditions
        for order in (news, news[::-1])
    )
    assert one == other


def test_a_rollout_that_is_stuck_says_why() -> None:
    stuck = [{"type": "Progressing", "status": "False", "message": "timed out"}]
    engine = deployment(POOL, ready=0, status={"conditions": stuck})
    world = replace(observed(engine), pod_events=(_news("FailedScheduling", LACKING),))
    part = plan_serving(POOL, world, checks(), SharedTier(), nodes_usable=True)
    assert_verdict(
        part.conditions[0], "ModelsReady", "False", "NotProgressing", "llama: timed out; 0/3 nodes"
    )


def test_engines_that_are_ready_are_not_looked_at_again() -> None:
    world = _world(POOL, _news("FailedScheduling", LACKING), ready=1)
    part = plan_serving(POOL, world, checks(), SharedTier(), nodes_usable=True)
    assert part.conditions[0].message == "every model has all its Pods ready"
    assert part.again is None


ZONED: dict[str, Any] = {"nodePool": {"zones": ["us-central1-b"]}}


@table(
    "of, message, words",
    {
        "a zone without GPUs, where the instance binds the engines": (
            SHARED,
            SCALE_UP.format("GCE out of resources"),
            "GKE cannot add a node in us-central1-a: GCE out of resources. It tries again by itself; reserve the "
            "machines, or choose another machine type; engines run in the zone of their Lustre instance, so another "
            "zone needs another pool",
        ),
        "a zone without GPUs, where nothing binds them": (
            pool(tiers={"lustre": None}, **ZONED),
            SCALE_UP.format("GCE out of resources"),
            "in us-central1-b: GCE out of resources. It tries again by itself; reserve the machines, or choose another "
            "machine type, or other nodePool.zones",
        ),
        "a pool that may run anywhere": (POOL, SCALE_UP.format("x"), "GKE cannot add a node: x."),
        "a quota": (POOL, SCALE_UP.format("GCE quota exceeded"), "ask for more quota of this machine"),
        "several reasons, in an order of their own": (
            POOL,
            SCALE_UP.format("b, a"),
            "GKE cannot add a node: a, b.",
        ),
        "the cloud's own words": (
            POOL,
            "ZONE_RESOURCE_POOL_EXHAUSTED: the zone has not enough resources",
            "a node: ZONE_RESOURCE_POOL_EXHAUSTED",
        ),
    },
)
@pytest.mark.parametrize("provisioner", ["ComputeClass", "Existing"])
def test_capacity_that_is_not_available(of: KVCachePool, message: str, words: str, provisioner: str) -> None:
    spec = of.spec.model_copy(
        update={"node_pool": of.spec.node_pool.model_copy(update={"provisioner": provisioner})}
    )
    chosen = of.model_copy(update={"spec": spec})
    part = plan_nodes(chosen, _world(of, _news("FailedScaleUp", message)), checks())
    assert_verdict(part.conditions[0], "NodePoolReady", "False", "CapacityUnavailable", words)
    assert nodes_usable(part)


def test_an_autoscaler_that_waits_after_a_failure_has_found_no_capacity_either() -> None:
    told = _news("NotTriggerScaleUp", "pod didn't trigger scale-up: 1 in backoff after failed scale-up")
    (condition,) = plan_nodes(POOL, _world(POOL, told), checks()).conditions
    assert_verdict(condition, "NodePoolReady", "False", "CapacityUnavailable", "the last attempt failed")


def test_the_engines_that_ask_for_nodes_stay_while_there_are_none() -> None:
    world = _world(POOL, _news("FailedScaleUp", SCALE_UP.format("GCE out of resources")))
    planned = plan(POOL, world, NOW)
    assert "Deployment" in [one["kind"] for one in planned.applies]
    assert planned.deletes == ()
    assert planned.status is not None
    assert (planned.status.phase, planned.status.conditions[0].reason) == ("Blocked", "CapacityUnavailable")
