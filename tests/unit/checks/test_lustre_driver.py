"""The Lustre CSI add-on and its registration on the nodes."""

from typing import Any

from kvtier.api.placement import ZONE
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.lustre_driver import check
from kvtier.context import Context
from kvtier.facts.model import GKECluster, Node
from unit.builders import context, facts, node, pool
from unit.tables import table
from unit.verdicts import assert_says

POOL = pool()
EXISTING = pool(nodePool={"provisioner": "Existing"})
ONE, TWO = node(POOL, "gpu-1"), node(POOL, "gpu-2")
ELSEWHERE = node(POOL, "cpu-1", labels={ZONE: "us-east1-b"})


def _look(of: KVCachePool, *nodes: Node, **cluster: Any) -> Context:
    return context(of, facts=facts(*nodes, **cluster))


@table(
    "look, verdict",
    {
        "a pool without Lustre needs no driver": (
            _look(pool(tiers={"lustre": None}), lustre_driver=False),
            "True NotNeeded",
        ),
        "without a CSIDriver, the message contains the command to enable the add-on": (
            _look(POOL, ONE, lustre_driver=False),
            "False AddonDisabled: Enable the Lustre CSI add-on: gcloud container clusters update CLUSTER "
            "--location=LOCATION --project=PROJECT --update-addons=LustreCsiDriver=ENABLED",
        ),
        "an enabled add-on is being installed": (
            _look(POOL, ONE, lustre_driver=False, gke=GKECluster(lustre_addon=True)),
            "False AddonStarting: The Lustre CSI add-on is enabled. GKE creates CSIDriver lustre.csi.storage.gke.io "
            "within",
        ),
        "new nodes of a ComputeClass register soon and block nothing": (
            _look(POOL, ONE, lustre_nodes=frozenset()),
            "Unknown Registering: is not registered yet on gpu-1.",
        ),
        "existing nodes without the driver are older than the add-on": (
            _look(EXISTING, node(EXISTING, "gpu-1"), node(EXISTING, "gpu-2"), lustre_nodes=frozenset()),
            "False NotRegistered: The Lustre CSI driver is not registered on gpu-1, gpu-2.",
        ),
        "one registered candidate is enough, and the others are named": (
            _look(POOL, ONE, TWO, lustre_nodes=frozenset({"gpu-1"})),
            "True Enabled: 1 of 2 candidate nodes have registered the Lustre CSI driver. Not yet registered: gpu-2.",
        ),
        "all candidates have registered the driver": (
            _look(POOL, ONE, TWO),
            "True Enabled: 2 of 2 candidate nodes",
        ),
        "the registration of a node in another zone does not count": (
            _look(POOL, ONE, ELSEWHERE, lustre_nodes=frozenset({"cpu-1"})),
            "Unknown Registering: is not registered yet on gpu-1.",
        ),
        "without candidates, only the add-on counts": (_look(POOL), "True Enabled: 0 of 0 candidate"),
    },
)
def test_lustre_driver(look: Context, verdict: str) -> None:
    assert_says(check(look), "LustreDriverEnabled", verdict)
