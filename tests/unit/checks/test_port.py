"""The port at which nodes speak to Lustre, and the one at which the instance listens."""

from dataclasses import replace
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.port import check
from kvtier.context import Context
from kvtier.facts.model import GKECluster, LustreFacts
from unit.builders import context, facts, node, pool
from unit.instances import NAME, UNSEEN, api, by_hand, existing, instance
from unit.tables import table
from unit.verdicts import assert_says

CLAIM, MADE = pool(), pool(**api())
MODERN, LEGACY = GKECluster(legacy_port=False), GKECluster(legacy_port=True)
DENIED = GKECluster(error="grant roles/container.clusterViewer")
OLD, AT_GATE = "v1.33.2-gke.4779999", "v1.33.2-gke.4780000"
LISTENS_AT_988, LISTENS_AT_6988 = instance(), instance(legacy_port=True)


def _look(
    of: KVCachePool, gke: GKECluster | None, seen: LustreFacts | None = None, **cluster: Any
) -> Context:
    return context(of, facts=replace(facts(gke=gke, **cluster), lustre=seen))


def _existing(gke: GKECluster | None, seen: LustreFacts) -> Context:
    return _look(pool(**existing()), gke, seen)


@table(
    "look, verdict",
    {
        "without Lustre no port matters": (_look(pool(tiers={"lustre": None}), LEGACY), "True NotNeeded"),
        "an instance of the driver listens where the cluster's nodes speak": (
            _look(CLAIM, LEGACY),
            "True Matched: speak at 6988",
        ),
        "an instance that is made is not questioned where nothing is seen": (_look(CLAIM, None), "True Made"),
        "nor one made through the API": (_look(MADE, DENIED), "True Made"),
        "an instance made through the API listens at 988": (
            _look(MADE, LEGACY),
            "False LegacyCluster: the nodes speak to Lustre at 6988",
        ),
        "an existing instance at 988 and nodes at 988": (
            _existing(MODERN, LISTENS_AT_988),
            "True Matched: speak at 988",
        ),
        "both at the legacy port": (_existing(LEGACY, LISTENS_AT_6988), "True Matched: speak at 6988"),
        "an instance at the legacy port alone, and both ways out": (
            _existing(MODERN, LISTENS_AT_6988),
            "False LegacyInstance: gcloud container clusters update CLUSTER --enable-legacy-lustre-port and upgrade "
            "the node pools, or use an instance that was made without gke-support-enabled",
        ),
        "nodes at the legacy port alone, and both ways out": (
            _existing(LEGACY, LISTENS_AT_988),
            "False LegacyCluster: take enableLegacyLustrePort out of the cluster's Lustre CSI add-on and upgrade the "
            "node pools, or use an instance that was made with gke-support-enabled",
        ),
        "an existing instance that is not seen": (
            _existing(MODERN, UNSEEN),
            f"Unknown InstanceNotSeen: whether {NAME} listens at 988 or 6988",
        ),
        "an instance given by hand": (_look(pool(**by_hand()), MODERN), "Unknown InstanceNotSeen"),
        "a cluster that is not named": (
            _existing(None, LISTENS_AT_6988),
            "Unknown ClusterNotSeen: listens at 6988; whether the nodes speak to that port cannot be seen: set",
        ),
        "a cluster that may not be seen": (
            _existing(DENIED, LISTENS_AT_988),
            "Unknown ClusterNotSeen: cannot be seen: grant roles/container.clusterViewer",
        ),
        "at its gate 988 works": (_look(CLAIM, MODERN, version=AT_GATE), "True Matched"),
        "one build below it the port is taken": (
            _look(CLAIM, MODERN, version=OLD),
            "False PortNeedsVersion: nodes at 1.33.2-gke.4779999 cannot speak to Lustre at 988",
        ),
        "the legacy port works below it": (_look(CLAIM, LEGACY, version=OLD), "True Matched: 6988"),
        "below it, which port it is has to be seen": (
            _look(CLAIM, None, version=OLD),
            "Unknown ClusterNotSeen: (1.33.2-gke.4779999) need --enable-legacy-lustre-port",
        ),
        "a version that says nothing is no reason to doubt": (
            _look(CLAIM, None, version="v1.33.2"),
            "True Made",
        ),
    },
)
def test_port(look: Context, verdict: str) -> None:
    assert_says(check(look), "PortMatched", verdict)


def test_the_oldest_candidate_node_decides() -> None:
    nodes = [node(CLAIM), node(CLAIM, "old", kubelet_version=OLD), node(CLAIM, "odd", kubelet_version="?")]
    assert check(context(CLAIM, facts=facts(*nodes, gke=MODERN))).reason == "PortNeedsVersion"
    recent = facts(nodes[0], gke=MODERN, version=OLD)
    assert check(context(CLAIM, facts=recent)).reason == "Matched"
