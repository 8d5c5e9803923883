"""The engines, one worker per version, and a small model that all servers share."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from engine import environment, worker
from engine.environment import Environment
from engine.worker import Worker
from kvtier.api.v1alpha1.engine import VERSIONS

SMALL = Path(__file__).parent / "models" / "small"
WEIGHTS = Path(__file__).parent / "inside" / "weights.py"


_SLOW = ("test_lmcache", "native")
"""Test modules that start engines, the slowest first."""
_QUICK = ("0.33", "0.32")
"""Test modules that use the worker of a version, or no version."""


class ByEngine(LoadScopeScheduling):  # type: ignore[misc]
    """Run tests that share servers in one process, and also tests that share workers."""

    def _split_scope(self, nodeid: str) -> str:
        return _group(nodeid)


def _group(nodeid: str) -> str:
    slow = next((name for name in _SLOW if f"engine/{name}" in nodeid), None)
    return slow or next((version for version in _QUICK if f"[{version}" in nodeid), _QUICK[0])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slow groups first: each process takes one, then the remaining tests."""
    order = (*_SLOW, *_QUICK)
    items.sort(key=lambda item: order.index(_group(item.nodeid)))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByEngine:
    """The start of an engine takes half a minute, so only one process may start each."""
    config.option.loadscopereorder = False
    return ByEngine(config, log)


@pytest.fixture(scope="session")
def engines(pytestconfig: pytest.Config) -> Environment:
    """The Python environment of the engines. It is built if it does not exist, with progress output."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        return environment.ensure()


@pytest.fixture(scope="session")
def workers(engines: Environment) -> Iterator[Callable[[str], Worker]]:
    """One running worker per version, started on first use."""
    with ExitStack() as stack:
        yield cache(lambda version: stack.enter_context(worker.running(engines, version)))


@pytest.fixture(scope="session")
def vllm(workers: Callable[[str], Worker]) -> Worker:
    """The newest of them."""
    return workers(VERSIONS[0])


@pytest.fixture(scope="session", params=VERSIONS)
def real(request: pytest.FixtureRequest, workers: Callable[[str], Worker]) -> Worker:
    """Every version of vLLM that users can choose, in turn."""
    return workers(request.param)


@pytest.fixture(scope="session")
def model(engines: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Llama with random weights, the same in every run."""
    directory = tmp_path_factory.mktemp("model") / "small"
    shutil.copytree(SMALL, directory)
    env = {**os.environ, **engines.variables("0.32"), "HOME": str(directory.parent)}
    subprocess.run([engines.python, WEIGHTS, directory], check=True, env=env, cwd=directory.parent)
    return directory
