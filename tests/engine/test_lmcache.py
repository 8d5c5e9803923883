"""An unmodified LMCache server and vLLM's connector, end to end: a server and an engine in one Pod, on CPUs.

Replaced: the ports, and the image: vLLM 0.32 built for CPUs, and 0.33 with the CPU kernels of 0.32. LMCache is not
changed: engine and server share memory as with a GPU, which would also pin that memory.
"""

import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.cache_server import CHUNK, Cached, below, cached, pool
from engine.environment import Environment
from engine.replica import Image
from kvtier.api.v1alpha1 import KVCachePool
from testbed.waiting import eventually

pytestmark = pytest.mark.timeout(900)
NAMES = ("one", "two", "server gone", "server back", "server silent", "server heard")
TOKENS = 1500
CHUNKS = TOKENS // CHUNK
FOUND = CHUNKS * CHUNK
only_one_version = pytest.mark.parametrize("stage", ["0.33"], indirect=True)


@dataclass(frozen=True)
class Stage:
    """The image of Pods, and the directory for their volumes."""

    image: Image
    directory: Path

    @property
    def pool(self) -> KVCachePool:
        """The pool of this version."""
        return pool(self.image.version)

    def tier(self, name: str) -> Path:
        """A shared tier that is empty at the start."""
        made = self.directory / name
        made.mkdir(exist_ok=True)
        made.chmod(0o777)
        return made

    def run(self, of: KVCachePool, tier: Path, name: str) -> dict[str, tuple[list[int], int]]:
        """Run a Pod on a shared tier. Returns, for each prompt, the answer and how many tokens were found."""
        with cached(of, self.image, tier, self.directory / name) as pod:
            tried = {prompt: pod.look_up(prompt, TOKENS) for prompt in NAMES}
            eventually(lambda: len(_files(tier, of)) == len(NAMES) * CHUNKS, 60, "the files of all chunks")
        return tried


def _files(tier: Path, of: KVCachePool) -> list[Path]:
    return list((tier / below(of)).glob("*.data"))


@pytest.fixture(scope="module", params=["0.33", "0.32"])
def stage(
    request: pytest.FixtureRequest,
    engines: Environment,
    model: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Stage:
    """One version of vLLM."""
    return Stage(Image(engines, request.param, model), tmp_path_factory.mktemp("lmcache"))


@pytest.fixture(scope="module")
def first(stage: Stage) -> dict[str, list[int]]:
    """The answers of a Pod that found nothing, and has ended."""
    tried = stage.run(stage.pool, stage.tier("lustre"), "first")
    assert {found for _, found in tried.values()} == {0}
    return {name: tokens for name, (tokens, _) in tried.items()}


@only_one_version
def test_only_directories_of_kvtier_separate_element_types(stage: Stage, first: dict[str, list[int]]) -> None:
    """A control: in one directory, LMCache reads files of another type as its own. So kvtier has directories."""
    other, mixed = pool(stage.image.version, kvCacheDtype="fp8_e5m2"), stage.tier("mixed")
    own = stage.run(other, stage.tier("lustre"), "own")
    shutil.copytree(stage.tier("lustre") / below(stage.pool), mixed / below(other), dirs_exist_ok=True)
    for path in (mixed, *mixed.rglob("*")):
        path.chmod(0o777)
    foreign = stage.run(other, mixed, "foreign")
    assert {found for _, found in own.values()} == {0}
    assert {found for _, found in foreign.values()} == {FOUND}, (
        "LMCache distinguishes types now: update docs/evidence/engines.md"
    )
    right, wrong = ({name: tokens for name, (tokens, _) in tried.items()} for tried in (own, foreign))
    assert wrong != right
    assert right != first, "the element type matters to the answers, else this proves nothing"


@pytest.fixture(scope="module")
def second(stage: Stage, first: dict[str, list[int]]) -> Iterator[Cached]:
    """A Pod that starts cold with the files of the first Pod."""
    with cached(stage.pool, stage.image, stage.tier("lustre"), stage.directory / "second") as pod:
        yield pod


def test_a_cold_pod_finds_what_another_computed_and_keeps_it(
    stage: Stage, first: dict[str, list[int]], second: Cached
) -> None:
    for name in ("one", "two"):
        assert second.look_up(name, TOKENS) == (first[name], FOUND)
    size = _files(stage.tier("lustre"), stage.pool)[0].stat().st_size
    assert second.in_memory() >= 2 * CHUNKS * size
    assert all(len(set(tokens)) > 2 for tokens in first.values()), "one token again and again proves little"


def test_engine_and_server_use_shared_memory(second: Cached) -> None:
    """Not by `pickle`, which LMCache silently uses if /dev/shm is too small for the CPU tier."""
    assert second.modes() == ["SHM"]


@only_one_version
def test_requests_succeed_without_the_server_and_hits_return_after_its_restart(
    first: dict[str, list[int]], second: Cached
) -> None:
    """Only the first request after the failure waits for the server, as long as kvtier configures."""
    second.server.container.kill()
    assert second.look_up("server gone", TOKENS) == (first["server gone"], 0)
    with second.recovery():
        second.server.start()
    assert second.look_up("server back", TOKENS) == (first["server back"], FOUND)
    assert second.modes() == ["SHM", "SHM"]


@only_one_version
def test_requests_succeed_when_the_server_does_not_respond(
    first: dict[str, list[int]], second: Cached
) -> None:
    server = second.server.container.first()
    os.kill(server, signal.SIGSTOP)
    try:
        assert second.look_up("server silent", TOKENS) == (first["server silent"], 0)
    finally:
        with second.recovery():
            os.kill(server, signal.SIGCONT)
    assert second.look_up("server heard", TOKENS) == (first["server heard"], FOUND)
