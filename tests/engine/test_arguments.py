"""The argument lists that the planner renders, through vLLM's own parser, configuration and tier factories."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

from engine import kubelet
from engine.expectation import check
from engine.rendering import deployments, deployments_without_lustre, samples
from engine.worker import Worker
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.data import table as data
from unit.builders import joined, model, pool
from unit.tables import table

pytestmark = pytest.mark.timeout(300)
DTYPES = data("engines")["versions"]["0.33"]["kvCacheDtypes"]
SSD = {"localSSD": {"capacity": "2000Gi"}}
TIERS: dict[str, dict[str, Any]] = {
    "none": {"cpu": None, "lustre": None},
    "cpu": {"lustre": None},
    "cpu localSSD": {"lustre": None, **SSD},
    "cpu lustre": {},
    "cpu localSSD lustre": SSD,
}
FIELDS: list[dict[str, Any]] = [
    {},
    {"maxModelLen": 8192, "maxNumSeqs": 64, "maxNumBatchedTokens": 16384, "gpuMemoryUtilization": 0.5},
    {"revision": "0e9e39f249a16976918f6564b8830bc894c89659", "gpuMemoryUtilization": 1.0},
    {"maxNumSeqs": 1, "maxNumBatchedTokens": 1, "maxModelLen": 1},
    {
        "extraArgs": ["--enforce-eager", "--max-num-active-seqs", "7"],
        "env": [{"name": "A", "value": "$(B) $$"}],
    },
    {"extraArgs": ["--hf-overrides.rope_theta", "5e5", "-q=fp8"], "tokenSecretRef": {"name": "hf"}},
    {"extraArgs": ['--speculative-config={"method":"ngram","num_speculative_tokens":2}']},
]


def _serve(vllm: Worker, of: KVCachePool, tiers: list[str], unbound: bool = False) -> None:
    made = deployments_without_lustre(of) if unbound else deployments(of)
    for served, deployment in made:
        started = kubelet.started(deployment, {"HF_TOKEN": "hf_secret"})
        check(of, served, vllm.serve(started.arguments, started.variables), tiers)


@table("of", samples())
def test_a_sample(vllm: Worker, of: KVCachePool) -> None:
    _serve(vllm, of, _engine_tiers(of))


@table("of", samples())
def test_a_sample_is_understood_by_the_version_that_serves_in_tests(
    workers: Callable[[str], Worker], of: KVCachePool
) -> None:
    _serve(workers("0.32"), of, _engine_tiers(of))


def _engine_tiers(of: KVCachePool) -> list[str]:
    return [name for name in of.spec.tiers.names() if name != "cloudStorage"]


def _matrix() -> Iterator[tuple[str, str, int, dict[str, Any]]]:
    """Every combination of tiers, element type and number of GPUs, with the other fields taking turns."""
    for turn, (tiers, dtype, ranks) in enumerate(product(TIERS, DTYPES, (1, 2, 4, 8))):
        yield tiers, dtype, ranks, FIELDS[turn % len(FIELDS)]


@pytest.mark.parametrize("tiers", TIERS)
def test_all_pools_with_these_tiers(vllm: Worker, tiers: str) -> None:
    for names, dtype, ranks, fields in _matrix():
        if names == tiers:
            own = {"extraArgs": ["--dtype=float16"]} if dtype == "float16" else {}
            item = model(kvCacheDtype=dtype, tensorParallelSize=ranks, **joined(fields, own))
            _serve(vllm, pool(tiers=TIERS[tiers], models=[item]), [n for n in tiers.split() if n != "none"])


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
        "words that mean something to the command": {"model": "serve", "revision": "None"},
        "an assignment with a key": {"model": "a.b=c", "revision": "a.b=c"},
        "numbers with units": {"model": "64G", "revision": "1k"},
        "JSON": {"model": '{"a": 1}', "revision": "[1]"},
    },
)
def test_text_of_the_user_stays_what_it_is(vllm: Worker, fields: dict[str, Any]) -> None:
    _serve(vllm, pool(models=[model(**fields)]), ["cpu", "lustre"])


@pytest.mark.parametrize("name", ["64g", "1k", "1e3", "0x10", "null", "true"])
def test_names_that_look_like_numbers_stay_names(vllm: Worker, name: str) -> None:
    """vLLM takes 64G in its JSON for a number, and kvtier puts names of pools into that JSON."""
    of = pool(metadata={"name": name, "namespace": name}, models=[model(name=name)])
    _serve(vllm, of, ["cpu", "lustre"])


def test_variables_of_the_user_reach_vllm(vllm: Worker) -> None:
    """By one that vLLM looks at: with it a pool's connector cannot run."""
    of = pool(models=[model(env=[{"name": "PYTORCH_CUDA_ALLOC_CONF", "value": "expandable_segments:True"}])])
    ((_, deployment),) = deployments(of)
    started = kubelet.started(deployment)
    found = vllm.serve(started.arguments, started.variables)
    assert (found["refused"], "expandable_segments" in found["why"]) == ("configure", True)
