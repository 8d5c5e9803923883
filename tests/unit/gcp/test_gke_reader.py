"""Facts of a GKE cluster: asked for once, remembered, and explained when they cannot be had."""

import asyncio
from typing import Any

import pytest

from kvtier.api.v1alpha1 import Cluster
from kvtier.facts.gke import GKEReader
from kvtier.facts.model import GKECluster
from kvtier.gcp import container
from testbed.gke_api import GKEApi
from testbed.gke_documents import Drop, Fault, Hold, Reply, cluster, refusal
from unit.gcp.clock import Clock

HOME = Cluster(project="p", location="us-central1", name="home")
AWAY = Cluster(project="p", location="us-central1", name="away")
NETWORK = "projects/p/global/networks/n"


def path(of: Cluster) -> str:
    return f"projects/{of.project}/locations/{of.location}/clusters/{of.name}"


@pytest.fixture
def reader(api: GKEApi, clock: Clock) -> GKEReader:
    for one in (HOME, AWAY):
        api.put(path(one), cluster(NETWORK))
    return GKEReader(clock)


async def read(reader: GKEReader, of: Cluster = HOME) -> GKECluster:
    facts = await reader.read(of)
    assert facts is not None
    return facts


async def test_a_cluster_is_told_by_network_version_and_add_on(reader: GKEReader, api: GKEApi) -> None:
    assert await read(reader) == GKECluster(NETWORK, "1.35.2-gke.1842000", True, False)
    api.put(path(AWAY), cluster(NETWORK, lustre=False))
    assert (await read(reader, AWAY)).lustre_addon is False


async def test_a_cluster_tells_that_its_nodes_speak_at_the_legacy_port(
    reader: GKEReader, api: GKEApi
) -> None:
    driver = {"enabled": True, "enableLegacyLustrePort": True}
    api.put(path(AWAY), cluster(NETWORK, addonsConfig={"lustreCsiDriverConfig": driver}))
    assert (await read(reader, AWAY)).legacy_port is True


async def test_a_pool_that_names_no_cluster_costs_no_request(reader: GKEReader, api: GKEApi) -> None:
    assert await reader.read(None) is None
    assert not api.calls()


@pytest.mark.parametrize("document", [{}, {"networkConfig": {}}, {"network": "n", "addonsConfig": None}])
async def test_what_the_api_leaves_out_is_not_made_up(
    reader: GKEReader, api: GKEApi, document: dict[str, Any]
) -> None:
    api.put(path(HOME), document)
    assert await read(reader) == GKECluster(lustre_addon=False, legacy_port=False)


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        (refusal(400), "correct spec.cluster"),
        (refusal(401), "Workload Identity"),
        (refusal(403), "grant roles/container.clusterViewer"),
        (refusal(404), "correct spec.cluster"),
        (refusal(429), "no quota left"),
        (refusal(500), "answered 500"),
        (refusal(503), "it is asked again"),
        (Reply(200, b"<html>sign in</html>"), "check proxies"),
        (Drop(), "let kvtier reach it"),
    ],
)
async def test_a_failure_is_a_sentence_that_says_what_to_do_and_never_changes(
    reader: GKEReader,
    api: GKEApi,
    clock: Clock,
    fault: Fault,
    advice: str,
) -> None:
    api.fail(fault)
    first = await read(reader)
    assert first.error is not None
    assert advice in first.error
    assert path(HOME) in first.error
    clock.now += 60
    assert await read(reader) == first
    assert len(api.calls()) == 2


@pytest.mark.usefixtures("short_reads")
async def test_silence_is_such_a_sentence_too(reader: GKEReader, api: GKEApi, clock: Clock) -> None:
    api.fail(Hold())
    first = await read(reader)
    assert "let kvtier reach it" in (first.error or "")
    clock.now += 60
    assert await read(reader) == first


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

    monkeypatch.setattr(container, "_client", fail)
    first = await read(reader)
    clock.now += 60
    assert await read(reader) == first
    assert "(no token)" in (first.error or "")


