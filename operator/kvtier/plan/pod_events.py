"""Why Pods do not start, from Events about them."""

import re
from collections.abc import Sequence

from kvtier.api import placement
from kvtier.api.conditions import NODE_POOL_READY, Condition, false
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Event
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


def hindrance(events: Sequence[Event], owner: str) -> str | None:
    """Why Pods of a Deployment or Job do not start, as a part of a sentence; None where no Event says so."""
    return mount_hint(events, owner) or _unscheduled(events, owner) or _image(events, owner)


def capacity_unavailable(pool: KVCachePool, events: Sequence[Event]) -> Condition | None:
    """NodePoolReady, where the cloud has not made a node that Pods wait for.

    The Pods that ask for it stay: they are what the autoscaler tries again for.
    """
    reasons = sorted({why for event in events for why in _scale_up_failures(event)})
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


def _unscheduled(events: Sequence[Event], owner: str) -> str | None:
    """What the scheduler lacks and, if it says so, why the autoscaler adds nothing."""
    lacking = _messages(events, owner, "FailedScheduling")
    if not lacking:
        return None
    refused = _messages(events, owner, "NotTriggerScaleUp")
    return "; ".join([_first_sentence(lacking[0]), *map(_first_sentence, refused[:1])])


def _image(events: Sequence[Event], owner: str) -> str | None:
    failed = [text for text in _messages(events, owner, "Failed") if "pull image" in text]
    return failed[0][:_LONGEST] if failed else None


def _messages(events: Sequence[Event], owner: str, reason: str) -> list[str]:
    """In alphabetical order, so that they do not change with the order in which Events arrive."""
    mine = (event for event in events if event.name.startswith(f"{owner}-"))
    return sorted({event.message for event in mine if event.reason == reason})


def _first_sentence(text: str) -> str:
    """The scheduler's second sentence is about preemption, which no Pod of a pool does."""
    return " ".join(text.partition(". preemption:")[0].split()).rstrip(" .")[:_LONGEST]
