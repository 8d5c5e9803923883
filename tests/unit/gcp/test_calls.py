"""Every call of Google's real clients ends in time, with a result or a GoogleError."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kvtier.gcp import clients, errors
from testbed.gke.container_api import GKEApi, cluster
from testbed.google_api import Drop, Fault, Hold, Reply
from testbed.lustre.documents import instance, refusal
from testbed.lustre.server import LustreAPI
from testbed.process import free_ports
from unit.google import HOME, LOCATION, REQUEST

CLUSTER = "projects/p/locations/us-central1/clusters/c"
COPY = {"uri": "gs://bucket/prefix/", "path": "/kv"}
CALLS: dict[str, Callable[[], Awaitable[Any]]] = {
    "get_cluster": lambda: clients.get_cluster("p", "us-central1", "c"),
    "get": lambda: clients.get_instance(HOME),
    "get_operation": lambda: clients.get_operation(f"{LOCATION}/operations/o"),
    "create": lambda: clients.start_operation("create", HOME, REQUEST, instance()),
    "import": lambda: clients.start_operation("import", HOME, REQUEST, COPY),
}


@dataclass
class Call:
    """A call, and its API: the address, the variable that sets it, and the number of requests."""

    make: Callable[[], Awaitable[Any]]
    fail: Callable[[Fault], object]
    requests: Callable[[], int]
    variable: str
    url: str

    async def refused(self) -> errors.GoogleError:
        with pytest.raises(errors.GoogleError) as caught:
            await self.make()
        return caught.value


@pytest.fixture(params=CALLS)
def call(request: pytest.FixtureRequest, gke_api: GKEApi, lustre_api: LustreAPI) -> Call:
    make, project = CALLS[request.param], lustre_api.project("p")
    if request.param == "get_cluster":
        variable, url = clients.GKE_ENDPOINT, gke_api.url
        return Call(make, gke_api.fail, lambda: len(gke_api.calls()), variable, url)
    return Call(
        make,
        fail=lambda fault: project.fail(fault, request.param, times=-1),
        requests=lambda: len(project.calls()),
        variable=clients.LUSTRE_ENDPOINT,
        url=lustre_api.url,
    )


@pytest.mark.parametrize(
    ("status", "code", "name"),
    [
        ("INVALID_ARGUMENT", 400, "InvalidArgument"),
        ("FAILED_PRECONDITION", 400, "FailedPrecondition"),
        ("PERMISSION_DENIED", 403, "PermissionDenied"),
        ("NOT_FOUND", 404, "NotFound"),
        ("ALREADY_EXISTS", 409, "AlreadyExists"),
        ("ABORTED", 409, "Aborted"),
        ("RESOURCE_EXHAUSTED", 429, "ResourceExhausted"),
        ("INTERNAL", 500, "Internal"),
        ("UNAVAILABLE", 503, "Unavailable"),
        ("DEADLINE_EXCEEDED", 504, "DeadlineExceeded"),
    ],
)
async def test_an_error_keeps_its_codes_and_message_and_is_not_retried(
    call: Call, status: str, code: int, name: str
) -> None:
    call.fail(refusal(status, "in Google's words"))
    error = await call.refused()
    assert (error.code, error.status, str(error)) == (code, name, "in Google's words")
    assert call.requests() == 1


async def test_refused_credentials_are_a_separate_error(call: Call) -> None:
    call.fail(refusal("UNAUTHENTICATED"))
    error = await call.refused()
    assert isinstance(error, errors.NoCredentialsError)
    assert error.status == "Unauthenticated"


@pytest.mark.parametrize(
    ("code", "status"),
    [(404, "Unimplemented"), (403, "PermissionDenied"), (503, "Unavailable"), (418, "Unknown")],
)
async def test_an_error_from_another_server_is_not_about_the_resource(
    call: Call, code: int, status: str
) -> None:
    call.fail(Reply(code, b"<html>\n  <b>no</b>\n</html>", "text/html"))
    error = await call.refused()
    assert (error.code, error.status, str(error)) == (code, status, "<html> <b>no</b> </html>")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>sign in</html>",
        b"null",
        b"3",
        b"\xff\xfe{",
        b'{"name": 5, "networkConfig": {"network": 5}}',
        b'{"name": ',
        b'{"a":' * 50_000,
    ],
)
async def test_a_response_that_cannot_be_parsed_is_an_error(call: Call, body: bytes) -> None:
    call.fail(Reply(200, body))
    assert isinstance(await call.refused(), errors.BadAnswerError)


@pytest.mark.parametrize("body", [b'{"error": "denied"}', b'"denied"'])
async def test_an_error_response_that_cannot_be_parsed_is_an_error(gke_api: GKEApi, body: bytes) -> None:
    gke_api.fail(Reply(403, body))
    with pytest.raises(errors.BadAnswerError):
        await CALLS["get_cluster"]()


async def test_long_messages_are_cut(call: Call) -> None:
    call.fail(refusal("INTERNAL", "a/path/of/words " * 20_000))
    assert len(str(await call.refused())) <= 300


@pytest.mark.usefixtures("short_reads")
@pytest.mark.parametrize(("fault", "status"), [(Drop, "Unavailable"), (Hold, "DeadlineExceeded")])
async def test_a_missing_response_is_an_error_after_one_request(
    call: Call, fault: type[Fault], status: str
) -> None:
    call.fail(fault())  # type: ignore[call-arg]
    error = await call.refused()
    assert isinstance(error, errors.NoAnswerError)
    assert (error.code, error.status, call.requests()) == (0, status, 1)


async def test_a_response_that_never_ends_is_an_error(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    with suppress(errors.GoogleError):
        await call.make()  # imports the client
    monkeypatch.setattr(clients, "TOTAL_SECONDS", 0.3)
    call.fail(Hold(trickle=True))
    error = await call.refused()
    assert error.status == "DeadlineExceeded"
    assert str(error) == "no response within 0.3 s, including the time for credentials"


async def test_a_refused_connection_is_an_error_with_a_reason(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(call.variable, f"http://127.0.0.1:{free_ports(1)[0]}")
    error = await call.refused()
    assert isinstance(error, errors.NoAnswerError)
    assert "Connection refused" in str(error)
    assert REQUEST not in str(error)


async def test_without_credentials_there_is_no_request(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("HOME", "CLOUDSDK_CONFIG"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.setenv(call.variable, call.url.replace("http:", "https:"))
    error = await call.refused()
    assert isinstance(error, errors.NoCredentialsError)
    assert "credentials were not found" in str(error)
    assert call.requests() == 0


async def test_credentials_are_not_sent_over_http_and_a_new_address_is_used(
    gke_api: GKEApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    gke_api.put(CLUSTER, cluster())
    await CALLS["get_cluster"]()
    (request,) = gke_api.calls()
    assert "authorization" not in {name.lower() for name in request.headers}
    with GKEApi() as other:
        other.put(CLUSTER, cluster("projects/p/global/networks/other"))
        monkeypatch.setenv(clients.GKE_ENDPOINT, other.url)
        assert (await CALLS["get_cluster"]()).network_config.network == "projects/p/global/networks/other"
    assert len(gke_api.calls()) == 1


async def test_hanging_calls_do_not_use_threads_of_the_event_loop(gke_api: GKEApi) -> None:
    hold = Hold()
    gke_api.put(CLUSTER, cluster())
    gke_api.fail(hold)
    hanging = [asyncio.ensure_future(CALLS["get_cluster"]()) for _ in range(40)]
    assert await asyncio.to_thread(hold.entered.wait, 10)
    hanging[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging[0]
    gke_api.heal()
    assert len(await asyncio.gather(*hanging[1:])) == 39
