"""What keeps Pods from starting, as Events about them tell."""

import re

from kvtier.api import placement
from kvtier.api.conditions import NODE_POOL_READY, Condition, false
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Event, Observed
from kvtier.plan.lustre.csi_errors import mount_hint

_LONGEST = 300
_FAILED = re.compile(r"failed: (?P<why>.*?)\.? Pod is at risk of not being scheduled", re.DOTALL)
"""GKE's autoscaler cuts its message after 250 characters (gke-autoscaling, events/failed_scale_up)."""

_BACKOFF = "backoff after failed scale-up"
_ADVICE = (
    (("quota",), "ask for more quota of this machine and its GPUs"),
    (("reservation",), "see that the reservation exists, is shared with this project and has room"),
    (("ip space",), "give the cluster's subnet a larger range for nodes or Pods"),
)


def hindrance(observed: Observed, owner: str) -> str | None:
    """Why Pods of a Deployment or Job do not start, as a part of a sentence; None where nothing is said of it."""
    return mount_hint(observed.pod_events, owner) or _unscheduled(observed, owner) or _image(observed, owner)


def capacity_unavailable(pool: KVCachePool, observed: Observed) -> Condition | None:
    """NodePoolReady, where the cloud has not made a node that Pods wait for.

    The Pods that ask for it stay: they are what the autoscaler tries again for.
    """
    reasons = sorted({why for event in observed.pod_events for why in _scale_up_failures(event)})
    if not reasons:
        return None
    zones = ", ".join(placement.zones(pool))
    where = f" in {zones}" if zones else ""
    why = ", ".join(reasons)[:_LONGEST]
    message = f"GKE cannot add a node{where}: {why}. It tries again by itself; {_advice(pool, why)}"
    return false(NODE_POOL_READY, Reason.CAPACITY_UNAVAILABLE, message)


def _scale_up_failures(event: Event) -> list[str]:
    if event.reason == "NotTriggerScaleUp" and _BACKOFF in event.message:
        return ["the last attempt failed"]
    if event.reason != "FailedScaleUp":
        return []
    found = _FAILED.search(event.message)
    return (found["why"] if found else event.message).split(", ")


def _advice(pool: KVCachePool, why: str) -> str:
    found = next((text for words, text in _ADVICE if any(word in why.lower() for word in words)), "")
    if found:
        return found
    elsewhere = "reserve the machines, or choose another machine type"
    if pool.spec.tiers.lustre and not pool.spec.node_pool.zones:
        return f"{elsewhere}; engines run in the zone of their Lustre instance, so another zone needs another pool"
    return f"{elsewhere}, or other nodePool.zones"


def _unscheduled(observed: Observed, owner: str) -> str | None:
    """What the scheduler lacks and, if it says so, why the autoscaler adds nothing."""
    lacking = _messages(observed, owner, "FailedScheduling")
    if not lacking:
        return None
    refused = _messages(observed, owner, "NotTriggerScaleUp")
    return "; ".join([_first_sentence(lacking[0]), *map(_first_sentence, refused[:1])])


def _image(observed: Observed, owner: str) -> str | None:
    failed = [text for text in _messages(observed, owner, "Failed") if "pull image" in text]
    return failed[0][:_LONGEST] if failed else None


def _messages(observed: Observed, owner: str, reason: str) -> list[str]:
    """In an order that does not depend on which Pod was heard of last."""
    mine = (event for event in observed.pod_events if event.name.startswith(f"{owner}-"))
    return sorted({event.message for event in mine if event.reason == reason})


def _first_sentence(text: str) -> str:
    """The scheduler's second sentence is about preemption, which no Pod of a pool does."""
    return " ".join(text.partition(". preemption:")[0].split()).rstrip(" .")[:_LONGEST]
