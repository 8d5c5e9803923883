"""What Kubernetes Events tell about a pool's claim and Pods. Read only while something is awaited.

A pool that lacks nothing asks for nothing, and neither does one whose children are young: what works takes
seconds. Events may not be listed everywhere; then there is no news, which is no error.
"""

from dataclasses import dataclass

from kvtier.api import quantities
from kvtier.api.names import LABEL_POOL, label_value
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts import pod_news
from kvtier.facts.event_shapes import concerns, newest_first, time
from kvtier.facts.model import News, Observed
from kvtier.facts.objects import Object
from kvtier.kube.client import EVENT, POD, ApiError, KubeClient, Resource

_CLAIM_SECONDS = 5.0
_PODS_SECONDS = 15.0
_MOST_NEWS = 30
_MOST_HOLDERS = 20


@dataclass(frozen=True)
class Heard:
    """The Events of a claim and of Pods, the newest first, and the Pods that keep a deleted claim."""

    claim_news: tuple[News, ...] = ()
    pod_news: tuple[News, ...] = ()
    holders: tuple[str, ...] = ()


async def read(client: KubeClient, pool: KVCachePool, seen: Observed, now: str) -> Heard:
    """The news that `seen` leaves open. Raises ApiError, but not where kvtier may not list them."""
    claim = next((obj for (kind, _), obj in seen.children.items() if kind == "PersistentVolumeClaim"), None)
    reader = _Reader(client, pool)
    return Heard(
        claim_news=await reader.of_claim(claim) if claim and _waits(claim, now) else (),
        pod_news=() if pool.deleting else await reader.of_pods(_unready(seen, now)),
        holders=await reader.holders(claim) if claim and "deletionTimestamp" in claim["metadata"] else (),
    )


def _waits(claim: Object, now: str) -> bool:
    """Whether a claim is not bound, or grows, and not only just."""
    status, spec = claim.get("status", {}), claim["spec"]
    if status.get("phase") != "Bound":
        return _older(claim, _CLAIM_SECONDS, now)
    has, wants = status.get("capacity") or {}, spec.get("resources", {}).get("requests") or {}
    return _size(wants) > _size(has)


def _size(resources: Object) -> int:
    return quantities.parse(resources.get("storage") or "0")


def _unready(seen: Observed, now: str) -> dict[str, Object]:
    """Deployments and Jobs that have been waiting for Pods for a while, by name."""
    late = {"Deployment": _lacks_pods, "Job": _unfinished}
    return {
        name: obj
        for (kind, name), obj in seen.children.items()
        if kind in late and late[kind](obj) and _older(obj, _PODS_SECONDS, now)
    }


def _lacks_pods(deployment: Object) -> bool:
    wanted = deployment["spec"].get("replicas", 1)
    return bool((deployment.get("status", {}).get("readyReplicas") or 0) < wanted)


def _unfinished(job: Object) -> bool:
    conditions = job.get("status", {}).get("conditions") or []
    return not any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in conditions)


def _older(obj: Object, seconds: float, now: str) -> bool:
    created = obj["metadata"].get("creationTimestamp")
    return not created or (time(now) - time(created)).total_seconds() >= seconds


class _Reader:
    """Reads in the namespace of one pool."""

    def __init__(self, client: KubeClient, pool: KVCachePool) -> None:
        self._client = client
        self._pool = pool

    async def of_claim(self, claim: Object) -> tuple[News, ...]:
        uid = claim["metadata"].get("uid", "")
        events = await self._list(EVENT, fields=f"involvedObject.uid={uid}")
        about = [event for event in events or () if concerns(event, "PersistentVolumeClaim", uid)]
        return newest_first(about, _MOST_NEWS)

    async def of_pods(self, owners: dict[str, Object]) -> tuple[News, ...]:
        """What keeps the Pods of Deployments and Jobs from starting."""
        if not owners:
            return ()
        events = await self._of_pods(owners, "type=Warning")
        if any(event.get("reason") in pod_news.UNSCHEDULABLE for event in events):
            # The autoscaler's refusal to add a node is a Normal event.
            events += await self._of_pods(owners, f"reason={pod_news.NO_SCALE_UP}")
        if not events:
            return ()
        pods = await self._list(POD, selector=f"{LABEL_POOL}={label_value(self._pool.name)}")
        return newest_first(pod_news.standing(events, owners, pods), _MOST_NEWS)

    async def holders(self, claim: Object) -> tuple[str, ...]:
        pods = await self._list(POD) or []
        using = [pod["metadata"]["name"] for pod in pods if pod_news.uses(pod, claim["metadata"]["name"])]
        return tuple(sorted(using)[:_MOST_HOLDERS])

    async def _of_pods(self, owners: dict[str, Object], which: str) -> list[Object]:
        events = await self._list(EVENT, fields=f"involvedObject.kind=Pod,{which}")
        return [one for one in events or () if concerns(one, "Pod") and pod_news.owner(one, owners)]

    async def _list(self, resource: Resource, selector: str = "", fields: str = "") -> list[Object] | None:
        """None where it may not be listed."""
        try:
            return await self._client.list(resource, self._pool.namespace, selector, fields)
        except ApiError as error:
            if error.status == 403:
                return None
            raise
