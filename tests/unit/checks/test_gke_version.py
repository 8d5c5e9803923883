"""Version gates of the control plane and of the nodes."""

from typing import Any

from kvtier.api.placement import ZONE
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.gke_version import check
from kvtier.context import Context
from kvtier.facts.model import GKECluster, Node
from unit.builders import context, facts, node, pool
from unit.instances import api, by_hand, existing
from unit.tables import table
from unit.verdicts import assert_says

POOL = pool()
SMALL = pool(tiers={"lustre": {"capacity": "9000Gi"}})


def _at(version: str, of: KVCachePool = POOL) -> Context:
    return context(of, facts=facts(version=version))


@table(
    "look, verdict",
    {
        "a pool without Lustre has no gate": (
            _at("v1.20.0", pool(tiers={"lustre": None})),
            "True NoGate: nothing that needs a certain GKE version",
        ),
        "a recent control plane is supported": (
            _at("v1.35.6-gke.1049000"),
            "True Supported: control plane 1.35.6-gke.1049000",
        ),
        "one build below the driver's gate is too old, and the gate is named": (
            _at("v1.33.2-gke.1110999"),
            "False ControlPlaneTooOld: the managed Lustre CSI driver needs 1.33.2-gke.1111000",
        ),
        "the remedy is an upgrade": (
            _at("v1.32.9-gke.1"),
            "False ControlPlaneTooOld: gcloud container clusters upgrade CLUSTER --master",
        ),
        "at the driver's gate a known bug still breaks every volume": (
            _at("v1.33.2-gke.1111000"),
            "False ControlPlaneTooOld: broken in this release by a known bug) needs 1.33.4-gke.1036000",
        ),
        "one build below the bug's fix is still broken": (
            _at("v1.33.4-gke.1035999"),
            "False ControlPlaneTooOld: 1.33.4-gke.1036000",
        ),
        "at the bug's fix all is well": (_at("v1.33.4-gke.1036000"), "True Supported"),
        "9000Gi has a gate of its own": (
            _at("v1.34.0-gke.2284999", SMALL),
            "False ControlPlaneTooOld: a Lustre instance below 18000Gi needs 1.34.0-gke.2285000",
        ),
        "at its gate 9000Gi is supported": (_at("v1.34.0-gke.2285000", SMALL), "True Supported"),
        "18000Gi is below that gate no problem": (_at("v1.34.0-gke.2284999"), "True Supported"),
        "an instance that the driver does not make has no part in its bugs": (
            _at("v1.33.2-gke.1111000", pool(**api(capacity="9000Gi"))),
            "True Supported",
        ),
        "an existing instance is only mounted": (
            _at("v1.33.2-gke.1111000", pool(**by_hand(capacity="9000Gi"))),
            "True Supported",
        ),
        "but mounted by the driver": (
            _at("v1.33.2-gke.1110999", pool(**existing())),
            "False ControlPlaneTooOld: the managed Lustre CSI driver needs 1.33.2-gke.1111000",
        ),
        "a build is a number, not text": (_at("v1.33.2-gke.999"), "False ControlPlaneTooOld: 1.33.2-gke.999"),
        "another distribution cannot be judged": (
            _at("v1.33.2+k0s"),
            "Unknown VersionNotRecognised: 'v1.33.2+k0s', which is not a GKE version",
        ),
        "no version cannot be judged": (_at(""), "Unknown VersionNotRecognised: ''"),
    },
)
def test_control_plane(look: Context, verdict: str) -> None:
    assert_says(check(look), "GKEVersionSupported", verdict)


def _on(*nodes: Node) -> Context:
    return context(POOL, facts=facts(*nodes))


def _node(version: str, name: str = "gpu-1", **changes: Any) -> Node:
    return node(POOL, name, kubelet_version=version, **changes)


@table(
    "look, verdict",
    {
        "nodes at the gate are supported": (_on(_node("v1.33.2-gke.1111000")), "True Supported"),
        "nodes below it are named with their version and the remedy": (
            _on(node(POOL), _node("v1.33.2-gke.1110999", "old")),
            "False NodesTooOld: old run v1.33.2-gke.1110999 (amd64); the Lustre CSI driver needs 1.33.2",
        ),
        "the remedy is an upgrade of the node pool": (
            _on(_node("v1.32.0-gke.1")),
            "False NodesTooOld: upgrade CLUSTER --node-pool POOL",
        ),
        "Arm nodes have a later gate": (
            _on(_node("v1.34.1-gke.2540999", architecture="arm64")),
            "False NodesTooOld: (arm64); the Lustre CSI driver needs 1.34.1-gke.2541000",
        ),
        "Arm nodes at that gate are supported": (
            _on(_node("v1.34.1-gke.2541000", architecture="arm64")),
            "True Supported",
        ),
        "nodes that engines cannot run on do not count": (
            _on(_node("v1.20.0-gke.1", labels={ZONE: "us-east1-b"})),
            "True Supported",
        ),
        "a kubelet of another distribution cannot be judged": (
            _on(_node("v1.33.2", "odd")),
            "Unknown NodeVersionNotRecognised: odd report version 'v1.33.2'",
        ),
        "an old node weighs more than an unknown one": (
            _on(_node("?", "odd"), _node("v1.30.0-gke.1", "old")),
            "False NodesTooOld: old run v1.30.0-gke.1",
        ),
    },
)
def test_nodes(look: Context, verdict: str) -> None:
    assert_says(check(look), "GKEVersionSupported", verdict)


def test_an_old_control_plane_counts_before_old_nodes() -> None:
    old = facts(_node("v1.30.0-gke.1"), version="v1.30.0-gke.1")
    assert check(context(POOL, facts=old)).reason == "ControlPlaneTooOld"


def test_the_gke_api_knows_the_version_that_the_api_server_does_not_name() -> None:
    seen = facts(version="v1.35.6", gke=GKECluster(version="1.35.6-gke.1049000"))
    supported = "True Supported: control plane 1.35.6-gke.1049000"
    assert_says(check(context(POOL, facts=seen)), "GKEVersionSupported", supported)
