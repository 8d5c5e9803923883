"""What is written, what is left alone, and what is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtier.api import names
from kvtier.api.names import PoolKey
from kvtier.control.applier import Applier, satisfied
from kvtier.control.store import Store
from kvtier.kube.client import ApiError
from kvtier.plan.children import signed
from kvtier.plan.model import Plan, Ref
from kvtier.plan.offline import manifests
from unit.builders import deployment, live, manifest, merged, pool
from unit.memory import MemoryClient
from unit.tables import table

POOL = pool()
SERVICE, DEPLOYMENT = manifest(POOL, "Service"), manifest(POOL, "Deployment")
NAME = SERVICE["metadata"]["name"]
OLD_CLASS = Ref("StorageClass", "old", "u")


async def _carry_out(client: MemoryClient, plan: Plan, *known: Any, store: Store | None = None) -> Any:
    return await Applier(client, store or Store()).carry_out(plan, "team-a", _by_key(*known))


def _by_key(*known: Any) -> dict[tuple[str, str], Any]:
    return {(one["kind"], one["metadata"]["name"]): one for one in known if one}


def _refusing(kind: str, error: ApiError) -> MemoryClient:
    client = MemoryClient()
    client.refuse = lambda request: error if request[:2] in (("apply", kind), ("delete", kind)) else None
    return client


def _writes(client: MemoryClient) -> list[tuple[str, str]]:
    """Verb and kind."""
    return [write[:2] for write in client.writes]


async def test_what_is_there_already_is_not_written() -> None:
    client = MemoryClient(live(SERVICE))
    assert await _carry_out(client, Plan(applies=(SERVICE,)), live(SERVICE)) == []
    assert client.writes == []


@table(
    "known",
    {
        "what is missing is written": [],
        "what differs is written": [live(SERVICE, spec={"type": "NodePort"})],
        "what carries no longer wanted fields is written": [
            live(SERVICE, metadata={"annotations": {names.ANNOTATION_APPLIED: "older"}})
        ],
    },
)
async def test_write(known: list[Any]) -> None:
    client, store = MemoryClient(), Store()
    assert await _carry_out(client, Plan(applies=(SERVICE,)), *known, store=store) == []
    assert client.writes == [("apply", "Service", NAME)]
    children = store.objects(PoolKey("team-a", "chat"))
    assert ("Service", NAME) in children, "the answer is known before its event"


async def test_objects_are_written_in_the_order_of_the_plan_and_deleted_after_it() -> None:
    client = MemoryClient(live(DEPLOYMENT))
    await _carry_out(client, Plan(applies=(SERVICE, DEPLOYMENT), deletes=(OLD_CLASS,)))
    assert _writes(client) == [("apply", "Service"), ("apply", "Deployment"), ("delete", "StorageClass")]


async def test_a_field_that_is_handed_over_before_its_deployment_is_written_stays() -> None:
    client = MemoryClient()
    await _carry_out(client, Plan(applies=(DEPLOYMENT,)))
    wanted = signed(merged(DEPLOYMENT, {"spec": {"replicas": None}}))
    handover = {**DEPLOYMENT, "spec": {"replicas": 1}}
    await _carry_out(client, Plan(applies=(wanted,), handovers=(handover,)), client.find("Deployment"))
    assert _writes(client)[1:] == [(names.HANDOVER_MANAGER, "Deployment"), ("apply", "Deployment")]
    assert client.find("Deployment")["spec"]["replicas"] == 1


async def test_a_refused_write_keeps_no_other_write_back_but_every_deletion() -> None:
    client = _refusing("Service", ApiError(403, "Forbidden", "exceeded quota"))
    plan = Plan(applies=(SERVICE, DEPLOYMENT), deletes=(OLD_CLASS,))
    ((failure, error),) = await _carry_out(client, plan)
    assert (failure.kind, failure.name) == ("Service", NAME)
    assert (failure.reason, failure.message) == ("Forbidden", "exceeded quota")
    assert error.status == 403
    assert _writes(client) == [("apply", "Deployment")]


async def test_a_refused_deletion_is_answered_and_keeps_no_other_back() -> None:
    client = _refusing("StorageClass", ApiError(500, "InternalError", "no"))
    refused = await _carry_out(client, Plan(deletes=(OLD_CLASS, Ref("Service", "b"))))
    assert [failure.kind for failure, _ in refused] == ["StorageClass"]
    assert client.writes == [("delete", "Service", "b")]


@pytest.mark.parametrize("reason", ["", "not a word", "422", "Über-Fehler"])
async def test_a_reason_that_a_condition_cannot_have_is_replaced(reason: str) -> None:
    client = _refusing("Service", ApiError(422, reason, "no"))
    ((failure, _),) = await _carry_out(client, Plan(applies=(SERVICE,)))
    assert failure.reason == "ApplyFailed"


OURS = SERVICE["metadata"]["labels"]
OTHERS = OURS | {names.LABEL_POOL: "other"}
MANAGED = [{"manager": "kvtier", "operation": "Apply"}]
UPDATED = [{"manager": "kvtier", "operation": "Update"}]


@table(
    "metadata, taken",
    {
        "an object of somebody else is not taken over": ({"labels": {"app": "x"}}, False),
        "an object without labels is not": ({"labels": {}}, False),
        "another pool's object is not": ({"labels": OTHERS}, False),
        "a namesake's object of another namespace is not": (
            {"labels": OURS | {names.LABEL_POOL_NAMESPACE: "team-b"}},
            False,
        ),
        "an object with our labels is ours": ({"labels": OURS}, True),
        "our object whose labels somebody removed is still ours": (
            {"labels": {}, "managedFields": MANAGED},
            True,
        ),
        "our object whose labels somebody changed is still ours": (
            {"labels": OTHERS, "managedFields": MANAGED},
            True,
        ),
        "an object that another of our pools applied is not this one's": (
            {
                "labels": OTHERS,
                "annotations": {names.ANNOTATION_POOL: "team-a/other"},
                "managedFields": MANAGED,
            },
            False,
        ),
        "an object that others only updated is not ours": ({"labels": {}, "managedFields": UPDATED}, False),
    },
)
async def test_a_namesake(metadata: dict[str, Any], taken: bool) -> None:
    client = MemoryClient({**live(SERVICE), "metadata": {**SERVICE["metadata"], **metadata}})
    refused = await _carry_out(client, Plan(applies=(SERVICE,)))
    assert [failure.reason for failure, _ in refused] == ([] if taken else ["NotOwned"])
    assert bool(client.writes) is taken


async def test_the_refusal_of_a_namesake_has_a_command_that_hands_it_over() -> None:
    client = MemoryClient({**live(SERVICE), "metadata": {**SERVICE["metadata"], "labels": {}}})
    ((failure, _),) = await _carry_out(client, Plan(applies=(SERVICE,)))
    command = failure.message.partition("hand it over: ")[2].split()
    assert command[:6] == ["kubectl", "-n", "team-a", "label", "services", NAME]
    client.store({**live(SERVICE), "metadata": {**SERVICE["metadata"], "labels": _labels(command[6:])}})
    assert await _carry_out(client, Plan(applies=(SERVICE,))) == []


def _labels(arguments: list[str]) -> dict[str, str]:
    return dict(argument.split("=") for argument in arguments)


async def test_a_volume_is_amended_without_asking_whose_it_is() -> None:
    volume = {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "spec": {"x": "Delete"}}
    client, store = MemoryClient(volume), Store()
    assert await _carry_out(client, Plan(applies=(volume,)), store=store) == []
    assert client.writes == [("apply", "PersistentVolume", "pv-1")]
    assert store.all_keys() == set()


def _asking(cpu: str) -> Any:
    """A Deployment whose container asks for this much CPU; the API server keeps 1000m as 1."""
    asked = {"name": "engine", "resources": {"requests": {"cpu": cpu}}}
    return signed({**DEPLOYMENT, "spec": {"template": {"spec": {"containers": [asked]}}}})


class Repeating:
    """Applies one manifest again and again, as one look after another does."""

    def __init__(self) -> None:
        self.client = MemoryClient()
        self._applier = Applier(self.client, Store())

    async def writes_after(self, cpu: str, **seen: Any) -> int:
        """How many writes there have been in all, after one more look that has seen these changes."""
        known = self.client.find("Deployment")
        live_now = _by_key(merged(known, seen) if known else None)
        assert await self._applier.carry_out(Plan(applies=(_asking(cpu),)), "team-a", live_now) == []
        return len(self.client.writes)


@table(
    "cpu, seen, writes",
    {
        "it is left alone": ("1000m", {}, 2),
        "and applied again after an edit by others": ("1000m", {"metadata": {"resourceVersion": "999"}}, 3),
        "and applied to another object of that name": ("1000m", {"metadata": {"uid": "other"}}, 3),
        "and applied when the plan asks for something else": ("2", {}, 3),
    },
)
async def test_what_is_kept_in_other_words_is_applied_twice_and_then(
    cpu: str, seen: dict[str, Any], writes: int
) -> None:
    repeating = Repeating()
    assert [await repeating.writes_after("1000m") for _ in range(3)] == [1, 2, 2]
    assert await repeating.writes_after(cpu, **seen) == writes


A, B = {"name": "a", "value": "1"}, {"name": "b", "value": "2"}
SIDECAR = {"name": "sidecar", "image": "x"}


@table(
    "found, wanted, verdict",
    {
        "equal values are satisfied": ({"a": 1}, {"a": 1}, True),
        "another value is not": ({"a": 2}, {"a": 1}, False),
        "a missing field is not": ({}, {"a": 1}, False),
        "a missing object is not": ({"a": 1}, {"b": {}}, False),
        "a nested field that others added is theirs": ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, True),
        "a nested difference is seen": ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 2}}}, False),
        "an empty object is satisfied by any object": ({"a": {"b": 1}}, {"a": {}}, True),
        "an object is not satisfied by a value": ({"a": "x"}, {"a": {}}, False),
        "a list is not satisfied by a value": ({"a": "x"}, {"a": ["x"]}, False),
        "text is not a number": ({"a": "1"}, {"a": 1}, False),
        "the order of fields does not count": ({"b": 1, "a": 2}, {"a": 2, "b": 1}, True),
        "an item that others added to a keyed list is theirs": ({"l": [SIDECAR, A]}, {"l": [A]}, True),
        "the order of a keyed list does not count": ({"l": [B, A]}, {"l": [A, B]}, True),
        "a missing item of a keyed list is seen": ({"l": [A]}, {"l": [A, B]}, False),
        "a changed item of a keyed list is seen": ({"l": [A, B | {"value": "3"}]}, {"l": [A, B]}, False),
        "a field that others added to an item is theirs": ({"l": [A | {"x": 1}]}, {"l": [A]}, True),
        "a keyed list is not satisfied by values": ({"l": ["a"]}, {"l": [A]}, False),
        "mounts of one volume are told apart by their paths": (
            {"l": [{"mountPath": "/a"}, {"mountPath": "/b"}]},
            {"l": [{"mountPath": "/b"}]},
            True,
        ),
        "a second item of one name, which others added, is theirs": (
            {"l": [A, A | {"value": "9"}]},
            {"l": [A]},
            True,
        ),
        "the order of a list of values counts": ({"l": ["b", "a"]}, {"l": ["a", "b"]}, False),
        "the length of a list of values counts": ({"l": ["a", "b"]}, {"l": ["a"]}, False),
        "an empty list is satisfied by an empty list only": ({"l": [A]}, {"l": []}, False),
        "a list of objects without a key is compared in order": (
            {"l": [{"x": 1, "y": 0}, {"x": 2}]},
            {"l": [{"x": 1}, {"x": 2}]},
            True,
        ),
        "and not out of order": ({"l": [{"x": 2}, {"x": 1}]}, {"l": [{"x": 1}, {"x": 2}]}, False),
    },
)
def test_satisfied(found: Any, wanted: Any, verdict: bool) -> None:
    assert satisfied(found, wanted) is verdict


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), VALUES), st.text(), VALUES)
def test_everything_satisfies_itself_and_fields_of_others_never_matter(
    wanted: dict[str, Any], key: str, value: Any
) -> None:
    assert satisfied(wanted, wanted)
    assert satisfied({key: value} | wanted, wanted)


@pytest.mark.parametrize("kind", ["PersistentVolumeClaim", "Deployment", "Service"])
def test_what_the_api_server_adds_to_our_objects_is_no_difference(kind: str) -> None:
    added = {"status": {"phase": "Bound"}, "spec": {"clusterIP": "10.0.0.1", "volumeName": "pv-1"}}
    (wanted,) = [
        one for one in manifests(pool(tiers={"localSSD": {"capacity": "1Ti"}})) if one["kind"] == kind
    ]
    assert satisfied(live(wanted, **added), wanted)


@table(
    "change",
    {
        "a field that is no longer wanted": {"nodePool": {"spot": True}},
        "another value": {"nodePool": {"accelerator": {"count": 16}}},
        "a removed branch": {"tiers": {"lustre": None}},
    },
)
def test_what_changed_in_the_pool_is_seen(change: dict[str, Any]) -> None:
    before, after = manifest(POOL, "ComputeClass"), manifest(pool(**change), "ComputeClass")
    assert not satisfied(live(before), after)


def test_an_edit_by_hand_is_seen() -> None:
    edited = deployment(POOL, spec={"template": {"spec": {"enableServiceLinks": True}}})
    assert not satisfied(edited, DEPLOYMENT)
    relabelled = live(merged(SERVICE, {"metadata": {"labels": {"kvtier.dev/pool": "other"}}}))
    assert not satisfied(relabelled, SERVICE)
