"""What the store believes, and whom it tells."""

from typing import Any

import pytest

from kvtier.api.names import LUSTRE_DRIVER
from kvtier.control.store import Key, Store
from unit.builders import document, live, manifest, merged, pool
from unit.tables import table

KEY = Key("team-a", "chat")
POOL: dict[str, Any] = document(metadata={"resourceVersion": "10"})
SERVICE = live(manifest(pool(), "Service"))
CLASS = live(manifest(pool(), "StorageClass"))
CLAIM = live(manifest(pool(), "PersistentVolumeClaim"))
NODE = {"metadata": {"name": "gpu-1", "uid": "n", "resourceVersion": "1"}}


def _store(*children: Any) -> Store:
    store = Store()
    store.put("KVCachePool", POOL)
    for child in children:
        store.put(child["kind"], child)
    return store


def _at(obj: Any, version: str, **metadata: Any) -> Any:
    return merged(obj, {"metadata": {"resourceVersion": version, **metadata}})


def _version(store: Store, obj: Any = SERVICE) -> str | None:
    found = store.children(KEY).get((obj["kind"], obj["metadata"]["name"]))
    return found["metadata"]["resourceVersion"] if found else None


@table(
    "obj, told, version",
    {
        "a newer object replaces the known one": (_at(SERVICE, "11"), {KEY}, "11"),
        "an older one is ignored": (_at(SERVICE, "9"), set(), "10"),
        "the same one tells nobody": (_at(SERVICE, "10"), set(), "10"),
        "versions are numbers, not text": (_at(SERVICE, "100"), {KEY}, "100"),
        "versions of fewer digits are older": (_at(SERVICE, "9", note="x"), set(), "10"),
        "another object of the name wins, however its version": (_at(SERVICE, "2", uid="new"), {KEY}, "2"),
    },
)
def test_a_child_is_replaced_only_by_what_is_newer(obj: Any, told: set[Key], version: str) -> None:
    store = _store(SERVICE)
    assert store.put("Service", obj) == told
    assert _version(store) == version


@table(
    "obj, told, version",
    {
        "a newer pool replaces the known one": (_at(POOL, "11"), {KEY}, "11"),
        "an older one is ignored": (_at(POOL, "9"), set(), "10"),
        "a pool that was made anew wins": (_at(POOL, "2", uid="new"), {KEY}, "2"),
    },
)
def test_a_pool_is_replaced_only_by_what_is_newer(obj: Any, told: set[Key], version: str) -> None:
    store = _store()
    assert store.put("KVCachePool", obj) == told
    known = store.pool(KEY)
    assert known is not None
    assert known["metadata"]["resourceVersion"] == version


@pytest.mark.parametrize("obj", [SERVICE, POOL])
def test_a_deletion_of_a_former_namesake_is_ignored(obj: Any) -> None:
    store = _store(SERVICE)
    assert store.remove(obj["kind"], _at(obj, "99", uid="former")) == set()
    assert store.pool(KEY) is not None
    assert _version(store) == "10"


def test_a_deletion_is_told_once() -> None:
    store = _store(SERVICE)
    assert store.remove("Service", SERVICE) == {KEY}
    assert _version(store) is None
    assert store.remove("Service", SERVICE) == set()
    assert store.remove("KVCachePool", POOL) == {KEY}
    assert store.remove("KVCachePool", POOL) == set()


def test_a_list_finds_what_was_deleted_unseen() -> None:
    store = _store(SERVICE, CLAIM)
    assert store.replace("Service", []) == {KEY}
    assert _version(store) is None
    assert _version(store, CLAIM) == "10"


def test_a_list_that_holds_what_is_known_tells_nobody() -> None:
    assert _store(SERVICE).replace("Service", [SERVICE]) == set()


def test_a_list_finds_a_child_that_was_made_anew_unseen() -> None:
    store = _store(SERVICE)
    assert store.replace("Service", [_at(SERVICE, "3", uid="new")]) == {KEY}
    assert _version(store) == "3"


GIVEN: dict[str, Any] = {
    "labels": {"kvtier.dev/pool": "other"},
    "annotations": {"kvtier.dev/pool": "team-a/other"},
}


def test_a_list_finds_a_child_that_was_given_to_another_pool_unseen() -> None:
    store = _store(SERVICE)
    assert store.replace("Service", [_at(SERVICE, "11", **GIVEN)]) == {KEY, Key("team-a", "other")}
    assert _version(store) is None


def test_a_child_that_was_given_to_another_pool_leaves_the_one_that_had_it() -> None:
    store = _store(SERVICE)
    assert store.put("Service", _at(SERVICE, "11", **GIVEN)) == {KEY, Key("team-a", "other")}
    assert _version(store) is None
    assert store.remove("Service", _at(SERVICE, "12")) == {Key("team-a", "other")}


