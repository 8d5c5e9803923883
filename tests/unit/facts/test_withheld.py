"""No request to Google's APIs has a value that the pool may not use."""

from dataclasses import replace
from typing import Any

import pytest

from kvtier.api.kinds import Object
from kvtier.api.policy import Grant, Policy
from kvtier.api.v1alpha1 import KVCachePool, PoolStatus
from kvtier.api.v1alpha1.pool import Cluster as NamedCluster
from kvtier.checks import network
from kvtier.context import build
from kvtier.facts.children import Children, children
from kvtier.facts.collector import Collector, withheld
from kvtier.facts.gke import GKEReader
from kvtier.facts.lustre_api import LustreReader
from kvtier.facts.model import Cluster, GKECluster, LustreFacts, Observed
from kvtier.facts.neighbours import Neighbour
from kvtier.facts.policy import Grants, PolicyFacts
from kvtier.facts.volumes import Volumes
from unit.builders import NOW, deleted, facts, joined, manifest, node, pool, with_status
from unit.instances import CLUSTER, NAME, api, existing
from unit.memory import MemoryClient
from unit.simulation import made
from unit.tables import table

THEIR_CLUSTER = {"cluster": {**CLUSTER, "project": "their-project"}}
THEIRS = joined(api(), THEIR_CLUSTER)
HOST = "projects/host-project/global/networks/shared"


class Asked:
    """A source without children, and readers that note what they are asked for."""

    def __init__(self, policy: PolicyFacts | None = None) -> None:
        self.gke: list[str] = []
        self.lustre: list[str] = []
        self._policy = policy or PolicyFacts()
        self._node = replace(node(pool()), project="my-project")

    def cluster(self) -> Cluster:
        return facts(self._node).cluster

    def volumes(self) -> Volumes:
        return Volumes()

    def neighbours(self, *_: Any) -> tuple[Neighbour, ...]:
        return ()

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
    if found.gke and found.gke.error:
        seen = build(of, Observed(replace(found, grants=Grants())), NOW)
        assert found.gke.error in network.check(seen).message


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


# While a pool, or its tier, is being deleted.

ABSENT = LustreFacts()
CREATED = PoolStatus.model_validate(
    {
        "operations": [
            {
                "kind": "Create",
                "subject": "s",
                "state": "Succeeded",
                "requestID": "r",
                "startTime": NOW,
                "attempt": 1,
            }
        ]
    }
)
RECORDED = PoolStatus.model_validate({"tiers": [{"name": "lustre", "phase": "Waiting", "instance": NAME}]})
NOTHING = Grants(frozenset({"my-project"}))


def _withheld(of: KVCachePool, *live: Object, name: str = NAME) -> LustreFacts | None:
    known = {(obj["kind"], obj["metadata"]["name"]): obj for obj in live}
    return withheld(of, name, children(known), NOTHING)


def test_a_deleted_pool_that_never_had_the_grant_has_no_instance() -> None:
    assert _withheld(deleted(**THEIRS), name=NAME.replace("my-project", "their-project")) == ABSENT
    assert _withheld(deleted(**existing())) == ABSENT


def test_a_deleted_pool_with_the_grant_reads_whether_an_instance_was_created_before_a_status_was_lost() -> (
    None
):
    assert _withheld(deleted(**THEIRS)) is None, "the project of this name is granted"


@pytest.mark.parametrize("by", ["status", "PersistentVolume"])
def test_what_kvtier_created_is_read_for_its_deletion(by: str) -> None:
    of = deleted(**THEIRS)
    volume = {**manifest(of, "PersistentVolume")}
    volume["metadata"] = {**volume["metadata"], "uid": "u", "resourceVersion": "1"}
    if by == "status":
        assert _withheld(with_status(of, CREATED)) is None
    else:
        assert _withheld(of, volume) is None


def test_an_instance_that_a_removed_tier_only_named_is_not_read() -> None:
    removed = with_status(pool(tiers={"lustre": None}), RECORDED)
    found = _withheld(removed)
    assert found
    assert found.error


def test_without_an_instance_nothing_is_withheld() -> None:
    assert withheld(pool(), None, Children(), NOTHING) is None
