"""LoRA adapters in the real engines: the command line, the keys of blocks, and the download."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine import hub, kubelet
from engine.environment import Environment
from engine.rendering import deployments
from engine.worker import Worker
from kvtier.api.v1alpha1 import ServedModel
from kvtier.data.engines import ENGINES
from kvtier.engines.adapters import ROOT, directory
from unit.builders import model, pool

pytestmark = pytest.mark.timeout(300)
SQL = {"name": "sql", "model": "example/sql", "revision": "v2"}
LAW = {"name": "law", "model": "/models/law"}
LIMITS = ["--max-loras=2", "--max-cpu-loras", "4", "--max-lora-rank=64"]


def _served(*adapters: dict[str, Any]) -> ServedModel:
    return ServedModel.model_validate(model(adapters=list(adapters)))


def _named(**changes: Any) -> list[str]:
    """The name and the path that vLLM has of an adapter."""
    (adapter,) = _served({**SQL, **changes}).adapters
    return [adapter.name, directory(adapter)]


def _command(version: str, *extra: str) -> kubelet.Started:
    item = model(adapters=[SQL, LAW], engine={"version": version}, extraArgs=list(extra))
    ((_, deployment),) = deployments(pool(models=[item]))
    return kubelet.started(deployment)


def test_the_engine_loads_the_adapters_of_the_field(real: Worker) -> None:
    command = _command(real.version, *LIMITS).arguments
    found = real.ask("adapters.parsed", command=command)
    paths = [[one.name, directory(one)] for one in _served(SQL, LAW).adapters]
    assert found == {
        "modules": paths,
        "enable_lora": True,
        "max_loras": 2,
        "max_cpu_loras": 4,
        "max_lora_rank": 64,
        "served_model_name": ["llama"],
    }


def test_it_starts_with_adapters_and_tiers(real: Worker) -> None:
    started = _command(real.version, *LIMITS)
    assert real.serve(started.arguments, started.variables)["refused"] is None


def test_extra_arguments_cannot_add_an_adapter(real: Worker) -> None:
    """The parser refuses them, instead of adding them to the list of adapters."""
    command = _command(real.version, "more=/etc").arguments
    with pytest.raises(AssertionError, match="more=/etc"):
        real.ask("adapters.parsed", command=command)


def test_a_new_revision_makes_only_the_blocks_of_its_adapter_cold(real: Worker) -> None:
    asked: dict[str, list[str] | None] = {
        "model": None,
        "adapter": _named(),
        "other adapter": _named(name="law"),
        "retrained": _named(revision="v3"),
        "moved": _named(model="example/sql-2"),
    }
    first, again = (real.ask("adapters.blocks", adapters=list(asked.values())) for _ in range(2))
    assert first == again, "an unchanged adapter keeps its blocks"
    every = [key for keys in first for key in keys]
    assert len(every) == len(set(every)) == 3 * len(asked)


def test_names_that_vllm_uses_for_other_requests_are_refused(real: Worker) -> None:
    assert set(real.ask("adapters.content_types")) <= set(ENGINES.content_types)


def test_lmcache_cannot_keep_apart_what_is_refused_with_it(workers: Callable[[str], Worker]) -> None:
    keys = workers("0.32").ask("adapters.lmcache_keys")
    assert keys["adapter"] == keys["model"]
    assert keys["other embeddings"] == keys["embeddings"]
    assert keys["salt"] != keys["model"], "a control: its keys contain the salt"
    assert keys["other image"] != keys["image"] != keys["model"], "a control: and media"


# The init container, with the package huggingface_hub that vLLM depends on.

CONFIG = b'{"peft_type": "LORA"}'
REVISIONS = {
    "v1": {"adapter_config.json": CONFIG, "adapter_model.safetensors": b"old"},
    "v2": {"adapter_config.json": CONFIG, "adapter_model.safetensors": b"new"},
    "main": {"README.md": b"nothing yet"},
}


def _fetch(
    engines: Environment, root: Path, address: str, **changes: Any
) -> "subprocess.CompletedProcess[str]":
    """Run the init container of an adapter, with `root` as the root of its paths."""
    item = model(adapters=[{**SQL, **changes}, LAW], tokenSecretRef={"name": "hf"})
    ((_, deployment),) = deployments(pool(models=[item]))
    started = kubelet.started(deployment, {"HF_TOKEN": "hf_secret"}, among="initContainers")
    arguments = [one.replace(ROOT, f"{root}{ROOT}") for one in started.arguments]
    variables = {**engines.variables("0.33"), **started.variables, "HOME": str(root), "HF_ENDPOINT": address}
    return subprocess.run(
        [engines.python, *started.command[1:], *arguments],
        check=False,
        capture_output=True,
        text=True,
        env={**variables, "HF_HUB_OFFLINE": "0"},
        timeout=120,
    )


def test_the_revision_of_the_field_is_downloaded_to_the_path_of_the_engine(
    engines: Environment, tmp_path: Path
) -> None:
    with hub.running({"example/sql": REVISIONS}, "hf_secret") as address:
        for revision, weights in (("v1", "old"), ("v2", "new"), ("v2", "new")):
            done = _fetch(engines, tmp_path, address, revision=revision)
            assert done.returncode == 0, done.stderr
            at = Path(f"{tmp_path}{_named(revision=revision)[1]}")
            assert (at / "adapter_model.safetensors").read_text() == weights
    link = Path(f"{tmp_path}{directory(_served(LAW).adapters[0])}")
    assert str(link.readlink()) == LAW["model"]


@pytest.mark.parametrize(
    ("revision", "words"), [("v3", "RevisionNotFoundError"), ("main", "has no adapter_config.json")]
)
def test_what_cannot_be_served_ends_the_container(
    engines: Environment, tmp_path: Path, revision: str, words: str
) -> None:
    with hub.running({"example/sql": REVISIONS}, "hf_secret") as address:
        done = _fetch(engines, tmp_path, address, revision=revision)
    assert done.returncode != 0
    assert words in done.stderr
