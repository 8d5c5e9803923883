"""Kubernetes Events about a pool's PVC and Pods: which are read, and which still apply."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kvtier.api.kinds import EVENT, POD, Object, Resource
from kvtier.api.names import LABEL_POOL, label_value
from kvtier.api.names import claim as claim_name
from kvtier.api.sentences import beginning
from kvtier.api.times import elapsed, parse
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.children import Children, Claim, Deployment, Job
from kvtier.facts.model import Event
from kvtier.kube.client import ApiError, KubeClient
from kvtier.pace import Pace

_MOST_EVENTS = 30
_MOST_HOLDERS = 20

_NO_SCALE_UP = "NotTriggerScaleUp"
"""No node pool can be scaled up for the Pod (kubernetes/autoscaler, eventing_scale_up_processor)."""

_UNSCHEDULABLE = ("FailedScheduling", "FailedScaleUp")
"""Reasons of the scheduler, and of GKE's autoscaler when it could not create a node."""

_MOUNTS = ("FailedMount", "FailedAttachVolume")

_COMBINED = "(combined from similar events): "
"""Prefix of an Event that combines several messages (client-go, tools/record/events_cache.go)."""

Workload = Deployment | Job
"""A child that creates Pods."""


@dataclass(frozen=True)
class ChildEvents:
    """Events about the PVC and about Pods, newest first, and the Pods that still use a deleted PVC (`holders`)."""

    claim_events: tuple[Event, ...] = ()
    pod_events: tuple[Event, ...] = ()
    holders: tuple[str, ...] = ()


async def read(
    client: KubeClient, pool: KVCachePool, children: Children, now: str, pace: Pace
) -> ChildEvents:
    """Events about `children` that are not ready. Raises ApiError, but not for a missing permission to list."""
    claim = children.claim(claim_name(pool.name))
    reader = _Reader(client, pool)
    return ChildEvents(
        claim_events=await reader.of_claim(claim) if claim and _waits(claim, now, pace) else (),
        pod_events=() if pool.deleting else await reader.of_pods(_unready(children, now, pace)),
        holders=await reader.holders(claim) if claim and claim.deleting else (),
    )


def _waits(claim: Claim, now: str, pace: Pace) -> bool:
    """Whether a PVC has been unbound for a while, or is being resized."""
    if claim.phase != "Bound":
        return _older(claim, pace.young, now)
    return claim.requested > claim.capacity


def _unready(children: Children, now: str, pace: Pace) -> dict[str, Workload]:
    """Deployments and Jobs that have waited for Pods for a while, by name."""
    lacking = [
        one for one in children.deployments if one.ready < (1 if one.replicas is None else one.replicas)
    ]
    running = [one for one in children.jobs if one.end is None]
    waiting: list[Workload] = [*lacking, *running]
    return {one.name: one for one in waiting if _older(one, pace.moving, now)}


def _older(child: Claim | Workload, seconds: float, now: str) -> bool:
    return not child.created or elapsed(child.created, now) >= seconds


class _Reader:
    """Reads Events and Pods in the namespace of one pool."""

    def __init__(self, client: KubeClient, pool: KVCachePool) -> None:
        self._client = client
        self._pool = pool

    async def of_claim(self, claim: Claim) -> tuple[Event, ...]:
        return newest_first(await self._events(f"involvedObject.uid={claim.uid}"))

    async def of_pods(self, owners: Mapping[str, Workload]) -> tuple[Event, ...]:
        """Why Pods of Deployments and Jobs do not start."""
        if not owners:
            return ()
        events = await self._of_pods(owners, "type=Warning")
        if any(event.reason in _UNSCHEDULABLE for event in events):
            # The autoscaler's refusal to add a node is a Normal event.
            events += await self._of_pods(owners, f"reason={_NO_SCALE_UP}")
        if not events:
            return ()
        pods = await self._list(POD, selector=f"{LABEL_POOL}={label_value(self._pool.name)}")
        return newest_first(events if pods is None else _still_holding(events, owners, pods))

    async def holders(self, claim: Claim) -> tuple[str, ...]:
        pods = await self._list(POD) or []
        using = [pod["metadata"]["name"] for pod in pods if _uses(pod, claim.name)]
        return tuple(sorted(using)[:_MOST_HOLDERS])

    async def _of_pods(self, owners: Mapping[str, Workload], which: str) -> list[Event]:
        events = await self._events(f"involvedObject.kind=Pod,{which}")
        return [event for event in events if _owner(event, owners)]

    async def _events(self, fields: str) -> list[Event]:
        return [parsed(event) for event in await self._list(EVENT, fields=fields) or ()]

    async def _list(self, resource: Resource, selector: str = "", fields: str = "") -> list[Object] | None:
        """None without permission to list."""
        try:
            return await self._client.list(resource, self._pool.namespace, selector, fields)
        except ApiError as error:
            if error.status == 403:
                return None
            raise


