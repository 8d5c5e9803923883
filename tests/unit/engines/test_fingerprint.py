"""Cache directories: a different one for each change of cached bytes, the same one for all other changes."""

import json
import re
from itertools import combinations, product
from typing import Any

import pytest

from kvtier.api.v1alpha1 import ServedModel
from kvtier.data import table as data
from kvtier.engines.fingerprint import descriptor, directory, fingerprint
from unit.builders import model, pool
from unit.tables import table

LAYOUT_FLAGS: list[str] = data("engines")["versions"]["0.33"]["layoutFlags"]
BLOCKS = 16


def _print(**changes: Any) -> str:
    return fingerprint(ServedModel.model_validate(model(**changes)), BLOCKS)


def _with(*arguments: str) -> str:
    return _print(extraArgs=list(arguments))


CHANGES: dict[str, dict[str, Any]] = {
    "another model": {"model": "meta-llama/Llama-3.1-8B"},
    "another revision": {"revision": "0e9e39f"},
    "yet another revision": {"revision": "main"},
    "another element type": {"kvCacheDtype": "fp8"},
    "another number of GPUs": {"tensorParallelSize": 4},
    "quantization": {"extraArgs": ["--quantization", "fp8"]},
    "another quantization": {"extraArgs": ["--quantization", "awq"]},
    "another type of the weights": {"extraArgs": ["--dtype=bfloat16"]},
    "another block size": {"blockSize": 32},
    "pipeline stages": {"extraArgs": ["-pp", "2"]},
    "other model settings": {"extraArgs": ['--hf-overrides={"rope_theta": 1}']},
    "other model settings, key by key": {"extraArgs": ["--hf-overrides.rope_theta", "1"]},
    "another value of one key": {"extraArgs": ["--hf-overrides.rope_theta", "2"]},
    "another order of a block's bytes": {"env": [{"name": "VLLM_KV_CACHE_LAYOUT", "value": "HND"}]},
    "yet another order": {"env": [{"name": "VLLM_KV_CACHE_LAYOUT", "value": "NHD"}]},
    "another runner": {"env": [{"name": "VLLM_USE_V2_MODEL_RUNNER", "value": "0"}]},
    "layers of another type": {"extraArgs": ["--kv-cache-dtype-skip-layers", "0", "1"]},
    "other layers of another type": {"extraArgs": ["--kv-cache-dtype-skip-layers", "0", "2"]},
    "another attention kernel": {"extraArgs": ["--attention-backend", "FLASHINFER"]},
    "LMCache": {"engine": {"backend": "LMCache", "lmcache": {"version": "0.5.6"}}},
}


@table("change", CHANGES)
def test_it_changes_with(change: dict[str, Any]) -> None:
    assert _print(**change) != _print()


def test_adapters_share_the_directory_of_their_model() -> None:
    adapter = {"name": "sql", "model": "example/sql", "revision": "v2"}
    assert _print(adapters=[adapter]) == _print(), "vLLM's keys contain the adapter"


def test_no_two_changes_share_a_directory() -> None:
    prints = {name: _print(**change) for name, change in CHANGES.items()}
    assert [pair for pair in combinations(prints, 2) if prints[pair[0]] == prints[pair[1]]] == []


@table(
    "change",
    {
        "the name of the model in the pool": {"name": "other"},
        "replicas": {"replicas": 5},
        "autoscaling": {"autoscaling": {}},
        "the share of GPU memory": {"gpuMemoryUtilization": 0.5},
        "sequences per step": {"maxNumSeqs": 7},
        "tokens per step": {"maxNumBatchedTokens": 7000},
        "the longest context": {"maxModelLen": 1000},
        "the image, which holds the same version": {"engine": {"image": "mirror/vllm:v0.33.2"}},
        "the Secret of the token": {"tokenSecretRef": {"name": "hf"}},
        "variables": {"env": [{"name": "A", "value": "--dtype"}]},
        "CPU and memory": {"resources": {"cpu": 64, "memory": "1Ti"}},
        "flags that change no bytes": {"extraArgs": ["--enforce-eager", "--swap-space=4", "plain", "-"]},
    },
)
def test_it_does_not_change_with(change: dict[str, Any]) -> None:
    assert _print(**change) == _print()


@pytest.mark.parametrize("flag", LAYOUT_FLAGS)
def test_every_layout_flag_counts_in_every_spelling(flag: str) -> None:
    dashes = "--" if flag.startswith("--") else "-"
    underscored = dashes + flag.removeprefix(dashes).replace("-", "_")
    spellings = [(flag, "1"), (f"{flag}=1",), (underscored, "1"), (f"{flag}.key", "1")]
    assert _print() not in [_with(*spelling) for spelling in spellings]


