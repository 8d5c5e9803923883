"""Fixtures around a control plane of the module's own, whose requests can be spoiled."""

from collections.abc import Iterator

import pytest

from testbed.pools import Pools
from testbed.rig import Rig, rig


@pytest.fixture(scope="module")
def shared_rig() -> Iterator[Rig]:
    """API server, etcd and proxy; the test plays the controllers (`Rig.until`)."""
    with rig() as made:
        yield made


@pytest.fixture
def spoiled(shared_rig: Rig) -> Iterator[Rig]:
    """The rig without what earlier tests have left."""
    yield shared_rig
    shared_rig.clear()


def pools_in(spoiled: Rig, prefix: str = "n") -> Pools:
    """The pools of a new namespace."""
    return Pools(spoiled.kube, spoiled.namespace(prefix))
