"""What the store keeps, and which pools each change concerns."""

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
    """A store that knows the pool and these objects."""
    store = Store()
    for obj in (POOL, *objects):
        store.put(obj["kind"], obj)
    return store


def _at(obj: Any, version: str, **metadata: Any) -> Any:
    return merged(obj, {"metadata": {"resourceVersion": version, **metadata}})


def _version(store: Store, obj: Any = SERVICE) -> str | None:
    """The version of an object that the store has, None without it."""
    key = (obj["kind"], obj["metadata"]["name"])
    found = store.pool(KEY) if obj["kind"] == "KVCachePool" else store.objects(KEY).get(key)
    return found["metadata"]["resourceVersion"] if found else None


@pytest.mark.parametrize("obj", [SERVICE, POOL], ids=["Service", "KVCachePool"])
@table(
    "version, changes, concerned, kept",
    {
        "a newer object replaces the known one": ("11", {}, {KEY}, "11"),
        "an older one is ignored": ("9", {}, set(), "10"),
        "the same one concerns nobody": ("10", {}, set(), "10"),
        "versions are numbers, not text": ("100", {}, {KEY}, "100"),
        "another object of the name wins, however its version": ("2", {"uid": "new"}, {KEY}, "2"),
    },
)
def test_an_object_is_replaced_only_by_what_is_newer(
    obj: Any, version: str, changes: dict[str, str], concerned: set[PoolKey], kept: str
) -> None:
    store = _store(SERVICE)
    assert store.put(obj["kind"], _at(obj, version, **changes)) == concerned
    assert _version(store, obj) == kept


@pytest.mark.parametrize("obj", [SERVICE, POOL], ids=["Service", "KVCachePool"])
def test_a_deletion_counts_once_and_not_that_of_a_former_namesake(obj: Any) -> None:
    store = _store(SERVICE)
    assert store.remove(obj["kind"], _at(obj, "99", uid="former")) == set()
    assert _version(store, obj) == "10"
    assert store.remove(obj["kind"], obj) == {KEY}
    assert _version(store, obj) is None
    assert store.remove(obj["kind"], obj) == set()


@table(
    "listed, concerned, kept",
    {
        "what is known": ([SERVICE], set(), "10"),
        "nothing, of what was deleted unseen": ([], {KEY}, None),
        "what was made again unseen": ([_at(SERVICE, "3", uid="new")], {KEY}, "3"),
        "what was given to another pool unseen": ([_at(SERVICE, "11", **GIVEN_AWAY)], {KEY, OTHER}, None),
    },
)
def test_a_list_holds(listed: list[Any], concerned: set[PoolKey], kept: str | None) -> None:
    store = _store(SERVICE, CLAIM)
    assert store.replace("Service", listed) == concerned
    assert _version(store) == kept
    assert _version(store, CLAIM) == "10"


def test_a_list_finds_a_pool_that_was_deleted_unseen() -> None:
    store = _store(SERVICE)
    assert store.replace("KVCachePool", []) == {KEY}
    assert store.pool(KEY) is None
    assert store.all_keys() == {KEY}, "its children still have to be looked at"


@pytest.mark.parametrize("obj", [SERVICE, POOL], ids=["Service", "KVCachePool"])
def test_what_came_during_a_list_is_not_taken_for_gone(obj: Any) -> None:
    store = Store()
    store.list_begins(obj["kind"])
    store.put(obj["kind"], obj)
    assert store.replace(obj["kind"], []) == set()
    assert store.all_keys() == {KEY}
    store.list_begins(obj["kind"])
    assert store.replace(obj["kind"], []) == {KEY}, "the next one knows"


@pytest.mark.parametrize("obj", [SERVICE, POOL], ids=["Service", "KVCachePool"])
def test_what_went_during_a_list_does_not_come_back(obj: Any) -> None:
    store = Store()
    store.put(obj["kind"], obj)
    store.list_begins(obj["kind"])
    store.remove(obj["kind"], obj)
    assert store.replace(obj["kind"], [obj]) == set()
    assert store.all_keys() == set()