def test_a_child_whose_labels_contradict_its_annotation_is_nobody_s_until_that_is_healed() -> None:
    store = _store(CLAIM)
    edited = _at(CLAIM, "11", labels={"kvtier.dev/pool": "other"})
    assert store.put("PersistentVolumeClaim", edited) == {KEY}
    assert store.children(KEY) == store.children(Key("team-a", "other")) == {}
    assert store.put("PersistentVolumeClaim", _at(CLAIM, "12")) == {KEY}
    assert _version(store, CLAIM) == "12"


@pytest.mark.parametrize("obj", [SERVICE, POOL])
def test_what_came_during_a_list_is_not_taken_for_gone(obj: Any) -> None:
    store = Store()
    store.list_begins(obj["kind"])
    store.put(obj["kind"], obj)
    assert store.replace(obj["kind"], []) == set()
    assert store.everything() == {KEY}
    store.list_begins(obj["kind"])
    assert store.replace(obj["kind"], []) == {KEY}, "the next one knows"


@pytest.mark.parametrize("obj", [SERVICE, POOL])
def test_what_went_during_a_list_does_not_come_back(obj: Any) -> None:
    store = Store()
    store.put(obj["kind"], obj)
    store.list_begins(obj["kind"])
    store.remove(obj["kind"], obj)
    assert store.replace(obj["kind"], [obj]) == set()
    assert store.everything() == set()


def test_what_left_and_came_back_during_a_list_stays() -> None:
    store = _store(SERVICE)
    store.list_begins("Service")
    store.remove("Service", SERVICE)
    store.put("Service", _at(SERVICE, "12"))
    store.replace("Service", [SERVICE])
    assert _version(store) == "12", "labels that were taken away and given back"


def test_a_list_finds_a_pool_that_was_deleted_unseen() -> None:
    store = _store(SERVICE)
    assert store.replace("KVCachePool", []) == {KEY}
    assert store.pool(KEY) is None
    assert store.everything() == {KEY}, "its children still have to be looked at"


@table(
    "labels",
    {
        "that point into another namespace": {"kvtier.dev/pool-namespace": "team-b"},
        "that name no namespace": {"kvtier.dev/pool-namespace": None},
    },
)
def test_a_child_is_ignored_with_labels(labels: dict[str, str | None]) -> None:
    store = Store()
    stray = _at(SERVICE, "10", labels=labels)
    assert store.put("Service", stray) == set()
    assert store.remove("Service", stray) == set()
    assert store.everything() == set()


def test_a_cluster_wide_child_belongs_to_the_pool_that_its_labels_name() -> None:
    assert _store(CLASS).children(KEY) == {("StorageClass", CLASS["metadata"]["name"]): CLASS}


def test_a_pool_with_a_long_name_finds_its_children_before_and_after_it_is_seen() -> None:
    long = document(metadata={"name": "x." * 100 + "x", "resourceVersion": "10"})
    key, child = (
        Key("team-a", long["metadata"]["name"]),
        live(manifest(pool(metadata=long["metadata"]), "Service")),
    )
    store = Store()
    assert store.put("Service", child) == {key}, "the cut name in its label would be of another pool"
    store.put("KVCachePool", long)
    assert len(store.children(key)) == 1
    assert store.put("Service", _at(child, "11")) == {key}
    assert store.everything() == {key}


def test_children_of_namesakes_in_two_namespaces_are_kept_apart() -> None:
    other = pool(metadata={"namespace": "team-b"})
    theirs = live(manifest(other, "Service"))
    store = _store(SERVICE, theirs)
    assert len(store.children(KEY)) == len(store.children(Key("team-b", "chat"))) == 1


def test_what_was_read_does_not_change_afterwards() -> None:
    store = _store(SERVICE)
    before = store.children(KEY)
    store.remove("Service", SERVICE)
    assert len(before) == 1


def test_a_fact_of_the_cluster_concerns_every_pool_once_it_changes() -> None:
    store = _store()
    driver = {"metadata": {"name": LUSTRE_DRIVER}}
    assert store.put("CSIDriver", driver) == {KEY}
    assert store.put("CSIDriver", driver) == set()
    assert store.put("Node", NODE) == {KEY}
    assert store.replace("Node", [NODE]) == set()
    assert store.replace("Node", []) == {KEY}
    assert store.set_version("v1.35.6-gke.1049000") == {KEY}
    assert store.set_version("v1.35.6-gke.1049000") == set()


@pytest.mark.parametrize(("listed", "served"), [([], True), (None, False)])
def test_a_kind_that_is_not_served_is_not_an_empty_list(listed: list[Any] | None, served: bool) -> None:
    store = _store()
    store.replace("ComputeClass", listed)
    assert store.cluster().compute_class_served is served


def test_bulk_that_nobody_reads_is_dropped() -> None:
    store = _store(_at(SERVICE, "10", managedFields=[{"manager": "kvtier"}]))
    (known,) = store.children(KEY).values()
    assert "managedFields" not in known["metadata"]


def test_a_pool_without_children_has_none_and_asking_makes_none() -> None:
    store = Store()
    assert store.children(KEY) == {}
    assert store.everything() == set()
