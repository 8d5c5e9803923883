"""Lustre volumes in the store, and whose they are."""

from typing import Any

from kvtier.control.store import VolumeStore
from unit.builders import live, manifest, pool
from unit.instances import by_hand

PV = live(manifest(pool(**by_hand()), "PersistentVolume"))
NAME = PV["metadata"]["name"]


def _store() -> VolumeStore[str]:
    return VolumeStore(lambda namespace, name: f"owner in {namespace}")


def _seen(version: str, **changes: Any) -> Any:
    return live(live(PV, **changes), metadata={"resourceVersion": version})


def test_the_owner_of_the_claim_is_told_of_a_change() -> None:
    store = _store()
    assert store.put(PV) == {"owner in team-a"}
    assert store.put(_seen("11", status={"phase": "Released"})) == {"owner in team-a"}
    assert store.snapshot().by_name[NAME].phase == "Released"


def test_a_version_without_a_change_wakes_nobody_but_is_known() -> None:
    store = _store()
    store.put(PV)
    assert store.snapshot().by_name[NAME].version == "10"
    assert store.put(_seen("11")) == set()
    assert store.snapshot().by_name[NAME].version == "11", "writes are made only to what was seen"


def test_what_is_older_than_what_is_known_is_ignored() -> None:
    store = _store()
    store.put(_seen("11"))
    assert store.put(_seen("10", status={"phase": "Released"})) == set()
    assert store.snapshot().by_name[NAME].phase == "Pending"


def test_the_owner_is_told_when_a_volume_is_gone() -> None:
    store = _store()
    store.put(PV)
    assert store.remove(live(PV, metadata={"uid": "a namesake"})) == set()
    assert store.remove(PV) == {"owner in team-a"}
    assert store.snapshot().by_name == {}
