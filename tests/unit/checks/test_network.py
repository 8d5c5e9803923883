"""The VPC network of the cluster and of the Lustre instance."""

from dataclasses import replace
from typing import Any

from kvtier.checks.network import check
from kvtier.facts.model import GKECluster, LustreFacts
from unit.builders import NETWORK, facts, pool
from unit.instances import NAME, UNSEEN, api, existing, instance
from unit.tables import table
from unit.verdicts import assert_verdict

POOL = pool()


def _in(network: str) -> GKECluster:
    return GKECluster(network=network)


@table(
    "of, gke, verdict",
    {
        "without Lustre the network does not matter": (
            pool(tiers={"lustre": None}),
            None,
            ("True", "NotNeeded", ""),
        ),
        "without spec.cluster it cannot be seen, and the message says how to show it": (
            POOL,
            None,
            ("Unknown", "ClusterNotGiven", "set spec.cluster"),
        ),
        "what keeps the GKE API from answering is told": (
            POOL,
            GKECluster(error="grant roles/container.clusterViewer"),
            ("Unknown", "GKEUnreachable", "grant roles/container.clusterViewer"),
        ),
        "an answer without a network is no answer": (
            POOL,
            GKECluster(version="1.35"),
            ("Unknown", "GKEUnreachable", "the GKE API did not name a network"),
        ),
        "the same network matches": (POOL, _in(NETWORK), ("True", "SameNetwork", NETWORK)),
        "the same network matches as a URL too": (
            POOL,
            _in(f"https://www.googleapis.com/compute/v1/{NETWORK}"),
            ("True", "SameNetwork", NETWORK),
        ),
        "another network of the project cannot be reached": (
            POOL,
            _in("projects/my-project/global/networks/other"),
            (
                "False",
                "OtherNetwork",
                "networks/other, lustre.network is projects/my-project/global/networks/def",
            ),
        ),
        "a network of the same name in another project is another": (
            POOL,
            _in("projects/host-project/global/networks/default"),
            ("False", "OtherNetwork", "peered networks do not count"),
        ),
        "a project by number cannot be compared with one by name, and the message resolves it": (
            POOL,
            _in("projects/123456/global/networks/default"),
            ("Unknown", "ProjectNumber", "gcloud projects describe 123456"),
        ),
        "with a project by number another network name is still another network": (
            POOL,
            _in("projects/123456/global/networks/other"),
            ("False", "OtherNetwork", ""),
        ),
        "a name that is no full network name cannot be compared": (
            POOL,
            _in("default"),
            ("Unknown", "NetworkNotRecognised", "'default'"),
        ),
    },
)
def test_network(of: Any, gke: GKECluster | None, verdict: tuple[str, str, str]) -> None:
    assert_verdict(check(of, facts(gke=gke)), "NetworkMatched", *verdict)


HOME = _in(NETWORK)
OTHER = "projects/my-project/global/networks/other"


@table(
    "seen, gke, verdict",
    {
        "an existing instance in the cluster's network": (
            instance(),
            HOME,
            ("True", "SameNetwork", f"cluster and Lustre are in {NETWORK}"),
        ),
        "one in another network, and it is the instance's": (
            instance(network=OTHER),
            HOME,
            ("False", "OtherNetwork", f"the cluster is in {NETWORK}, the instance is in {OTHER}"),
        ),
        "one whose project is told by number": (
            instance(network="projects/123456/global/networks/default"),
            HOME,
            (
                "Unknown",
                "ProjectNumber",
                "the instance is in projects/123456/global/networks/default: one names",
            ),
        ),
        "one whose network is told in no known way": (
            instance(network="default"),
            HOME,
            ("Unknown", "NetworkNotRecognised", "the Lustre API names the network 'default'"),
        ),
        "one of which the API does not tell": (
            UNSEEN,
            HOME,
            ("Unknown", "InstanceNotSeen", "the Lustre API cannot be asked: give kvtier credentials"),
        ),
        "one that does not exist": (
            LustreFacts(),
            HOME,
            ("Unknown", "InstanceNotSeen", f"network of {NAME}"),
        ),
        "a cluster that is not named": (instance(), None, ("Unknown", "ClusterNotGiven", "set spec.cluster")),
        "a cluster of which the API does not tell": (
            instance(),
            GKECluster(error="grant roles/container.clusterViewer"),
            ("Unknown", "GKEUnreachable", "grant roles"),
        ),
    },
)
def test_network_of_an_existing_instance(
    seen: LustreFacts, gke: GKECluster | None, verdict: tuple[str, str, str]
) -> None:
    condition = check(pool(**existing()), replace(facts(gke=gke), lustre=seen))
    assert_verdict(condition, "NetworkMatched", *verdict)


def test_an_instance_that_kvtier_makes_is_where_the_spec_says() -> None:
    seen = replace(facts(gke=HOME), lustre=instance(network=OTHER))
    assert check(pool(**api()), seen).reason == "SameNetwork"
