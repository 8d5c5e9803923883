"""The VPC network of the cluster and of the Lustre instance."""

from dataclasses import replace
from typing import Any

from kvtier.checks.network import check
from kvtier.context import Context
from kvtier.facts.model import GKECluster, LustreFacts
from unit.builders import NETWORK, context, facts, pool
from unit.instances import NAME, UNSEEN, api, existing, instance
from unit.tables import table
from unit.verdicts import assert_says

HOME = GKECluster(network=NETWORK)
DENIED = GKECluster(error="grant roles/container.clusterViewer")
OTHER = "projects/my-project/global/networks/other"
NUMBERED = "projects/123456/global/networks/default"


def _look(of: dict[str, Any], gke: GKECluster | None, seen: LustreFacts | None = None) -> Context:
    return context(pool(**of), facts=replace(facts(gke=gke), lustre=seen))


def _in(network: str) -> Context:
    """A tier in the default network, and a cluster in this one."""
    return _look({}, GKECluster(network=network))


def _existing(seen: LustreFacts, gke: GKECluster | None = HOME) -> Context:
    return _look(existing(), gke, seen)


@table(
    "look, verdict",
    {
        "without Lustre the network does not matter": (
            _look({"tiers": {"lustre": None}}, None),
            "True NotNeeded",
        ),
        "without spec.cluster it cannot be seen, and the message says how to show it": (
            _look({}, None),
            "Unknown ClusterNotGiven: set spec.cluster",
        ),
        "what keeps the GKE API from answering is said": (
            _look({}, DENIED),
            "Unknown GKEUnreachable: grant roles/container.clusterViewer",
        ),
        "an answer without a network is no answer": (
            _look({}, GKECluster(version="1.35")),
            "Unknown GKEUnreachable: the GKE API did not name a network",
        ),
        "the same network matches": (_in(NETWORK), f"True SameNetwork: {NETWORK}"),
        "the same network matches as a URL too": (
            _in(f"https://www.googleapis.com/compute/v1/{NETWORK}"),
            f"True SameNetwork: {NETWORK}",
        ),
        "another network of the project cannot be reached": (
            _in(OTHER),
            "False OtherNetwork: networks/other, lustre.network is projects/my-project/global/networks/def",
        ),
        "a network of the same name in another project is another": (
            _in("projects/host-project/global/networks/default"),
            "False OtherNetwork: peered networks do not count",
        ),
        "a project by number cannot be compared with one by name, and the message resolves it": (
            _in(NUMBERED),
            "Unknown ProjectNumber: gcloud projects describe 123456",
        ),
        "with a project by number another network name is still another network": (
            _in("projects/123456/global/networks/other"),
            "False OtherNetwork",
        ),
        "a name that is no full network name cannot be compared": (
            _in("default"),
            "Unknown NetworkNotRecognised: 'default'",
        ),
        "an instance that kvtier makes is where the spec says": (
            _look(api(), HOME, instance(network=OTHER)),
            "True SameNetwork",
        ),
        "an existing instance in the cluster's network": (
            _existing(instance()),
            f"True SameNetwork: cluster and Lustre are in {NETWORK}",
        ),
        "one in another network, and it is the instance's": (
            _existing(instance(network=OTHER)),
            f"False OtherNetwork: the cluster is in {NETWORK}, the instance is in {OTHER}",
        ),
        "one whose project is named by number": (
            _existing(instance(network=NUMBERED)),
            f"Unknown ProjectNumber: the instance is in {NUMBERED}: one names",
        ),
        "one whose network is named in no known way": (
            _existing(instance(network="default")),
            "Unknown NetworkNotRecognised: the Lustre API names the network 'default'",
        ),
        "one of which the API says nothing": (
            _existing(UNSEEN),
            "Unknown InstanceNotSeen: the Lustre API cannot be asked: give kvtier credentials",
        ),
        "one that does not exist": (
            _existing(LustreFacts()),
            f"Unknown InstanceNotSeen: network of {NAME}",
        ),
        "one, and a cluster that is not named": (
            _existing(instance(), None),
            "Unknown ClusterNotGiven: set spec.cluster",
        ),
        "one, and a cluster of which the API says nothing": (
            _existing(instance(), DENIED),
            "Unknown GKEUnreachable: grant roles",
        ),
    },
)
def test_network(look: Context, verdict: str) -> None:
    assert_says(check(look), "NetworkMatched", verdict)
