"""What is written, what is left alone, and what is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtier.api import conditions, names
from kvtier.api.names import PoolKey
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import PoolStatus
from kvtier.control.applier import Applier, satisfied
from kvtier.control.store import Store
from kvtier.kube.client import ApiError
from kvtier.plan.children import signed
from kvtier.plan.model import Plan, Ref
from kvtier.plan.offline import manifests
from kvtier.plan.status import with_failures
from unit.builders import NOW, deployment, live, manifest, merged, pool
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


async def test_an_object_that_is_as_planned_is_not_written() -> None:
    client = MemoryClient(live(SERVICE))
    assert await _carry_out(client, Plan(applies=(SERVICE,)), live(SERVICE)) == []
    assert client.writes == []


@table(
    "known",
    {
        "a missing object is written": [],
        "an object that differs is written": [live(SERVICE, spec={"type": "NodePort"})],
        "an object with a field that is no longer wanted is written": [
            live(SERVICE, metadata={"annotations": {names.ANNOTATION_APPLIED: "older"}})
        ],
    },
)
async def test_write(known: list[Any]) -> None:
    client, store = MemoryClient(), Store()
    assert await _carry_out(client, Plan(applies=(SERVICE,)), *known, store=store) == []
    assert client.writes == [("apply", "Service", NAME)]
    children = store.objects(PoolKey("team-a", "chat"))
    assert ("Service", NAME) in children, "the answer is stored before its event"


async def test_objects_are_written_in_the_order_of_the_plan_and_deleted_after_it() -> None:
    client = MemoryClient(live(DEPLOYMENT))
    await _carry_out(client, Plan(applies=(SERVICE, DEPLOYMENT), deletes=(OLD_CLASS,)))
    assert _writes(client) == [("apply", "Service"), ("apply", "Deployment"), ("delete", "StorageClass")]


async def test_a_field_that_was_handed_over_before_the_write_stays() -> None:
    client = MemoryClient()
    await _carry_out(client, Plan(applies=(DEPLOYMENT,)))
    wanted = signed(merged(DEPLOYMENT, {"spec": {"replicas": None}}))
    handover = {**DEPLOYMENT, "spec": {"replicas": 1}}
    await _carry_out(client, Plan(applies=(wanted,), handovers=(handover,)), client.find("Deployment"))
    assert _writes(client)[1:] == [(names.HANDOVER_MANAGER, "Deployment"), ("apply", "Deployment")]
    assert client.find("Deployment")["spec"]["replicas"] == 1


async def test_a_refused_write_stops_all_deletions_but_no_other_write() -> None:
    client = _refusing("Service", ApiError(403, "Forbidden", "exceeded quota"))
    plan = Plan(applies=(SERVICE, DEPLOYMENT), deletes=(OLD_CLASS,))
    ((failure, error),) = await _carry_out(client, plan)
    assert (failure.kind, failure.name) == ("Service", NAME)
    assert (failure.reason, failure.message) == ("Forbidden", "exceeded quota")
    assert error.status == 403
    assert _writes(client) == [("apply", "Deployment")]


async def test_a_refused_deletion_is_returned_and_stops_no_other() -> None:
    client = _refusing("StorageClass", ApiError(500, "InternalError", "no"))
    refused = await _carry_out(client, Plan(deletes=(OLD_CLASS, Ref("Service", "b"))))
    assert [failure.kind for failure, _ in refused] == ["StorageClass"]
    assert client.writes == [("delete", "Service", "b")]


@pytest.mark.parametrize("reason", ["", "not a word", "422", "Über-Fehler"])
async def test_a_reason_that_is_not_valid_in_a_condition_is_replaced(reason: str) -> None:
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
        "an object of another owner is not taken over": ({"labels": {"app": "x"}}, False),
        "an object without labels is not taken over": ({"labels": {}}, False),
        "an object of another pool is not taken over": ({"labels": OTHERS}, False),
        "an object of a pool with this name in another namespace is not taken over": (
            {"labels": OURS | {names.LABEL_POOL_NAMESPACE: "team-b"}},
            False,
        ),
        "an object with the labels of the pool is taken over": ({"labels": OURS}, True),
        "an object that kvtier applied is taken over after its labels were removed": (
            {"labels": {}, "managedFields": MANAGED},
            True,
        ),
        "an object that kvtier applied is taken over after its labels were changed": (
            {"labels": OTHERS, "managedFields": MANAGED},
            True,
        ),
        "an object that kvtier applied for another pool is not taken over": (
            {
                "labels": OTHERS,
                "annotations": {names.ANNOTATION_POOL: "team-a/other"},
                "managedFields": MANAGED,
            },
            False,
        ),
        "an object that was updated but not applied is not taken over": (
            {"labels": {}, "managedFields": UPDATED},
            False,
        ),
    },
)
async def test_existing_object(metadata: dict[str, Any], taken: bool) -> None:
    client = MemoryClient({**live(SERVICE), "metadata": {**SERVICE["metadata"], **metadata}})
    refused = await _carry_out(client, Plan(applies=(SERVICE,)))
    assert [failure.reason for failure, _ in refused] == ([] if taken else ["NotOwned"])
    assert bool(client.writes) is taken


async def test_the_refusal_of_an_existing_object_has_a_command_that_hands_it_over() -> None:
    client = MemoryClient({**live(SERVICE), "metadata": {**SERVICE["metadata"], "labels": {}}})
    ((failure, _),) = await _carry_out(client, Plan(applies=(SERVICE,)))
    before = PoolStatus(conditions=[conditions.true(conditions.READY, Reason.ALL_READY)])
    (ready,) = with_failures(before, [failure], before, NOW).conditions
    assert (ready.status, ready.reason) == ("False", "NotOwned")
    assert failure.message in ready.message
    command = failure.message.partition("manage it: ")[2].split()
    assert command[:7] == ["kubectl", "-n", "team-a", "label", "--overwrite", "services", NAME]
    client.store({**live(SERVICE), "metadata": {**SERVICE["metadata"], "labels": _labels(command[7:])}})
    assert await _carry_out(client, Plan(applies=(SERVICE,))) == []


def _labels(arguments: list[str]) -> dict[str, str]:
    return dict(argument.split("=") for argument in arguments)


async def test_a_persistent_volume_is_changed_without_a_check_of_its_owner() -> None:
    volume = {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "spec": {"x": "Delete"}}
    client, store = MemoryClient(volume), Store()
    assert await _carry_out(client, Plan(applies=(volume,)), store=store) == []
    assert client.writes == [("apply", "PersistentVolume", "pv-1")]
    assert store.all_keys() == set()


def _asking(cpu: str) -> Any:
    """A Deployment whose container requests this much CPU. The API server stores 1000m as 1."""
    asked = {"name": "engine", "resources": {"requests": {"cpu": cpu}}}
    return signed({**DEPLOYMENT, "spec": {"template": {"spec": {"containers": [asked]}}}})


class Repeating:
    """Applies one manifest repeatedly, as repeated reconciliations do."""

    def __init__(self) -> None:
        self.client = MemoryClient()
        self._applier = Applier(self.client, Store())

    async def writes_after(self, cpu: str, **seen: Any) -> int:
        """The number of all writes after one more reconciliation that saw these changes."""
        known = self.client.find("Deployment")
        live_now = _by_key(merged(known, seen) if known else None)
        assert await self._applier.carry_out(Plan(applies=(_asking(cpu),)), "team-a", live_now) == []
        return len(self.client.writes)


@table(
    "cpu, seen, writes",
    {
        "not again": ("1000m", {}, 2),
        "again after an edit by others": ("1000m", {"metadata": {"resourceVersion": "999"}}, 3),
        "again if another object has the name": ("1000m", {"metadata": {"uid": "other"}}, 3),
        "again if the plan changes": ("2", {}, 3),
    },
)
async def test_a_value_that_the_api_server_stores_in_another_form_is_applied_twice_and_then(
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
        "equal values satisfy": ({"a": 1}, {"a": 1}, True),
        "another value does not satisfy": ({"a": 2}, {"a": 1}, False),
        "a missing field does not satisfy": ({}, {"a": 1}, False),
        "a missing object does not satisfy": ({"a": 1}, {"b": {}}, False),
        "a nested field that others added is ignored": ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, True),
        "a nested difference is found": ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 2}}}, False),
        "any object satisfies an empty object": ({"a": {"b": 1}}, {"a": {}}, True),
        "a value does not satisfy an object": ({"a": "x"}, {"a": {}}, False),
        "a value does not satisfy a list": ({"a": "x"}, {"a": ["x"]}, False),
        "text does not satisfy a number": ({"a": "1"}, {"a": 1}, False),
        "the order of fields does not count": ({"b": 1, "a": 2}, {"a": 2, "b": 1}, True),
        "an item that others added to a keyed list is ignored": ({"l": [SIDECAR, A]}, {"l": [A]}, True),
        "the order of a keyed list does not count": ({"l": [B, A]}, {"l": [A, B]}, True),
        "a missing item of a keyed list is found": ({"l": [A]}, {"l": [A, B]}, False),
        "a changed item of a keyed list is found": ({"l": [A, B | {"value": "3"}]}, {"l": [A, B]}, False),
        "a field that others added to an item is ignored": ({"l": [A | {"x": 1}]}, {"l": [A]}, True),
        "values do not satisfy a keyed list": ({"l": ["a"]}, {"l": [A]}, False),
        "mounts of one volume are distinguished by their paths": (
            {"l": [{"mountPath": "/a"}, {"mountPath": "/b"}]},
            {"l": [{"mountPath": "/b"}]},
            True,
        ),
        "a second item with the same name, which others added, is ignored": (
            {"l": [A, A | {"value": "9"}]},
            {"l": [A]},
            True,
        ),
        "the order of a list of values counts": ({"l": ["b", "a"]}, {"l": ["a", "b"]}, False),
        "the length of a list of values counts": ({"l": ["a", "b"]}, {"l": ["a"]}, False),
        "only an empty list satisfies an empty list": ({"l": [A]}, {"l": []}, False),
        "a list of objects without a key is compared in order": (
            {"l": [{"x": 1, "y": 0}, {"x": 2}]},
            {"l": [{"x": 1}, {"x": 2}]},
            True,
        ),
        "a list of objects without a key in another order does not satisfy": (
            {"l": [{"x": 2}, {"x": 1}]},
            {"l": [{"x": 1}, {"x": 2}]},
            False,
        ),
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
def test_a_value_satisfies_itself_and_fields_of_others_are_ignored(
    wanted: dict[str, Any], key: str, value: Any
) -> None:
    assert satisfied(wanted, wanted)
    assert satisfied({key: value} | wanted, wanted)


@pytest.mark.timeout(10)
def test_a_list_of_many_items_is_compared_in_no_time() -> None:
    wanted = [{"name": f"V{number}", "value": "x"} for number in range(30_000)]
    assert satisfied([*reversed(wanted), {"name": "more"}], wanted)
    assert not satisfied(wanted[:-1], wanted)


@pytest.mark.parametrize("kind", ["PersistentVolumeClaim", "Deployment", "Service"])
def test_fields_that_the_api_server_adds_are_not_a_difference(kind: str) -> None:
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
def test_a_change_of_the_pool_is_found(change: dict[str, Any]) -> None:
    before, after = manifest(POOL, "ComputeClass"), manifest(pool(**change), "ComputeClass")
    assert not satisfied(live(before), after)


def test_a_manual_edit_is_found() -> None:
    edited = deployment(POOL, spec={"template": {"spec": {"enableServiceLinks": True}}})
    assert not satisfied(edited, DEPLOYMENT)
    relabelled = live(merged(SERVICE, {"metadata": {"labels": {"kvtier.dev/pool": "other"}}}))
    assert not satisfied(relabelled, SERVICE)
