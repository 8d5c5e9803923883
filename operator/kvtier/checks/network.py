"""NetworkMatched: the Lustre instance is in the cluster's own VPC network, else no node can mount it."""

import re

from kvtier.api.conditions import NETWORK_MATCHED, Condition, false, true, unknown
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Facts

_NETWORK = re.compile(r"(?:^|/)projects/(?P<project>[^/]+)/global/networks/(?P<name>[^/]+)$")


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
    mine, theirs = _NETWORK.search(wanted), _NETWORK.search(actual)
    if mine is None or theirs is None:
        return unknown(
            NETWORK_MATCHED,
            "NetworkNotRecognised",
            f"the GKE API names the network {actual!r}, which is not projects/PROJECT/global/networks/NETWORK",
        )
    if mine["name"] != theirs["name"]:
        return _other(wanted, actual)
    if mine["project"] == theirs["project"]:
        return true(NETWORK_MATCHED, "SameNetwork", f"cluster and Lustre are in {actual}")
    numbers = [one for one in (mine["project"], theirs["project"]) if one.isdigit()]
    return _by_number(wanted, actual, numbers[0]) if len(numbers) == 1 else _other(wanted, actual)


def _by_number(wanted: str, actual: str, number: str) -> Condition:
    return unknown(
        NETWORK_MATCHED,
        "ProjectNumber",
        f"the cluster is in {actual}, lustre.network is {wanted}: one names its project by number, so they cannot "
        f"be compared; gcloud projects describe {number} --format='value(projectId)' tells",
    )


def _other(wanted: str, actual: str) -> Condition:
    return false(
        NETWORK_MATCHED,
        "OtherNetwork",
        f"the cluster is in {actual}, lustre.network is {wanted}: nodes could not reach the instance; "
        "peered networks do not count",
    )
