"""Version gates of the control plane and of the nodes."""

from typing import Any

from kvtier.api.gcloud import NODE_POOL
from kvtier.api.placement import ZONE
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.gke_version import check
from kvtier.context import Context
from kvtier.facts.model import GKECluster, Node
from unit.builders import context, facts, node, pool
from unit.instances import CLUSTER, api, by_hand, existing
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
            "True NoGate: The pool needs no minimum GKE version.",
        ),
        "a recent control plane is supported": (
            _at("v1.35.6-gke.1049000"),
            "True Supported: The control plane runs 1.35.6-gke.1049000.",
        ),
        "one build below the driver's gate is too old, and the gate is named": (
            _at("v1.33.2-gke.1110999"),
            "False ControlPlaneTooOld: the managed Lustre CSI driver needs 1.33.2-gke.1111000",
        ),
        "the message contains the command of the upgrade": (
            _at("v1.32.9-gke.1"),
            "False ControlPlaneTooOld: Upgrade it: gcloud container clusters upgrade CLUSTER --location=LOCATION "
            "--project=PROJECT --master",
        ),
        "with the names of spec.cluster": (
            _at("v1.32.9-gke.1", pool(cluster=CLUSTER)),
            "False ControlPlaneTooOld: Upgrade it: gcloud container clusters upgrade prod --location=us-central1 "
            "--project=my-project --master",
        ),
        "at the driver's gate a known bug breaks every PersistentVolume": (
            _at("v1.33.2-gke.1111000"),
            "False ControlPlaneTooOld: creation of Lustre PersistentVolumes, which fails in this release, needs "
            "1.33.4-gke.1036000",
        ),
        "one build below the bug's fix is still broken": (
            _at("v1.33.4-gke.1035999"),
            "False ControlPlaneTooOld: 1.33.4-gke.1036000",
        ),
        "the version with the fix is supported": (_at("v1.33.4-gke.1036000"), "True Supported"),
        "9000Gi has its own gate": (
            _at("v1.34.0-gke.2284999", SMALL),
            "False ControlPlaneTooOld: a Lustre instance below 18000Gi needs 1.34.0-gke.2285000",
        ),
        "at its gate 9000Gi is supported": (_at("v1.34.0-gke.2285000", SMALL), "True Supported"),
        "18000Gi is supported below that gate": (_at("v1.34.0-gke.2284999"), "True Supported"),
        "bugs of the driver do not affect an instance that kvtier creates": (
            _at("v1.33.2-gke.1111000", pool(**api(capacity="9000Gi"))),
            "True Supported",
        ),
        "an existing instance is only mounted": (
            _at("v1.33.2-gke.1111000", pool(**by_hand(capacity="9000Gi"))),
            "True Supported",
        ),
        "the driver must support the mount of an existing instance": (
            _at("v1.33.2-gke.1110999", pool(**existing())),
            "False ControlPlaneTooOld: the managed Lustre CSI driver needs 1.33.2-gke.1111000",
        ),
        "a build is compared as a number": (
            _at("v1.33.2-gke.999"),
            "False ControlPlaneTooOld: 1.33.2-gke.999",
        ),
        "the version of another distribution is unknown": (
            _at("v1.33.2+k0s"),
            "Unknown VersionNotRecognised: 'v1.33.2+k0s', which is not a GKE version",
        ),
        "an empty version is unknown": (_at(""), "Unknown VersionNotRecognised: ''"),
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
        "nodes below the gate are named with their version": (
            _on(node(POOL), _node("v1.33.2-gke.1110999", "old")),
            "False NodesTooOld: The kubelet on old is v1.33.2-gke.1110999 (amd64), but the Lustre CSI driver needs "
            "1.33.2",
        ),
        "the message contains the command to upgrade the node pool": (
            _on(_node("v1.32.0-gke.1", labels={NODE_POOL: "a3"})),
            "False NodesTooOld: Upgrade the node pool: gcloud container clusters upgrade CLUSTER --location=LOCATION "
            "--project=PROJECT --node-pool=a3",
        ),
        "Arm nodes have a later gate": (
            _on(_node("v1.34.1-gke.2540999", architecture="arm64")),
            "False NodesTooOld: (arm64), but the Lustre CSI driver needs 1.34.1-gke.2541000",
        ),
        "Arm nodes at that gate are supported": (
            _on(_node("v1.34.1-gke.2541000", architecture="arm64")),
            "True Supported",
        ),
        "nodes that engines cannot run on do not count": (
            _on(_node("v1.20.0-gke.1", labels={ZONE: "us-east1-b"})),
            "True Supported",
        ),
        "the version of a kubelet of another distribution is unknown": (
            _on(_node("v1.33.2", "odd")),
            "Unknown NodeVersionNotRecognised: The kubelet on odd reports 'v1.33.2', which is not a GKE version.",
        ),
        "an old node has priority over an unknown one": (
            _on(_node("?", "odd"), _node("v1.30.0-gke.1", "old")),
            "False NodesTooOld: The kubelet on old is v1.30.0-gke.1",
        ),
    },
)
def test_nodes(look: Context, verdict: str) -> None:
    assert_says(check(look), "GKEVersionSupported", verdict)


def test_an_old_control_plane_has_priority_over_old_nodes() -> None:
    old = facts(_node("v1.30.0-gke.1"), version="v1.30.0-gke.1")
    assert check(context(POOL, facts=old)).reason == "ControlPlaneTooOld"


def test_the_gke_api_gives_the_version_if_the_api_server_does_not() -> None:
    seen = facts(version="v1.35.6", gke=GKECluster(version="1.35.6-gke.1049000"))
    supported = "True Supported: The control plane runs 1.35.6-gke.1049000."
    assert_says(check(context(POOL, facts=seen)), "GKEVersionSupported", supported)
