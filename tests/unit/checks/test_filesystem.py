"""File systems of the same name on one node."""

from dataclasses import replace
from typing import Any

from kvtier.api import names
from kvtier.api.v1alpha1 import KVCachePool, PoolStatus
from kvtier.checks.filesystem import check
from kvtier.context import Context
from kvtier.facts.model import LustreFacts
from kvtier.facts.neighbours import Neighbour
from kvtier.facts.volumes import Volume, Volumes
from unit.builders import context, facts, joined, pool, with_status
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
    """A pool on existing nodes, younger than FIRST."""
    return pool(**joined(joined(NODES, base), changes))


NAMED = _pool({"tiers": {"lustre": {"filesystem": "kvcache"}}})
ON_DEMAND = pool(tiers={"lustre": {"filesystem": "kvcache"}})


CLAIM = ("team-a", names.claim("chat"))
OWN = Volume("mine", "u1", "p/z/i", filesystem="kvcache", claim=CLAIM, phase="Bound")
FOREIGN = Volume("theirs", "u2", "p/z/j", filesystem="kvcache", claim=("x", "data"), phase="Bound")
BLOCKED = with_status(NAMED, PoolStatus(phase="Blocked"))


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
        "of two pools with the same file system name, the younger is refused": (
            _beside(FIRST),
            "False FilesystemNameTaken: The older pool team-b/first uses file system name kvcache on these nodes. "
            "Recreate this pool with another lustre.filesystem, or put the pools on different nodes "
            "(nodePool.nodeSelector).",
        ),
        "the older pool keeps the name": (_beside(replace(FIRST, created=LATER)), "True Unique: kvcache"),
        "of two pools created in the same second, the uid decides, and not the name": (
            _beside(replace(FIRST, created=LATE, uid="a")),
            "False FilesystemNameTaken: Pool team-b/first uses file system name kvcache on these nodes.",
        ),
        "and the other pool keeps the file system name": (
            _beside(replace(FIRST, created=LATE, namespace="a", uid="z")),
            "True Unique",
        ),
        "a younger pool that has the file system keeps it": (
            _beside(replace(FIRST, created=LATER, holds=True)),
            "False FilesystemNameTaken: Pool team-b/first uses",
        ),
        "an older pool without the file system does not take it": (
            _look(NAMED, OWN, neighbours=(FIRST,)),
            "True Unique",
        ),
        "of two pools that have the file system, the older one keeps it": (
            _look(NAMED, OWN, neighbours=(replace(FIRST, holds=True),)),
            "False FilesystemNameTaken: The older pool team-b/first",
        ),
        "a PersistentVolume with another file system name gives no priority": (
            _look(NAMED, replace(OWN, filesystem="other"), neighbours=(replace(FIRST, holds=True),)),
            "False FilesystemNameTaken",
        ),
        "an older pool that is blocked does not take the name of one that can be created": (
            _beside(replace(FIRST, blocked=True)),
            "True Unique",
        ),
        "of two blocked pools, the older one has priority": (
            _beside(replace(FIRST, blocked=True), BLOCKED),
            "False FilesystemNameTaken: The older pool team-b/first",
        ),
        "a pool that does not exist yet is the youngest": (
            _beside(
                FIRST,
                _pool({"tiers": {"lustre": {"filesystem": "kvcache"}}}, metadata={"creationTimestamp": None}),
            ),
            "False FilesystemNameTaken",
        ),
        "different node labels keep pools apart": (
            _beside(replace(FIRST, selector={**GPU, "team": "b"})),
            "True Unique",
        ),
        "different zones keep pools apart": (_beside(replace(FIRST, zones=("us-east1-b",))), "True Unique"),
        "a pool without zones may run in any zone": (
            _beside(replace(FIRST, zones=())),
            "False FilesystemNameTaken",
        ),
        "a label that only one pool selects does not keep pools apart": (
            _beside(replace(FIRST, selector=GPU)),
            "False FilesystemNameTaken",
        ),
        "no other pool runs on the nodes of a ComputeClass": (
            _beside(replace(FIRST, selector=CLASS)),
            "True Unique",
        ),
        "a ComputeClass has nodes only for its own pool": (
            _beside(replace(FIRST, selector=CLASS), ON_DEMAND),
            "True Unique",
        ),
        "of two pools with the same instance, the younger is refused": (
            _beside(SHARED, _pool(existing())),
            f"False InstanceShared: The older pool team-b/first uses {NAME} on these nodes, and a node mounts an "
            "instance only once. Add these models to that pool, or put the pools on different nodes",
        ),
        "another instance with the same file system name": (
            _beside(replace(SHARED, instance=NAME + "2"), _pool(by_hand())),
            "False FilesystemNameTaken: uses file system name given on",
        ),
    },
)
def test_two_pools(look: Context, verdict: str) -> None:
    assert_says(check(look), "FilesystemUnique", verdict)


