"""No request to Google's APIs has a value that the pool may not use."""

from dataclasses import replace
from typing import Any

from kvtier.api.kinds import Object
from kvtier.api.policy import Grant, Policy
from kvtier.api.v1alpha1 import KVCachePool, PoolStatus
from kvtier.api.v1alpha1.pool import Cluster as NamedCluster
from kvtier.checks import run
from kvtier.context import build
from kvtier.facts.children import Children, children
from kvtier.facts.collector import Collector, withheld
from kvtier.facts.gke import GKEReader
from kvtier.facts.lustre_api import LustreReader
from kvtier.facts.model import Cluster, GKECluster, LustreFacts, Observed
from kvtier.facts.neighbours import Neighbour, neighbour
from kvtier.facts.policy import Grants, PolicyFacts
from kvtier.facts.volumes import Volumes
from unit.builders import NOW, deleted, facts, joined, live, manifest, node, pool, with_status
from unit.instances import CLUSTER, NAME, api, existing
from unit.memory import MemoryClient
from unit.simulation import made
from unit.tables import table

THEIR_CLUSTER: dict[str, Any] = {"cluster": {**CLUSTER, "project": "their-project"}}
THEIRS = joined(api(), THEIR_CLUSTER)
HOST = "projects/host-project/global/networks/shared"


class Asked:
    """A source without children, and readers that note what they are asked for."""

    def __init__(self, policy: PolicyFacts | None = None) -> None:
        self.gke: list[str] = []
        self.lustre: list[str] = []
        self.others: tuple[Neighbour, ...] = ()
        self._policy = policy or PolicyFacts()
        self._node = replace(node(pool()), project="my-project")

    def cluster(self) -> Cluster:
        return facts(self._node).cluster

    def volumes(self) -> Volumes:
        return Volumes()

    def neighbours(self, *_: Any) -> tuple[Neighbour, ...]:
        return self.others

    def children(self, *_: Any) -> Children:
        return Children()

    def policy(self) -> PolicyFacts:
        return self._policy

    async def look(self, of: KVCachePool) -> Any:
        """The facts of a pool."""
        collector = Collector(MemoryClient(), self, _GKE(self), _Lustre(self))
        return (await collector.collect(of, NOW)).facts


class _GKE(GKEReader):
    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    async def read(self, cluster: NamedCluster | None) -> GKECluster | None:
        if cluster:
            self._asked.gke.append(cluster.project)
        return GKECluster(network=HOST)


class _Lustre(LustreReader):
    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    async def read(self, instance: str | None, *_: Any) -> LustreFacts | None:
        if instance:
            self._asked.lustre.append(instance)
        return LustreFacts()


@table(
    "of, errors",
    {
        "an existing instance in the project of the cluster": (
            pool(**existing()),
            [f"kvtier does not read {NAME}: see AccessGranted."],
        ),
        "another project": (
            pool(**THEIRS),
            [
                "kvtier does not read project their-project: see AccessGranted.",
                f"kvtier does not read {made(pool(**THEIRS)).name}: see AccessGranted.",
            ],
        ),
        "another project of a pool that the CSI driver provisions": (
            pool(**THEIR_CLUSTER),
            ["kvtier does not read project their-project: see AccessGranted."],
        ),
    },
)
async def test_what_is_not_granted_is_not_requested(of: KVCachePool, errors: list[str]) -> None:
    asked = Asked()
    found = await asked.look(of)
    assert (asked.gke, asked.lustre) == ([], [])
    assert [one.error for one in (found.gke, found.lustre) if one and one.error] == errors


async def test_conditions_point_to_the_one_that_says_what_is_missing() -> None:
    of = pool(**THEIR_CLUSTER)
    found = run(build(of, Observed(await Asked().look(of)), NOW))
    assert found["AccessGranted"].reason == "NotGranted"
    expected = "kvtier does not read project their-project: see AccessGranted."
    assert (found["NetworkMatched"].status, found["NetworkMatched"].message) == ("Unknown", expected)


async def test_what_belongs_to_the_cluster_is_requested() -> None:
    asked = Asked()
    of = pool(**api())
    await asked.look(of)
    assert (asked.gke, asked.lustre) == (["my-project"], [made(of).name])


async def test_the_network_of_a_shared_vpc_belongs_to_the_cluster() -> None:
    found = await Asked().look(pool(cluster=CLUSTER))
    assert found.grants.allows("networks", HOST)


