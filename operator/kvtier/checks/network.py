"""NetworkMatched: the Lustre instance is in the cluster's own VPC network, else no node can mount it."""

import re

from kvtier.api.conditions import NETWORK_MATCHED, Condition, false, true, unknown
from kvtier.api.reasons import Reason
from kvtier.context import Context

_NETWORK = re.compile(r"(?:^|/)projects/(?P<project>[^/]+)/global/networks/(?P<name>[^/]+)$")


def check(context: Context) -> Condition:
    """Compares the full network names: only the GKE API knows the cluster's, the Lustre API an existing instance's."""
    lustre, gke = context.lustre, context.facts.gke
    if lustre.spec is None:
        return true(NETWORK_MATCHED, Reason.NOT_NEEDED, "the pool has no Lustre tier")
    if gke is None:
        return unknown(
            NETWORK_MATCHED,
            Reason.CLUSTER_NOT_GIVEN,
            "nodes do not tell their VPC network: set spec.cluster to let kvtier ask the GKE API",
        )
    if gke.error or not gke.network:
        return unknown(
            NETWORK_MATCHED, Reason.GKE_UNREACHABLE, gke.error or "the GKE API did not name a network"
        )
    if lustre.spec.network:
        return _compare(lustre.spec.network, gke.network, "lustre.network is")
    if lustre.instance and lustre.instance.network:
        return _compare(lustre.instance.network, gke.network, "the instance is in")
    return unknown(
        NETWORK_MATCHED,
        Reason.INSTANCE_NOT_SEEN,
        lustre.error or f"the Lustre API does not tell the network of {lustre.spec.instance}",
    )


def _compare(wanted: str, actual: str, subject: str) -> Condition:
    mine, theirs = _NETWORK.search(wanted), _NETWORK.search(actual)
    if mine is None or theirs is None:
        api, named = ("Lustre", wanted) if theirs else ("GKE", actual)
        return unknown(
            NETWORK_MATCHED,
            Reason.NETWORK_NOT_RECOGNISED,
            f"the {api} API names the network {named!r}, which is not projects/PROJECT/global/networks/NETWORK",
        )
    if mine["name"] != theirs["name"]:
        return _other(wanted, actual, subject)
    if mine["project"] == theirs["project"]:
        return true(NETWORK_MATCHED, Reason.SAME_NETWORK, f"cluster and Lustre are in {actual}")
    numbers = [one for one in (mine["project"], theirs["project"]) if one.isdigit()]
    if len(numbers) == 1:
        return _by_number(wanted, actual, subject, numbers[0])
    return _other(wanted, actual, subject)


def _by_number(wanted: str, actual: str, subject: str, number: str) -> Condition:
    return unknown(
        NETWORK_MATCHED,
        Reason.PROJECT_NUMBER,
        f"the cluster is in {actual}, {subject} {wanted}: one names its project by number, so they cannot "
        f"be compared; gcloud projects describe {number} --format='value(projectId)' tells",
    )


def _other(wanted: str, actual: str, subject: str) -> Condition:
    return false(
        NETWORK_MATCHED,
        Reason.OTHER_NETWORK,
        f"the cluster is in {actual}, {subject} {wanted}: nodes could not reach the instance; "
        "peered networks do not count",
    )
