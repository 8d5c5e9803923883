"""Which Events about Pods still hold: Events outlive what they tell of by up to an hour."""

from collections.abc import Iterable, Mapping

from kvtier.api.names import LABEL_POOL
from kvtier.facts.event_shapes import news
from kvtier.facts.objects import Object

NO_SCALE_UP = "NotTriggerScaleUp"
"""The autoscaler knows no node pool whose growth would help (kubernetes/autoscaler, eventing_scale_up_processor)."""

UNSCHEDULABLE = ("FailedScheduling", "FailedScaleUp")
"""Of the scheduler, and of GKE's autoscaler when a node could not be made."""

_MOUNTS = ("FailedMount", "FailedAttachVolume")


def owner(event: Object, owners: Iterable[str]) -> str | None:
    """The Deployment or Job, among these names, that made the Pod which an Event is about."""
    pod = news(event).name
    return next((name for name in owners if pod.startswith(f"{name}-")), None)


def standing(
    events: Iterable[Object], owners: Mapping[str, Object], pods: list[Object] | None
) -> list[Object]:
    """Those whose Pod is still there and has not got past them; all, where Pods may not be listed."""
    if pods is None:
        return list(events)
    known = {pod["metadata"]["name"]: pod for pod in pods}
    return [event for event in events if _stands(event, owners, known)]


def uses(pod: Object, claim: str) -> bool:
    """Whether a Pod keeps a deleted claim: it is on a node (pvc_protection_controller.go, podUsesPVC)."""
    volumes = pod["spec"].get("volumes") or []
    named = [(volume.get("persistentVolumeClaim") or {}).get("claimName") for volume in volumes]
    return bool(pod["spec"].get("nodeName")) and claim in named


def _stands(event: Object, owners: Mapping[str, Object], pods: Mapping[str, Object]) -> bool:
    told = news(event)
    pod = pods.get(told.name)
    if pod is None:
        return not _labelled(owners[owner(event, owners) or ""])
    if told.reason in (*UNSCHEDULABLE, NO_SCALE_UP):
        return not pod["spec"].get("nodeName")
    if told.reason in _MOUNTS:
        return not _started(pod)
    return not _ready(pod)


def _started(pod: Object) -> bool:
    return bool((pod.get("status") or {}).get("phase", "Pending") != "Pending")


def _labelled(made_by: Object) -> bool:
    """Whether its Pods carry the pool's label, so that one that was not listed is gone."""
    labels = made_by["spec"].get("template", {}).get("metadata", {}).get("labels") or {}
    return LABEL_POOL in labels


def _ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
