"""Fixtures of unit tests. These tests use no API server, no clock, and no network except loopback."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import settings

from kvtier.facts.lustre_api import LustreReader
from kvtier.gcp import clients
from testbed.gke.container_api import GKEApi
from testbed.lustre.client import LustreProject
from testbed.lustre.server import LustreAPI
from unit.google import Clock

settings.register_profile("unit", deadline=None, print_blob=True)
settings.load_profile("unit")


@pytest.fixture
def no_calls_left_behind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """After the test, all its calls have ended: the servers release the calls that they hold."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    others = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - others:
        if thread.name.startswith(("gke-api", "lustre-api")):
            thread.join(10)
            assert not thread.is_alive()


@pytest.fixture
def gke_api(no_calls_left_behind: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[GKEApi]:
    """The simulated GKE API that the operator's client uses."""
    with GKEApi() as server:
        monkeypatch.setenv(clients.GKE_ENDPOINT, server.url)
        yield server


@pytest.fixture
def lustre_api(no_calls_left_behind: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[LustreAPI]:
    """The simulated Managed Lustre API that the operator's client uses."""
    with LustreAPI() as server:
        monkeypatch.setenv(clients.LUSTRE_ENDPOINT, server.url)
        yield server


@pytest.fixture
def project(lustre_api: LustreAPI) -> LustreProject:
    """Project p of the Managed Lustre API."""
    return lustre_api.project("p")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def reader(project: LustreProject, clock: Clock) -> LustreReader:
    """A reader of the Lustre API that waits for answers. The instances home and away exist."""
    for name in ("home", "away"):
        project.put(name)
    return LustreReader(clock, patience=60.0)


@pytest.fixture
def short_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short timeout of the client, for servers that never answer."""
    monkeypatch.setattr(clients, "SOCKET_SECONDS", 0.2)
