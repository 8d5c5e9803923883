"""File systems of one name on one node."""

from dataclasses import replace
from typing import Any

from kvtier.api import names
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.filesystem import check
from kvtier.context import Context
from kvtier.facts.model import LustreFacts
from kvtier.facts.neighbours import Neighbour
from kvtier.facts.volumes import Volume, Volumes
from unit.builders import context, facts, joined, pool
from unit.instances import NAME, UNSEEN, api, by_hand, existing, instance
from unit.tables import table
from unit.verdicts import assert_says

EARLY, LATE, LATER = (f"2026-11-0{day}T00:00:00Z" for day in (1, 2, 3))
NODES = {
    "nodePool": {"provisioner": "Existing", "nodeSelector": {"team": "a"}},
    "metadata": {"creationTimestamp": LATE},
}
GPU = {"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"}
CLASS = {"cloud.google.com/compute-class": "first"}
FIRST = Neighbour("team-b", "first", EARLY, "kvcache", "", {**GPU, "team": "a"}, ("us-central1-a",))
SHARED = replace(FIRST, instance=NAME, filesystem="given")


def _pool(base: dict[str, Any], **changes: Any) -> KVCachePool:
    """A pool on existing nodes, second in time."""
    return pool(**joined(joined(NODES, base), changes))


NAMED = _pool({"tiers": {"lustre": {"filesystem": "kvcache"}}})
ON_DEMAND = pool(tiers={"lustre": {"filesystem": "kvcache"}})


def _look(
    of: KVCachePool, *volumes: Volume, lustre: LustreFacts | None = None, neighbours: Any = ()
) -> Context:
    known = Volumes({volume.name: volume for volume in volumes})
    return context(of, facts=replace(facts(), lustre=lustre, neighbours=neighbours, volumes=known))


def _beside(other: Neighbour, of: KVCachePool = NAMED) -> Context:
    return _look(of, lustre=instance(), neighbours=(other,))


@table(
    "look, verdict",
    {
        "of two pools that give their instances one name, the younger is refused": (
            _beside(FIRST),
            "False FilesystemNameTaken: pool team-b/first, which was there first, has file system name kvcache on the "
            "same nodes, and a node mounts one file system of a name: make this pool anew with another "
            "lustre.filesystem, or keep the pools on different nodes (nodePool.nodeSelector)",
        ),
        "the elder has it": (_beside(replace(FIRST, created=LATER)), "True Unique: kvcache"),
        "of two made in one second, the name decides": (
            _beside(replace(FIRST, created=LATE, namespace="a")),
            "False FilesystemNameTaken: pool a/first",
        ),
        "and for the other the other way round": (_beside(replace(FIRST, created=LATE)), "True Unique"),
        "a pool that is not made yet comes last": (
            _beside(
                FIRST,
                _pool({"tiers": {"lustre": {"filesystem": "kvcache"}}}, metadata={"creationTimestamp": None}),
            ),
            "False FilesystemNameTaken",
        ),
        "other nodes by label keep them apart": (
            _beside(replace(FIRST, selector={**GPU, "team": "b"})),
            "True Unique",
        ),
        "other zones keep them apart": (_beside(replace(FIRST, zones=("us-east1-b",))), "True Unique"),
        "no zone in particular is any zone": (_beside(replace(FIRST, zones=())), "False FilesystemNameTaken"),
        "a label that only one asks for does not": (
            _beside(replace(FIRST, selector=GPU)),
            "False FilesystemNameTaken",
        ),
        "nobody else runs on the nodes of a ComputeClass, whatever else they are labelled": (
            _beside(replace(FIRST, selector=CLASS)),
            "True Unique",
        ),
        "a ComputeClass makes nodes for its own pool": (
            _beside(replace(FIRST, selector=CLASS), ON_DEMAND),
            "True Unique",
        ),
        "of two pools with one instance, the younger is refused": (
            _beside(SHARED, _pool(existing())),
            f"False InstanceShared: pool team-b/first, which was there first, uses {NAME} on the same nodes, and a "
            "node mounts one volume of an instance: add these models to that pool, or keep the pools on different "
            "nodes",
        ),
        "another instance of the same name": (
            _beside(replace(SHARED, instance=NAME + "2"), _pool(by_hand())),
            "False FilesystemNameTaken: has file system name given",
        ),
    },
)
def test_two_pools(look: Context, verdict: str) -> None:
    assert_says(check(look), "FilesystemUnique", verdict)


