"""The real client of the GKE API ends every call in time: with the cluster, or with a GoogleError."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from kvtier.gcp import clients, errors
from testbed.gke.container_api import Drop, Fault, GKEApi, Hold, Reply, cluster, node_pool, refusal
from testbed.process import free_ports

NAME = "projects/p/locations/us-central1/clusters/c"


async def get() -> Any:
    return await clients.get_cluster("p", "us-central1", "c")


async def refused() -> errors.GoogleError:
    with pytest.raises(errors.GoogleError) as caught:
        await get()
    return caught.value


async def test_the_document_of_a_cluster_arrives_whole(gke_api: GKEApi) -> None:
    pools = [node_pool("ssd", "a3-highgpu-8g", local_ssds=16)]
    gke_api.put(NAME, cluster("projects/p/global/networks/n", autopilot=True, node_pools=pools))
    found = await get()
    assert found.network_config.network == "projects/p/global/networks/n"
    assert found.current_master_version == "1.35.2-gke.1842000"
    assert found.addons_config.lustre_csi_driver_config.enabled
    assert (found.release_channel.channel.name, found.autopilot.enabled) == ("RAPID", True)
    (pool,) = found.node_pools
    assert (pool.name, pool.config.image_type) == ("ssd", "COS_CONTAINERD")
    assert pool.config.ephemeral_storage_local_ssd_config.local_ssd_count == 16


async def test_fields_and_words_of_the_future_are_passed_over(gke_api: GKEApi) -> None:
    future: dict[str, Any] = {
        "status": "DREAMING",
        "quantum": {"qubits": 7},
        "releaseChannel": {"channel": "TURBO"},
    }
    gke_api.put(NAME, cluster("projects/p/global/networks/n", **future))
    assert (await get()).network_config.network == "projects/p/global/networks/n"


async def test_a_project_of_a_domain_is_named_as_it_is(gke_api: GKEApi) -> None:
    name = "projects/example.com:p/locations/us-central1-a/clusters/c"
    gke_api.put(name, cluster())
    await clients.get_cluster("example.com:p", "us-central1-a", "c")
    assert gke_api.calls(name)


@pytest.mark.parametrize("code", [400, 403, 404, 429, 500, 503])
async def test_a_refusal_keeps_its_code_and_googles_words_and_is_not_repeated(
    gke_api: GKEApi, code: int
) -> None:
    gke_api.fail(refusal(code, "in Google's words"))
    error = await refused()
    assert (error.code, str(error), len(gke_api.calls())) == (code, "in Google's words", 1)


async def test_a_refusal_by_something_that_is_not_google_keeps_its_code(gke_api: GKEApi) -> None:
    gke_api.fail(Reply(503, b"<html>\n  <b>busy</b>\n</html>", "text/html"))
    error = await refused()
    assert (error.code, str(error)) == (503, "<html> <b>busy</b> </html>")


async def test_long_messages_are_cut(gke_api: GKEApi) -> None:
    gke_api.fail(refusal(500, "a/path/of/words " * 20_000))
    assert len(str(await refused())) <= 300


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>sign in</html>",
        b"null",
        b"3",
        b"\xff\xfe{",
        b'{"networkConfig": {"network": 5}}',
        b'{"networkConfig": ',
        b'{"a":' * 50_000,
    ],
)
async def test_an_answer_that_cannot_be_read_is_an_error(gke_api: GKEApi, body: bytes) -> None:
    gke_api.fail(Reply(200, body))
    assert isinstance(await refused(), errors.BadAnswerError)


@pytest.mark.parametrize("body", [b'{"error": "denied"}', b'"denied"'])
async def test_an_error_that_cannot_be_read_is_an_error_too(gke_api: GKEApi, body: bytes) -> None:
    gke_api.fail(Reply(403, body))
    assert isinstance(await refused(), errors.BadAnswerError)


@pytest.mark.usefixtures("short_reads")
@pytest.mark.parametrize("fault", [Drop(), Hold()])
async def test_silence_is_an_error_after_one_request(gke_api: GKEApi, fault: Fault) -> None:
    gke_api.fail(fault)
    error = await refused()
    assert isinstance(error, errors.NoAnswerError)
    assert error.code == 0
    assert not isinstance(fault, Hold) or await asyncio.to_thread(fault.entered.wait, 10)
    assert len(gke_api.calls()) == 1


async def test_an_answer_that_never_ends_is_given_up(
    gke_api: GKEApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "TOTAL_SECONDS", 0.3)
    gke_api.fail(Hold(trickle=True))
    assert str(await refused()) == "no answer within 0.3 s, credentials included"


async def test_a_refused_connection_is_an_error_with_a_reason(
    gke_api: GKEApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(clients.GKE_ENDPOINT, f"http://127.0.0.1:{free_ports(1)[0]}")
    error = await refused()
    assert isinstance(error, errors.NoAnswerError)
    assert "Connection refused" in str(error)


async def test_without_credentials_nothing_is_asked(
    gke_api: GKEApi, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in {
        "HOME": str(tmp_path),
        "CLOUDSDK_CONFIG": str(tmp_path),
        "NO_GCE_CHECK": "true",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.setenv(clients.GKE_ENDPOINT, gke_api.url.replace("http:", "https:"))
    error = await refused()
    assert isinstance(error, errors.NoCredentialsError)
    assert "credentials were not found" in str(error)
    assert not gke_api.calls()


async def test_credentials_that_google_does_not_take_are_named_as_the_cause(gke_api: GKEApi) -> None:
    gke_api.fail(refusal(401))
    assert isinstance(await refused(), errors.NoCredentialsError)


async def test_a_new_address_is_taken_up(gke_api: GKEApi, monkeypatch: pytest.MonkeyPatch) -> None:
    gke_api.put(NAME, cluster())
    await get()
    with GKEApi() as other:
        other.put(NAME, cluster("projects/p/global/networks/other"))
        monkeypatch.setenv(clients.GKE_ENDPOINT, other.url)
        assert (await get()).network_config.network == "projects/p/global/networks/other"
    assert len(gke_api.calls()) == 1


async def test_no_credentials_travel_unencrypted(gke_api: GKEApi) -> None:
    gke_api.put(NAME, cluster())
    await get()
    (call,) = gke_api.calls()
    assert "authorization" not in {name.lower() for name in call.headers}


async def test_hanging_calls_leave_the_threads_of_the_event_loop_alone(gke_api: GKEApi) -> None:
    hold = Hold()
    gke_api.put(NAME, cluster())
    gke_api.fail(hold)
    hanging = [asyncio.create_task(get()) for _ in range(40)]
    assert await asyncio.to_thread(hold.entered.wait, 10)
    gke_api.heal()
    assert len(await asyncio.gather(*hanging)) == 40


async def test_a_caller_that_is_cancelled_leaves_at_once(gke_api: GKEApi) -> None:
    hold = Hold()
    gke_api.fail(hold)
    caller = asyncio.create_task(get())
    assert await asyncio.to_thread(hold.entered.wait, 10)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
