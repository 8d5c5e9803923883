"""The VPC network of the cluster and of the Lustre instance."""

from typing import Any

from kvtier.checks.network import check
from kvtier.facts.model import GKECluster
from unit.builders import NETWORK, facts, pool
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