@pytest.mark.parametrize("flag", [flag for flag in LAYOUT_FLAGS if flag.startswith("--")])
def test_an_abbreviated_layout_flag_counts(flag: str) -> None:
    assert _with(f"{flag[:-1]}=1") != _print()


def test_a_flag_of_one_letter_counts_with_its_value_attached() -> None:
    assert _with("-qfp8", "--enforce-eager") == _with("-q=fp8") == _with("-q", "fp8")


def test_a_flag_without_a_value_does_not_use_the_next_flag_as_value() -> None:
    switch = "--disable-hybrid-kv-cache-manager"
    assert _with(switch, "--seed=1") == _with(switch, "--seed=2") == _with("--seed=2", switch)


def test_the_order_of_variables_does_not_count() -> None:
    one, other = ({"name": name, "value": "1"} for name in ("VLLM_MLA_DISABLE", "VLLM_USE_V2_MODEL_RUNNER"))
    assert _print(env=[one, other]) == _print(env=[other, one])


def test_a_value_after_an_equals_sign_and_a_separate_value_are_the_same() -> None:
    assert _with("--dtype", "half") == _with("--dtype=half")
    assert _with("--hf_overrides", "{}") == _with("--hf-overrides={}")


def test_the_order_of_different_flags_does_not_count() -> None:
    assert _with("--dtype=half", "-pp=2") == _with("-pp=2", "--dtype=half")


def test_the_order_of_a_repeated_flag_counts() -> None:
    assert _with("--dtype=half", "--dtype=float") != _with("--dtype=float", "--dtype=half")


def test_a_flag_at_the_end_has_no_value() -> None:
    assert _with("--dtype") != _with("--dtype", "half")


def test_a_directory_belongs_to_one_pool_and_model() -> None:
    of = pool(models=[model(), model(name="other", model="other/model")])
    one, other = (directory(of, served, BLOCKS) for served in of.spec.models)
    assert re.fullmatch(r"team-a/chat/[0-9a-f]{16}", one)
    assert one != other
    assert directory(pool(metadata={"namespace": "team-b"}), of.spec.models[0], BLOCKS) != one
    assert directory(pool(metadata={"name": "more"}), of.spec.models[0], BLOCKS) != one
    assert directory(of, of.spec.models[0], 32) != one


def test_the_version_of_lmcache_changes_the_directory() -> None:
    of = ServedModel.model_validate(model(**CHANGES["LMCache"]))
    assert of.engine.lmcache is not None
    later = of.engine.lmcache.model_copy(update={"version": "0.6.0"})
    engine = of.engine.model_copy(update={"lmcache": later})
    assert fingerprint(of.model_copy(update={"engine": engine}), BLOCKS) != fingerprint(of, BLOCKS)


def test_resources_of_the_lmcache_server_do_not_change_the_directory() -> None:
    lmcache = {"version": "0.5.6", "cpu": 16, "memory": "64Gi"}
    assert _print(engine={"backend": "LMCache", "lmcache": lmcache}) == _print(**CHANGES["LMCache"])


def test_the_descriptor_contains_the_pool_and_every_input() -> None:
    layout = [{"name": "VLLM_KV_CACHE_LAYOUT", "value": "HND"}]
    changes = {"model": "münchen/😀", "revision": "main", "kvCacheDtype": "fp8"}
    of = pool(models=[model(**changes, extraArgs=["-dcp", "2"], env=layout)])
    written = descriptor(of, of.spec.models[0], 32)
    assert json.loads(written) == {
        "format": 1,
        "fingerprint": fingerprint(of.spec.models[0], 32),
        "pool": {"namespace": "team-a", "name": "chat", "uid": "pool-uid"},
        "identity": {
            **changes,
            "backend": "Native",
            "version": "0.33",
            "blockSize": 16,
            "blocksPerChunk": 32,
            "tensorParallelSize": 8,
            "arguments": ["-dcp=2"],
            "variables": ["VLLM_KV_CACHE_LAYOUT=HND"],
        },
    }
    assert written.endswith("}\n")
    assert "münchen/😀" in written


def test_fingerprints_are_equal_if_and_only_if_identities_are() -> None:
    same: list[dict[str, Any]] = [{}, {"replicas": 5}, {"extraArgs": ["--dtype", "bfloat16"]}]
    models = [ServedModel.model_validate(model(**change)) for change in (*same, *CHANGES.values())]
    found = [json.loads(descriptor(pool(), served, blocks)) for served, blocks in product(models, (16, 32))]
    pairs = [
        (one["identity"] == other["identity"], one["fingerprint"] == other["fingerprint"])
        for one, other in combinations(found, 2)
    ]
    assert set(pairs) == {(True, True), (False, False)}
