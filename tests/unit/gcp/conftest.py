"""A GKE API of the test's own, at which the operator's client looks."""

import threading
from collections.abc import Iterator

import pytest

from kvtier.gcp import container
from testbed.gke_api import GKEApi


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[GKEApi]:
    """The server; requests that a test leaves behind are let go and have ended afterwards."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    others = set(threading.enumerate())
    with GKEApi() as server:
        monkeypatch.setenv(container.ENDPOINT_VARIABLE, server.url)
        yield server
    for thread in set(threading.enumerate()) - others:
        if thread.name.startswith("gke-api"):
            thread.join(10)
            assert not thread.is_alive()


@pytest.fixture
def short_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """For servers that never answer: the client notices at once."""
    monkeypatch.setattr(container, "SOCKET_SECONDS", 0.2)
