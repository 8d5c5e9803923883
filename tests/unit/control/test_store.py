"""What the store keeps, and which pools each change affects."""

from typing import Any

import pytest

from kvtier.api.names import LUSTRE_DRIVER, PoolKey, claim
from kvtier.control.store import Store
from kvtier.facts.children import Children
from unit.builders import document, joined, live, manifest, merged, pool
from unit.instances import existing
from unit.tables import table

KEY, OTHER = PoolKey("team-a", "chat"), PoolKey("team-a", "other")
POOL: dict[str, Any] = document(metadata={"resourceVersion": "10"})
SERVICE, CLASS, CLAIM = (
    live(manifest(pool(), kind)) for kind in ("Service", "StorageClass", "PersistentVolumeClaim")
)
NODE = {"metadata": {"name": "gpu-1", "uid": "n", "resourceVersion": "1"}}
GIVEN_AWAY: dict[str, Any] = {
    "labels": {"kvtier.dev/pool": "other"},
    "annotations": {"kvtier.dev/pool": "team-a/other"},
}


def _store(*objects: Any) -> Store:
    """A store with the pool and these objects."""
    store = Store()
    for obj in (POOL, *objects):
        store.put(obj["kind"], obj)
    return store


def _at(obj: Any, version: str, **metadata: Any) -> Any:
    return merged(obj, {"metadata": {"resourceVersion": version, **metadata}})


def _version(store: Store, obj: Any = SERVICE) -> str | None:
    """The version of an object in the store, or None."""
    key = (obj["kind"], obj["metadata"]["name"])
    found = store.pool(KEY) if obj["kind"] == "KVCachePool" else store.objects(KEY).get(key)
    return found["metadata"]["resourceVersion"] if found else None


@pytest.mark.parametrize("obj", [SERVICE, POOL], ids=["Service", "KVCachePool"])
@table(
    "version, changes, concerned, kept",
    {
        "a newer object replaces the stored one": ("11", {}, {KEY}, "11"),
        "an older object is ignored": ("9", {}, set(), "10"),
        "the same object affects no pool": ("10", {}, set(), "10"),
        "versions are numbers, not text": ("100", {}, {KEY}, "100"),
        "another object with the name replaces it with any version": ("2", {"uid": "new"}, {KEY}, "2"),
    },
)
def test_an_object_is_replaced_only_by_a_newer_one(
    obj: Any, version: str, changes: dict[str, str], concerned: set[PoolKey], kept: str
) -> None:
    store = _store(SERVICE)
    assert store.put(obj["kind"], _at(obj, version, **changes)) == concerned
    assert _version(store, obj) == kept


def test_the_same_version_of_a_pool_is_stored_again_if_a_newer_crd_shows_more_of_it() -> None:
    store = _store()
    whole = merged(POOL, {"spec": {"strict": True}})
    assert store.replace("KVCachePool", [whole]) == {KEY}
    assert store.pool(KEY) == whole
    with_managers = merged(whole, {"metadata": {"managedFields": [{"manager": "a"}]}})
    assert store.put("KVCachePool", with_managers) == set(), "what differs is not stored"


@pytest.mark.parametrize("obj", [SERVICE, POOL], ids=["Service", "KVCachePool"])
def test_a_deletion_counts_once_and_only_with_the_uid_of_the_object(obj: Any) -> None:
    store = _store(SERVICE)
    assert store.remove(obj["kind"], _at(obj, "99", uid="former")) == set()
    assert _version(store, obj) == "10"
    assert store.remove(obj["kind"], obj) == {KEY}
    assert _version(store, obj) is None
    assert store.remove(obj["kind"], obj) == set()


@table(
    "listed, concerned, kept",
    {
        "a stored object": ([SERVICE], set(), "10"),
        "no object, after an unreported deletion": ([], {KEY}, None),
        "a recreated object, without a reported event": ([_at(SERVICE, "3", uid="new")], {KEY}, "3"),
        "an object that another pool now owns, without a reported event": (
            [_at(SERVICE, "11", **GIVEN_AWAY)],
            {KEY, OTHER},
            None,
        ),
    },
)
def test_a_list_contains(listed: list[Any], concerned: set[PoolKey], kept: str | None) -> None:
    store = _store(SERVICE, CLAIM)
    assert store.replace("Service", listed) == concerned
    assert _version(store) == kept
    assert _version(store, CLAIM) == "10"


