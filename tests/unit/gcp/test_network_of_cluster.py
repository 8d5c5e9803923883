"""From the GKE API's answer to the condition NetworkMatched."""

import pytest

from kvtier.api.conditions import Condition
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks import network
from kvtier.facts.gke import GKEReader
from kvtier.facts.model import Facts
from testbed.gke_api import GKEApi
from testbed.gke_documents import cluster, refusal
from testbed.pools import manifest

NAME = "projects/p/locations/us-central1/clusters/c"
CLUSTER = {"project": "p", "location": "us-central1", "name": "c"}


async def check(api: GKEApi, wanted: str, actual: str) -> Condition:
    api.put(NAME, cluster(actual))
    pool = KVCachePool.model_validate(
        manifest("pool", "default", cluster=CLUSTER, tiers__lustre__network=f"projects/{wanted}")
    )
    return network.check(pool, Facts(gke=await GKEReader().read(pool.spec.cluster)))


SAME, OTHER, NUMBER, ODD = "SameNetwork", "OtherNetwork", "ProjectNumber", "NetworkNotRecognised"


@pytest.mark.parametrize(
    ("wanted", "actual", "reason"),
    [
        ("mine/global/networks/n", "projects/mine/global/networks/n", SAME),
        ("example.com:mine/global/networks/n", "projects/example.com:mine/global/networks/n", SAME),
        (
            "mine/global/networks/n",
            "https://www.googleapis.com/compute/v1/projects/mine/global/networks/n",
            SAME,
        ),
        ("mine/global/networks/n", "projects/mine/global/networks/m", OTHER),
        ("mine/global/networks/default", "projects/host/global/networks/default", OTHER),
        ("mine/global/networks/n", "projects/123456/global/networks/n", NUMBER),
        ("mine/global/networks/n", "projects/123456/global/networks/m", OTHER),
        ("mine/global/networks/n", "n", ODD),
        ("mine/global/networks/n", "projects/mine/regions/us-central1/networks/n", ODD),
        ("mine/global/networks/n", "", "GKEUnreachable"),
    ],
)
async def test_networks_are_the_same_only_if_project_and_name_are(
    api: GKEApi, wanted: str, actual: str, reason: str
) -> None:
    condition = await check(api, wanted, actual)
    assert condition.reason == reason
    assert condition.status == {SAME: "True", OTHER: "False"}.get(reason, "Unknown")


async def test_a_project_number_comes_with_the_command_that_resolves_it(api: GKEApi) -> None:
    condition = await check(api, "mine/global/networks/n", "projects/123456/global/networks/n")
    assert "gcloud projects describe 123456" in condition.message


async def test_a_refusal_is_the_conditions_message(api: GKEApi) -> None:
    api.fail(refusal(403))
    condition = await check(api, "mine/global/networks/n", "projects/mine/global/networks/n")
    assert (condition.status, condition.reason) == ("Unknown", "GKEUnreachable")
    assert "roles/container.clusterViewer" in condition.message
