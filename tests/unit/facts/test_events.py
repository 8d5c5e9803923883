"""Which Events are asked for and when, which of them still hold, and what they say."""

from typing import Any

import pytest

from kvtier.api.names import LABEL_POOL
from kvtier.facts.events import ChildEvents, newest_first, parsed, read
from kvtier.facts.model import Event
from kvtier.kube.client import ApiError
from kvtier.pace import DEFAULT
from unit.builders import NOW, claim, deleted, deployment, live, merged, observed, pool, requesting
from unit.memory import MemoryClient, Request
from unit.tables import table

POOL = pool()
EARLY, LATE = "2026-11-29T11:00:00Z", "2026-11-29T11:30:00Z"
OLD, NEW = {"creationTimestamp": EARLY}, {"creationTimestamp": "2026-11-29T11:59:58Z"}
WAITING = claim(POOL, "Pending", metadata=OLD)
GOING = live(WAITING, metadata={"deletionTimestamp": NOW})
STARTING = deployment(POOL, ready=0, metadata=OLD)
ENGINE = STARTING["metadata"]["name"]
JOB: dict[str, Any] = {
    "kind": "Job",
    "metadata": {"name": "chat-writable-1234", **OLD},
    "spec": {"template": {}},
    "status": {"conditions": None},
}


async def _read(client: MemoryClient, *children: Any, of: Any = POOL) -> ChildEvents:
    return await read(client, of, observed(*children).children, NOW, DEFAULT)


def _event(reason: str, message: str = "why", name: str = f"{ENGINE}-a-b", **changes: Any) -> Any:
    """A Warning about a Pod, but for `changes`."""
    warning = {
        "kind": "Event",
        "metadata": {"name": f"{name}.{reason}.{message[:40]}", "namespace": "team-a"},
        "involvedObject": {"kind": "Pod", "name": name},
        "type": "Warning",
        "reason": reason,
        "message": message,
        "lastTimestamp": "2026-11-29T11:59:00Z",
    }
    return merged(warning, changes)


def _pod(name: str = f"{ENGINE}-a-b", **changes: Any) -> Any:
    metadata = {"name": name, "namespace": "team-a", "labels": {LABEL_POOL: "chat"}}
    return merged(
        {"kind": "Pod", "metadata": metadata, "spec": {}, "status": {"phase": "Pending"}},
        changes,
    )


CLAIM_EVENTS = ("list", "Event", "involvedObject.uid=PersistentVolumeClaim-uid")
POD_EVENTS = ("list", "Event", "involvedObject.kind=Pod,type=Warning")
ALL_PODS = ("list", "Pod", "")


@table(
    "children, asked",
    {
        "nothing while there is nothing": ([], []),
        "nothing while nothing is missing": ([claim(POOL), deployment(POOL, metadata=OLD)], []),
        "nothing on the first look at a new claim": ([claim(POOL, "Pending", metadata=NEW)], []),
        "the claim's Events while it waits": ([WAITING], [CLAIM_EVENTS]),
        "the claim's Events while it grows": ([claim(POOL, spec=requesting("27000Gi"))], [CLAIM_EVENTS]),
        "the Events of a claim whose age is not known": ([claim(POOL, "Pending")], [CLAIM_EVENTS]),
        "nothing of Pods that have only just been asked for": ([deployment(POOL, 0, metadata=NEW)], []),
        "nothing of engines that are scaled to zero": (
            [deployment(POOL, 0, metadata=OLD, spec={"replicas": 0})],
            [],
        ),
        "the Pods' Events while engines are not ready": ([STARTING], [POD_EVENTS]),
        "the Pods' Events while a Job is not done": ([JOB], [POD_EVENTS]),
        "nothing of a Job that is done": (
            [merged(JOB, {"status": {"conditions": [{"type": "Failed", "status": "True"}]}})],
            [],
        ),
        "the Pods that keep a claim that was deleted": (
            [claim(POOL, metadata={"deletionTimestamp": NOW})],
            [ALL_PODS],
        ),
    },
)
async def test_asks_for(children: list[Any], asked: list[Request]) -> None:
    client = MemoryClient()
    assert await _read(client, *children) == ChildEvents()
    assert client.reads == asked


async def test_of_a_pool_that_goes_only_events_of_the_claim_are_read() -> None:
    client = MemoryClient()
    await _read(client, WAITING, STARTING, of=deleted())
    assert client.reads == [CLAIM_EVENTS]


async def test_events_of_the_claim_are_about_that_claim_alone() -> None:
    about = {"kind": "PersistentVolumeClaim", "uid": "PersistentVolumeClaim-uid"}
    mine = _event("ProvisioningFailed", "no room", "mine", involvedObject=about)
    other = _event("ProvisioningFailed", "no room", "other", involvedObject={**about, "uid": "another"})
    found = await _read(MemoryClient(other, mine, _event("FailedMount")), WAITING)
    assert [(one.name, one.reason, one.message) for one in found.claim_events] == [
        ("mine", "ProvisioningFailed", "no room")
    ]


