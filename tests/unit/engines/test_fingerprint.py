"""Cache directories: a different one for each change of cached bytes, the same one for all other changes."""

import json
import re
from itertools import combinations, product
from typing import Any

import pytest

from kvtier.api.v1alpha1 import ModelStatus, ServedModel
from kvtier.data import table as data
from kvtier.data.cache_rules import CACHE_RULES, CacheRules
from kvtier.data.engines import ENGINES
from kvtier.engines import fingerprint
from kvtier.engines.fingerprint import ModelCache, descriptor, directory, first_names, kept_cache, new_cache
from unit.builders import model, model_cache, pool
from unit.tables import table

BLOCKS = 16
LONG_ROPE = {
    "model_type": "phi3",
    "rope_scaling": {"type": "longrope", "short_factor": [], "long_factor": []},
}


def _model(**changes: Any) -> ServedModel:
    return ServedModel.model_validate(model(**changes))


def _print(**changes: Any) -> str:
    return model_cache(_model(**changes), BLOCKS).fingerprint


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
    "adapters of fewer layers": {"extraArgs": ["--lora-target-modules", "q_proj"]},
    "another attention kernel": {"extraArgs": ["--attention-backend", "FLASHINFER"]},
    "an image whose tag contradicts the version": {
        "engine": {"version": "0.33", "image": "mirror/vllm:v0.34.1"}
    },
    "random weights": {"extraArgs": ["--load-format=dummy"]},
    "weights from elsewhere": {"extraArgs": ["--model-loader-extra-config={}"]},
    "a flag that kvtier does not know": {"extraArgs": ["--new-in-vllm"]},
    "the type of adapters": {"extraArgs": ["--lora-dtype=float16"]},
    "a variable of vLLM that kvtier does not know": {"env": [{"name": "VLLM_NEW", "value": "1"}]},
    "a variable whose value kvtier does not know": {
        "env": [{"name": "VLLM_NEW", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}]
    },
    "another hub": {"env": [{"name": "HF_ENDPOINT", "value": "https://hub.example"}]},
    "weights in the image": {"model": "/models/chat"},
    "weights in another image": {"model": "/models/chat", "engine": {"image": "mirror/vllm:v0.33.2"}},
    "weights in an image, with a revision": {"model": "/models/chat", "revision": "2"},
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
        "flags that change no bytes": {"extraArgs": ["--enforce-eager", "--seed=4", "--max_logprobs", "5"]},
        "the other form of a switch": {"extraArgs": ["--no-enable-log-requests", "--disable-log-requests"]},
        "variables that change no bytes": {"env": [{"name": "VLLM_LOGGING_LEVEL", "value": "DEBUG"}]},
        "the version of an image that is none of vLLM": {
            "engine": {"version": "0.33", "image": "mirror/chat:v1.2"}
        },
        "another version with the same format": {"engine": {"version": "0.32"}},
    },
)
def test_it_does_not_change_with(change: dict[str, Any]) -> None:
    assert _print(**change) == _print()


@pytest.mark.parametrize("flag", CACHE_RULES.first.flags)
def test_every_flag_of_the_first_rules_counts_in_every_spelling(flag: str) -> None:
    dashes = "--" if flag.startswith("--") else "-"
    underscored = dashes + flag.removeprefix(dashes).replace("-", "_")
    lines = [[flag, "1"], [f"{flag}=1"], [underscored, "1"], [f"{flag}.key", "1"]]
    names = [first_names(_model(extraArgs=line), BLOCKS) for line in lines]
    assert first_names(_model(), BLOCKS) not in names
    assert _print() not in [_with(*line) for line in lines]


def test_an_abbreviated_harmless_flag_counts() -> None:
    assert _with("--enforce-eage") != _print() == _with("--enforce-eager")


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
    one, other = (directory(of, model_cache(served)) for served in of.spec.models)
    assert re.fullmatch(r"team-a/chat/[0-9a-f]{16}", one)
    assert one != other
    cached = model_cache(of.spec.models[0])
    assert directory(pool(metadata={"namespace": "team-b"}), cached) != one
    assert directory(pool(metadata={"name": "more"}), cached) != one
    assert directory(of, model_cache(of.spec.models[0], 32)) != one


def test_the_version_of_lmcache_changes_the_directory() -> None:
    of = _model(**CHANGES["LMCache"])
    assert of.engine.lmcache is not None
    later = of.engine.lmcache.model_copy(update={"version": "0.6.0"})
    engine = of.engine.model_copy(update={"lmcache": later})
    assert model_cache(of.model_copy(update={"engine": engine})) != model_cache(of)