def _owner(event: Event, owners: Mapping[str, Workload]) -> Workload | None:
    """The Deployment or Job whose Pod the Event is about, None if it is none of `owners`."""
    return next((owner for name, owner in owners.items() if event.name.startswith(f"{name}-")), None)


def _still_holding(
    events: Iterable[Event], owners: Mapping[str, Workload], pods: Iterable[Object]
) -> list[Event]:
    """Events whose Pod still exists, and still cannot start for the reason of the Event."""
    known = {pod["metadata"]["name"]: pod for pod in pods}
    return [event for event in events if _holds(event, known.get(event.name), _owner(event, owners))]


def _holds(event: Event, pod: Object | None, owner: Workload | None) -> bool:
    if pod is None:
        # Only Pods with the pool's label were listed. An unlisted Pod was deleted only if it would have the label.
        return owner is not None and not owner.labelled
    status = pod.get("status") or {}
    if event.reason in (*_UNSCHEDULABLE, _NO_SCALE_UP):
        return not (pod.get("spec") or {}).get("nodeName")
    if event.reason in _MOUNTS:
        return bool(status.get("phase", "Pending") == "Pending")
    return not any(
        one.get("type") == "Ready" and one.get("status") == "True" for one in status.get("conditions") or []
    )


def _uses(pod: Object, claim: str) -> bool:
    """Whether a Pod prevents the deletion of a PVC: it has a node (pvc_protection_controller.go, podUsesPVC)."""
    spec = pod.get("spec") or {}
    volumes = spec.get("volumes") or []
    named = [(volume.get("persistentVolumeClaim") or {}).get("claimName") for volume in volumes]
    return bool(spec.get("nodeName")) and claim in named


def newest_first(events: Iterable[Event], most: int = _MOST_EVENTS) -> tuple[Event, ...]:
    """At most `most` Events. Equal messages of an object and reason are merged, with their first and last times."""
    found: dict[tuple[str, str, str], Event] = {}
    for event in events:
        key = (event.name, event.reason, event.message)
        found[key] = _joined(found[key], event) if key in found else event
    ordered = sorted(found.values(), key=lambda one: (parse(one.last), one.name, one.message), reverse=True)
    return tuple(ordered[:most])


def _joined(one: Event, other: Event) -> Event:
    newer = max(one, other, key=lambda event: parse(event.last))
    firsts = [event.first for event in (one, other) if event.first]
    return replace(newer, first=min(firsts, key=parse, default=""), count=one.count + other.count)


def parsed(event: Object) -> Event:
    """An Event of core/v1, written by client-go or, with a series, through events.k8s.io.

    Missing fields are empty. Times are RFC 3339.
    """
    about, series = event.get("involvedObject") or {}, event.get("series") or {}
    created = (event.get("metadata") or {}).get("creationTimestamp")
    lasts = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"), created)
    return Event(
        kind=about.get("kind") or "",
        name=about.get("name") or "",
        reason=event.get("reason") or "",
        message=beginning(event.get("message")).removeprefix(_COMBINED),
        type=event.get("type") or "Normal",
        first=event.get("firstTimestamp") or event.get("eventTime") or created or "",
        last=max((time for time in lasts if time), key=parse, default=""),
        count=max(event.get("count") or 0, series.get("count") or 0, 1),
    )
