"""The port that nodes use for Lustre, and the port on which the instance listens."""

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
DENIED = GKECluster(error="The GKE API denied access. Grant roles/container.clusterViewer.")
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
        "an instance of the driver listens on the port of the nodes": (
            _look(CLAIM, LEGACY),
            "True Matched: use port 6988.",
        ),
        "a new instance gets the right port, also without spec.cluster": (_look(CLAIM, None), "True Made"),
        "so does a new instance of the Lustre API": (_look(MADE, DENIED), "True Made"),
        "a new instance of the Lustre API listens on 988": (
            _look(MADE, LEGACY),
            "False LegacyCluster: The nodes use port 6988",
        ),
        "an existing instance on 988 and nodes with 988": (
            _existing(MODERN, LISTENS_AT_988),
            "True Matched: The nodes and the instance use port 988.",
        ),
        "both with the legacy port": (_existing(LEGACY, LISTENS_AT_6988), "True Matched: use port 6988."),
        "only the instance has the legacy port, and the message has both remedies": (
            _existing(MODERN, LISTENS_AT_6988),
            "False LegacyInstance: Use an instance without gke-support-enabled, or run this command and then "
            "upgrade the node pools: gcloud container clusters update CLUSTER --location=LOCATION --project=PROJECT "
            "--enable-legacy-lustre-port",
        ),
        "only the nodes have the legacy port, and the message has both remedies": (
            _existing(LEGACY, LISTENS_AT_988),
            "False LegacyCluster: Use an instance with gke-support-enabled, or remove enableLegacyLustrePort from the "
            "Lustre CSI add-on and upgrade the node pools.",
        ),
        "an existing instance that could not be read": (
            _existing(MODERN, UNSEEN),
            f"Unknown InstanceNotSeen: The port of {NAME} (988 or 6988) is unknown until the Lustre API returns it.",
        ),
        "an existing instance described in the spec": (
            _look(pool(**by_hand()), MODERN),
            "Unknown InstanceNotSeen",
        ),
        "an existing instance without spec.cluster": (
            _existing(None, LISTENS_AT_6988),
            "Unknown ClusterNotSeen: listens on port 6988. The port of the nodes is unknown. Set spec.cluster",
        ),
        "a cluster that kvtier may not read": (
            _existing(DENIED, LISTENS_AT_988),
            "Unknown ClusterNotSeen: is unknown. The GKE API denied access. Grant roles/container.clusterViewer.",
        ),
        "988 works from its gate on": (_look(CLAIM, MODERN, version=AT_GATE), "True Matched"),
        "988 does not work one build below its gate": (
            _look(CLAIM, MODERN, version=OLD),
            "False PortNeedsVersion: Nodes with 1.33.2-gke.4779999 cannot use port 988 for Lustre, because",
        ),
        "the legacy port works below the gate of 988": (
            _look(CLAIM, LEGACY, version=OLD),
            "True Matched: 6988",
        ),
        "below the gate of 988, the port of the nodes must be known": (
            _look(CLAIM, None, version=OLD),
            "Unknown ClusterNotSeen: (1.33.2-gke.4779999) need --enable-legacy-lustre-port",
        ),
        "an unknown version is not a reason for Unknown": (
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
