"""The rendered argument lists, read by vLLM's own parser, configuration and tier factories."""

import math
from itertools import product
from typing import Any

import pytest

from engine import kubelet
from engine.expectation import check
from engine.rendering import deployments, deployments_without_lustre, samples
from engine.worker import Worker
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.data.engines import ENGINES
from kvtier.engines.lmcache import POD_NAME
from unit.builders import context, joined, model, pool
from unit.tables import table

pytestmark = pytest.mark.timeout(600)
SSD = {"localSSD": {"capacity": "2000Gi"}}
OBJECTS = {"objectStorage": {"bucket": "my-cache"}}
ELSEWHERE = {
    "objectStorage": {"bucket": "my-bucket", "endpoint": "minio:9000", "scheme": "http", "region": "r-1"}
}
TIERS: dict[str, dict[str, Any]] = {
    "none": {"cpu": None, "lustre": None},
    "cpu": {"lustre": None},
    "cpu localSSD": {"lustre": None, **SSD},
    "cpu lustre": {},
    "cpu localSSD lustre": SSD,
    "cpu objectStorage": {"lustre": None, **OBJECTS},
    "cpu localSSD lustre objectStorage": {**SSD, **ELSEWHERE},
}
RANKS = (1, 2, 4, 8)
KEPT_ELSEWHERE = {"HF_TOKEN": "hf_secret", "VLLM_LOGGING_LEVEL": "DEBUG"}
"""Values of variables from Secrets and ConfigMaps."""
FIELDS: list[dict[str, Any]] = [
    {},
    {"maxModelLen": 8192, "maxNumSeqs": 64, "maxNumBatchedTokens": 16384, "gpuMemoryUtilization": 0.5},
    {"revision": "0e9e39f249a16976918f6564b8830bc894c89659", "gpuMemoryUtilization": 1.0},
    {"maxNumSeqs": 1, "maxNumBatchedTokens": 1, "maxModelLen": 1},
    {"blockSize": 32, "blocksPerChunk": 1},
    {
        "extraArgs": ["--enforce-eager", "--max-num-active-seqs", "7"],
        "env": [{"name": "A", "value": "$(B) $$"}],
    },
    {"blockSize": 128, "maxModelLen": 100_000_000},
    {"extraArgs": ["--hf-overrides.rope_theta", "5e5", "-q=fp8"], "tokenSecretRef": {"name": "hf"}},
    {"extraArgs": ['--speculative-config={"method":"ngram","num_speculative_tokens":2}']},
    {
        "blocksPerChunk": 1024,
        "env": [{"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
    },
    {"blockSize": 16, "blocksPerChunk": 3},
]
"""A prime number of cases, so that each is combined with every other setting."""


def _serve(real: Worker, of: KVCachePool, tiers: list[str], unbound: bool = False) -> None:
    made = deployments_without_lustre(of) if unbound else deployments(of)
    for served, deployment in made:
        started = kubelet.started(deployment, KEPT_ELSEWHERE)
        check(of, served, real.serve(started.arguments, started.variables), tiers)


@table("of", samples())
def test_a_sample(real: Worker, of: KVCachePool) -> None:
    """With the version of the sample, and with the other version, whose flags are the same."""
    _serve(
        real, of, list(of.spec.tiers.model_dump(by_alias=True, exclude_none=True, exclude={"cloud_storage"}))
    )


@pytest.mark.parametrize("tiers", TIERS)
def test_all_pools_with_these_tiers(real: Worker, tiers: str) -> None:
    """Every element type and number of GPUs, with alternating values of the other fields."""
    for turn, (dtype, ranks) in enumerate(product(ENGINES.versions[real.version].kv_cache_dtypes, RANKS)):
        own = {"extraArgs": ["--dtype=float16"]} if dtype == "float16" else {}
        fixed = {"kvCacheDtype": dtype, "tensorParallelSize": ranks, "engine": {"version": real.version}}
        item = model(**joined(joined(FIELDS[turn % len(FIELDS)], own), fixed))
        _serve(real, pool(tiers=TIERS[tiers], models=[item]), [n for n in tiers.split() if n != "none"])


@pytest.mark.parametrize("tiers", ["cpu", "cpu localSSD", "cpu lustre", "cpu localSSD lustre"])
def test_all_pools_with_an_lmcache_server(real: Worker, tiers: str) -> None:
    """Both containers: vLLM reads the arguments of the engine, LMCache those of the server."""
    engine = {"version": real.version, "backend": "LMCache", "lmcache": {"version": "0.5.6"}}
    for fields, ranks in product(FIELDS, (1, 8)):
        item = model(**joined(fields, {"tensorParallelSize": ranks, "engine": engine}))
        of = pool(tiers=TIERS[tiers], models=[item])
        _serve(real, of, tiers.split())
        ((served, deployment),) = deployments(of)
        server = kubelet.started(deployment, {POD_NAME: "chat-1"}, "initContainers")
        found = real.ask("cache_server.answer", command=server.arguments)
        assert found["refused"] is None
        tokens = context(of).models[0].cache.blocks_per_chunk * (served.block_size or 16)
        assert found["server"]["chunk_size"] == tokens
        assert len(found["adapters"]) == len(tiers.split()) - 1


def test_fields_are_combined_with_every_number_of_gpus() -> None:
    assert math.gcd(len(FIELDS), len(RANKS)) == 1


@table(
    "tiers, left",
    {
        "Lustre below host memory": ({}, ["cpu"]),
        "Lustre below Local SSD": (SSD, ["cpu", "localSSD"]),
    },
)
def test_an_opportunistic_pool_starts_without_lustre(vllm: Worker, tiers: Any, left: list[str]) -> None:
    of = pool(mode="Opportunistic", tiers=tiers)
    _serve(vllm, of, left, unbound=True)


ODD = 'it\'s "quoted" $HOME $(id) $$(A) $$ {} {{ x }} \\ \n second line 😀 ; rm -rf / --port=1'


@table(
    "fields",
    {
        "text of every kind": {"model": ODD, "revision": ODD, "env": [{"name": "A", "value": ODD}]},
        "a flag as a revision": {"revision": "--port=1"},
        "a flag after white space": {"model": " --port=1", "revision": "\n--port=1"},
        "another file of arguments": {"model": "@/etc/passwd"},
        "words that are also commands of vllm": {"model": "serve", "revision": "None"},
        "an assignment with a key": {"model": "a.b=c", "revision": "a.b=c"},
        "numbers with units": {"model": "64G", "revision": "1k"},
        "JSON": {"model": '{"a": 1}', "revision": "[1]"},
    },
)
def test_text_of_the_user_is_not_changed(vllm: Worker, fields: dict[str, Any]) -> None:
    _serve(vllm, pool(models=[model(**fields)]), ["cpu", "lustre"])


@pytest.mark.parametrize("name", ["64g", "1k", "1e3", "0x10", "null", "true"])
def test_names_that_look_like_numbers_are_not_changed(vllm: Worker, name: str) -> None:
    """vLLM reads 64G in its JSON as a number, and kvtier writes names of pools into that JSON."""
    of = pool(metadata={"name": name, "namespace": name}, models=[model(name=name)])
    _serve(vllm, of, ["cpu", "lustre"])


def test_variables_of_the_user_reach_vllm(vllm: Worker) -> None:
    """With a variable that vLLM checks: the connector of a pool cannot run with it."""
    of = pool(models=[model(env=[{"name": "PYTORCH_CUDA_ALLOC_CONF", "value": "expandable_segments:True"}])])
    ((_, deployment),) = deployments(of)
    started = kubelet.started(deployment)
    found = vllm.serve(started.arguments, started.variables)
    assert (found["refused"], "expandable_segments" in found["why"]) == ("configure", True)
