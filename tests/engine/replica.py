"""One Pod of a rendered Deployment, on this machine's CPUs."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine import kubelet
from engine.environment import Environment
from engine.kubelet import Started, Volume
from engine.pod import Container, Pod
from engine.server import Server
from kvtier.engines.arguments import PORT
from testbed.process import free_ports

MODEL = "/models/small"
# Paths in the container's "image". A path of this machine could be hidden by a volume of the Pod.
_ENGINES, _SHIM = "/image/engines", "/image/shim"
_SHIM_SOURCE = Path(__file__).parent / "shim"


@dataclass(frozen=True)
class Image:
    """The content of the engine's image: a version of vLLM, and a model at MODEL."""

    engines: Environment
    version: str
    model: Path

    def volumes(self) -> dict[str, Volume]:
        """The parts of the image that have another path on this machine."""
        python = Path(sys.base_prefix)
        parts = {MODEL: self.model, _SHIM: _SHIM_SOURCE, _ENGINES: self.engines.root}
        parts |= {} if python.is_relative_to("/usr") else {str(python): python}
        return {path: Volume(source.resolve(), read_only=True) for path, source in parts.items()}

    def variables(self, with_shim: bool = True) -> dict[str, str]:
        """The environment of the image. The shim is the plugin of these tests for offloading without a GPU."""
        return Environment(Path(_ENGINES)).variables(self.version, *([Path(_SHIM)] if with_shim else []))


class Replica:
    """A Pod and its engine container, which can be restarted as the kubelet does after a crash."""

    def __init__(self, pod: Pod, deployment: dict[str, Any], image: Image) -> None:
        self.pod = pod
        self._image = image
        self._started = kubelet.started(deployment)

    @property
    def user(self) -> int:
        """The user that the engine runs as."""
        return self._started.user

    def start(self, change: Callable[[Started], Started] = lambda same: same, shim: bool = True) -> Server:
        """The engine's container with a `change`, and with another port, because it uses this machine's network."""
        (port,) = free_ports(1)
        arguments = [one.replace(f"--port={PORT}", f"--port={port}") for one in self._started.arguments]
        started = change(replace(self._started, arguments=arguments))
        return Server(self.pod.run(started, self._image.variables(shim)), port)

    def run(self, started: Started, name: str) -> Container:
        """Start another container of the Pod, from the same image."""
        return self.pod.run(started, self._image.variables(with_shim=False), name)


@contextmanager
def replica(
    deployment: dict[str, Any], image: Image, claims: Mapping[str, Volume], directory: Path
) -> Iterator[Replica]:
    """A Pod of the Deployment, with its volumes in `directory`. All processes end with the block."""
    mounted = kubelet.volumes(deployment, claims, directory / "volumes") | image.volumes()
    with Pod(directory / "pod", mounted) as pod:
        yield Replica(pod, deployment, image)
