"""The command line and the environment of an engine."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.api.v1alpha1.engine import VERSIONS
from kvtier.data.engines import ENGINES
from kvtier.data.vllm_flags import MANAGED_FLAGS
from kvtier.engines import lmcache
from kvtier.engines.arguments import argv, environment
from unit.builders import model, model_cache, pool
from unit.tables import table

ODD_TEXT = 'it\'s "quoted" $HOME $(id) {} {{ x }} \n second line 😀 ; rm -rf / --port=1'
NO_TIERS = {"cpu": None, "lustre": None}
ADAPTERS = [
    {"name": "sql", "model": "example/sql", "revision": "v2"},
    {"name": "law", "model": "/models/$(HOME) law"},
]
WHOLE = {
    "revision": "main",
    "maxModelLen": 131072,
    "maxNumSeqs": 128,
    "maxNumBatchedTokens": 8192,
    "gpuMemoryUtilization": 0.85,
    "kvCacheDtype": "fp8",
    "blockSize": 32,
    "extraArgs": ["--enforce-eager", "--quantization", "fp8"],
}


def _line(of: KVCachePool) -> list[str]:
    return argv(of, of.spec.models[0], with_lustre=True, cached=model_cache(of.spec.models[0]))


def _transfer_config(**changes: Any) -> dict[str, Any]:
    (text,) = [one for one in _line(pool(**changes)) if one.startswith("--kv-transfer-config=")]
    found: dict[str, Any] = json.loads(text.partition("=")[2])
    return found


@table(
    "fields, arguments",
    {
        "every field is on the command line": (
            WHOLE,
            "--served-model-name=llama --revision=main --port=8000 --tensor-parallel-size=8 --max-model-len=131072 "
            "--max-num-seqs=128 --max-num-batched-tokens=8192 --gpu-memory-utilization=0.85 --kv-cache-dtype=fp8 "
            "--block-size=32 --prefix-caching-hash-algo=sha256_cbor --enforce-eager --quantization fp8",
        ),
        "for fields that are not set, vLLM uses its defaults": (
            {},
            "--served-model-name=llama --port=8000 --tensor-parallel-size=8 --gpu-memory-utilization=0.9 "
            "--kv-cache-dtype=auto --prefix-caching-hash-algo=sha256_cbor",
        ),
    },
)
def test_a_command_line(fields: dict[str, Any], arguments: str) -> None:
    start = ["vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct", "--enable-prefix-caching"]
    of = pool(tiers=NO_TIERS, models=[model(**fields)])
    assert argv(of, of.spec.models[0], False, model_cache(of.spec.models[0])) == [*start, *arguments.split()]


def test_a_cpu_tier_adds_the_connector_as_one_argument_of_json() -> None:
    config = _transfer_config()
    extra = config.pop("kv_connector_extra_config")
    assert config == {
        "kv_connector": "OffloadingConnector",
        "kv_role": "kv_both",
        "kv_load_failure_policy": "recompute",
    }
    assert extra["cpu_bytes_to_use"] == 100 << 30
    assert [tier["root_dir"].split("/")[:5] for tier in extra["secondary_tiers"]] == [
        ["", "kv", "lustre", "team-a", "chat"]
    ]


def test_the_connector_of_lmcache_replaces_that_of_vllm() -> None:
    config = _transfer_config(models=[model(engine={"backend": "LMCache", "lmcache": {"version": "0.5.6"}})])
    assert config == {
        "kv_connector": "LMCacheMPConnector",
        "kv_role": "kv_both",
        "kv_load_failure_policy": "recompute",
        "kv_connector_extra_config": lmcache.connector_config("0.5.6"),
    }


@given(
    st.text(min_size=1, max_size=60).filter(lambda text: not text.startswith("-")),
    st.text(min_size=1, max_size=60),
)
def test_text_of_the_user_is_always_one_separate_argument(name: str, revision: str) -> None:
    line = _line(pool(models=[model(model=name, revision=revision)]))
    assert line[:3] == ["vllm", "serve", name]
    assert f"--revision={revision}" in line
    assert len(line) == len(_line(pool())) + 1


def test_quotes_dollars_braces_and_newlines_are_not_changed() -> None:
    line = _line(pool(models=[model(model=ODD_TEXT, extraArgs=["--x", ODD_TEXT, "--y=-- -z"])]))
    assert line[2] == ODD_TEXT
    assert line[-3:] == ["--x", ODD_TEXT, "--y=-- -z"]


@pytest.mark.parametrize("version", VERSIONS)
def test_users_may_not_set_what_kvtier_renders(version: str) -> None:
    fields = {**WHOLE, "extraArgs": None, "engine": {"image": "mine", "version": version}}
    rendered = [one.partition("=")[0] for one in _line(pool(models=[model(**fields)]))[3:]]
    assert len(rendered) == 13
    assert set(rendered) <= set(MANAGED_FLAGS)


def test_a_flag_or_key_that_a_version_renames_needs_only_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    row = ENGINES.versions["0.33"]
    flags = {**row.flags, "maxModelLen": ("--max-context", "--max-model-len")}
    keys = row.connector_keys.model_copy(update={"cpu_bytes": "host_bytes"})
    renamed = row.model_copy(update={"flags": flags, "connector_keys": keys})
    monkeypatch.setitem(ENGINES.versions, "0.33", renamed)
    assert "--max-context=9" in _line(pool(models=[model(maxModelLen=9)]))
    assert _transfer_config()["kv_connector_extra_config"]["host_bytes"] == 100 << 30


def test_every_pod_hashes_with_the_same_seed() -> None:
    assert environment()["PYTHONHASHSEED"] == "0"


def test_adapters_are_a_list_that_extra_arguments_cannot_extend() -> None:
    of = pool(models=[model(adapters=ADAPTERS, extraArgs=["more=/etc", "--max-loras", "2"])])
    line = _line(of)
    start = line.index("--enable-lora")
    flag, *modules, after = line[start + 1 : start + 5]
    assert flag == "--lora-modules"
    assert [one.partition("=/kv/adapters/")[0] for one in modules] == ["sql", "law"]
    assert after.startswith("--served-model-name=")
    assert line[-3:] == ["more=/etc", "--max-loras", "2"]


def test_without_adapters_no_flag_of_lora_is_rendered() -> None:
    assert [one for one in _line(pool()) if "lora" in one] == []