def test_with_lmcache_each_version_of_vllm_has_its_own_directory() -> None:
    engine = CHANGES["LMCache"]["engine"]
    assert _print(engine=engine) != _print(engine={**engine, "version": "0.32"})


def test_resources_of_the_lmcache_server_do_not_change_the_directory() -> None:
    lmcache = {"version": "0.5.6", "cpu": 16, "memory": "64Gi"}
    assert _print(engine={"backend": "LMCache", "lmcache": lmcache}) == _print(**CHANGES["LMCache"])


def test_the_descriptor_contains_the_pool_and_every_part_of_the_identity() -> None:
    layout = [{"name": "VLLM_KV_CACHE_LAYOUT", "value": "HND"}]
    changes = {"model": "münchen/😀", "revision": "main", "kvCacheDtype": "fp8"}
    of = pool(models=[model(**changes, extraArgs=["-dcp", "2"], env=layout, maxModelLen=8192)])
    cached = new_cache(of.spec.models[0], 32, LONG_ROPE)
    written = descriptor(of, cached)
    assert json.loads(written) == {
        "format": 2,
        "fingerprint": cached.fingerprint,
        "rules": 2,
        "pool": {"namespace": "team-a", "name": "chat", "uid": "pool-uid"},
        "identity": {
            **changes,
            "backend": "Native",
            "cacheFormat": "0.32",
            "blockSize": 16,
            "blocksPerChunk": 32,
            "tensorParallelSize": 8,
            "maxModelLen": 8192,
            "arguments": ["-dcp=2"],
            "variables": ["VLLM_KV_CACHE_LAYOUT=HND"],
        },
    }
    assert written.endswith("}\n")
    assert "münchen/😀" in written


def test_fingerprints_are_equal_if_and_only_if_identities_are() -> None:
    same: list[dict[str, Any]] = [{}, {"replicas": 5}, {"extraArgs": ["--dtype", "bfloat16"]}]
    models = [_model(**change) for change in (*same, *CHANGES.values())]
    found = [
        json.loads(descriptor(pool(), model_cache(one, size))) for one, size in product(models, (16, 32))
    ]
    pairs = [
        (one["identity"] == other["identity"], one["fingerprint"] == other["fingerprint"])
        for one, other in combinations(found, 2)
    ]
    assert set(pairs) == {(True, True), (False, False)}


@table(
    "config",
    {
        "unknown": None,
        "LongRoPE": LONG_ROPE,
        "its old name": {"rope_scaling": {"type": "su"}},
        "in the part for text": {"text_config": LONG_ROPE},
        "in the newer field": {"rope_parameters": {"rope_type": "longrope"}},
        "in one kind of layers": {"rope_parameters": {"full_attention": {"rope_type": "longrope"}}},
        "positions that are scaled by length": {"rope_scaling": {"rope_type": "dynamic"}},
        "a type that kvtier does not know": {"rope_scaling": {"rope_type": "next"}},
        "Llama 4": {"model_type": "llama4", "text_config": {"model_type": "llama4_text"}},
    },
)
def test_the_longest_context_counts_if_it_may_change_bytes(config: dict[str, Any] | None) -> None:
    names = {new_cache(_model(maxModelLen=size), BLOCKS, config).fingerprint for size in (4096, 8192)}
    assert len(names) == 2


@table(
    "config",
    {
        "no rope scaling": {"model_type": "llama", "rope_scaling": None},
        "YaRN": {"rope_scaling": {"type": "yarn", "factor": 4.0}},
        "Llama 3": {"rope_scaling": {"rope_type": "llama3"}},
        "a type per kind of layers": {"rope_parameters": {"full_attention": {"rope_type": "proportional"}}},
    },
)
def test_the_longest_context_does_not_count_otherwise(config: dict[str, Any]) -> None:
    names = {new_cache(_model(maxModelLen=size), BLOCKS, config).fingerprint for size in (4096, 8192)}
    assert len(names) == 1


FIRST = "8f6db1161b199829"
"""The name of the directory of the test's model by rules 1, as kvtier 0.1 wrote it."""


def _recorded(cached: ModelCache) -> ModelStatus:
    return ModelStatus(
        name="llama",
        fingerprint=cached.fingerprint,
        fingerprint_rules=cached.rules,
        identity=cached.digest,
    )