def test_what_left_and_came_back_during_a_list_stays() -> None:
    store = _store(SERVICE)
    store.list_begins("Service")
    store.remove("Service", SERVICE)
    store.put("Service", _at(SERVICE, "12"))
    store.replace("Service", [SERVICE])
    assert _version(store) == "12", "labels that were taken away and given back"


def test_a_child_that_was_given_to_another_pool_leaves_the_one_that_had_it() -> None:
    store = _store(SERVICE)
    assert store.put("Service", _at(SERVICE, "11", **GIVEN_AWAY)) == {KEY, OTHER}
    assert _version(store) is None
    assert store.remove("Service", _at(SERVICE, "12")) == {OTHER}


def test_a_child_whose_labels_contradict_its_annotation_is_nobody_s_until_that_is_healed() -> None:
    store = _store(CLAIM)
    edited = _at(CLAIM, "11", labels={"kvtier.dev/pool": "other"})
    assert store.put("PersistentVolumeClaim", edited) == {KEY}
    assert store.objects(KEY) == store.objects(OTHER) == {}
    assert store.put("PersistentVolumeClaim", _at(CLAIM, "12")) == {KEY}
    assert _version(store, CLAIM) == "12"


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
    assert store.put("Service", stray) == store.remove("Service", stray) == set()
    assert store.all_keys() == set()


def test_a_cluster_wide_child_belongs_to_the_pool_that_its_labels_name() -> None:
    assert _store(CLASS).objects(KEY) == {("StorageClass", CLASS["metadata"]["name"]): CLASS}


def test_a_pool_with_a_long_name_finds_its_children_before_and_after_it_is_seen() -> None:
    long = document(metadata={"name": "x." * 100 + "x", "resourceVersion": "10"})
    key = PoolKey("team-a", long["metadata"]["name"])
    child = live(manifest(pool(metadata=long["metadata"]), "Service"))
    store = Store()
    assert store.put("Service", child) == {key}, "the cut name in its label would be of another pool"
    store.put("KVCachePool", long)
    assert len(store.objects(key)) == 1
    assert store.put("Service", _at(child, "11")) == {key}
    assert store.all_keys() == {key}


def test_children_of_namesakes_in_two_namespaces_are_kept_apart() -> None:
    theirs = live(manifest(pool(metadata={"namespace": "team-b"}), "Service"))
    store = _store(SERVICE, theirs)
    assert len(store.objects(KEY)) == len(store.objects(PoolKey("team-b", "chat"))) == 1


def test_children_as_values_are_the_same_until_one_of_them_changes() -> None:
    store = _store(SERVICE, CLASS)
    before = store.children(KEY)
    assert [child.version for child in before.of(("Service",))] == ["10"]
    assert store.children(KEY) is before
    store.put("Service", _at(SERVICE, "11"))
    assert [child.version for child in store.children(KEY).of(("Service",))] == ["11"]
    store.remove("Service", SERVICE)
    assert list(store.children(KEY).by_key) == [("StorageClass", CLASS["metadata"]["name"])]
    assert len(before.by_key) == 2, "what was read does not change"


def test_what_was_read_does_not_change_afterwards() -> None:
    store = _store(SERVICE)
    before = store.objects(KEY)
    store.remove("Service", SERVICE)
    assert len(before) == 1


def test_bulk_that_nobody_reads_is_dropped() -> None:
    store = _store(_at(SERVICE, "10", managedFields=[{"manager": "kvtier"}]))
    (known,) = store.objects(KEY).values()
    assert "managedFields" not in known["metadata"]


def test_a_pool_without_children_has_none_and_asking_makes_none() -> None:
    store = Store()
    assert (store.objects(KEY), store.children(KEY)) == ({}, Children())
    assert store.all_keys() == set()


