"""The operator, for tests that want pools to be reconciled."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed import operator_process
from testbed.cluster import Cluster
from testbed.kube import Kube, Object
from testbed.pools import Pools
from testbed.process import Component

SAMPLES = Path(__file__).parents[2] / "manifests" / "samples"


@pytest.fixture(scope="session")
def operator(control_plane: Cluster) -> Iterator[Component]:
    """A replica of the operator for this worker; one of all workers' replicas leads."""
    operator_process.install(control_plane.kube)
    with operator_process.operator(control_plane) as process:
        yield process


@pytest.fixture
def pools(kube: Kube, namespace: str) -> Pools:
    """The pools of the test's namespace."""
    return Pools(kube, namespace)


@pytest.fixture
def sample() -> Any:
    """A sample pool by its file's name, as a manifest."""

    def read(name: str) -> Object:
        found: Object = yaml.safe_load((SAMPLES / f"{name}.yaml").read_text())
        return found

    return read