@table(
    "event, pods, holds",
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
        "something that is not about a Pod": (
            _event("FailedMount", involvedObject={"kind": "Node"}),
            [_pod()],
            False,
        ),
    },
)
async def test_an_event_holds_about(event: Any, pods: list[Any], holds: bool) -> None:
    found = await _read(MemoryClient(event, *pods), STARTING, JOB)
    assert bool(found.pod_events) is holds


async def test_of_a_pod_that_no_node_takes_the_autoscaler_s_events_are_read_too() -> None:
    refused = _event("NotTriggerScaleUp", "max node group size reached", type="Normal")
    client = MemoryClient(_pod(), _event("FailedScheduling"), refused)
    found = await _read(client, STARTING)
    assert {one.reason for one in found.pod_events} == {"FailedScheduling", "NotTriggerScaleUp"}
    assert client.reads == [
        POD_EVENTS,
        ("list", "Event", "involvedObject.kind=Pod,reason=NotTriggerScaleUp"),
        ("list", "Pod", "kvtier.dev/pool=chat"),
    ]


async def test_the_number_of_events_is_bounded() -> None:
    events = [_event("Failed", str(number)) for number in range(500)]
    assert len((await _read(MemoryClient(_pod(), *events), STARTING)).pod_events) == 30


async def test_a_claim_is_kept_by_the_pods_on_nodes_that_use_it() -> None:
    uses = [
        {"name": "x", "persistentVolumeClaim": {"claimName": GOING["metadata"]["name"]}},
        {"name": "y"},
    ]
    pods = [
        _pod("b", spec={"nodeName": "n", "volumes": uses}),
        _pod("a", spec={"nodeName": "n", "volumes": uses}),
        _pod("nowhere", spec={"volumes": uses}),
        _pod("without", spec={"nodeName": "n"}),
    ]
    assert (await _read(MemoryClient(*pods), GOING)).holders == ("a", "b")


async def test_what_may_not_be_listed_is_no_event_and_no_error() -> None:
    client = MemoryClient()
    client.refuse = lambda request: ApiError(403, "Forbidden", "no")
    assert await _read(client, GOING, STARTING) == ChildEvents()


async def test_where_pods_may_not_be_listed_every_event_holds() -> None:
    client = MemoryClient(_event("FailedMount"))
    client.refuse = lambda request: ApiError(403, "Forbidden", "no") if request[1] == "Pod" else None
    assert len((await _read(client, STARTING)).pod_events) == 1


async def test_any_other_failure_is_not_taken_for_an_answer() -> None:
    client = MemoryClient()
    client.refuse = lambda request: ApiError(500, "InternalError", "no")
    with pytest.raises(ApiError):
        await _read(client, WAITING)


ABOUT = {"kind": "Pod", "name": "chat-1", "uid": "pod-uid"}
SAID = {"involvedObject": ABOUT, "reason": "FailedMount", "message": "no", "type": "Warning"}


def _said(first: str = "", last: str = "", count: int = 1) -> Event:
    return Event("Pod", "chat-1", "FailedMount", "no", "Warning", first, last, count)


@table(
    "event, found",
    {
        "client-go's shape": (
            {**SAID, "firstTimestamp": EARLY, "lastTimestamp": LATE, "count": 7},
            _said(EARLY, LATE, 7),
        ),
        "the scheduler's shape, with a series": (
            {
                **SAID,
                "eventTime": "2026-11-29T11:00:00.000001Z",
                "firstTimestamp": None,
                "lastTimestamp": None,
                "series": {"count": 4, "lastObservedTime": "2026-11-29T11:30:00.000002Z"},
            },
            _said("2026-11-29T11:00:00.000001Z", "2026-11-29T11:30:00.000002Z", 4),
        ),
        "an Event that happened once": ({**SAID, "eventTime": EARLY, "series": None}, _said(EARLY, EARLY)),
        "an Event without any time but that of its object": ({**SAID, "metadata": OLD}, _said(EARLY, EARLY)),
        "an Event that says nothing": (
            {"involvedObject": None, "metadata": None, "message": None, "count": None},
            Event("", "", "", ""),
        ),
        "several messages in one": ({**SAID, "message": "(combined from similar events): no"}, _said()),
    },
)
def test_an_event_is_read_in(event: dict[str, Any], found: Event) -> None:
    assert parsed(event) == found


def test_the_newest_comes_first_and_the_oldest_are_left_out_in_whatever_order_they_were_listed() -> None:
    times = {"b": LATE, "c": "", "a": EARLY, "d": "2026-11-29T11:30:00.5Z", "e": "yesterday"}
    events = [Event("Pod", "chat-1", "Failed", message, last=last) for message, last in times.items()]
    assert [one.message for one in newest_first(events, 3)] == ["d", "b", "a"]
    assert newest_first(events[::-1], 9) == newest_first(events, 9)


def test_a_message_that_came_in_several_events_is_one() -> None:
    assert newest_first([_said(EARLY, EARLY, 3), _said(LATE, LATE), _said()], 9) == (_said(EARLY, LATE, 5),)
