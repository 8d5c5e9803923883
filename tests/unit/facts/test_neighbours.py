"""Which pools affect each other because of their Lustre instance or their file system name."""

import random
from typing import Any

import pytest

from kvtier.api import names
from kvtier.api.names import PoolKey
from kvtier.facts.neighbours import Neighbour, Neighbourhood, parsed
from unit.builders import document, joined
from unit.instances import CLUSTER, NAME, api, by_hand, existing
from unit.tables import table

A, B, C = PoolKey("team-a", "one"), PoolKey("team-b", "two"), PoolKey("team-a", "three")
NAMED: dict[str, Any] = {"tiers": {"lustre": {"filesystem": "kvcache"}}}


def _pool(key: PoolKey, base: dict[str, Any] | None = None, created: str = "2026-11-01T00:00:00Z") -> Any:
    metadata = {"namespace": key[0], "name": key[1], "creationTimestamp": created}
    return document(**joined(NAMED if base is None else base, {"metadata": metadata}))


def _known(*pools: Any) -> Neighbourhood:
    known = Neighbourhood()
    for one in pools:
        _put(known, one)
    return known


def _put(known: Neighbourhood, obj: Any) -> set[PoolKey]:
    return known.put(PoolKey(obj["metadata"]["namespace"], obj["metadata"]["name"]), parsed(obj))


def _mount(known: Neighbourhood, key: PoolKey, filesystem: str) -> set[PoolKey]:
    """Record the PersistentVolume of a pool, with this file system name; empty: it was deleted."""
    claim = (key.namespace, names.claim(key.name))
    return known.mount(f"pv-{key.name}", claim if filesystem else None, filesystem)


def _names(known: Neighbourhood, key: PoolKey, filesystem: str = "") -> list[PoolKey]:
    return [PoolKey(one.namespace, one.name) for one in known.of(key, filesystem)]


def test_a_pool_is_reduced_to_the_facts_for_other_pools() -> None:
    nodes = {"nodePool": {"provisioner": "Existing", "zones": ["us-central1-b", "us-central1-a"]}}
    assert parsed(_pool(A, joined(NAMED, nodes))) == Neighbour(
        namespace="team-a",
        name="one",
        created="2026-11-01T00:00:00Z",
        filesystem="kvcache",
        selector={"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"},
        zones=("us-central1-a", "us-central1-b"),
        uid="pool-uid",
    )


MADE = f"projects/my-project/locations/us-central1-a/instances/{names.derive('team-a', 'one')}"


@table(
    "base, instance, filesystem",
    {
        "the driver names the instance, and the file system name is derived": (
            {},
            "",
            names.filesystem("team-a", "one"),
        ),
        "an instance created through the API": (api(), MADE, names.filesystem("team-a", "one")),
        "an existing instance without a file system name in the spec": (existing(), NAME, ""),
        "an existing instance described in the spec": (by_hand(), NAME, "given"),
    },
)
def test_names(base: dict[str, Any], instance: str, filesystem: str) -> None:
    found = parsed(_pool(A, base))
    assert found is not None
    assert (found.instance, found.filesystem) == (instance, filesystem)


@table(
    "obj",
    {
        "without a shared tier": _pool(A, {"tiers": {"lustre": None}}),
        "that an older CRD let in": _pool(A, {"tiers": {"lustre": {"capacity": "1Gi"}}}),
        "without a spec": {"metadata": {"namespace": "team-a", "name": "one"}},
        "whose spec is a list": {"metadata": {"namespace": "team-a", "name": "one"}, "spec": []},
    },
)
def test_a_pool_is_not_a_neighbour(obj: dict[str, Any]) -> None:
    known = _known(_pool(A), _pool(B))
    assert _put(known, obj) == {B}, "it was one before"
    assert known.of(A) == known.of(B) == ()
    assert _put(known, obj) == set()


@table(
    "mine, theirs, found",
    {
        "pools with the same file system name": (NAMED, NAMED, True),
        "pools with different file system names": (NAMED, {}, False),
        "pools with derived file system names": ({}, {}, False),
        "pools with the same instance": (existing(), existing(), True),
        "pools with the same instance, one with the file system name in the spec": (
            existing(),
            by_hand(),
            True,
        ),
        "an instance created through the API, and another pool that mounts it": (
            api(),
            existing(instance=MADE),
            True,
        ),
        "a PVC, and an existing instance with the same file system name": (
            {"tiers": {"lustre": {"filesystem": "given"}}},
            by_hand(),
            True,
        ),
    },
)
def test_pools_are_neighbours(mine: dict[str, Any], theirs: dict[str, Any], found: bool) -> None:
    known = _known(_pool(A, mine), _pool(B, theirs))
    assert _names(known, A) == ([B] if found else [])
    assert _names(known, B) == ([A] if found else [])


def test_the_oldest_pool_comes_first() -> None:
    known = _known(
        _pool(A), _pool(B, created="2026-10-01T00:00:00Z"), _pool(C, created="2026-09-01T00:00:00Z")
    )
    assert _names(known, A) == [C, B]


