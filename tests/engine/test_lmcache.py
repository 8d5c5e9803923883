"""An unmodified LMCache server and vLLM's connector to it, end to end: a server and an engine in one Pod, on CPUs.

Replaced: the ports, and the image: vLLM 0.32 built for CPUs, and 0.33 with the CPU kernels of 0.32. Of LMCache nothing
is: engine and server meet in shared memory as they do beside a GPU.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

from engine import cache_server
from engine.environment import Environment
from engine.native.shared import look_up
from engine.replica import Image, replica
from engine.small import claims, deployment, pool
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.data import table as data
from kvtier.engines.fingerprint import directory
from testbed.waiting import eventually

pytestmark = pytest.mark.timeout(900)
NAMES = ("one", "two")
TOKENS = 1500
_CHUNK = data("lmcache")["versions"][cache_server.VERSION]["chunkTokens"]
CHUNKS = TOKENS // _CHUNK
FOUND = CHUNKS * _CHUNK
PLAIN, OTHER = pool(), pool(kvCacheDtype="fp8_e5m2")


@dataclass(frozen=True)
class Tried:
    """What an engine answered, and how many tokens of each prompt it did not have to compute."""

    tokens: list[list[int]]
    found: list[int]


@dataclass(frozen=True)
class Stage:
    """Where Pods run: an image, a shared tier, and room for their own volumes."""

    image: Image
    directory: Path

    def run(self, of: KVCachePool, cached_in: KVCachePool, name: str) -> Tried:
        """A Pod of the pool `of` from start to end, on the cache directory of the pool `cached_in`."""
        made, lustre = deployment(of), self.directory / "lustre"
        below = directory(cached_in, cached_in.spec.models[0])
        with replica(made, self.image, claims(made, lustre), self.directory / name) as running:
            engine = cache_server.start(running, f"/kv/lustre/{below}", name).wait_ready()
            tried = [look_up(engine, prompt, TOKENS) for prompt in NAMES]
            whole = len(NAMES) * CHUNKS
            eventually(
                lambda: len(list((lustre / below).glob("*.data"))) == whole, 60, "the files of all chunks"
            )
        return Tried([answer.tokens for answer, _ in tried], [found for _, found in tried])


@pytest.fixture(scope="module", params=["0.33", "0.32"])
def stage(
    request: pytest.FixtureRequest,
    engines: Environment,
    model: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Stage:
    """A shared tier for one version of vLLM."""
    made = tmp_path_factory.mktemp("lmcache")
    (made / "lustre").mkdir()
    (made / "lustre").chmod(0o777)
    return Stage(Image(engines, request.param, model), made)


@pytest.fixture(scope="module")
def first(stage: Stage) -> Tried:
    """A Pod that found nothing and has gone."""
    return stage.run(PLAIN, PLAIN, "first")


def test_a_cold_pod_finds_what_another_computed(stage: Stage, first: Tried) -> None:
    second = stage.run(PLAIN, PLAIN, "second")
    assert first.found == [0, 0]
    assert second.found == [FOUND, FOUND]
    assert second.tokens == first.tokens


def test_only_kvtiers_directories_keep_element_types_apart(stage: Stage, first: Tried) -> None:
    """On the other pool's directory LMCache takes its files for its own: the control, and why there are directories."""
    if stage.image.version != "0.33":
        pytest.skip("one version is enough for two more starts")
    own = stage.run(OTHER, OTHER, "own")
    foreign = stage.run(OTHER, PLAIN, "foreign")
    assert own.found == [0, 0]
    assert foreign.found == [FOUND, FOUND], "LMCache tells element types apart now: say so in docs/engines.md"
    assert foreign.tokens != own.tokens
    assert own.tokens != first.tokens, "the element type matters to the answer, else this proves nothing"