def test_an_older_pool_on_the_same_nodes_is_found_among_others() -> None:
    away = replace(FIRST, name="away", zones=("us-east1-b",))
    assert "pool team-b/first" in check(_look(NAMED, neighbours=(away, FIRST))).message


@table(
    "look, verdict",
    {
        "without Lustre there is no name": (_look(pool(tiers={"lustre": None}), FOREIGN), "True NotNeeded"),
        "the pool's own PersistentVolume does not count": (_look(NAMED, OWN), "True Unique: kvcache"),
        "a foreign PersistentVolume is named with its PVC": (
            _look(NAMED, OWN, FOREIGN),
            "Unknown ForeignVolume: File system name kvcache is also used by PersistentVolume theirs (PVC x/data), and",
        ),
        "a PersistentVolume without a PVC can be bound": (
            _look(NAMED, replace(FOREIGN, claim=None, phase="Available")),
            "Unknown ForeignVolume: is also used by PersistentVolume theirs, and",
        ),
        "no other Pod mounts a PersistentVolume on the nodes of a ComputeClass": (
            _look(ON_DEMAND, FOREIGN),
            "True Unique: kvcache",
        ),
        "a PersistentVolume that no Pod can mount does not count": (
            _look(NAMED, replace(FOREIGN, phase="Released"), replace(FOREIGN, name="broken", phase="Failed")),
            "True Unique",
        ),
        "of two PersistentVolumes for its PVC, the bound one counts": (
            _look(NAMED, replace(OWN, filesystem="former", name="a", phase="Released"), OWN, FOREIGN),
            "Unknown ForeignVolume: File system name kvcache is also used",
        ),
        "a PersistentVolume with another file system name does not count": (
            _look(NAMED, replace(FOREIGN, filesystem="other")),
            "True Unique",
        ),
        "a derived file system name is also compared": (
            _look(_pool({}), replace(FOREIGN, filesystem=names.filesystem("team-a", "chat"))),
            "Unknown ForeignVolume",
        ),
        "the PersistentVolume of a pool on other nodes does not count": (
            _look(
                NAMED,
                replace(FOREIGN, claim=("team-b", names.claim("first"))),
                neighbours=(replace(FIRST, zones=("us-east1-b",)),),
            ),
            "True Unique",
        ),
        "the mounted name has priority over the spec": (
            _look(NAMED, replace(OWN, filesystem="former"), FOREIGN),
            "True Unique: former",
        ),
        "the Lustre API returns the name of an existing instance": (
            _look(_pool(existing()), replace(FOREIGN, filesystem="given"), lustre=instance()),
            "Unknown ForeignVolume: given",
        ),
        "the PersistentVolume of an existing instance contains the name": (
            _look(_pool(existing()), OWN, FOREIGN, lustre=UNSEEN),
            "Unknown ForeignVolume: kvcache",
        ),
        "else the name is unknown": (
            _look(_pool(existing()), FOREIGN, lustre=UNSEEN),
            f"Unknown NameNotSeen: The file system name of {NAME} is unknown until the Lustre API returns it.",
        ),
        "an instance that kvtier creates has the name of the spec": (
            _look(_pool(api(filesystem="kvcache")), FOREIGN, lustre=UNSEEN),
            "Unknown ForeignVolume: kvcache",
        ),
    },
)
def test_volumes_of_others(look: Context, verdict: str) -> None:
    assert_says(check(look), "FilesystemUnique", verdict)


def test_the_message_is_short_and_independent_of_the_order() -> None:
    many = [replace(FOREIGN, name=f"v{i}", claim=None) for i in range(50)]
    one, other = check(_look(NAMED, *many)), check(_look(NAMED, *reversed(many)))
    assert one == other
    assert len(one.message) < 400
