"""Why Pods do not start, from Events about them."""

import re
from collections.abc import Sequence

from kvtier.api import placement
from kvtier.api.conditions import NODE_POOL_READY, Condition, false
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Event
from kvtier.plan.lustre.csi_errors import mount_hint

_LONGEST = 300
_FAILED = re.compile(r"failed: (?P<why>.*?)\.? Pod is at risk of not being scheduled", re.DOTALL)
"""The autoscaler of GKE cuts its messages after 250 characters (gke-autoscaling, events/failed_scale_up)."""

_BACKOFF = "backoff after failed scale-up"
_ADVICE = (
    (("quota",), "Request more quota for this machine type and its GPUs."),
    (
        ("reservation",),
        "Check that the reservation exists, is shared with this project, and has unused machines.",
    ),
    (("ip space",), "Give the cluster's subnet a larger range for nodes or Pods."),
)


def hindrance(events: Sequence[Event], owner: str) -> str | None:
    """Why Pods of a Deployment or Job do not start, in full sentences; None if no Event says so."""
    return mount_hint(events, owner) or _unscheduled(events, owner) or _image(events, owner)


def capacity_unavailable(pool: KVCachePool, events: Sequence[Event]) -> Condition | None:
    """NodePoolReady if GKE could not create a node for waiting Pods, else None.

    kvtier keeps these Pods, because the autoscaler retries only for Pods that wait.
    """
    reasons = sorted({why for event in events for why in _scale_up_failures(event)})
    if not reasons:
        return None
    zones = ", ".join(placement.zones(pool))
    where = f" in {zones}" if zones else ""
    why = ", ".join(reasons)[:_LONGEST]
    seen = f"GKE cannot add a node{where}: {why}"
    message = sentences(seen, "GKE retries automatically", _advice(pool, why))
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
    if pool.spec.tiers.lustre and not pool.spec.node_pool.zones:
        return (
            "Reserve the machines, or choose another machine type. Engines run in the zone of their Lustre instance, "
            "so another zone needs another pool."
        )
    return "Reserve the machines, or choose another machine type or other nodePool.zones."


def _unscheduled(events: Sequence[Event], owner: str) -> str | None:
    """Why the scheduler found no node and, if reported, why the autoscaler adds none."""
    lacking = _messages(events, owner, "FailedScheduling")
    if not lacking:
        return None
    refused = _messages(events, owner, "NotTriggerScaleUp")
    scaling = f"The autoscaler reports: {_first_sentence(refused[0])}" if refused else ""
    return sentences(f"The scheduler reports: {_first_sentence(lacking[0])}", scaling)


def _image(events: Sequence[Event], owner: str) -> str | None:
    failed = [text for text in _messages(events, owner, "Failed") if "pull image" in text]
    return sentences(f"The kubelet reports: {failed[0][:_LONGEST]}") if failed else None


def _messages(events: Sequence[Event], owner: str, reason: str) -> list[str]:
    """Messages of Events about the owner's Pods, sorted, so that the order of Events does not matter."""
    mine = (event for event in events if event.name.startswith(f"{owner}-"))
    return sorted({event.message for event in mine if event.reason == reason})


def _first_sentence(text: str) -> str:
    """The first sentence of the scheduler. The second is about preemption, which Pods of a pool do not use."""
    return " ".join(text.partition(". preemption:")[0].split()).rstrip(" .")[:_LONGEST]
