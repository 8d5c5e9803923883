"""The engines, one worker per version, and a small model that all servers share."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from engine import environment, worker
from engine.environment import Environment
from engine.worker import Worker
from kvtier.api.v1alpha1.engine import VERSIONS

SMALL = Path(__file__).parent / "models" / "small"
WEIGHTS = Path(__file__).parent / "inside" / "weights.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share an engine run in one process; those without engines of their own share the workers."""
    for item in items:
        if not any(item.iter_markers("xdist_group")):
            item.add_marker(pytest.mark.xdist_group("workers"))


@pytest.fixture(scope="session")
def engines(pytestconfig: pytest.Config) -> Environment:
    """The engines' Python environment, built if need be, with the build's progress shown."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        return environment.ensure()


@pytest.fixture(scope="session")
def workers(engines: Environment) -> Iterator[Callable[[str], Worker]]:
    """One running worker per version, started when it is asked for."""
    with ExitStack() as stack:
        yield cache(lambda version: stack.enter_context(worker.running(engines, version)))


@pytest.fixture(scope="session")
def vllm(workers: Callable[[str], Worker]) -> Worker:
    """The vLLM that kvtier renders for."""
    return workers(VERSIONS[0])


@pytest.fixture(scope="session")
def model(engines: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Llama with random weights, the same in every run."""
    directory = tmp_path_factory.mktemp("model") / "small"
    shutil.copytree(SMALL, directory)
    env = {**os.environ, **engines.variables("0.32"), "HOME": str(directory.parent)}
    subprocess.run([engines.python, WEIGHTS, directory], check=True, env=env, cwd=directory.parent)
    return directory
