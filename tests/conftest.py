"""Fixtures around the test bed: one control plane per test run, one namespace per test."""

import os
import secrets
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed import operator_process
from testbed.control_plane import binaries, shared
from testbed.control_plane.cluster import Cluster
from testbed.kube import Kube
from testbed.lustre.csi_driver import LustreService
from testbed.pools import create_namespace, empty_namespace

RUN_DIRECTORY = "KVTIER_TESTBED_RUN"


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def pytest_configure(config: pytest.Config) -> None:
    """Name the run's directory; the worker processes inherit it."""
    if not _is_worker(config):
        name = f"kvtier-testbed-run-{secrets.token_hex(6)}"
        os.environ[RUN_DIRECTORY] = str(Path(tempfile.gettempdir()) / name)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave only when the shared control plane has ended."""
    if _is_worker(config):
        shared.reap()
    else:
        shared.join(Path(os.environ.pop(RUN_DIRECTORY)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the Events of a failed test's namespace: they say what controllers could not do."""
    report = yield
    used: dict[str, Any] = getattr(item, "funcargs", {})
    if report.when == "call" and report.failed and "namespace" in used and "kube" in used:
        report.sections.append(("Events", _events(used["kube"], used["namespace"])))
    return report


def _events(kube: Kube, namespace: str) -> str:
    found = sorted(
        kube.list("v1", "Event", namespace), key=lambda one: str(one["metadata"]["creationTimestamp"])
    )
    return "\n".join(
        "{metadata[creationTimestamp]} {involvedObject[kind]} {involvedObject[name]} {reason}: {message}".format(
            **one
        )
        for one in found
    )


@pytest.fixture(scope="session")
def programs(pytestconfig: pytest.Config) -> Path:
    """The programs of the bed, built if need be, with the build's progress shown."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        return binaries.ensure()


@pytest.fixture(scope="session")
def control_plane(programs: Path) -> Iterator[Cluster]:
    """The run's simulated GKE cluster with the CRDs of kvtier; tests must not disturb each other."""
    with shared.shared_cluster(Path(os.environ[RUN_DIRECTORY])) as cluster:
        operator_process.install_crd(cluster.kube)
        yield cluster


@pytest.fixture
def kube(control_plane: Cluster) -> Kube:
    """An administrator's client."""
    return control_plane.kube


@pytest.fixture
def namespace(kube: Kube, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of the test's own; what is in it and its cluster-scoped leftovers go at the end."""
    name = create_namespace(kube, request.node.name.removeprefix("test_"))
    yield name
    empty_namespace(kube, name)


@pytest.fixture
def lustre(control_plane: Cluster, namespace: str) -> Iterator[LustreService]:
    """The Managed Lustre service as the test's namespace sees it; settings are the test's own."""
    service = control_plane.lustre.scoped(namespace)
    yield service
    service.reset()
