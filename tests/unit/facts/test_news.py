"""Which Events are asked for, when, and which of them still hold."""

from typing import Any, cast

import pytest

from kvtier.api.kinds import Resource
from kvtier.facts.events import Heard, read
from kvtier.kube.client import ApiError, KubeClient
from kvtier.pace import DEFAULT
from unit.builders import NOW, claim, deleted, deployment, live, merged, observed, pool, requesting
from unit.tables import table

POOL = pool()
OLD, NEW = {"creationTimestamp": "2026-11-29T11:00:00Z"}, {"creationTimestamp": "2026-11-29T11:59:58Z"}
WAITING = claim(POOL, "Pending", metadata=OLD)
STARTING = deployment(POOL, ready=0, metadata=OLD)
ENGINE = STARTING["metadata"]["name"]
JOB: dict[str, Any] = {
    "kind": "Job",
    "metadata": {"name": "chat-writable-1234", **OLD},
    "spec": {"template": {}},
    "status": {"conditions": None},
}
PODS = "involvedObject.kind=Pod"


class _Cluster:
    """A client that answers LISTs by kind and by the fields that were asked for."""

    def __init__(self, *pods: Any, refuse: int = 0, **events: Any) -> None:
        self._events, self._pods, self._refuse = events, list(pods), refuse
        self.asked: list[str] = []

    async def list(self, resource: Resource, namespace: str, selector: str = "", fields: str = "") -> Any:
        assert namespace == "team-a"
        self.asked.append(" ".join(filter(None, (resource.kind, selector, fields))))
        if self._refuse:
            raise ApiError(self._refuse, "Forbidden", "no")
        if resource.kind == "Pod":
            return self._pods
        which = "claim" if "uid" in fields else "warning" if "type=Warning" in fields else "normal"
        return self._events.get(which, [])


async def _read(cluster: _Cluster, *children: Any) -> Heard:
    return await read(cast(KubeClient, cluster), POOL, observed(*children).children, NOW, DEFAULT)


def _event(reason: str, message: str = "why", kind: str = "Pod", name: str = f"{ENGINE}-a-b") -> Any:
    return {
        "involvedObject": {"kind": kind, "name": name, "uid": f"{kind}-uid"},
        "reason": reason,
        "message": message,
        "lastTimestamp": "2026-11-29T11:59:00Z",
    }


def _pod(name: str = f"{ENGINE}-a-b", **changes: Any) -> Any:
    return merged(
        {"metadata": {"name": name}, "spec": {}, "status": {"phase": "Pending"}},
        changes,
    )


CLAIM_NEWS = "Event involvedObject.uid=PersistentVolumeClaim-uid"
POD_NEWS = f"Event {PODS},type=Warning"


@table(
    "children, asked",
    {
        "nothing while there is nothing": ([], []),
        "nothing while nothing is missing": ([claim(POOL), deployment(POOL, metadata=OLD)], []),
        "nothing on the first look at a new claim": ([claim(POOL, "Pending", metadata=NEW)], []),
        "the claim's news while it waits": ([WAITING], [CLAIM_NEWS]),
        "the claim's news while it grows": ([claim(POOL, spec=requesting("27000Gi"))], [CLAIM_NEWS]),
        "the news of a claim that does not say how old it is": ([claim(POOL, "Pending")], [CLAIM_NEWS]),
        "nothing of Pods that have only just been asked for": ([deployment(POOL, 0, metadata=NEW)], []),
        "nothing of engines that are scaled to zero": (
            [deployment(POOL, 0, metadata=OLD, spec={"replicas": 0})],
            [],
        ),
        "the Pods' news while engines are not ready": ([STARTING], [POD_NEWS]),
        "the Pods' news while a Job is not done": ([JOB], [POD_NEWS]),
        "nothing of a Job that is done": (
            [merged(JOB, {"status": {"conditions": [{"type": "Failed", "status": "True"}]}})],
            [],
        ),
        "the Pods that keep a claim that was deleted": (
            [claim(POOL, metadata={"deletionTimestamp": NOW})],
            ["Pod"],
        ),
    },
)
async def test_asks_for(children: list[Any], asked: list[str]) -> None:
    cluster = _Cluster()
    assert await _read(cluster, *children) == Heard()
    assert cluster.asked == asked


async def test_of_a_pool_that_goes_only_the_claim_is_heard() -> None:
    cluster = _Cluster()
    await read(cast(KubeClient, cluster), deleted(), observed(WAITING, STARTING).children, NOW, DEFAULT)
    assert cluster.asked == [CLAIM_NEWS]


