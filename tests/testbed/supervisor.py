"""The processes of one control plane: started, awaited and ended together."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import requests

from testbed.process import Component, ComponentError
from testbed.waiting import eventually

START_SECONDS = 60.0
STOP_SECONDS = 5.0

SIDECARS = ("csi-provisioner", "csi-resizer")

# Clients end before the servers they talk to: a CSI sidecar that loses its driver, for one, leaves a
# note outside of our directory.
CLIENTS = (*SIDECARS, "kwok", "kube-scheduler", "kube-controller-manager")
_STOP_ORDER = (
    CLIENTS,
    ("lustre-api", "lustre-csi", "kube-apiserver"),
    ("etcd",),
)
_TERMINATION_LOG = Path("/dev/termination-log")
_TERMINATION_NOTE = "Lost connection to CSI driver"


class Supervisor:
    """Components by name; names of components that this control plane leaves out are ignored."""

    def __init__(self, components: Mapping[str, Component]) -> None:
        self._components = components

    def launch(self, *names: str) -> None:
        """Start components, without waiting for them."""
        for component in self._chosen(names):
            component.start()

    def stop(self, names: Iterable[str], force: bool = False) -> None:
        """End components together and wait for that; ``force`` gives them no time to finish anything."""
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
        """Wait for a component; ``ComponentError`` shows the log of the one that is to blame."""

        def alive_and_ready() -> object:
            for component in self._components.values():
                component.require_alive()
            return ready()

        try:
            eventually(alive_and_ready, START_SECONDS, f"{name} is ready")
        except AssertionError as error:
            raise ComponentError(self._components[name].explain(f"is not ready ({error})")) from error

    def pids(self) -> dict[str, int]:
        """The processes that were started and not ended."""
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
    """A sidecar that lost its driver writes one, where a kubelet would look for it."""
    try:
        if _TERMINATION_NOTE in _TERMINATION_LOG.read_text():
            _TERMINATION_LOG.unlink()
    except OSError:
        pass
