"""Google APIs of the test's own, at which the operator's clients look."""

import threading
from collections.abc import Iterator

import pytest

from kvtier.facts.lustre_api import LustreReader
from kvtier.gcp import calls, container, lustre
from testbed.gke_api import GKEApi
from testbed.lustre_api import LustreAPI
from testbed.lustre_client import LustreProject
from unit.gcp.clock import Clock


@pytest.fixture(autouse=True)
def no_calls_left_behind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Calls that a test has not waited for have ended afterwards; the servers let held ones go."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    others = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - others:
        if thread.name.startswith(("gke-api", "lustre-api")):
            thread.join(10)
            assert not thread.is_alive()


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[GKEApi]:
    """The GKE API."""
    with GKEApi() as server:
        monkeypatch.setenv(container.ENDPOINT_VARIABLE, server.url)
        yield server


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[LustreAPI]:
    """The Managed Lustre API."""
    with LustreAPI() as server:
        monkeypatch.setenv(lustre.ENDPOINT_VARIABLE, server.url)
        yield server


@pytest.fixture
def project(service: LustreAPI) -> LustreProject:
    """Project p of the Managed Lustre API."""
    return service.project("p")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def reader(project: LustreProject, clock: Clock) -> LustreReader:
    """A patient one; instances home and away exist."""
    for name in ("home", "away"):
        project.put(name)
    return LustreReader(clock, patience=60.0)


@pytest.fixture
def short_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """For servers that never answer: the client notices at once."""
    monkeypatch.setattr(calls, "SOCKET_SECONDS", 0.2)
