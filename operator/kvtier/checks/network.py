"""NetworkMatched: the Lustre instance is in the VPC network of the cluster, else no node can mount it."""

import re

from kvtier.api.conditions import NETWORK_MATCHED, Condition, false, true, unknown
from kvtier.api.reasons import Reason
from kvtier.context import Context

_NETWORK = re.compile(r"(?:^|/)projects/(?P<project>[^/]+)/global/networks/(?P<name>[^/]+)$")


def check(context: Context) -> Condition:
    """Compares full network names: the cluster's from the GKE API, an existing instance's from the Lustre API."""
    lustre, gke = context.lustre, context.facts.gke
    if lustre.spec is None:
        return true(NETWORK_MATCHED, Reason.NOT_NEEDED, "The pool has no Lustre tier.")
    if gke is None:
        return unknown(
            NETWORK_MATCHED,
            Reason.CLUSTER_NOT_GIVEN,
            "Nodes do not report their VPC network. Set spec.cluster so that kvtier can read it from the GKE API.",
        )
    if gke.error or not gke.network:
        return unknown(
            NETWORK_MATCHED, Reason.GKE_UNREACHABLE, gke.error or "The GKE API returned no network."
        )
    if lustre.spec.network:
        return _compare(lustre.spec.network, gke.network, "lustre.network is")
    if lustre.instance and lustre.instance.network:
        return _compare(lustre.instance.network, gke.network, "the instance is in")
    return unknown(
        NETWORK_MATCHED,
        Reason.INSTANCE_NOT_SEEN,
        lustre.error or f"The Lustre API returned no network for {lustre.spec.instance}.",
    )


def _compare(wanted: str, actual: str, subject: str) -> Condition:
    mine, theirs = _NETWORK.search(wanted), _NETWORK.search(actual)
    if mine is None or theirs is None:
        api, named = ("Lustre", wanted) if theirs else ("GKE", actual)
        return unknown(
            NETWORK_MATCHED,
            Reason.NETWORK_NOT_RECOGNISED,
            f"The {api} API returned network {named!r}, which is not projects/PROJECT/global/networks/NETWORK.",
        )
    if mine["name"] != theirs["name"]:
        return _other(wanted, actual, subject)
    if mine["project"] == theirs["project"]:
        return true(
            NETWORK_MATCHED, Reason.SAME_NETWORK, f"The cluster and the Lustre instance are in {actual}."
        )
    numbers = [one for one in (mine["project"], theirs["project"]) if one.isdigit()]
    if len(numbers) == 1:
        return _by_number(wanted, actual, subject, numbers[0])
    return _other(wanted, actual, subject)


def _by_number(wanted: str, actual: str, subject: str, number: str) -> Condition:
    return unknown(
        NETWORK_MATCHED,
        Reason.PROJECT_NUMBER,
        f"The cluster is in {actual}, and {subject} {wanted}. kvtier cannot compare a project "
        "number with a project ID. If this command prints the other project, the networks match: "
        f"gcloud projects describe {number} --format='value(projectId)'",
    )


def _other(wanted: str, actual: str, subject: str) -> Condition:
    return false(
        NETWORK_MATCHED,
        Reason.OTHER_NETWORK,
        f"The cluster is in {actual}, but {subject} {wanted}. VPC peering does not connect nodes with an instance of "
        "another network. Create a new pool with an instance in the network of the cluster.",
    )
