"""A first Pod that filled the shared tier, and a second Pod that starts cold."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.environment import Environment
from engine.native.shared import LONG, LONG_PROMPTS, PROMPTS, Shared, bare, offload_files, plant, pod
from engine.replica import Image, Replica
from engine.server import Server


@pytest.fixture(scope="package", params=["0.33", "0.32"])
def shared(
    request: pytest.FixtureRequest,
    engines: Environment,
    model: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Shared:
    """The shared tier after a first Pod has answered all prompts and was killed.

    Its engine was started without the shell line of the Deployment, to show the effect of that line.
    """
    directory = tmp_path_factory.mktemp("native")
    lustre = directory / "lustre"
    lustre.mkdir()
    lustre.chmod(0o777)
    made = Shared(lustre, Image(engines, request.param, model))
    with pod(made, directory / "first") as running:
        planted = plant(running)
        server = running.start(bare).wait_ready()
        made.stale = [name for name in offload_files(running) if name in planted]
        for name in PROMPTS:
            made.compute(server, name)
        for name in LONG_PROMPTS:
            made.compute(server, name, LONG)
        server.container.kill()
        made.left = [name for name in offload_files(running) if name not in planted]
    return made


@pytest.fixture(scope="package")
def second(shared: Shared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Replica, Server]]:
    """A Pod that starts after the first has ended: empty memory, the same shared tier."""
    with pod(shared, tmp_path_factory.mktemp("second")) as running:
        plant(running)
        yield running, running.start().wait_ready()