def test_a_list_finds_an_unreported_deletion_of_a_pool() -> None:
    store = _store(SERVICE)
    assert store.replace("KVCachePool", []) == {KEY}
    assert store.pool(KEY) is None
    assert store.all_keys() == {KEY}, "its children must still be deleted"


@pytest.mark.parametrize("obj", [SERVICE, POOL], ids=["Service", "KVCachePool"])
def test_an_object_that_was_added_during_a_list_stays(obj: Any) -> None:
    store = Store()
    store.list_begins(obj["kind"])
    store.put(obj["kind"], obj)
    assert store.replace(obj["kind"], []) == set()
    assert store.all_keys() == {KEY}
    store.list_begins(obj["kind"])
    assert store.replace(obj["kind"], []) == {KEY}, "the next list counts"


@pytest.mark.parametrize("obj", [SERVICE, POOL], ids=["Service", "KVCachePool"])
def test_an_object_that_was_deleted_during_a_list_does_not_come_back(obj: Any) -> None:
    store = Store()
    store.put(obj["kind"], obj)
    store.list_begins(obj["kind"])
    store.remove(obj["kind"], obj)
    assert store.replace(obj["kind"], [obj]) == set()
    assert store.all_keys() == set()


def test_an_object_that_was_removed_and_added_during_a_list_stays() -> None:
    store = _store(SERVICE)
    store.list_begins("Service")
    store.remove("Service", SERVICE)
    store.put("Service", _at(SERVICE, "12"))
    store.replace("Service", [SERVICE])
    assert _version(store) == "12", "its labels were removed and added again"


def test_a_child_that_another_pool_now_owns_is_removed_from_its_former_pool() -> None:
    store = _store(SERVICE)
    assert store.put("Service", _at(SERVICE, "11", **GIVEN_AWAY)) == {KEY, OTHER}
    assert _version(store) is None
    assert store.remove("Service", _at(SERVICE, "12")) == {OTHER}


def test_a_child_whose_labels_contradict_its_annotation_has_no_owner_until_they_agree() -> None:
    store = _store(CLAIM)
    edited = _at(CLAIM, "11", labels={"kvtier.dev/pool": "other"})
    assert store.put("PersistentVolumeClaim", edited) == {KEY}
    assert store.objects(KEY) == store.objects(OTHER) == {}
    assert store.put("PersistentVolumeClaim", _at(CLAIM, "12")) == {KEY}
    assert _version(store, CLAIM) == "12"


@table(
    "labels",
    {
        "that name another namespace": {"kvtier.dev/pool-namespace": "team-b"},
        "that name no namespace": {"kvtier.dev/pool-namespace": None},
    },
)
def test_a_child_is_ignored_with_labels(labels: dict[str, str | None]) -> None:
    store = Store()
    stray = _at(SERVICE, "10", labels=labels)
    assert store.put("Service", stray) == store.remove("Service", stray) == set()
    assert store.all_keys() == set()


def test_a_cluster_scoped_child_belongs_to_the_pool_in_its_labels() -> None:
    assert _store(CLASS).objects(KEY) == {("StorageClass", CLASS["metadata"]["name"]): CLASS}


def test_a_pool_with_a_long_name_owns_its_children_before_and_after_it_is_stored() -> None:
    long = document(metadata={"name": "x." * 100 + "x", "resourceVersion": "10"})
    key = PoolKey("team-a", long["metadata"]["name"])
    child = live(manifest(pool(metadata=long["metadata"]), "Service"))
    store = Store()
    assert store.put("Service", child) == {key}, "the short name in the label belongs to no pool"
    store.put("KVCachePool", long)
    assert len(store.objects(key)) == 1
    assert store.put("Service", _at(child, "11")) == {key}
    assert store.all_keys() == {key}


