"""Facts of a GKE cluster: one request, a cached answer, and an explanation of failures."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from kvtier.api.v1alpha1 import Cluster
from kvtier.checks import network
from kvtier.facts.gke import GKEReader
from kvtier.facts.model import GKECluster
from kvtier.gcp import clients
from testbed.gke.container_api import GKEApi, cluster, refusal
from testbed.google_api import Drop, Fault, Hold, Reply
from unit.builders import context, facts, pool
from unit.google import Clock
from unit.tables import table

HOME = Cluster(project="p", location="us-central1", name="home")
HOME_NAME = "projects/p/locations/us-central1/clusters/home"
NETWORK = "projects/p/global/networks/n"
KNOWN = GKECluster(NETWORK, "1.35.2-gke.1842000", lustre_addon=True, legacy_port=False)


@pytest.fixture
def reader(gke_api: GKEApi, clock: Clock) -> GKEReader:
    gke_api.put(HOME_NAME, cluster(NETWORK))
    return GKEReader(clock)


async def read(reader: GKEReader) -> GKECluster:
    found = await reader.read(HOME)
    assert found is not None
    return found


async def test_a_pool_that_names_no_cluster_costs_no_request(reader: GKEReader, gke_api: GKEApi) -> None:
    assert await reader.read(None) is None
    assert not gke_api.calls()


OFF = GKECluster(NETWORK, "1.35.2-gke.1842000", lustre_addon=False, legacy_port=False)
LEGACY = {"lustreCsiDriverConfig": {"enabled": True, "enableLegacyLustrePort": True}}


@table(
    "document, found",
    {
        "network, version, add-on and port": (cluster(NETWORK), KNOWN),
        "a disabled add-on": (cluster(NETWORK, lustre=False), OFF),
        "nodes with the legacy port": (
            cluster(NETWORK, addonsConfig=LEGACY),
            replace(KNOWN, legacy_port=True),
        ),
        "an empty document": ({}, replace(OFF, network=None, version=None)),
        "an empty network configuration": (
            {"networkConfig": {}, "network": "n", "addonsConfig": None},
            replace(OFF, network=None, version=None),
        ),
    },
)
async def test_a_cluster_is_read(
    reader: GKEReader, gke_api: GKEApi, document: dict[str, Any], found: GKECluster
) -> None:
    gke_api.put(HOME_NAME, document)
    assert await read(reader) == found


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        (refusal(400), "did not find"),
        (refusal(401), "Workload Identity"),
        (refusal(403), "Grant roles/container.clusterViewer"),
        (refusal(404), "Correct spec.cluster"),
        (refusal(429), "quota was exceeded"),
        (refusal(500), "returned 500"),
        (refusal(503), "No action needed; kvtier retries."),
        (Reply(200, b"<html>sign in</html>"), "that is not from the GKE API"),
        (Drop(), "Check egress, DNS, proxies and KVTIER_GKE_ENDPOINT. kvtier retries."),
    ],
)
async def test_a_failure_says_what_to_do_and_is_stable(
    reader: GKEReader, gke_api: GKEApi, clock: Clock, fault: Fault, advice: str
) -> None:
    gke_api.fail(fault)
    first = await read(reader)
    assert first.error is not None
    assert advice in first.error
    assert HOME_NAME in first.error
    condition = network.check(context(pool(), facts=facts(gke=first)))
    assert (condition.status, condition.reason) == ("Unknown", "GKEUnreachable")
    assert condition.message == first.error
    clock.now += 60
    assert await read(reader) == first
    assert len(gke_api.calls()) == 2


@pytest.mark.usefixtures("short_reads")
async def test_a_missing_response_says_what_to_do(reader: GKEReader, gke_api: GKEApi) -> None:
    gke_api.fail(Hold())
    assert "Check egress, DNS, proxies and KVTIER_GKE_ENDPOINT." in ((await read(reader)).error or "")


async def test_an_address_in_memory_does_not_make_a_failure_look_new(
    reader: GKEReader, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    from google.auth.exceptions import RefreshError, TransportError

    kept: list[object] = []

    def fail(endpoint: str) -> None:
        class Response:
            pass

        kept.append(Response())
        raise RefreshError(TransportError("no token", kept[-1]), f"from {kept[-1]}")

    monkeypatch.setattr(clients, "_gke_client", fail)
    first = await read(reader)
    clock.now += 60
    assert await read(reader) == first
    assert "from the GKE API: no token." in (first.error or "")


async def test_an_answer_is_cached_for_four_minutes(reader: GKEReader, gke_api: GKEApi, clock: Clock) -> None:
    await read(reader)
    clock.now += 239
    await read(reader)
    assert len(gke_api.calls()) == 1
    clock.now += 1
    gke_api.put(HOME_NAME, cluster("projects/p/global/networks/new"))
    assert (await read(reader)).network == "projects/p/global/networks/new"


async def test_a_failed_request_is_retried_after_a_minute(
    reader: GKEReader, gke_api: GKEApi, clock: Clock
) -> None:
    gke_api.fail(refusal(403), times=1)
    assert (await read(reader)).error
    clock.now += 59
    assert (await read(reader)).error
    clock.now += 1
    assert await read(reader) == KNOWN


@pytest.mark.parametrize(
    ("fault", "known"),
    [
        (refusal(401), True),
        (refusal(429), True),
        (refusal(503), True),
        (Drop(), True),
        (refusal(400), False),
        (refusal(403), False),
        (refusal(404), False),
    ],
)
async def test_an_answer_stays_valid_during_an_outage_of_an_hour_but_not_after_a_refusal(
    reader: GKEReader, gke_api: GKEApi, clock: Clock, fault: Fault, known: bool
) -> None:
    await read(reader)
    gke_api.fail(fault)
    clock.now += 3599
    assert (await read(reader) == KNOWN) is known
    clock.now += 60
    assert (await read(reader)).error


async def test_simultaneous_reads_share_one_request(reader: GKEReader, gke_api: GKEApi) -> None:
    hold = Hold()
    gke_api.fail(hold)
    asking = [asyncio.create_task(read(reader)) for _ in range(50)]
    assert await asyncio.to_thread(hold.entered.wait, 10)
    gke_api.heal()
    assert await asyncio.gather(*asking) == [KNOWN] * 50
    assert len(gke_api.calls()) == 1


async def test_only_the_first_read_waits_for_the_response(gke_api: GKEApi, clock: Clock) -> None:
    reader, hold = GKEReader(clock, patience=0.0), Hold()
    gke_api.put(HOME_NAME, cluster(NETWORK))
    assert await read(reader) == KNOWN
    gke_api.put(HOME_NAME, cluster("projects/p/global/networks/new"))
    gke_api.fail(hold)
    clock.now += 240
    assert [await read(reader) for _ in range(3)] == [KNOWN] * 3
    assert await asyncio.to_thread(hold.entered.wait, 10)
    gke_api.heal()
    reader.patience = 60.0
    assert (await read(reader)).network == "projects/p/global/networks/new"
    assert len(gke_api.calls()) == 2
