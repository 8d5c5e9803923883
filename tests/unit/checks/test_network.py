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
DENIED = GKECluster(error="The GKE API denied access. Grant roles/container.clusterViewer.")
OTHER = "projects/my-project/global/networks/other"
NUMBERED = "projects/123456/global/networks/default"


def _look(of: dict[str, Any], gke: GKECluster | None, seen: LustreFacts | None = None) -> Context:
    return context(pool(**of), facts=replace(facts(gke=gke), lustre=seen))


def _in(network: str) -> Context:
    """A tier in the default network, and a cluster in `network`."""
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
        "without spec.cluster the network is unknown, and the message says what to set": (
            _look({}, None),
            "Unknown ClusterNotGiven: Set spec.cluster so that kvtier can read it",
        ),
        "an error of the GKE API is reported": (
            _look({}, DENIED),
            "Unknown GKEUnreachable: The GKE API denied access. Grant roles/container.clusterViewer.",
        ),
        "a response without a network is an error": (
            _look({}, GKECluster(version="1.35")),
            "Unknown GKEUnreachable: The GKE API returned no network.",
        ),
        "the same network matches": (_in(NETWORK), f"True SameNetwork: {NETWORK}"),
        "the same network matches as a URL too": (
            _in(f"https://www.googleapis.com/compute/v1/{NETWORK}"),
            f"True SameNetwork: {NETWORK}",
        ),
        "another network of the same project is refused": (
            _in(OTHER),
            "False OtherNetwork: networks/other, but lustre.network is projects/my-project/global/networks/def",
        ),
        "a network of the same name in another project is refused": (
            _in("projects/host-project/global/networks/default"),
            "False OtherNetwork: VPC peering does not connect nodes with an instance of another network.",
        ),
        "a project number is not compared with an ID, and the message contains the command to look it up": (
            _in(NUMBERED),
            "Unknown ProjectNumber: the networks match: gcloud projects describe 123456",
        ),
        "another network name is refused, also with a project number": (
            _in("projects/123456/global/networks/other"),
            "False OtherNetwork",
        ),
        "a short network name is not compared": (
            _in("default"),
            "Unknown NetworkNotRecognised: 'default'",
        ),
        "an instance that kvtier creates is in the network of the spec": (
            _look(api(), HOME, instance(network=OTHER)),
            "True SameNetwork",
        ),
        "an existing instance in the cluster's network": (
            _existing(instance()),
            f"True SameNetwork: The cluster and the Lustre instance are in {NETWORK}.",
        ),
        "an existing instance in another network": (
            _existing(instance(network=OTHER)),
            f"False OtherNetwork: The cluster is in {NETWORK}, but the instance is in {OTHER}.",
        ),
        "an existing instance with a project number": (
            _existing(instance(network=NUMBERED)),
            f"Unknown ProjectNumber: and the instance is in {NUMBERED}. kvtier cannot compare a project number",
        ),
        "an existing instance with a short network name": (
            _existing(instance(network="default")),
            "Unknown NetworkNotRecognised: The Lustre API returned network 'default'",
        ),
        "an existing instance that could not be read": (
            _existing(UNSEEN),
            "Unknown InstanceNotSeen: No valid credentials to read the instance from the Lustre API: no token.",
        ),
        "an existing instance that does not exist": (
            _existing(LustreFacts()),
            f"Unknown InstanceNotSeen: The Lustre API returned no network for {NAME}.",
        ),
        "an existing instance without spec.cluster": (
            _existing(instance(), None),
            "Unknown ClusterNotGiven: Set spec.cluster",
        ),
        "an existing instance, and a cluster that could not be read": (
            _existing(instance(), DENIED),
            "Unknown GKEUnreachable: The GKE API denied access.",
        ),
    },
)
def test_network(look: Context, verdict: str) -> None:
    assert_says(check(look), "NetworkMatched", verdict)
