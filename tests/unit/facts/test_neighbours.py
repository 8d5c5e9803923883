"""Which pools concern each other by their Lustre instance and their file system."""

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


def _names(known: Neighbourhood, key: PoolKey, filesystem: str = "") -> list[PoolKey]:
    return [PoolKey(one.namespace, one.name) for one in known.of(key, filesystem)]


def test_a_pool_is_reduced_to_what_others_have_to_know() -> None:
    nodes = {"nodePool": {"provisioner": "Existing", "zones": ["us-central1-b", "us-central1-a"]}}
    assert parsed(_pool(A, joined(NAMED, nodes))) == Neighbour(
        namespace="team-a",
        name="one",
        created="2026-11-01T00:00:00Z",
        filesystem="kvcache",
        selector={"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"},
        zones=("us-central1-a", "us-central1-b"),
    )


MADE = f"projects/my-project/locations/us-central1-a/instances/{names.derive('team-a', 'one')}"


@table(
    "base, instance, filesystem",
    {
        "the driver names the instance, and the name of the file system is derived": (
            {},
            "",
            names.filesystem("team-a", "one"),
        ),
        "an instance made through the API": (api(), MADE, names.filesystem("team-a", "one")),
        "an existing one, whose file system is left to the API": (existing(), NAME, ""),
        "an existing one by hand": (by_hand(), NAME, "given"),
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
def test_of_no_concern_is_a_pool(obj: dict[str, Any]) -> None:
    known = _known(_pool(A), _pool(B))
    assert _put(known, obj) == {B}, "it was one before"
    assert known.of(A) == known.of(B) == ()
    assert _put(known, obj) == set()


@table(
    "mine, theirs, found",
    {
        "pools whose file systems have one name": (NAMED, NAMED, True),
        "pools whose file systems have others": (NAMED, {}, False),
        "pools that leave the name to kvtier": ({}, {}, False),
        "pools with one instance": (existing(), existing(), True),
        "pools with one instance, of which one tells the name": (existing(), by_hand(), True),
        "an instance made through the API, and a pool that mounts it too": (
            api(),
            existing(instance=MADE),
            True,
        ),
        "a claim, and an existing file system of its name": (
            {"tiers": {"lustre": {"filesystem": "given"}}},
            by_hand(),
            True,
        ),
    },
)
def test_neighbours_are(mine: dict[str, Any], theirs: dict[str, Any], found: bool) -> None:
    known = _known(_pool(A, mine), _pool(B, theirs))
    assert _names(known, A) == ([B] if found else [])
    assert _names(known, B) == ([A] if found else [])


def test_the_eldest_comes_first() -> None:
    known = _known(
        _pool(A), _pool(B, created="2026-10-01T00:00:00Z"), _pool(C, created="2026-09-01T00:00:00Z")
    )
    assert _names(known, A) == [C, B]


def test_others_are_told_when_a_pool_comes_changes_and_goes() -> None:
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


def test_an_existing_instance_may_tell_the_name_that_the_spec_leaves_open() -> None:
    known = _known(_pool(A, joined(existing(), {"cluster": CLUSTER})), _pool(B))
    assert _names(known, A) == []
    assert _names(known, A, "kvcache") == [B], "the Lustre API tells it"
    assert known.mount(A, "kvcache") == {B}, "its volume tells it to the others"
    assert _names(known, A) == [B]
    assert _names(known, B) == [A]
    assert known.mount(A, "kvcache") == set()
    assert known.mount(A, "") == {B}
    assert _names(known, B) == []


def test_a_volume_may_come_before_its_pool_and_stay_after_it() -> None:
    known = _known(_pool(B))
    assert known.mount(A, "kvcache") == set()
    assert _put(known, _pool(A, existing())) == {B}
    assert known.put(A, None) == {B}
    assert _put(known, _pool(A, existing())) == {B}


def test_a_pool_that_nobody_knows_has_no_neighbours() -> None:
    assert _known(_pool(B)).of(A, "kvcache") == ()


BASES = [{}, NAMED, existing(), by_hand(), api(), {"tiers": {"lustre": None}}]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_everybody_concerned_is_told_and_only_what_is_now_counts(seed: int) -> None:
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
        known.mount(key, "")
    fresh = _known(*(_pool(key, base) for key, base in now.items() if base is not None))
    assert [known.of(key) for key in (A, B, C)] == [fresh.of(key) for key in (A, B, C)]


def _something(chance: random.Random, known: Neighbourhood, now: Any, key: PoolKey) -> set[Any]:
    """A pool comes, changes or goes, or its volume does."""
    if chance.random() < 0.3:
        return known.mount(key, chance.choice(["", "given", "kvcache"]))
    now[key] = chance.choice([*BASES, None])
    return known.put(key, None) if now[key] is None else _put(known, _pool(key, now[key]))