async def test_the_claim_s_news_are_about_that_claim_alone() -> None:
    mine = _event("ProvisioningFailed", "no room", "PersistentVolumeClaim")
    other = merged(mine, {"involvedObject": {"uid": "another"}})
    heard = await _read(_Cluster(claim=[other, mine, _event("FailedMount")]), WAITING)
    assert [(one.reason, one.message) for one in heard.claim_events] == [("ProvisioningFailed", "no room")]


@table(
    "event, pods, heard",
    {
        "a mount that fails": (_event("FailedMount"), [_pod()], True),
        "a mount that failed before the Pod started": (
            _event("FailedMount"),
            [_pod(status={"phase": "Running"})],
            False,
        ),
        "a Pod that no node takes": (_event("FailedScheduling"), [_pod()], True),
        "a Pod that a node has taken since": (
            _event("FailedScheduling"),
            [_pod(spec={"nodeName": "a"})],
            False,
        ),
        "a node that could not be made": (_event("FailedScaleUp"), [_pod()], True),
        "anything about a Pod that is gone": (_event("FailedMount"), [], False),
        "anything else while the Pod is not ready": (_event("Failed"), [_pod(spec={"nodeName": "a"})], True),
        "anything about a Pod that got ready": (
            _event("Failed"),
            [_pod(status={"conditions": [{"type": "Ready", "status": "True"}]})],
            False,
        ),
        "a Pod of somebody else": (_event("FailedMount", name="database-0"), [_pod("database-0")], False),
        "a Pod whose name only begins alike": (_event("FailedMount", name=f"{ENGINE}0-a"), [], False),
        "a Pod of a Job whose Pods cannot be told by their labels": (
            _event("FailedMount", name="chat-writable-1234-x"),
            [],
            True,
        ),
        "something that is not about a Pod": (_event("FailedMount", kind="Node"), [_pod()], False),
    },
)
async def test_pod_news(event: Any, pods: list[Any], heard: bool) -> None:
    found = await _read(_Cluster(*pods, warning=[event]), STARTING, JOB)
    assert bool(found.pod_events) is heard


async def test_of_a_pod_that_no_node_takes_the_autoscaler_is_heard_too() -> None:
    waiting, refused = _event("FailedScheduling"), _event("NotTriggerScaleUp", "max node group size reached")
    cluster = _Cluster(_pod(), warning=[waiting], normal=[refused])
    heard = await _read(cluster, STARTING)
    assert {one.reason for one in heard.pod_events} == {"FailedScheduling", "NotTriggerScaleUp"}
    assert cluster.asked == [
        POD_NEWS,
        f"Event {PODS},reason=NotTriggerScaleUp",
        "Pod kvtier.dev/pool=chat",
    ]


async def test_the_number_of_news_is_bounded() -> None:
    events = [_event("Failed", str(number)) for number in range(500)]
    assert len((await _read(_Cluster(_pod(), warning=events), STARTING)).pod_events) == 30


async def test_a_claim_is_kept_by_the_pods_on_nodes_that_use_it() -> None:
    gone = claim(POOL, metadata={"deletionTimestamp": NOW})
    uses = [{"name": "x", "persistentVolumeClaim": {"claimName": gone["metadata"]["name"]}}, {"name": "y"}]
    pods = [
        _pod("b", spec={"nodeName": "n", "volumes": uses}),
        _pod("a", spec={"nodeName": "n", "volumes": uses}),
        _pod("nowhere", spec={"volumes": uses}),
        _pod("without", spec={"nodeName": "n", "volumes": None}),
    ]
    assert (await _read(_Cluster(*pods), gone)).holders == ("a", "b")


GOING = live(WAITING, metadata={"deletionTimestamp": NOW})


async def test_what_may_not_be_listed_is_no_news_and_no_error() -> None:
    assert await _read(_Cluster(refuse=403), GOING, STARTING) == Heard()


async def test_without_a_look_at_pods_every_event_stands() -> None:
    class Blind(_Cluster):
        async def list(self, resource: Resource, namespace: str, selector: str = "", fields: str = "") -> Any:
            if resource.kind == "Pod":
                raise ApiError(403, "Forbidden", "no")
            return await super().list(resource, namespace, selector, fields)

    assert len((await _read(Blind(warning=[_event("FailedMount")]), STARTING)).pod_events) == 1


async def test_any_other_failure_is_not_taken_for_an_answer() -> None:
    with pytest.raises(ApiError):
        await _read(_Cluster(refuse=500), WAITING)
