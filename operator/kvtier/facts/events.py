"""Kubernetes Events as Event, in either shape: core/v1 as client-go writes it, and events.k8s.io with its series."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from kvtier.api.kinds import EVENT, POD, Object, Resource
from kvtier.api.names import LABEL_POOL, label_value
from kvtier.api.times import elapsed
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.children import Children, Claim, Deployment, Job
from kvtier.facts.model import Event
from kvtier.kube.client import ApiError, KubeClient
from kvtier.pace import Pace

_COMBINED = "(combined from similar events): "
"""How client-go (tools/record/events_cache.go) marks an Event that stands for several messages."""

_NEVER = datetime.min.replace(tzinfo=UTC)


def newest_first(events: Iterable[Object], most: int) -> tuple[Event, ...]:
    """At most so many, each message of an object and reason once, with its last and first times."""
    found: dict[tuple[str, str, str], Event] = {}
    for event in events:
        one = news(event)
        key = (one.name, one.reason, one.message)
        found[key] = _joined(found[key], one) if key in found else one
    ordered = sorted(found.values(), key=lambda one: (time(one.last), one.name, one.message), reverse=True)
    return tuple(ordered[:most])


def news(event: Object) -> Event:
    """One Event. What it lacks is empty; times are RFC 3339 as they stand there."""
    about, series = _about(event), event.get("series") or {}
    first = event.get("firstTimestamp") or event.get("deprecatedFirstTimestamp") or event.get("eventTime")
    last = event.get("lastTimestamp") or event.get("deprecatedLastTimestamp")
    created = (event.get("metadata") or {}).get("creationTimestamp")
    times = [one for one in (series.get("lastObservedTime"), last, event.get("eventTime"), created) if one]
    return Event(
        kind=about.get("kind") or "",
        name=about.get("name") or "",
        reason=event.get("reason") or "",
        message=(event.get("message") or event.get("note") or "").removeprefix(_COMBINED),
        type=event.get("type") or "Normal",
        first=first or created or "",
        last=max(times, key=time, default=""),
        count=max(_number(event, "count"), _number(event, "deprecatedCount"), _number(series, "count"), 1),
    )


def concerns(event: Object, kind: str, uid: str = "") -> bool:
    """Whether an Event is about an object of this kind, and this uid if one is given."""
    about = _about(event)
    return about.get("kind") == kind and uid in ("", about.get("uid"))


def time(text: str) -> datetime:
    """An RFC 3339 time; one that cannot be read lies before all others."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return _NEVER
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def _about(event: Object) -> dict[str, Any]:
    return event.get("involvedObject") or event.get("regarding") or {}


def _number(of: Object, key: str) -> int:
    return of.get(key) or 0


def _joined(one: Event, other: Event) -> Event:
    newer = max(one, other, key=lambda news: time(news.last))
    firsts = [news.first for news in (one, other) if news.first]
    return replace(newer, first=min(firsts, key=time, default=""), count=one.count + other.count)


Workload = Deployment | Job
"""What makes Pods."""

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
    events: Iterable[Object], owners: Mapping[str, Workload], pods: list[Object] | None
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


def _stands(event: Object, owners: Mapping[str, Workload], pods: Mapping[str, Object]) -> bool:
    told = news(event)
    pod = pods.get(told.name)
    if pod is None:
        # Only of Pods that carry the pool's label can be said that one which was not listed is gone.
        return not owners[owner(event, owners) or ""].labelled
    if told.reason in (*UNSCHEDULABLE, NO_SCALE_UP):
        return not pod["spec"].get("nodeName")
    if told.reason in _MOUNTS:
        return not _started(pod)
    return not _ready(pod)


def _started(pod: Object) -> bool:
    return bool((pod.get("status") or {}).get("phase", "Pending") != "Pending")


def _ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


_MOST_NEWS = 30
_MOST_HOLDERS = 20


@dataclass(frozen=True)
class Heard:
    """The Events of a claim and of Pods, the newest first, and the Pods that keep a deleted claim."""

    claim_events: tuple[Event, ...] = ()
    pod_events: tuple[Event, ...] = ()
    holders: tuple[str, ...] = ()


async def read(client: KubeClient, pool: KVCachePool, children: Children, now: str, pace: Pace) -> Heard:
    """The Events that say more of `children`. Raises ApiError, but not where kvtier may not list them."""
    claim = next(iter(children.claims), None)
    reader = _Reader(client, pool)
    return Heard(
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
        events = await self._list(EVENT, fields=f"involvedObject.uid={claim.uid}")
        about = [event for event in events or () if concerns(event, "PersistentVolumeClaim", claim.uid)]
        return newest_first(about, _MOST_NEWS)

    async def of_pods(self, owners: Mapping[str, Workload]) -> tuple[Event, ...]:
        """What keeps the Pods of Deployments and Jobs from starting."""
        if not owners:
            return ()
        events = await self._of_pods(owners, "type=Warning")
        if any(event.get("reason") in UNSCHEDULABLE for event in events):
            # The autoscaler's refusal to add a node is a Normal event.
            events += await self._of_pods(owners, f"reason={NO_SCALE_UP}")
        if not events:
            return ()
        pods = await self._list(POD, selector=f"{LABEL_POOL}={label_value(self._pool.name)}")
        return newest_first(standing(events, owners, pods), _MOST_NEWS)

    async def holders(self, claim: Claim) -> tuple[str, ...]:
        pods = await self._list(POD) or []
        using = [pod["metadata"]["name"] for pod in pods if uses(pod, claim.name)]
        return tuple(sorted(using)[:_MOST_HOLDERS])

    async def _of_pods(self, owners: Mapping[str, Workload], which: str) -> list[Object]:
        events = await self._list(EVENT, fields=f"involvedObject.kind=Pod,{which}")
        return [one for one in events or () if concerns(one, "Pod") and owner(one, owners)]

    async def _list(self, resource: Resource, selector: str = "", fields: str = "") -> list[Object] | None:
        """None where it may not be listed."""
        try:
            return await self._client.list(resource, self._pool.namespace, selector, fields)
        except ApiError as error:
            if error.status == 403:
                return None
            raise