def test_children_of_pools_with_one_name_in_two_namespaces_are_separate() -> None:
    theirs = live(manifest(pool(metadata={"namespace": "team-b"}), "Service"))
    store = _store(SERVICE, theirs)
    assert len(store.objects(KEY)) == len(store.objects(PoolKey("team-b", "chat"))) == 1


def test_children_are_the_same_object_until_one_of_them_changes() -> None:
    store = _store(SERVICE, CLASS)
    before = store.children(KEY)
    assert [child.version for child in before.of(("Service",))] == ["10"]
    assert store.children(KEY) is before
    store.put("Service", _at(SERVICE, "11"))
    assert [child.version for child in store.children(KEY).of(("Service",))] == ["11"]
    store.remove("Service", SERVICE)
    assert list(store.children(KEY).by_key) == [("StorageClass", CLASS["metadata"]["name"])]
    assert len(before.by_key) == 2, "a returned value does not change"


def test_returned_objects_do_not_change_afterwards() -> None:
    store = _store(SERVICE)
    before = store.objects(KEY)
    store.remove("Service", SERVICE)
    assert len(before) == 1


def test_managed_fields_are_dropped() -> None:
    store = _store(_at(SERVICE, "10", managedFields=[{"manager": "kvtier"}]))
    (known,) = store.objects(KEY).values()
    assert "managedFields" not in known["metadata"]


def test_a_pool_without_children_has_none_and_a_read_adds_none() -> None:
    store = Store()
    assert (store.objects(KEY), store.children(KEY)) == ({}, Children())
    assert store.all_keys() == set()


def test_a_change_of_a_cluster_fact_affects_every_pool_once() -> None:
    store = _store()
    driver = {"metadata": {"name": LUSTRE_DRIVER}}
    assert store.put("CSIDriver", driver) == {KEY}
    assert store.put("CSIDriver", driver) == set()
    assert store.remove("CSIDriver", driver) == {KEY}
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


VOLUME = {
    "kind": "PersistentVolume",
    "metadata": {"name": "pv", "uid": "pv-uid", "resourceVersion": "10"},
    "spec": {
        "csi": {"driver": LUSTRE_DRIVER, "volumeHandle": "p/z/i"},
        "claimRef": {"namespace": "team-a", "name": claim("chat")},
    },
}


def _released(version: str) -> Any:
    return merged(_at(VOLUME, version), {"status": {"phase": "Released"}})


def test_a_persistent_volume_affects_the_owner_of_its_pvc_even_after_the_pvc_was_deleted() -> None:
    store = _store(CLAIM)
    assert store.put("PersistentVolume", VOLUME) == {KEY}
    store.remove("PersistentVolumeClaim", CLAIM)
    assert store.put("PersistentVolume", _released("11")) == {KEY}
    assert store.volumes().by_name["pv"].phase == "Released"
    assert store.remove("PersistentVolume", _at(VOLUME, "12", uid="another uid")) == set()
    assert store.replace("PersistentVolume", []) == {KEY}
    assert store.volumes().by_name == {}


def test_a_new_version_of_a_persistent_volume_alone_affects_no_pool_but_is_stored() -> None:
    store = _store(CLAIM, VOLUME)
    assert store.volumes().by_name["pv"].version == "10"
    assert store.put("PersistentVolume", _at(VOLUME, "11")) == set()
    assert store.volumes().by_name["pv"].version == "11", "writes need the current version"
    assert store.put("PersistentVolume", _released("10")) == set(), "an older version is ignored"
    assert store.volumes().by_name["pv"].phase == "Pending"


@table(
    "changes",
    {
        "with a PVC that no pool owns": {"spec": {"claimRef": {"name": "data"}}},
        "without a PVC": {"spec": {"claimRef": None}},
        "of another driver": {"spec": {"csi": {"driver": "pd.csi.storage.gke.io"}}},
    },
)
def test_no_pool_is_affected_by_a_persistent_volume(changes: dict[str, Any]) -> None:
    store, obj = _store(CLAIM), merged(VOLUME, changes)
    assert store.put("PersistentVolume", obj) == set()
    assert store.remove("PersistentVolume", obj) == set()