async def test_an_answer_is_remembered_for_four_minutes(reader: GKEReader, api: GKEApi, clock: Clock) -> None:
    await read(reader)
    clock.now += 239
    await read(reader)
    assert len(api.calls()) == 1
    clock.now += 1
    api.put(path(HOME), cluster("projects/p/global/networks/new"))
    assert (await read(reader)).network == "projects/p/global/networks/new"
    assert len(api.calls()) == 2


async def test_a_failed_answer_is_asked_again_after_a_minute(
    reader: GKEReader, api: GKEApi, clock: Clock
) -> None:
    api.fail(refusal(403), times=1)
    await read(reader)
    clock.now += 59
    assert (await read(reader)).error
    clock.now += 1
    assert await read(reader) == GKECluster(NETWORK, "1.35.2-gke.1842000", True, False)


@pytest.mark.parametrize("fault", [refusal(401), refusal(429), refusal(503), Drop()])
async def test_an_outage_does_not_undo_what_is_known_for_an_hour(
    reader: GKEReader, api: GKEApi, clock: Clock, fault: Fault
) -> None:
    known = await read(reader)
    api.fail(fault)
    clock.now += 3599
    assert await read(reader) == known
    clock.now += 60
    assert (await read(reader)).error


@pytest.mark.parametrize("code", [403, 404])
async def test_a_refusal_about_the_cluster_undoes_what_was_known(
    reader: GKEReader, api: GKEApi, clock: Clock, code: int
) -> None:
    await read(reader)
    api.fail(refusal(code))
    clock.now += 240
    assert (await read(reader)).error


async def test_pools_that_ask_at_the_same_time_share_one_request(reader: GKEReader, api: GKEApi) -> None:
    hold = Hold()
    api.fail(hold)
    asking = [asyncio.create_task(read(reader)) for _ in range(50)]
    assert await asyncio.to_thread(hold.entered.wait, 10)
    api.heal()
    assert {facts.network for facts in await asyncio.gather(*asking)} == {NETWORK}
    assert len(api.calls()) == 1


async def test_a_shared_failure_is_one_request_too(reader: GKEReader, api: GKEApi) -> None:
    api.fail(refusal(503))
    answers = await asyncio.gather(*(read(reader) for _ in range(50)))
    assert len({facts.error for facts in answers}) == len(api.calls()) == 1


async def test_a_silent_api_about_one_cluster_does_not_hold_up_another(
    reader: GKEReader, api: GKEApi
) -> None:
    hold = Hold()
    api.fail(hold, cluster=path(HOME))
    stuck = asyncio.create_task(read(reader))
    assert await asyncio.to_thread(hold.entered.wait, 10)
    assert (await read(reader, AWAY)).network == NETWORK
    assert not stuck.done()
    api.heal()
    assert (await stuck).network == NETWORK


async def test_a_failure_about_one_cluster_does_not_touch_another(reader: GKEReader, api: GKEApi) -> None:
    api.fail(refusal(500), cluster=path(HOME))
    assert (await read(reader)).error
    assert (await read(reader, AWAY)).network == NETWORK


async def test_a_slow_answer_is_left_to_the_next_reader_once_something_is_known(
    api: GKEApi, clock: Clock
) -> None:
    reader, hold = GKEReader(clock, patience=0.0), Hold()
    api.put(path(HOME), cluster(NETWORK))
    known = await read(reader)
    api.put(path(HOME), cluster("projects/p/global/networks/new"))
    api.fail(hold)
    clock.now += 240
    assert [await read(reader) for _ in range(3)] == [known] * 3
    assert await asyncio.to_thread(hold.entered.wait, 10)
    api.heal()
    reader.patience = 60.0
    assert (await read(reader)).network == "projects/p/global/networks/new"
    assert len(api.calls()) == 2


async def test_a_reader_that_is_cancelled_does_not_take_the_answer_from_others(
    reader: GKEReader, api: GKEApi
) -> None:
    hold = Hold()
    api.fail(hold)
    first, second = asyncio.create_task(read(reader)), asyncio.create_task(read(reader))
    assert await asyncio.to_thread(hold.entered.wait, 10)
    first.cancel()
    api.heal()
    assert (await second).network == NETWORK
    assert first.cancelled()
    assert len(api.calls()) == 1
