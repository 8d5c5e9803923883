"""The operator as in a cluster: a separate process, with the service account of manifests/install.yaml."""

import itertools
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from testbed.control_plane.cluster import Cluster
from testbed.kube import Kube, install_crds
from testbed.process import Component
from testbed.waiting import eventually

NAMESPACE, SERVICE_ACCOUNT = "kvtier-system", "kvtier-operator"
USER = f"system:serviceaccount:{NAMESPACE}:{SERVICE_ACCOUNT}"
ROOT = Path(__file__).parents[2]
LUSTRE_ENDPOINT = "KVTIER_LUSTRE_ENDPOINT"
PACE = "0.02"
"""Polls every 0.3 s instead of 15, back-offs of 1.2 s instead of a minute."""
_STOP_SECONDS = 10.0
_numbers = itertools.count()


def install(kube: Kube) -> None:
    """Apply the operator's namespace, service account and RBAC. `operator` replaces its Deployment."""
    for manifest in yaml.safe_load_all((ROOT / "manifests" / "install.yaml").read_text()):
        if manifest["kind"] != "Deployment":
            kube.apply(manifest)


def install_crd(kube: Kube) -> None:
    """Install KVCachePool and wait until it is served."""
    files = sorted((ROOT / "crds").glob("*.yaml"))
    install_crds(kube, [one for path in files for one in yaml.safe_load_all(path.read_text())])


@contextmanager
def operator(cluster: Cluster, *arguments: str, server: str = "", **environment: str) -> Iterator[Component]:
    """A running `kvtier run` with the permissions of its RBAC. Several at once compete for the Lease, as replicas do.

    ``server`` is the address of the API server, by default that of the cluster.
    """
    process = start(cluster, *arguments, server=server, **environment)
    try:
        yield process
    finally:
        stop(process)


def start(cluster: Cluster, *arguments: str, server: str = "", **environment: str) -> Component:
    """Start `kvtier run` with the operator's token and the cluster's Managed Lustre API; `stop` ends it."""
    kubeconfig = cluster.service_account_kubeconfig(NAMESPACE, SERVICE_ACCOUNT, server)
    command = [
        sys.executable,
        "-m",
        "kvtier",
        "run",
        "--kubeconfig",
        str(kubeconfig),
        "--pace",
        PACE,
        *arguments,
    ]
    settings = {
        "PYTHONPATH": str(ROOT / "operator"),
        "PATH": os.defpath,
        "HOME": str(cluster.directory),
        LUSTRE_ENDPOINT: cluster.lustre_api.url,
    }
    name = f"operator-{os.getpid()}-{next(_numbers)}"
    process = Component(name, command, cluster.directory, settings | environment)
    process.start()
    return process


def revive(process: Component) -> bool:
    """Restart an operator that has lost its Lease and therefore ended, as the kubelet does; always True.

    On a slow machine, an outage of the API server may last longer than the renewal of the Lease may take.
    """
    if process.ended:
        assert "The Lease could not be renewed" in logged(process), process.explain("ended")
        process.start()
    return True


def stop(process: Component, force: bool = False) -> None:
    """Stop the operator; by default it releases its Lease."""
    process.terminate(force)
    process.wait_ended(_STOP_SECONDS)


def await_log(process: Component, text: str, times: int = 1, timeout: float = 40.0) -> None:
    """Wait until the operator has logged a text that many times."""
    eventually(lambda: logged(process).count(text) >= times, timeout, f"{process.name} logs {text!r}")


def logged(process: Component) -> str:
    """The log of the operator."""
    return process.log.read_text(errors="replace")
