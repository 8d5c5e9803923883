"""What is written, what is left alone, and what is refused."""

from typing import Any

import pytest

from kvtier.api import names
from kvtier.api.kinds import Object, Resource
from kvtier.api.names import FIELD_MANAGER, PoolKey
from kvtier.control.applier import Applier
from kvtier.control.store import Store
from kvtier.kube.client import ApiError
from kvtier.plan.children import signed
from kvtier.plan.model import Plan, Ref
from unit.builders import live, manifest, merged, pool
from unit.memory import MemoryClient, Write
from unit.tables import table

POOL = pool()
SERVICE, DEPLOYMENT = manifest(POOL, "Service"), manifest(POOL, "Deployment")
NAME = SERVICE["metadata"]["name"]
VOLUME = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "pv-1"},
    "spec": {"x": "Delete"},
}


async def _carry_out(client: MemoryClient, plan: Plan, *known: Any, store: Store | None = None) -> Any:
    children = {(one["kind"], one["metadata"]["name"]): one for one in known}
    return await Applier(client, store or Store()).carry_out(plan, "team-a", children)


def _refusing(kind: str, error: ApiError) -> Any:
    def refuse(write: Write) -> ApiError | None:
        return error if write[1] == kind else None

    return refuse


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
    assert ("Service", NAME) in store.objects(PoolKey("team-a", "chat")), (
        "the answer is known before its event"
    )


async def test_objects_are_written_in_the_order_of_the_plan_and_deleted_after_it() -> None:
    client = MemoryClient(live(DEPLOYMENT))
    plan = Plan(applies=(SERVICE, DEPLOYMENT), deletes=(Ref("StorageClass", "old", "u"),))
    await _carry_out(client, plan)
    assert [write[:2] for write in client.writes] == [
        ("apply", "Service"),
        ("apply", "Deployment"),
        ("delete", "StorageClass"),
    ]


async def test_a_refused_write_keeps_no_other_write_back_but_every_deletion() -> None:
    client = MemoryClient()
    client.refuse = _refusing("Service", ApiError(403, "Forbidden", "exceeded quota"))
    plan = Plan(applies=(SERVICE, DEPLOYMENT), deletes=(Ref("StorageClass", "old", "u"),))
    ((failure, error),) = await _carry_out(client, plan)
    assert (failure.kind, failure.name, failure.reason, failure.message) == (
        "Service",
        NAME,
        "Forbidden",
        "exceeded quota",
    )
    assert error.status == 403
    assert [write[:2] for write in client.writes] == [("apply", "Deployment")]


async def test_a_refused_deletion_is_answered_and_keeps_no_other_back() -> None:
    client = MemoryClient()
    client.refuse = _refusing("StorageClass", ApiError(500, "InternalError", "no"))
    refused = await _carry_out(client, Plan(deletes=(Ref("StorageClass", "a"), Ref("Service", "b"))))
    assert [failure.kind for failure, _ in refused] == ["StorageClass"]
    assert client.writes == [("delete", "Service", "b")]


@pytest.mark.parametrize("reason", ["", "not a word", "422", "Über-Fehler"])
async def test_a_reason_that_a_condition_cannot_have_is_replaced(reason: str) -> None:
    client = MemoryClient()
    client.refuse = _refusing("Service", ApiError(422, reason, "no"))
    ((failure, _),) = await _carry_out(client, Plan(applies=(SERVICE,)))
    assert failure.reason == "ApplyFailed"


MANAGED = [{"manager": "kvtier", "operation": "Apply"}]
OURS = SERVICE["metadata"]["labels"]


@table(
    "metadata, taken",
    {
        "an object of somebody else is not taken over": ({"labels": {"app": "x"}}, False),
        "an object without labels is not": ({"labels": {}}, False),
        "another pool's object is not": ({"labels": OURS | {names.LABEL_POOL: "other"}}, False),
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
            {"labels": OURS | {names.LABEL_POOL: "other"}, "managedFields": MANAGED},
            True,
        ),
        "an object that another of our pools applied is not this one's": (
            {
                "labels": OURS | {names.LABEL_POOL: "other"},
                "annotations": {names.ANNOTATION_POOL: "team-a/other"},
                "managedFields": MANAGED,
            },
            False,
        ),
        "an object that others only updated is not ours": (
            {"labels": {}, "managedFields": [{"manager": "kvtier", "operation": "Update"}]},
            False,
        ),
    },
)
async def test_a_namesake(metadata: dict[str, Any], taken: bool) -> None:
    stranger = {
        **live(SERVICE),
        "metadata": {**SERVICE["metadata"], "uid": "u", "resourceVersion": "1", **metadata},
    }
    client = MemoryClient(stranger)
    refused = await _carry_out(client, Plan(applies=(SERVICE,)))
    assert [failure.reason for failure, _ in refused] == ([] if taken else ["NotOwned"])
    assert bool(client.writes) is taken


async def test_a_volume_is_written_without_asking_whose_it_is() -> None:
    client, store = MemoryClient(merged(VOLUME, {"metadata": {"uid": "u"}})), Store()
    assert await _carry_out(client, Plan(applies=(VOLUME,)), store=store) == []
    assert client.writes == [("apply", "PersistentVolume", "pv-1")]
    assert store.all_keys() == set()


class Respelling(MemoryClient):
    """An API server that keeps 1000m as 1, and to which what says the same is no change."""

    async def apply(self, resource: Resource, manifest: Object, manager: str = FIELD_MANAGER) -> Any:
        kept = {**manifest, "spec": {"cpu": "1" if manifest["spec"]["cpu"] == "1000m" else "x"}}
        known = self.find(manifest["kind"])
        written = await super().apply(resource, kept, manager)
        if known is not None and (known["spec"], _annotations(known)) == (kept["spec"], _annotations(kept)):
            self.store(known)
            return known
        return written


def _annotations(obj: Any) -> Any:
    return obj["metadata"]["annotations"]


def _asking(cpu: str) -> Any:
    return signed({**DEPLOYMENT, "spec": {"cpu": cpu}})


async def test_what_is_kept_in_other_words_is_applied_once_more_and_then_left_alone() -> None:
    client = Respelling()
    applier, plan = Applier(client, Store()), Plan(applies=(_asking("1000m"),))
    for writes in (1, 2, 2, 2):
        assert await applier.carry_out(plan, "team-a", _children(client.find("Deployment"))) == []
        assert len(client.writes) == writes


@table(
    "change",
    {
        "an edit by others": {"metadata": {"resourceVersion": "999"}},
        "another object of that name": {"metadata": {"uid": "other"}},
    },
)
async def test_it_is_applied_again_after(change: dict[str, Any]) -> None:
    client = Respelling()
    applier, plan = Applier(client, Store()), Plan(applies=(_asking("1000m"),))
    for _ in range(3):
        await applier.carry_out(plan, "team-a", _children(client.find("Deployment")))
    assert len(client.writes) == 2
    await applier.carry_out(plan, "team-a", _children(merged(client.find("Deployment"), change)))
    assert len(client.writes) == 3


async def test_another_wish_is_applied() -> None:
    client = Respelling()
    applier = Applier(client, Store())
    for _ in range(3):
        await applier.carry_out(
            Plan(applies=(_asking("1000m"),)), "team-a", _children(client.find("Deployment"))
        )
    await applier.carry_out(Plan(applies=(_asking("2"),)), "team-a", _children(client.find("Deployment")))
    assert len(client.writes) == 3


def _children(*known: Any) -> dict[tuple[str, str], Any]:
    return {(one["kind"], one["metadata"]["name"]): one for one in known if one}