def test_a_pool_that_has_the_file_system_comes_before_older_ones() -> None:
    known = _known(_pool(A), _pool(B, created="2026-10-01T00:00:00Z"), _pool(C))
    assert _mount(known, C, "kvcache") == {A, B}
    assert _names(known, A) == [C, B]
    assert [one.holds for one in known.of(A)] == [True, False]
    assert _mount(known, C, "other") == {A, B}
    assert [one.holds for one in known.of(A)] == [False, False]


def test_a_blocked_pool_comes_after_one_that_can_be_created() -> None:
    old = _pool(B, created="2026-10-01T00:00:00Z") | {"status": {"phase": "Blocked"}}
    assert _names(_known(_pool(A), old, _pool(C)), A) == [C, B]
    assert _names(_known(_pool(A), old | {"status": "odd"}, _pool(C)), A) == [B, C]


def test_a_volume_without_a_pvc_or_for_a_pvc_of_others_gives_nobody_a_file_system() -> None:
    known = _known(_pool(A), _pool(B))
    assert known.mount("pv", None, "kvcache") == set()
    assert known.mount("pv", ("team-a", "data"), "kvcache") == set()
    assert not any(one.holds for one in known.of(A))
    assert known.mount("pv", ("team-b", names.claim("two")), "kvcache") == {A}
    assert known.mount("pv", ("team-b", names.claim("two")), "kvcache") == set()
    assert known.mount("pv", ("team-a", names.claim("one")), "kvcache") == {A, B}
    assert [one.holds for one in (*known.of(A), *known.of(B))] == [False, True]


def test_other_pools_are_returned_when_a_pool_is_created_changed_and_deleted() -> None:
    known = _known(_pool(A))
    assert _put(known, _pool(B)) == {A}
    assert _put(known, _pool(B)) == set(), "nothing is new"
    assert _put(known, _pool(B, joined(NAMED, {"nodePool": {"zones": ["us-central1-a"]}}))) == set(), (
        "as before"
    )
    moved = joined(NAMED, {"nodePool": {"nodeSelector": {"team": "b"}}})
    assert _put(known, _pool(B, moved)) == {A}
    assert _put(known, _pool(B, {"tiers": {"lustre": {"filesystem": "other"}}})) == {A}
    assert _put(known, _pool(C, {"tiers": {"lustre": {"filesystem": "other"}}})) == {B}
    assert known.put(B, None) == {C}
    assert known.put(B, None) == set()


def test_an_existing_instance_may_give_the_name_that_the_spec_does_not() -> None:
    known = _known(_pool(A, joined(existing(), {"cluster": CLUSTER})), _pool(B))
    assert _names(known, A) == []
    assert _names(known, A, "kvcache") == [B], "the Lustre API tells it"
    assert _mount(known, A, "kvcache") == {B}, "its volume tells it to the others"
    assert _names(known, A) == [B]
    assert _names(known, B) == [A]
    assert _mount(known, A, "kvcache") == set()
    assert _mount(known, A, "") == {B}
    assert _names(known, B) == []


def test_a_persistent_volume_may_exist_before_and_after_its_pool() -> None:
    known = _known(_pool(B))
    assert _mount(known, A, "kvcache") == set()
    assert _put(known, _pool(A, existing())) == {B}
    assert known.put(A, None) == {B}
    assert _put(known, _pool(A, existing())) == {B}


def test_an_unknown_pool_has_no_neighbours() -> None:
    assert _known(_pool(B)).of(A, "kvcache") == ()


BASES = [{}, NAMED, existing(), by_hand(), api(), {"tiers": {"lustre": None}}]


@pytest.mark.parametrize("seed", range(20))
def test_after_any_changes_all_affected_pools_were_returned_and_only_the_last_state_counts(seed: int) -> None:
    chance, known = random.Random(seed), Neighbourhood()
    now: dict[PoolKey, Any] = {}
    for _ in range(60):
        before = {key: known.of(key) for key in (A, B, C)}
        key = chance.choice([A, B, C])
        told = _something(chance, known, now, key)
        changed = {one for one, seen in before.items() if known.of(one) != seen}
        assert changed - {key} <= told
        assert key not in told
    for key in (A, B, C):
        _mount(known, key, "")
    fresh = _known(*(_pool(key, base) for key, base in now.items() if base is not None))
    assert [known.of(key) for key in (A, B, C)] == [fresh.of(key) for key in (A, B, C)]


def _something(chance: random.Random, known: Neighbourhood, now: Any, key: PoolKey) -> set[Any]:
    """Create, change or delete a pool or its PersistentVolume."""
    if chance.random() < 0.3:
        return _mount(known, key, chance.choice(["", "given", "kvcache"]))
    now[key] = chance.choice([*BASES, None])
    return known.put(key, None) if now[key] is None else _put(known, _pool(key, now[key]))
