"""Which Events are read, when, and which still apply."""

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
    """A Warning about a Pod, with `changes`."""
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
        "nothing without children": ([], []),
        "nothing while all children are ready": ([claim(POOL), deployment(POOL, metadata=OLD)], []),
        "nothing for a new PVC": ([claim(POOL, "Pending", metadata=NEW)], []),
        "Events of a PVC that waits": ([WAITING], [CLAIM_EVENTS]),
        "Events of a PVC that is being resized": ([claim(POOL, spec=requesting("27000Gi"))], [CLAIM_EVENTS]),
        "Events of a PVC of unknown age": ([claim(POOL, "Pending")], [CLAIM_EVENTS]),
        "nothing for new Pods": ([deployment(POOL, 0, metadata=NEW)], []),
        "nothing for engines that are scaled to zero": (
            [deployment(POOL, 0, metadata=OLD, spec={"replicas": 0})],
            [],
        ),
        "Events of Pods while engines are not ready": ([STARTING], [POD_EVENTS]),
        "Events of Pods while a Job runs": ([JOB], [POD_EVENTS]),
        "nothing for a finished Job": (
            [merged(JOB, {"status": {"conditions": [{"type": "Failed", "status": "True"}]}})],
            [],
        ),
        "the Pods that still use a deleted PVC": (
            [claim(POOL, metadata={"deletionTimestamp": NOW})],
            [ALL_PODS],
        ),
    },
)
async def test_it_reads(children: list[Any], asked: list[Request]) -> None:
    client = MemoryClient()
    assert await _read(client, *children) == ChildEvents()
    assert client.reads == asked


async def test_only_events_of_the_pvc_are_read_for_a_deleted_pool() -> None:
    client = MemoryClient()
    await _read(client, WAITING, STARTING, of=deleted())
    assert client.reads == [CLAIM_EVENTS]


async def test_events_of_other_objects_are_not_read_for_the_pvc() -> None:
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
        "a failing mount": (_event("FailedMount"), [_pod()], True),
        "a mount that failed before the Pod started": (
            _event("FailedMount"),
            [_pod(status={"phase": "Running"})],
            False,
        ),
        "an unscheduled Pod": (_event("FailedScheduling"), [_pod()], True),
        "a Pod that has been scheduled since": (
            _event("FailedScheduling"),
            [_pod(spec={"nodeName": "a"})],
            False,
        ),
        "a node that could not be created": (_event("FailedScaleUp"), [_pod()], True),
        "a deleted Pod": (_event("FailedMount"), [], False),
        "another reason while the Pod is not ready": (_event("Failed"), [_pod(spec={"nodeName": "a"})], True),
        "another reason after the Pod became ready": (
            _event("Failed"),
            [_pod(status={"conditions": [{"type": "Ready", "status": "True"}]})],
            False,
        ),
        "a foreign Pod": (_event("FailedMount", name="database-0"), [_pod("database-0")], False),
        "a foreign Pod with a similar name": (_event("FailedMount", name=f"{ENGINE}0-a"), [], False),
        "a Pod of a Job whose Pods do not have the label": (
            _event("FailedMount", name="chat-writable-1234-x"),
            [],
            True,
        ),
        "an Event about another kind": (
            _event("FailedMount", involvedObject={"kind": "Node"}),
            [_pod()],
            False,
        ),
    },
)
async def test_an_event_applies_to(event: Any, pods: list[Any], holds: bool) -> None:
    found = await _read(MemoryClient(event, *pods), STARTING, JOB)
    assert bool(found.pod_events) is holds


async def test_events_of_the_autoscaler_are_read_for_an_unscheduled_pod() -> None:
    refused = _event("NotTriggerScaleUp", "max node group size reached", type="Normal")
    client = MemoryClient(_pod(), _event("FailedScheduling"), refused)
    found = await _read(client, STARTING)
    assert {one.reason for one in found.pod_events} == {"FailedScheduling", "NotTriggerScaleUp"}
    assert client.reads == [
        POD_EVENTS,
        ("list", "Event", "involvedObject.kind=Pod,reason=NotTriggerScaleUp"),
        ("list", "Pod", "kvtier.dev/pool=chat"),
    ]


async def test_the_number_of_events_is_limited() -> None:
    events = [_event("Failed", str(number)) for number in range(500)]
    assert len((await _read(MemoryClient(_pod(), *events), STARTING)).pod_events) == 30


async def test_a_deleted_pvc_is_still_used_by_pods_with_a_node() -> None:
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


async def test_a_missing_permission_to_list_events_is_not_an_error() -> None:
    client = MemoryClient()
    client.refuse = lambda request: ApiError(403, "Forbidden", "no")
    assert await _read(client, GOING, STARTING) == ChildEvents()


async def test_every_event_applies_without_permission_to_list_pods() -> None:
    client = MemoryClient(_event("FailedMount"))
    client.refuse = lambda request: ApiError(403, "Forbidden", "no") if request[1] == "Pod" else None
    assert len((await _read(client, STARTING)).pod_events) == 1


async def test_any_other_failure_is_raised() -> None:
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
        "the form of client-go": (
            {**SAID, "firstTimestamp": EARLY, "lastTimestamp": LATE, "count": 7},
            _said(EARLY, LATE, 7),
        ),
        "the form of the scheduler, with a series": (
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
        "an empty Event": (
            {"involvedObject": None, "metadata": None, "message": None, "count": None},
            Event("", "", "", ""),
        ),
        "several messages in one Event": ({**SAID, "message": "(combined from similar events): no"}, _said()),
    },
)
def test_an_event_is_parsed(event: dict[str, Any], found: Event) -> None:
    assert parsed(event) == found


def test_the_newest_events_come_first_and_the_oldest_are_left_out_in_any_order_of_the_list() -> None:
    times = {"b": LATE, "c": "", "a": EARLY, "d": "2026-11-29T11:30:00.5Z", "e": "yesterday"}
    events = [Event("Pod", "chat-1", "Failed", message, last=last) for message, last in times.items()]
    assert [one.message for one in newest_first(events, 3)] == ["d", "b", "a"]
    assert newest_first(events[::-1], 9) == newest_first(events, 9)


def test_equal_messages_are_merged() -> None:
    assert newest_first([_said(EARLY, EARLY, 3), _said(LATE, LATE), _said()], 9) == (_said(EARLY, LATE, 5),)
