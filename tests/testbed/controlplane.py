"""Starts and ends a whole control plane on loopback ports."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType

import requests
import yaml

from testbed import binaries, identities, population
from testbed.autoprovisioner import AutoProvisioner
from testbed.certificates import Authority, write_key
from testbed.cluster import Cluster
from testbed.commands import COMMANDS, Layout, Ports
from testbed.ports import free_ports
from testbed.process import Component, ComponentFailed
from testbed.waiting import eventually

DEFAULT_VERSION = f"{binaries.KUBERNETES_VERSION}-gke.1234000"
START_SECONDS = 60.0
STOP_SECONDS = 5.0

# Clients end before the servers they talk to: a CSI sidecar that loses its driver, for one, leaves a
# note outside of our directory.
_SIDECARS = ("csi-resizer", "csi-provisioner")
_STOP_ORDER = (
    (*_SIDECARS, "kwok", "kube-scheduler", "kube-controller-manager"),
    ("lustre-csi", "kube-apiserver"),
    ("etcd",),
)
_TERMINATION_LOG = Path("/dev/termination-log")
_TERMINATION_NOTE = "Lost connection to CSI driver"


class ControlPlane(Cluster):
    """A context manager around the processes of one cluster; all its files are in one directory.

    Without ``controllers`` there is no controller manager and no scheduler, without ``nodes`` no kwok,
    nodes or auto-provisioner, without ``csi`` no Lustre driver. ``version`` is what the API server
    reports. Start it from the main thread: its processes end when the starting thread does.
    """

    def __init__(
        self,
        *,
        version: str = DEFAULT_VERSION,
        controllers: bool = True,
        nodes: bool = True,
        csi: bool = True,
        csi_timeout: float = 2.0,
    ) -> None:
        programs = binaries.ensure()
        ports = Ports(*free_ports(6))
        directory = Path(tempfile.mkdtemp(prefix="kvtier-testbed-"))
        url, steering_url = f"https://127.0.0.1:{ports.api}", f"http://127.0.0.1:{ports.steering}"
        super().__init__(directory, url, steering_url, programs, identities.new_tokens())
        self._layout = Layout(directory, programs, ports, version, csi_timeout)
        self._controllers, self._nodes, self._csi = controllers, nodes, csi
        self._components = {name: self._component(name) for name in self._names()}
        self._autoprovisioner: AutoProvisioner | None = None

    def __enter__(self) -> "ControlPlane":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start everything and return when it is ready; a failure stops what was started."""
        try:
            self._write_files()
            self._start_all()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the processes of this control plane, clients first, and remove its directory."""
        if self._autoprovisioner:
            self._autoprovisioner.stop()
        for names in _STOP_ORDER:
            self._stop(names)
        _remove_termination_note()
        shutil.rmtree(self.directory, ignore_errors=True)

    def stop_apiserver(self, force: bool = False) -> None:
        """An outage of the control plane; ``force`` cuts running requests off."""
        self._stop(["kube-apiserver"], force)

    def start_apiserver(self) -> None:
        """End an outage: the same address, the same data."""
        self._launch("kube-apiserver")
        self._await_apiserver()

    def restart_apiserver(self, force: bool = False) -> None:
        """A short outage."""
        self.stop_apiserver(force)
        self.start_apiserver()

    def restart_csi(self) -> None:
        """Restart the CSI controller (driver and sidecars); instances survive."""
        self._stop(_SIDECARS)
        self._stop(["lustre-csi"])
        self._launch("lustre-csi")
        self._await_driver()
        self._launch(*_SIDECARS)
        self._await_sidecars()

    def pids(self) -> dict[str, int]:
        """The processes that run now, by component."""
        return {name: one.pid for name, one in self._components.items() if one.pid is not None}

    def _names(self) -> Iterable[str]:
        yield from ("etcd", "kube-apiserver")
        if self._controllers:
            yield from ("kube-controller-manager", "kube-scheduler")
        if self._nodes:
            yield "kwok"
        if self._csi:
            yield from ("lustre-csi", *_SIDECARS)

    def _component(self, name: str) -> Component:
        argv = [str(self.binaries / name), *COMMANDS[name](self._layout)]
        # Nothing of the caller's environment may change how a component behaves.
        home = str(self.directory)
        return Component(name, argv, self.directory, {"HOME": home, "TMPDIR": home, "PATH": os.defpath})

    def _write_files(self) -> None:
        for name in ("certs", "logs", "kubeconfigs"):
            (self.directory / name).mkdir()
        certs = self.directory / "certs"
        Authority(certs, "ca").issue("apiserver")
        Authority(certs, "front-proxy-ca").issue("front-proxy")
        write_key(certs / "sa.key")
        (self.directory / "audit-policy.yaml").write_text(yaml.safe_dump(identities.AUDIT_POLICY))
        identities.write_token_file(self.directory / "tokens.csv", self._tokens)
        for user, token in self._tokens.items():
            identities.write_kubeconfig(self.kubeconfig.parent / user, self.url, self.ca_file, token)

    def _start_all(self) -> None:
        self._launch("etcd", "kube-apiserver", "lustre-csi")
        self._await_apiserver()
        self._launch("kube-controller-manager", "kube-scheduler", "kwok")
        setup = self.client("testbed:setup")
        population.install_types(setup)
        if self._csi:
            population.install_driver(setup)
            self._await_driver()
            self._launch(*_SIDECARS)
        if self._nodes:
            population.install_nodes(setup)
            self._autoprovisioner = AutoProvisioner(self.client("testbed:setup"))
            self._autoprovisioner.start()
        self._await_population()

    def _await_population(self) -> None:
        setup = self.client("testbed:setup")
        self._await("kube-apiserver", lambda: population.types_served(setup))
        if self._controllers:
            self._await("kube-controller-manager", lambda: setup.find("v1", "ServiceAccount", "default", "default"))
        if self._nodes:
            self._await("kwok", lambda: population.nodes_ready(setup))
        if self._csi:
            self._await_sidecars()

    def _await_apiserver(self) -> None:
        self._await("kube-apiserver", lambda: _answers(f"{self.url}/readyz", self.ca_file))

    def _await_driver(self) -> None:
        self._await("lustre-csi", lambda: _answers(f"{self._steering_url}/state"))

    def _await_sidecars(self) -> None:
        ports = self._layout.ports
        for name, port in (("csi-provisioner", ports.provisioner), ("csi-resizer", ports.resizer)):
            self._await(name, lambda port=port: _answers(f"http://127.0.0.1:{port}/metrics"))  # type: ignore[misc]

    def _await(self, name: str, ready: Callable[[], object]) -> None:
        """Wait for a component; the error shows the log of the one that keeps us waiting."""

        def ready_and_alive() -> object:
            for component in self._components.values():
                component.require_alive()
            return ready()

        try:
            eventually(ready_and_alive, START_SECONDS, f"{name} is ready")
        except AssertionError as error:
            raise ComponentFailed(self._components[name].explain(f"is not ready ({error})")) from error

    def _launch(self, *names: str) -> None:
        for name in names:
            if name in self._components:
                self._components[name].start()

    def _stop(self, names: Iterable[str], force: bool = False) -> None:
        stopping = [self._components[name] for name in names if name in self._components]
        for component in stopping:
            component.terminate(force)
        for component in stopping:
            component.wait_ended(STOP_SECONDS)


def _answers(url: str, ca_file: Path | None = None) -> bool:
    with requests.Session() as session:
        session.trust_env = False
        try:
            return session.get(url, timeout=5, verify=str(ca_file) if ca_file else True).ok
        except requests.RequestException:
            return False


def _remove_termination_note() -> None:
    """A sidecar that lost its driver writes one, where a kubelet would look for it."""
    try:
        if _TERMINATION_NOTE in _TERMINATION_LOG.read_text():
            _TERMINATION_LOG.unlink()
    except OSError:
        pass
