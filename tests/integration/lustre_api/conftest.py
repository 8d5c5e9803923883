"""A Managed Lustre API in this process, for each test."""

from collections.abc import Iterator
from typing import Any

import pytest

from integration.lustre_api.calls import PROJECT
from testbed.lustre.client import LustreProject, google_client
from testbed.lustre.server import LustreAPI


@pytest.fixture
def server() -> Iterator[LustreAPI]:
    with LustreAPI() as running:
        yield running


@pytest.fixture
def client(server: LustreAPI, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Google's client."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return google_client(server.url)


@pytest.fixture
def project(server: LustreAPI) -> LustreProject:
    return server.project(PROJECT)
