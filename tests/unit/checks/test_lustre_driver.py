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
        "without a CSIDriver the add-on is off, and the message turns it on": (
            _look(POOL, ONE, lustre_driver=False),
            "False AddonDisabled: --update-addons=LustreCsiDriver=ENABLED",
        ),
        "an add-on that the GKE API shows as enabled is on its way": (
            _look(POOL, ONE, lustre_driver=False, gke=GKECluster(lustre_addon=True)),
            "False AddonStarting: within minutes",
        ),
        "nodes of a ComputeClass are on their way and block nothing": (
            _look(POOL, ONE, lustre_nodes=frozenset()),
            "Unknown Registering: gpu-1 have not registered",
        ),
        "no existing candidate has registered it: the nodes are older than the add-on": (
            _look(EXISTING, node(EXISTING, "gpu-1"), node(EXISTING, "gpu-2"), lustre_nodes=frozenset()),
            "False NotRegistered: gpu-1, gpu-2 have not registered lustre.csi.storage.gke.io",
        ),
        "one registered candidate is enough, and the late one is named": (
            _look(POOL, ONE, TWO, lustre_nodes=frozenset({"gpu-1"})),
            "True Enabled: 1 of 2 candidate nodes have registered the driver; not yet gpu-2",
        ),
        "all candidates have registered it": (_look(POOL, ONE, TWO), "True Enabled: 2 of 2 candidate nodes"),
        "a registration elsewhere does not count": (
            _look(POOL, ONE, ELSEWHERE, lustre_nodes=frozenset({"cpu-1"})),
            "Unknown Registering: gpu-1 have not registered",
        ),
        "without candidates the add-on itself decides": (_look(POOL), "True Enabled: 0 of 0 candidate"),
    },
)
def test_lustre_driver(look: Context, verdict: str) -> None:
    assert_says(check(look), "LustreDriverEnabled", verdict)
