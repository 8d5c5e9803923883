"""Kubernetes Events about a pool's claim and Pods: which are read, which of them still hold, and what they say."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kvtier.api.kinds import EVENT, POD, Object, Resource
from kvtier.api.names import LABEL_POOL, label_value
from kvtier.api.times import elapsed, parse
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.children import Children, Claim, Deployment, Job
from kvtier.facts.model import Event
from kvtier.kube.client import ApiError, KubeClient
from kvtier.pace import Pace

_MOST_EVENTS = 30
_MOST_HOLDERS = 20

_NO_SCALE_UP = "NotTriggerScaleUp"
"""The autoscaler knows no node pool whose growth would help (kubernetes/autoscaler, eventing_scale_up_processor)."""

_UNSCHEDULABLE = ("FailedScheduling", "FailedScaleUp")
"""Of the scheduler, and of GKE's autoscaler when a node could not be made."""

_MOUNTS = ("FailedMount", "FailedAttachVolume")

_COMBINED = "(combined from similar events): "
"""How client-go (tools/record/events_cache.go) marks an Event that stands for several messages."""

Workload = Deployment | Job
"""What makes Pods."""


@dataclass(frozen=True)
class ChildEvents:
    """Events about the claim and about Pods, the newest first, and the Pods that keep a deleted claim."""

    claim_events: tuple[Event, ...] = ()
    pod_events: tuple[Event, ...] = ()
    holders: tuple[str, ...] = ()


async def read(
    client: KubeClient, pool: KVCachePool, children: Children, now: str, pace: Pace
) -> ChildEvents:
    """The Events that say more of `children`. Raises ApiError, but not where kvtier may not list them."""
    claim = next(iter(children.claims), None)
    reader = _Reader(client, pool)
    return ChildEvents(
        claim_events=await reader.of_claim(claim) if claim and _waits(claim, now, pace) else (),
        pod_events=() if pool.deleting else await reader.of_pods(_unready(children, now, pace)),
        holders=await reader.holders(claim) if claim and claim.deleting else (),
    )


def _waits(claim: Claim, now: str, pace: Pace) -> bool:
    """Whether a claim is not bound, or grows, and not only just."""
    if claim.phase != "Bound":
        return _older(claim, pace.young, now)
    return claim.requested > claim.capacity


def _unready(children: Children, now: str, pace: Pace) -> dict[str, Workload]:
    """Deployments and Jobs that have been waiting for Pods for a while, by name."""
    lacking = [
        one for one in children.deployments if one.ready < (1 if one.replicas is None else one.replicas)
    ]
    running = [one for one in children.jobs if one.end is None]
    waiting: list[Workload] = [*lacking, *running]
    return {one.name: one for one in waiting if _older(one, pace.moving, now)}


def _older(child: Claim | Workload, seconds: float, now: str) -> bool:
    return not child.created or elapsed(child.created, now) >= seconds


class _Reader:
    """Reads in the namespace of one pool."""

    def __init__(self, client: KubeClient, pool: KVCachePool) -> None:
        self._client = client
        self._pool = pool

    async def of_claim(self, claim: Claim) -> tuple[Event, ...]:
        return newest_first(await self._events(f"involvedObject.uid={claim.uid}"))

    async def of_pods(self, owners: Mapping[str, Workload]) -> tuple[Event, ...]:
        """What keeps the Pods of Deployments and Jobs from starting."""
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
        """None where it may not be listed."""
        try:
            return await self._client.list(resource, self._pool.namespace, selector, fields)
        except ApiError as error:
            if error.status == 403:
                return None
            raise


def _owner(event: Event, owners: Mapping[str, Workload]) -> Workload | None:
    """The Deployment or Job, among these, that made the Pod which an Event is about."""
    return next((owner for name, owner in owners.items() if event.name.startswith(f"{name}-")), None)


def _still_holding(
    events: Iterable[Event], owners: Mapping[str, Workload], pods: Iterable[Object]
) -> list[Event]:
    """Events whose Pod is still there and is still kept from starting by what they say."""
    known = {pod["metadata"]["name"]: pod for pod in pods}
    return [event for event in events if _holds(event, known.get(event.name), _owner(event, owners))]


def _holds(event: Event, pod: Object | None, owner: Workload | None) -> bool:
    if pod is None:
        # Only of Pods that carry the pool's label can be said that one which was not listed is gone.
        return owner is not None and not owner.labelled
    status = pod.get("status") or {}
    if event.reason in (*_UNSCHEDULABLE, _NO_SCALE_UP):
        return not pod["spec"].get("nodeName")
    if event.reason in _MOUNTS:
        return bool(status.get("phase", "Pending") == "Pending")
    return not any(
        one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions") or []
    )


def _uses(pod: Object, claim: str) -> bool:
    """Whether a Pod keeps a deleted claim: it is on a node (pvc_protection_controller.go, podUsesPVC)."""
    volumes = pod["spec"].get("volumes") or []
    named = [(volume.get("persistentVolumeClaim") or {}).get("claimName") for volume in volumes]
    return bool(pod["spec"].get("nodeName")) and claim in named


def newest_first(events: Iterable[Event], most: int = _MOST_EVENTS) -> tuple[Event, ...]:
    """At most so many, each message of an object and reason once, with its last and first times."""
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
    """An Event of core/v1, as client-go writes it or, with a series, as events.k8s.io does.

    What it lacks is empty; times are RFC 3339 as they stand there.
    """
    about, series = event.get("involvedObject") or {}, event.get("series") or {}
    created = (event.get("metadata") or {}).get("creationTimestamp")
    lasts = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"), created)
    return Event(
        kind=about.get("kind") or "",
        name=about.get("name") or "",
        reason=event.get("reason") or "",
        message=(event.get("message") or "").removeprefix(_COMBINED),
        type=event.get("type") or "Normal",
        first=event.get("firstTimestamp") or event.get("eventTime") or created or "",
        last=max((time for time in lasts if time), key=parse, default=""),
        count=max(event.get("count") or 0, series.get("count") or 0, 1),
    )
