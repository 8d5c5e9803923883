"""The Lustre CSI add-on and its registration on the nodes."""

from kvtier.api.placement import ZONE
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.lustre_driver import check
from kvtier.facts.model import Facts, GKECluster
from unit.builders import context, facts, node, pool
from unit.tables import table
from unit.verdicts import assert_says

POOL = pool()
EXISTING = pool(nodePool={"provisioner": "Existing"})
ONE, TWO = node(POOL, "gpu-1"), node(POOL, "gpu-2")
ELSEWHERE = node(POOL, "cpu-1", labels={ZONE: "us-east1-b"})


@table(
    "of, seen, verdict",
    {
        "a pool without Lustre needs no driver": (
            pool(tiers={"lustre": None}),
            facts(lustre_driver=False),
            "True NotNeeded",
        ),
        "without a CSIDriver the add-on is off, and the message turns it on": (
            POOL,
            facts(ONE, lustre_driver=False),
            "False AddonDisabled: --update-addons=LustreCsiDriver=ENABLED",
        ),
        "an add-on that the GKE API shows as enabled is on its way": (
            POOL,
            facts(ONE, lustre_driver=False, gke=GKECluster(lustre_addon=True)),
            "False AddonStarting: within minutes",
        ),
        "nodes of a ComputeClass are on their way and block nothing": (
            POOL,
            facts(ONE, lustre_nodes=frozenset()),
            "Unknown Registering: gpu-1 have not registered",
        ),
        "no existing candidate has registered it: the nodes are older than the add-on": (
            EXISTING,
            facts(node(EXISTING, "gpu-1"), node(EXISTING, "gpu-2"), lustre_nodes=frozenset()),
            "False NotRegistered: gpu-1, gpu-2 have not registered lustre.csi.storage.gke.io",
        ),
        "one registered candidate is enough, and the late one is named": (
            POOL,
            facts(ONE, TWO, lustre_nodes=frozenset({"gpu-1"})),
            "True Enabled: 1 of 2 candidate nodes have registered the driver; not yet gpu-2",
        ),
        "all candidates have registered it": (POOL, facts(ONE, TWO), "True Enabled: 2 of 2 candidate nodes"),
        "a registration elsewhere does not count": (
            POOL,
            facts(ONE, ELSEWHERE, lustre_nodes=frozenset({"cpu-1"})),
            "Unknown Registering: gpu-1 have not registered",
        ),
        "without candidates the add-on itself decides": (POOL, facts(), "True Enabled: 0 of 0 candidate"),
    },
)
def test_lustre_driver(of: KVCachePool, seen: Facts, verdict: str) -> None:
    assert_says(check(context(of, facts=seen)), "LustreDriverEnabled", verdict)
