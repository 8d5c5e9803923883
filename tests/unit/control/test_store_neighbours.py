"""Pools that concern each other, as the store keeps them."""

from typing import Any

import pytest

from kvtier.api.names import LUSTRE_DRIVER
from kvtier.control.store import Key, Store
from unit.builders import document, joined, merged
from unit.instances import existing

ONE, TWO = Key("team-a", "one"), Key("team-b", "two")
NAMED: dict[str, Any] = {"tiers": {"lustre": {"filesystem": "kvcache"}}}


def _pool(key: Key, base: dict[str, Any] | None = None, version: int = 10) -> Any:
    metadata = {
        "namespace": key.namespace,
        "name": key.name,
        "uid": f"uid-{key.name}",
        "resourceVersion": str(version),
    }
    return document(**joined(NAMED if base is None else base, {"metadata": metadata}))


@pytest.fixture
def store() -> Store:
    """Two pools whose file systems have one name."""
    store = Store()
    for key in (ONE, TWO):
        store.put("KVCachePool", _pool(key))
    return store


def _neighbours(store: Store, key: Key, filesystem: str = "") -> list[Key]:
    return [Key(one.namespace, one.name) for one in store.neighbours(key, filesystem)]


def test_pools_know_each_other(store: Store) -> None:
    assert _neighbours(store, ONE) == [TWO]
    assert _neighbours(store, TWO) == [ONE]


def test_a_status_is_nobody_else_s_business(store: Store) -> None:
    obj = merged(_pool(ONE, version=11), {"status": {"phase": "Ready"}})
    assert store.put("KVCachePool", obj) == {ONE}


def test_a_changed_name_concerns_both(store: Store) -> None:
    assert store.put("KVCachePool", _pool(ONE, {}, 11)) == {ONE, TWO}
    assert _neighbours(store, TWO) == []
    assert store.put("KVCachePool", _pool(ONE, version=12)) == {ONE, TWO}


def test_an_old_version_does_not_come_back(store: Store) -> None:
    assert store.put("KVCachePool", _pool(ONE, {}, 9)) == set()
    assert _neighbours(store, TWO) == [ONE]


def test_a_pool_that_goes_makes_way(store: Store) -> None:
    assert store.remove("KVCachePool", _pool(ONE)) == {ONE, TWO}
    assert _neighbours(store, TWO) == []
    assert store.put("KVCachePool", _pool(ONE)) == {ONE, TWO}


def test_a_list_finds_that_a_pool_has_gone(store: Store) -> None:
    assert store.replace("KVCachePool", [_pool(TWO)]) == {ONE, TWO}
    assert _neighbours(store, TWO) == []


def test_a_spec_that_nobody_can_read_concerns_nobody(store: Store) -> None:
    broken = merged(_pool(ONE, version=11), {"spec": {"tiers": {"lustre": {"capacity": "1Gi"}}}})
    assert store.put("KVCachePool", broken) == {ONE, TWO}
    assert _neighbours(store, ONE) == _neighbours(store, TWO) == []


def test_the_volume_of_a_pool_tells_the_name_that_its_spec_leaves_open(store: Store) -> None:
    store.put("KVCachePool", _pool(ONE, existing(), 11))
    assert _neighbours(store, ONE, "kvcache") == [TWO], "the Lustre API tells it"
    volume = _volume(ONE, "kvcache")
    assert store.put("PersistentVolume", volume) == {ONE, TWO}
    assert _neighbours(store, TWO) == [ONE]
    assert store.remove("PersistentVolume", volume) == {ONE, TWO}
    assert _neighbours(store, TWO) == []


def _volume(owner: Key, filesystem: str) -> dict[str, Any]:
    labels = {"kvtier.dev/pool": owner.name, "kvtier.dev/pool-namespace": owner.namespace}
    attributes = {"ip": "10.0.0.4", "filesystem": filesystem}
    return {
        "metadata": {"name": "pv", "uid": "pv-uid", "resourceVersion": "5", "labels": labels},
        "spec": {"csi": {"driver": LUSTRE_DRIVER, "volumeHandle": "p/z/i", "volumeAttributes": attributes}},
    }
