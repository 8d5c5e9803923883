"""A bucket on this machine, and engines that use it."""

from collections.abc import Iterator

import pytest

from engine import worker
from engine.environment import Environment
from engine.object_storage.bucket import Bucket, serving
from engine.worker import Worker
from kvtier.api.v1alpha1.engine import VERSIONS


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    """An empty bucket for one test."""
    with serving() as made:
        yield made


@pytest.fixture(scope="package", params=VERSIONS)
def engine(request: pytest.FixtureRequest, engines: Environment) -> Iterator[Worker]:
    """Every version of vLLM that users can choose, in a separate process: NIXL starts threads, and could end it."""
    with worker.running(engines, request.param) as started:
        yield started