def test_a_pool_in_the_way_is_found_behind_others() -> None:
    away = replace(FIRST, name="away", zones=("us-east1-b",))
    assert "pool team-b/first" in check(_look(NAMED, neighbours=(away, FIRST))).message


CLAIM = ("team-a", names.claim("chat"))
OWN = Volume("mine", "u1", "p/z/i", filesystem="kvcache", claim=CLAIM, phase="Bound")
FOREIGN = Volume("theirs", "u2", "p/z/j", filesystem="kvcache", claim=("x", "data"), phase="Bound")


@table(
    "look, verdict",
    {
        "without Lustre there is no name": (_look(pool(tiers={"lustre": None}), FOREIGN), "True NotNeeded"),
        "the pool's own volume is none of others": (_look(NAMED, OWN), "True Unique: kvcache"),
        "a volume of somebody else is pointed at, with both names": (
            _look(NAMED, OWN, FOREIGN),
            "Unknown ForeignVolume: PersistentVolume theirs (claim x/data) has file system name kvcache too",
        ),
        "a volume that is free can be taken": (
            _look(NAMED, replace(FOREIGN, claim=None, phase="Available")),
            "Unknown ForeignVolume: PersistentVolume theirs has file system name",
        ),
        "on the nodes of a ComputeClass nobody else mounts anything": (
            _look(ON_DEMAND, FOREIGN),
            "True Unique: kvcache",
        ),
        "what nobody can mount does not count": (
            _look(NAMED, replace(FOREIGN, phase="Released"), replace(FOREIGN, name="broken", phase="Failed")),
            "True Unique",
        ),
        "of two volumes for its claim the bound one is mounted": (
            _look(NAMED, replace(OWN, filesystem="former", name="a", phase="Released"), OWN, FOREIGN),
            "Unknown ForeignVolume: kvcache too",
        ),
        "another name does not count": (_look(NAMED, replace(FOREIGN, filesystem="other")), "True Unique"),
        "a derived name is compared as well": (
            _look(_pool({}), replace(FOREIGN, filesystem=names.filesystem("team-a", "chat"))),
            "Unknown ForeignVolume",
        ),
        "the volume of a pool on other nodes is that pool's": (
            _look(
                NAMED,
                replace(FOREIGN, claim=("team-b", names.claim("first"))),
                neighbours=(replace(FIRST, zones=("us-east1-b",)),),
            ),
            "True Unique",
        ),
        "the name that is mounted counts, whatever the spec says": (
            _look(NAMED, replace(OWN, filesystem="former"), FOREIGN),
            "True Unique: former",
        ),
        "the API knows the name of an existing instance": (
            _look(_pool(existing()), replace(FOREIGN, filesystem="given"), lustre=instance()),
            "Unknown ForeignVolume: given",
        ),
        "so does its volume": (
            _look(_pool(existing()), OWN, FOREIGN, lustre=UNSEEN),
            "Unknown ForeignVolume: kvcache",
        ),
        "else nobody does": (
            _look(_pool(existing()), FOREIGN, lustre=UNSEEN),
            f"Unknown NameNotSeen: {NAME}",
        ),
        "an instance that kvtier makes has the name that it is given": (
            _look(_pool(api(filesystem="kvcache")), FOREIGN, lustre=UNSEEN),
            "Unknown ForeignVolume: kvcache",
        ),
    },
)
def test_volumes_of_others(look: Context, verdict: str) -> None:
    assert_says(check(look), "FilesystemUnique", verdict)


def test_the_message_stays_short_and_the_same_whatever_the_order() -> None:
    many = [replace(FOREIGN, name=f"v{i}", claim=None) for i in range(50)]
    one, other = check(_look(NAMED, *many)), check(_look(NAMED, *reversed(many)))
    assert one == other
    assert len(one.message) < 400
