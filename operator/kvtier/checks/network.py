"""NetworkMatched: the Lustre instance is in the cluster's own VPC network, else no node can mount it."""

from kvtier.api.conditions import NETWORK_MATCHED, Condition, false, true, unknown
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Facts


def check(pool: KVCachePool, facts: Facts) -> Condition:
    """Compares the full network names; only the GKE API knows the cluster's."""
    lustre = pool.spec.tiers.lustre
    if lustre is None:
        return true(NETWORK_MATCHED, "NotNeeded", "the pool has no Lustre tier")
    if facts.gke is None:
        return unknown(
            NETWORK_MATCHED,
            "ClusterNotGiven",
            "nodes do not tell their VPC network: set spec.cluster to let kvtier ask the GKE API",
        )
    if facts.gke.error or not facts.gke.network:
        return unknown(
            NETWORK_MATCHED, "GKEUnreachable", facts.gke.error or "the GKE API did not name a network"
        )
    return _compare(lustre.network, facts.gke.network)


def _compare(wanted: str, actual: str) -> Condition:
    if wanted == actual:
        return true(NETWORK_MATCHED, "SameNetwork", f"cluster and Lustre are in {actual}")
    mine, theirs = wanted.split("/"), actual.split("/")
    if mine[-1] == theirs[-1] and (mine[1].isdigit() or theirs[1].isdigit()):
        return unknown(
            NETWORK_MATCHED,
            "ProjectNumber",
            f"the cluster is in {actual}, lustre.network is {wanted}: one names its project by number, so they "
            "cannot be compared",
        )
    return false(
        NETWORK_MATCHED,
        "OtherNetwork",
        f"the cluster is in {actual}, lustre.network is {wanted}: nodes could not reach the instance; "
        "peered networks do not count",
    )