async def test_the_network_of_a_cluster_in_a_granted_project_is_not_that_of_this_cluster() -> None:
    granted = Grant(namespaces=["team-a"], projects=["their-project"])
    asked = Asked(PolicyFacts(Policy(grants=[granted])))
    found = await asked.look(pool(**THEIR_CLUSTER))
    assert asked.gke == ["their-project"]
    assert not found.grants.allows("networks", HOST)


@table(
    "changes, holds, counts",
    {
        "without the grant": ({}, False, False),
        "without the grant, but with the instance mounted": ({}, True, True),
        "with the grant": ({"metadata": {"namespace": "team-b"}}, False, True),
    },
)
async def test_a_pool_that_may_not_use_an_instance_is_in_nobodys_way(
    changes: dict[str, Any], holds: bool, counts: bool
) -> None:
    asked = Asked(PolicyFacts(Policy(grants=[Grant(namespaces=["team-b"], instances=[NAME])])))
    other = neighbour(pool(**joined(existing(), changes)))
    assert other
    asked.others = (replace(other, holds=holds),)
    found = await asked.look(pool())
    assert bool(found.neighbours) is counts


# While a pool, or its tier, is being deleted.

ABSENT = LustreFacts()
THEIR_NAME = made(pool(**THEIRS)).name
RECORDED = PoolStatus.model_validate({"tiers": [{"name": "lustre", "phase": "Waiting", "instance": NAME}]})
NOTHING = Grants(frozenset({"my-project"}))


def _created(project: str) -> PoolStatus:
    """The status after an instance was created in a project."""
    times = {"startTime": NOW, "attempt": 1}
    name = f"projects/{project}/locations/us-central1-a/operations/operation-1"
    create = {"kind": "Create", "subject": "s", "state": "Succeeded", "requestID": "r", "name": name, **times}
    return PoolStatus.model_validate({"operations": [create]})


def _withheld(of: KVCachePool, *live: Object, name: str = NAME) -> LustreFacts | None:
    known = {(obj["kind"], obj["metadata"]["name"]): obj for obj in live}
    return withheld(of, name, children(known), NOTHING)


def test_a_deleted_pool_that_never_had_the_grant_has_no_instance_to_delete() -> None:
    assert _withheld(deleted(**THEIRS), name=THEIR_NAME) == ABSENT


@table("of", {"Existing": deleted(**existing()), "CSI": deleted(**THEIR_CLUSTER)})
def test_an_instance_that_kvtier_does_not_delete_itself_stays_unknown(of: KVCachePool) -> None:
    """If it counted as absent, its data would be deleted without the export before deletion."""
    found = _withheld(of, name=NAME.replace("my-project", "their-project"))
    assert found
    assert found.error


def test_a_deleted_pool_with_the_grant_reads_whether_an_instance_was_created_before_a_status_was_lost() -> (
    None
):
    assert _withheld(deleted(**THEIRS)) is None, "the project of this name is granted"


def test_what_the_status_says_that_kvtier_created_is_read_for_its_deletion() -> None:
    of = deleted(**THEIRS)
    assert _withheld(with_status(of, _created("their-project")), name=THEIR_NAME) is None


def test_the_instance_of_a_persistent_volume_is_read_for_its_deletion() -> None:
    of = deleted(**THEIRS)
    volume = live(manifest(of, "PersistentVolume"), spec={"csi": {"volumeHandle": _handle(THEIR_NAME)}})
    assert _withheld(of, volume, name=THEIR_NAME) is None
    other = live(manifest(of, "PersistentVolume"), spec={"csi": {"volumeHandle": _handle(NAME)}})
    assert _withheld(of, other, name=THEIR_NAME) == ABSENT


def _handle(name: str) -> str:
    return "/".join(name.split("/")[1::2])


def test_an_instance_that_was_created_elsewhere_gives_no_right_to_read_another_one() -> None:
    """A tier that is removed and added again may name another project, or an existing instance."""
    assert _withheld(with_status(deleted(**THEIRS), _created("my-project")), name=THEIR_NAME) == ABSENT
    removed = with_status(pool(tiers={"lustre": None}), _created("my-project"))
    found = _withheld(removed, name=NAME)
    assert found
    assert found.error


def test_an_instance_that_a_removed_tier_only_named_is_not_read() -> None:
    removed = with_status(pool(tiers={"lustre": None}), RECORDED)
    found = _withheld(removed)
    assert found
    assert found.error


def test_without_an_instance_nothing_is_withheld() -> None:
    assert withheld(pool(), None, Children(), NOTHING) is None
