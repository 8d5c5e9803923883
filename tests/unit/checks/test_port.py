"""The port at which nodes speak to Lustre, and the one at which the instance listens."""

from dataclasses import replace
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.port import check
from kvtier.facts.model import GKECluster, LustreFacts
from unit.builders import facts, node, pool
from unit.instances import NAME, UNSEEN, api, by_hand, existing, instance
from unit.tables import table
from unit.verdicts import assert_verdict

CLAIM, MADE, EXISTING = pool(), pool(**api()), pool(**existing())
MODERN, LEGACY = GKECluster(legacy_port=False), GKECluster(legacy_port=True)
DENIED = GKECluster(error="grant roles/container.clusterViewer")
OLD, AT_GATE = "v1.33.2-gke.4779999", "v1.33.2-gke.4780000"
LISTENS_AT_988, LISTENS_AT_6988 = instance(), instance(legacy_port=True)


@table(
    "of, gke, seen, verdict",
    {
        "without Lustre no port matters": (
            pool(tiers={"lustre": None}),
            LEGACY,
            None,
            ("True", "NotNeeded", ""),
        ),
        "an instance of the driver listens where the cluster's nodes speak": (
            CLAIM,
            LEGACY,
            None,
            ("True", "Matched", "speak at 6988"),
        ),
        "an instance that is made is not questioned where nothing is seen": (
            CLAIM,
            None,
            None,
            ("True", "Made", ""),
        ),
        "nor one made through the API": (MADE, DENIED, None, ("True", "Made", "")),
        "an instance made through the API listens at 988": (
            MADE,
            LEGACY,
            None,
            ("False", "LegacyCluster", "the nodes speak to Lustre at 6988"),
        ),
        "an existing instance at 988 and nodes at 988": (
            EXISTING,
            MODERN,
            LISTENS_AT_988,
            ("True", "Matched", "speak at 988"),
        ),
        "both at the legacy port": (EXISTING, LEGACY, LISTENS_AT_6988, ("True", "Matched", "speak at 6988")),
        "an instance at the legacy port alone, and both ways out": (
            EXISTING,
            MODERN,
            LISTENS_AT_6988,
            (
                "False",
                "LegacyInstance",
                "gcloud container clusters update CLUSTER --enable-legacy-lustre-port and upgrade the node pools, or "
                "use an instance that was made without gke-support-enabled",
            ),
        ),
        "nodes at the legacy port alone, and both ways out": (
            EXISTING,
            LEGACY,
            LISTENS_AT_988,
            (
                "False",
                "LegacyCluster",
                "take enableLegacyLustrePort out of the cluster's Lustre CSI add-on and upgrade the node pools, or use "
                "an instance that was made with gke-support-enabled",
            ),
        ),
        "an existing instance that is not seen": (
            EXISTING,
            MODERN,
            UNSEEN,
            ("Unknown", "InstanceNotSeen", f"whether {NAME} listens at 988 or 6988"),
        ),
        "an instance given by hand": (pool(**by_hand()), MODERN, None, ("Unknown", "InstanceNotSeen", "")),
        "a cluster that is not named": (
            EXISTING,
            None,
            LISTENS_AT_6988,
            (
                "Unknown",
                "ClusterNotSeen",
                "listens at 6988; whether the nodes speak to that port cannot be seen: set",
            ),
        ),
        "a cluster that may not be seen": (
            EXISTING,
            DENIED,
            LISTENS_AT_988,
            ("Unknown", "ClusterNotSeen", "cannot be seen: grant roles/container.clusterViewer"),
        ),
    },
)
def test_port(
    of: KVCachePool, gke: GKECluster | None, seen: LustreFacts | None, verdict: tuple[str, str, str]
) -> None:
    assert_verdict(check(of, replace(facts(gke=gke), lustre=seen)), "PortMatched", *verdict)


@table(
    "of, gke, version, verdict",
    {
        "at its gate 988 works": (CLAIM, MODERN, AT_GATE, ("True", "Matched", "")),
        "one build below it the port is taken": (
            CLAIM,
            MODERN,
            OLD,
            ("False", "PortNeedsVersion", "nodes at 1.33.2-gke.4779999 cannot speak to Lustre at 988"),
        ),
        "the legacy port works below it": (CLAIM, LEGACY, OLD, ("True", "Matched", "6988")),
        "below it, which port it is has to be seen": (
            CLAIM,
            None,
            OLD,
            ("Unknown", "ClusterNotSeen", "(1.33.2-gke.4779999) need --enable-legacy-lustre-port"),
        ),
        "a version that says nothing is no reason to doubt": (CLAIM, None, "v1.33.2", ("True", "Made", "")),
    },
)
def test_port_of_a_control_plane(of: Any, gke: Any, version: str, verdict: tuple[str, str, str]) -> None:
    assert_verdict(check(of, facts(gke=gke, version=version)), "PortMatched", *verdict)


def test_the_oldest_candidate_node_decides() -> None:
    nodes = [node(CLAIM), node(CLAIM, "old", kubelet_version=OLD), node(CLAIM, "odd", kubelet_version="?")]
    assert check(CLAIM, facts(*nodes, gke=MODERN)).reason == "PortNeedsVersion"
    assert check(CLAIM, facts(nodes[0], gke=MODERN, version=OLD)).reason == "Matched"