def test_a_fact_of_the_cluster_concerns_every_pool_once_it_changes() -> None:
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


def test_the_owner_of_a_volume_s_claim_is_concerned_by_its_changes_after_the_claim_has_gone_too() -> None:
    store = _store(CLAIM)
    assert store.put("PersistentVolume", VOLUME) == {KEY}
    store.remove("PersistentVolumeClaim", CLAIM)
    assert store.put("PersistentVolume", _released("11")) == {KEY}
    assert store.volumes().by_name["pv"].phase == "Released"
    assert store.remove("PersistentVolume", _at(VOLUME, "12", uid="a namesake")) == set()
    assert store.replace("PersistentVolume", []) == {KEY}
    assert store.volumes().by_name == {}


def test_a_later_version_of_a_volume_alone_concerns_nobody_but_is_known() -> None:
    store = _store(CLAIM, VOLUME)
    assert store.volumes().by_name["pv"].version == "10"
    assert store.put("PersistentVolume", _at(VOLUME, "11")) == set()
    assert store.volumes().by_name["pv"].version == "11", "writes are made only to what was seen"
    assert store.put("PersistentVolume", _released("10")) == set(), "and what is older is ignored"
    assert store.volumes().by_name["pv"].phase == "Pending"


@table(
    "changes",
    {
        "a volume of a claim that no pool owns": {"spec": {"claimRef": {"name": "data"}}},
        "a volume that no claim has": {"spec": {"claimRef": None}},
        "a volume of another driver": {"spec": {"csi": {"driver": "pd.csi.storage.gke.io"}}},
    },
)
def test_of_no_pool_s_concern_is(changes: dict[str, Any]) -> None:
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
    """Two pools whose file systems have one name."""
    store = Store()
    for key in (ONE, TWO):
        store.put("KVCachePool", _pool(key))
    return store


def _neighbours(store: Store, key: PoolKey, filesystem: str = "") -> list[PoolKey]:
    return [PoolKey(one.namespace, one.name) for one in store.neighbours(key, filesystem)]


def test_neighbours_know_each_other_and_a_status_is_nobody_else_s_business(neighbours: Store) -> None:
    assert (_neighbours(neighbours, ONE), _neighbours(neighbours, TWO)) == ([TWO], [ONE])
    changed = merged(_pool(ONE, version=11), {"status": {"phase": "Ready"}})
    assert neighbours.put("KVCachePool", changed) == {ONE}


def test_a_neighbour_that_changes_its_name_or_goes_makes_way(neighbours: Store) -> None:
    assert neighbours.put("KVCachePool", _pool(ONE, {}, 11)) == {ONE, TWO}
    assert neighbours.put("KVCachePool", _pool(ONE, version=9)) == set(), "an old version does not come back"
    assert _neighbours(neighbours, TWO) == []
    neighbours.put("KVCachePool", _pool(ONE, version=12))
    assert neighbours.remove("KVCachePool", _pool(ONE)) == {ONE, TWO}
    assert _neighbours(neighbours, TWO) == []


def test_the_volume_of_a_pool_tells_the_name_that_its_spec_leaves_open(neighbours: Store) -> None:
    neighbours.put("KVCachePool", _pool(ONE, existing(), 11))
    assert _neighbours(neighbours, ONE, "kvcache") == [TWO], "the Lustre API tells it"
    labels = {"kvtier.dev/pool": ONE.name, "kvtier.dev/pool-namespace": ONE.namespace}
    attributes = {"ip": "10.0.0.4", "filesystem": "kvcache"}
    mounted = merged(
        VOLUME, {"metadata": {"labels": labels}, "spec": {"csi": {"volumeAttributes": attributes}}}
    )
    assert neighbours.put("PersistentVolume", mounted) == {ONE, TWO}
    assert _neighbours(neighbours, TWO) == [ONE]
    assert neighbours.remove("PersistentVolume", mounted) == {ONE, TWO}
    assert _neighbours(neighbours, TWO) == []