ONE, TWO = PoolKey("team-a", "one"), PoolKey("team-b", "two")
NAMED: dict[str, Any] = {"tiers": {"lustre": {"filesystem": "kvcache"}}}


def _pool(key: PoolKey, base: dict[str, Any] = NAMED, version: int = 10) -> Any:
    metadata = {**key._asdict(), "uid": f"uid-{key.name}", "resourceVersion": str(version)}
    return document(**joined(base, {"metadata": metadata}))


@pytest.fixture
def neighbours() -> Store:
    """Two pools with the same file system name."""
    store = Store()
    for key in (ONE, TWO):
        store.put("KVCachePool", _pool(key))
    return store


def _neighbours(store: Store, key: PoolKey, filesystem: str = "") -> list[PoolKey]:
    return [PoolKey(one.namespace, one.name) for one in store.neighbours(key, filesystem)]


def test_neighbours_know_each_other_and_a_status_affects_only_its_own_pool(neighbours: Store) -> None:
    assert (_neighbours(neighbours, ONE), _neighbours(neighbours, TWO)) == ([TWO], [ONE])
    changed = merged(_pool(ONE, version=11), {"status": {"phase": "Ready"}})
    assert neighbours.put("KVCachePool", changed) == {ONE}


def test_a_pool_that_is_blocked_or_no_longer_affects_its_neighbours(neighbours: Store) -> None:
    blocked = merged(_pool(ONE, version=11), {"status": {"phase": "Blocked"}})
    assert neighbours.put("KVCachePool", blocked) == {ONE, TWO}
    assert neighbours.put("KVCachePool", merged(blocked, {"metadata": {"resourceVersion": "12"}})) == {ONE}
    assert neighbours.put("KVCachePool", _pool(ONE, version=13)) == {ONE, TWO}


def test_a_pool_that_changes_its_file_system_name_or_is_deleted_is_no_neighbour(neighbours: Store) -> None:
    assert neighbours.put("KVCachePool", _pool(ONE, {}, 11)) == {ONE, TWO}
    assert neighbours.put("KVCachePool", _pool(ONE, version=9)) == set(), "an old version does not come back"
    assert _neighbours(neighbours, TWO) == []
    neighbours.put("KVCachePool", _pool(ONE, version=12))
    assert neighbours.remove("KVCachePool", _pool(ONE)) == {ONE, TWO}
    assert _neighbours(neighbours, TWO) == []


def test_the_file_system_name_in_the_persistent_volume_of_a_pool_counts(neighbours: Store) -> None:
    neighbours.put("KVCachePool", _pool(ONE, existing(), 11))
    assert _neighbours(neighbours, ONE, "kvcache") == [TWO], "the Lustre API reports it"
    labels = {"kvtier.dev/pool": ONE.name, "kvtier.dev/pool-namespace": ONE.namespace}
    attributes = {"ip": "10.0.0.4", "filesystem": "kvcache"}
    reserved = {"namespace": ONE.namespace, "name": claim(ONE.name)}
    mounted = merged(
        VOLUME,
        {
            "metadata": {"labels": labels},
            "spec": {"csi": {"volumeAttributes": attributes}, "claimRef": reserved},
        },
    )
    assert neighbours.put("PersistentVolume", mounted) == {ONE, TWO}
    assert _neighbours(neighbours, TWO) == [ONE]
    assert neighbours.remove("PersistentVolume", mounted) == {ONE, TWO}
    assert _neighbours(neighbours, TWO) == []


class Odd(dict[str, Any]):
    """An object that cannot be read any further than its metadata."""

    def get(self, *_: Any) -> Any:
        raise TypeError("odd")


def test_an_object_that_cannot_be_stored_does_not_end_a_list() -> None:
    store = Store()
    odd = Odd(metadata={"name": "odd", "uid": "1", "resourceVersion": "1"})
    store.put("KVCachePool", POOL)
    assert store.replace("Node", [odd, NODE]) == {KEY}
    assert store.put("PersistentVolume", odd) == set()
    assert store.remove("KVCachePool", {"metadata": {"name": "odd"}}) == set()
