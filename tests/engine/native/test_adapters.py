"""An adapter that is trained again: its cached blocks are not used, and those of its model are.

The init container links the paths, as in a Pod. Both adapters have the same files, and only one gets a new revision.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine import kubelet, small
from engine.environment import Environment
from engine.native.shared import STORED, TOKENS
from engine.replica import MODEL, Image, replica
from engine.server import NAME, Server
from testbed.waiting import eventually

pytestmark = pytest.mark.timeout(900)
PROGRAM = Path(__file__).parents[1] / "inside" / "adapter.py"
HITS = "vllm:external_prefix_cache_hits_total"
PROMPT = small.prompt("adapters", TOKENS)
EACH = (NAME, "renewed", "kept")
"""The model, an adapter whose revision changes with its weights, and one whose revision stays."""


class Trained:
    """An image whose model directory also contains an adapter, and a tier for its Pods."""

    def __init__(self, engines: Environment, version: str, model: Path, directory: Path) -> None:
        shutil.copytree(model, directory / "model")
        self.image = Image(engines, version, directory / "model")
        self.tier = directory / "lustre"
        self.tier.mkdir()
        self.tier.chmod(0o777)
        self._directory = directory

    def train(self, seed: int) -> None:
        """Write the adapter's weights in place."""
        engines, model = self.image.engines, self.image.model
        env = {**os.environ, **engines.variables("0.32"), "HOME": str(self._directory)}
        command = [str(part) for part in (engines.python, PROGRAM, model, model / "lora", seed)]
        subprocess.run(command, check=True, env=env, cwd=self._directory)

    @contextmanager
    def pod(self, revision: str) -> Iterator[Server]:
        """The engine of a Pod whose adapter `renewed` has this revision."""
        path = f"{MODEL}/lora"
        adapters = [
            {"name": "renewed", "model": path, "revision": revision},
            {"name": "kept", "model": path, "revision": "1"},
        ]
        extra = ["--skip-tokenizer-init", "--enforce-eager", *small.EXACT, "--max-loras=2"]
        made = small.deployment(small.pool(adapters=adapters, extraArgs=extra))
        claims = small.claims(made, self.tier)
        with replica(made, self.image, claims, self._directory / f"pod-{revision}") as running:
            linked = running.run(kubelet.started(made, among="initContainers"), "lora-adapters")
            linked.wait_ended(60)
            yield running.start().wait_ready()


@pytest.mark.parametrize("version", ["0.33", "0.32"])
def test_a_new_revision_makes_only_the_blocks_of_its_adapter_cold(
    engines: Environment, model: Path, tmp_path: Path, version: str
) -> None:
    trained = Trained(engines, version, model, tmp_path)
    trained.train(seed=1)
    with trained.pod(revision="1") as server:
        before = {name: server.ask(PROMPT, model=name).tokens for name in EACH}
        files = len(EACH) * STORED // small.CHUNK
        eventually(lambda: len(list(trained.tier.rglob("*.bin"))) == files, 60, "the files of all three")
    assert before["renewed"] == before["kept"] != before[NAME], "they have the same weights"

    trained.train(seed=2)
    with trained.pod(revision="2") as server:
        after, found = {}, {}
        for name in EACH:
            hits = server.metric(HITS)
            after[name] = server.ask(PROMPT, model=name).tokens
            found[name] = server.metric(HITS) - hits
    assert found == {NAME: STORED, "renewed": 0, "kept": STORED}
    assert after[NAME] == before[NAME]
    assert after["renewed"] != before["renewed"]
    assert after["kept"] != after["renewed"], (
        "a control: without a new revision, old blocks give wrong tokens"
    )
