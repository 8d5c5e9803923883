"""Starts and ends a whole control plane on loopback ports."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import requests

from testbed.control_plane import binaries, credentials
from testbed.control_plane.cluster import Cluster, LustreURLs
from testbed.control_plane.components import PACKAGES, Layout, Ports, command
from testbed.control_plane.credentials import Authority, write_key
from testbed.gke import compute_class, nodes
from testbed.gke.autoprovisioner import AutoProvisioner
from testbed.kube import crd_served
from testbed.process import Component, ComponentError, free_ports
from testbed.waiting import eventually

_GKE_SUFFIX = "-gke.1234000"
START_SECONDS = 60.0
STOP_SECONDS = 5.0
SIDECARS = ("csi-provisioner", "csi-resizer")
# Clients end before their servers: for example, a CSI sidecar that loses its driver writes a file outside of our
# directory.
CLIENTS = (*SIDECARS, "kwok", "kube-scheduler", "kube-controller-manager")
_STOP_ORDER = (
    CLIENTS,
    ("lustre-api", "lustre-csi", "kube-apiserver"),
    ("etcd",),
)
_TERMINATION_LOG = Path("/dev/termination-log")
_TERMINATION_NOTE = "Lost connection to CSI driver"


class ControlPlane(Cluster):
    """A context manager around the processes of one cluster; all its files are in one directory.

    Without ``controllers`` there is no controller manager and no scheduler; without ``nodes`` no kwok, no nodes and no
    auto-provisioner; without ``csi`` no Lustre driver. The Managed Lustre API always runs.
    ``version`` is what the API server reports: the built version with any ``-gke`` suffix. Start it from a
    thread that lives as long as the cluster should: its processes end when the starting thread does,
    however that ends.
    """

    def __init__(
        self,
        *,
        version: str | None = None,
        controllers: bool = True,
        nodes: bool = True,
        csi: bool = True,
        csi_timeout: float = 2.0,
    ) -> None:
        programs = binaries.ensure()
        ports = Ports(*free_ports(7))
        directory = Path(tempfile.mkdtemp(prefix="kvtier-testbed-"))
        lustre = LustreURLs(f"http://127.0.0.1:{ports.steering}", f"http://127.0.0.1:{ports.lustre_api}")
        url = f"https://127.0.0.1:{ports.api}"
        super().__init__(directory, url, lustre, programs, credentials.new_tokens())
        version = version or binaries.kubernetes_version(programs) + _GKE_SUFFIX
        self._layout = Layout(directory, programs, ports, version, csi_timeout, csi)
        self._controllers, self._nodes, self._csi = controllers, nodes, csi
        self._processes = Supervisor({name: self._component(name) for name in self._names()})
        self._autoprovisioner: AutoProvisioner | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start everything and return when it is ready. After a failure, stop everything again."""
        try:
            self._write_files()
            self._start_all()
            self._await_all()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the processes of this control plane, clients first, and remove its directory."""
        if self._autoprovisioner:
            self._autoprovisioner.stop()
            self._autoprovisioner = None
        self._processes.stop_all()
        shutil.rmtree(self.directory, ignore_errors=True)

    def stop_apiserver(self, force: bool = False) -> None:
        """Start an outage of the control plane; ``force`` cuts requests in progress.

        The test bed's own clients are paused meanwhile, because otherwise they would back off for half a minute.
        """
        self._processes.stop(CLIENTS)
        self._processes.stop(["kube-apiserver"], force)

    def start_apiserver(self) -> None:
        """End an outage, with the same address and data."""
        self._processes.launch("kube-apiserver")
        self._await_apiserver()
        self._processes.launch(*CLIENTS)
        self._await_sidecars()

    def restart_apiserver(self, force: bool = False) -> None:
        """A short outage."""
        self.stop_apiserver(force)
        self.start_apiserver()

    def restart_csi(self) -> None:
        """Restart the CSI controller (driver and sidecars). Instances are kept."""
        self._processes.stop(SIDECARS)
        self._processes.stop(["lustre-csi"])
        self._processes.launch("lustre-csi")
        self._launch_sidecars()
        self._await_sidecars()

    def pids(self) -> dict[str, int]:
        """The process ids, by component."""
        return self._processes.pids()

    def _names(self) -> Iterator[str]:
        yield from ("etcd", "kube-apiserver", "lustre-api")
        if self._controllers:
            yield from ("kube-controller-manager", "kube-scheduler")
        if self._nodes:
            yield "kwok"
        if self._csi:
            yield from ("lustre-csi", *SIDECARS)

    def _component(self, name: str) -> Component:
        # The environment of the caller must not change the behavior of a component.
        home = str(self.directory)
        env = {"HOME": home, "TMPDIR": home, "PATH": os.defpath, "PYTHONPATH": str(PACKAGES)}
        return Component(name, command(name, self._layout), self.directory, env)

    def _write_files(self) -> None:
        (self.directory / "logs").mkdir()
        certs = self.directory / "certs"
        certs.mkdir()
        Authority(certs, "ca").issue("apiserver")
        Authority(certs, "front-proxy-ca").issue("front-proxy")
        write_key(certs / "sa.key")
        credentials.write_files(self.directory, self.url, self.ca_file, self._tokens)

    def _start_all(self) -> None:
        self._processes.launch("etcd", "kube-apiserver", "lustre-csi", "lustre-api")
        self._await_apiserver()
        self._processes.launch("kube-controller-manager", "kube-scheduler", "kwok")
        setup = self.client("testbed:setup")
        setup.apply(compute_class.definition())
        if self._csi:
            nodes.install_driver(setup)
            self._launch_sidecars()
        if self._nodes:
            nodes.install_nodes(setup)
            self._autoprovisioner = AutoProvisioner(self.client("testbed:setup"))
            self._autoprovisioner.start()

    def _await_all(self) -> None:
        setup = self.client("testbed:setup")
        wait = self._processes.wait_ready
        wait("kube-apiserver", lambda: crd_served(setup, compute_class.NAME))
        if self._controllers:
            wait("kube-controller-manager", lambda: setup.find("v1", "ServiceAccount", "default", "default"))
        if self._nodes:
            wait("kwok", lambda: nodes.nodes_ready(setup))
        wait("lustre-api", lambda: answers(f"{self.lustre_api.url}/v1/projects/-/locations/-/instances"))
        self._await_sidecars()

    def _await_apiserver(self) -> None:
        self._processes.wait_ready("kube-apiserver", lambda: answers(f"{self.url}/readyz", self.ca_file))

    def _launch_sidecars(self) -> None:
        self._processes.wait_ready("lustre-csi", lambda: answers(f"{self._lustre.csi}/state"))
        self._processes.launch(*SIDECARS)

    def _await_sidecars(self) -> None:
        if not self._csi:
            return
        ports = (self._layout.ports.provisioner, self._layout.ports.resizer)
        for name, port in zip(SIDECARS, ports, strict=True):
            self._processes.wait_ready(name, partial(answers, f"http://127.0.0.1:{port}/metrics"))


class Supervisor:
    """Components by name. Names of components that this control plane does not have are ignored."""

    def __init__(self, components: Mapping[str, Component]) -> None:
        self._components = components

    def launch(self, *names: str) -> None:
        """Start components, without waiting for them."""
        for component in self._chosen(names):
            component.start()

    def stop(self, names: Iterable[str], force: bool = False) -> None:
        """Stop components together and wait for their end; ``force`` kills them."""
        stopping = self._chosen(names)
        for component in stopping:
            component.terminate(force)
        for component in stopping:
            component.wait_ended(STOP_SECONDS)

    def stop_all(self) -> None:
        """End every component, clients before servers."""
        for names in _STOP_ORDER:
            self.stop(names)
        _remove_termination_note()

    def wait_ready(self, name: str, ready: Callable[[], object]) -> None:
        """Wait until a component is ready. ``ComponentError`` shows the log of the component that failed."""

        def alive_and_ready() -> object:
            for component in self._components.values():
                component.require_alive()
            return ready()

        try:
            eventually(alive_and_ready, START_SECONDS, f"{name} is ready")
        except AssertionError as error:
            raise ComponentError(self._components[name].explain(f"is not ready ({error})")) from error

    def pids(self) -> dict[str, int]:
        """The processes that were started and not stopped."""
        return {name: one.pid for name, one in self._components.items() if one.pid is not None}

    def _chosen(self, names: Iterable[str]) -> list[Component]:
        return [self._components[name] for name in names if name in self._components]


def answers(url: str, ca_file: Path | None = None) -> bool:
    """Whether a GET of the URL succeeds now."""
    with requests.Session() as session:
        session.trust_env = False
        try:
            return session.get(url, timeout=5, verify=str(ca_file) if ca_file else True).ok
        except requests.RequestException:
            return False


def _remove_termination_note() -> None:
    """Remove the file that a sidecar writes for the kubelet when it loses its driver."""
    try:
        if _TERMINATION_NOTE in _TERMINATION_LOG.read_text():
            _TERMINATION_LOG.unlink()
    except OSError:
        pass