def _kept(recorded: ModelStatus, config: dict[str, Any] | None = None, **changes: Any) -> ModelCache | None:
    return kept_cache(_model(**changes), BLOCKS, config, recorded)


def test_a_directory_of_the_first_rules_keeps_its_name() -> None:
    kept = _kept(ModelStatus(name="llama", fingerprint=FIRST), engine={"version": "0.33"})
    assert kept
    assert (kept.fingerprint, kept.rules) == (FIRST, 2)


def test_a_directory_of_the_first_rules_keeps_its_name_with_an_update_of_the_engine() -> None:
    of_before, first = first_names(_model(engine={"version": "0.32"}), BLOCKS), ModelStatus(name="llama")
    kept = [_kept(first.model_copy(update={"fingerprint": name})) for name in of_before]
    assert [one and one.fingerprint for one in kept] == list(of_before)


def test_a_directory_of_the_first_rules_gets_a_new_name_with_a_change_that_they_did_not_notice() -> None:
    before = _kept(ModelStatus(name="llama", fingerprint=FIRST))
    assert before
    assert _kept(_recorded(before)) == before
    assert _kept(_recorded(before), extraArgs=["--load-format=dummy"]) is None


def test_a_status_that_lost_its_identity_keeps_the_directory() -> None:
    """An older CRD removes fields that it does not know."""
    cached = new_cache(_model(), BLOCKS, None)
    assert _kept(ModelStatus(name="llama", fingerprint=cached.fingerprint)) == cached


@pytest.mark.parametrize("then", [None, {"model_type": "llama"}])
@pytest.mark.parametrize("now", [None, {"model_type": "llama"}])
def test_a_config_that_becomes_known_or_unknown_changes_no_directory(then: Any, now: Any) -> None:
    cached = new_cache(_model(maxModelLen=4096), BLOCKS, then)
    kept = _kept(_recorded(cached), now, maxModelLen=4096)
    assert kept
    assert kept.fingerprint == cached.fingerprint


def test_a_mounted_model_does_not_depend_on_the_image() -> None:
    mounted = {
        "model": "/models/chat",
        "podTemplate": {"volumeMounts": [{"name": "a", "mountPath": "/models"}]},
    }
    names = {_print(**mounted, engine={"image": f"mirror/vllm:v0.33.{patch}"}) for patch in (0, 1)}
    assert len(names) == 1


def test_a_recorded_name_cannot_leave_the_directory_of_the_pool() -> None:
    cached = new_cache(_model(), BLOCKS, None)
    forged = _recorded(cached).model_copy(update={"fingerprint": "../../team-b/chat/0123456789abcdef"})
    assert _kept(forged) is None


def test_longer_contexts_of_a_longrope_model_need_a_new_directory() -> None:
    cached = new_cache(_model(maxModelLen=4096), BLOCKS, LONG_ROPE)
    assert _kept(_recorded(cached), LONG_ROPE, maxModelLen=131072) is None


def test_a_longer_table_keeps_directories(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules 3 with one more harmless flag: a recorded cache stays with rules 2, a new one gets rules 3."""
    arguments = ["--trust-remote-code"]
    cached = new_cache(_model(extraArgs=arguments), BLOCKS, None)
    more = {3: {"flags": [arguments], "variables": []}}
    longer = CacheRules.model_validate(
        {**data("cache_rules"), "harmless": {**data("cache_rules")["harmless"], **more}}
    )
    monkeypatch.setattr(fingerprint, "CACHE_RULES", longer)
    monkeypatch.setattr(fingerprint, "_harmless_flags", longer.harmless_flags)
    assert _kept(_recorded(cached), extraArgs=arguments) == cached
    fresh = new_cache(_model(extraArgs=arguments), BLOCKS, None)
    assert (fresh.rules, fresh.fingerprint) == (3, new_cache(_model(), BLOCKS, None).fingerprint)


def test_a_version_that_gets_a_row_keeps_its_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = {"engine": {"image": "mirror/vllm:v0.34.0"}}
    cached = new_cache(_model(**engine), BLOCKS, None)
    row = ENGINES.versions["0.33"].model_copy(update={"version": "0.34"})
    monkeypatch.setitem(ENGINES.versions, "0.34", row)
    assert _kept(_recorded(cached), **engine) == cached
    assert _kept(_recorded(cached)) is None, "no other version uses it"
    fresh, proven = (new_cache(_model(**one), BLOCKS, None) for one in (engine, {}))
    assert fresh.fingerprint == proven.fingerprint, "a new cache has the format of the row"
