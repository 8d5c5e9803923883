"""Controls: vLLM must refuse wrong command lines in the same way, else the other tests prove nothing."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from engine import kubelet
from engine.expectation import check
from engine.rendering import deployments
from engine.worker import Worker
from unit.builders import model, pool
from unit.tables import table

pytestmark = pytest.mark.timeout(300)
Config = dict[str, Any]
BLOCKED = pool(models=[model(blockSize=16, blocksPerChunk=16)])
"""A pool that sets every size."""


def _tier(config: Config) -> Config:
    tier: Config = config["kv_connector_extra_config"]["secondary_tiers"][0]
    return tier


def _with(arguments: list[str], change: Callable[[Config], object]) -> list[str]:
    """The arguments with a change to the connector's configuration."""
    flag = "--kv-transfer-config="
    (given,) = [one for one in arguments if one.startswith(flag)]
    config = json.loads(given.removeprefix(flag))
    change(config)
    return [one if one != given else flag + json.dumps(config) for one in arguments]


@table(
    "change, step, word",
    {
        "a key that the tier does not have": (
            lambda c: _tier(c).update(capacity_bytes=1),
            "tiers",
            "capacity_bytes",
        ),
        "a tier without its directory": (lambda c: _tier(c).pop("root_dir"), "tiers", "root_dir"),
        "a tier with its former name": (
            lambda c: _tier(c).update(type="fs_python"),
            "tiers",
            "fs_python",
        ),
        "backpressure of an unknown class": (
            lambda c: _tier(c)["backpressure"].update(backpressure_cls="None"),
            "tiers",
            "None",
        ),
        "backpressure with an unknown key": (
            lambda c: _tier(c)["backpressure"].update(queue_s=1),
            "tiers",
            "queue_s",
        ),
        "an unknown offloading specification": (
            lambda c: c["kv_connector_extra_config"].update(spec_name="Tiering"),
            "tiers",
            "Tiering",
        ),
        "an unknown connector": (lambda c: c.update(kv_connector="Offloading"), "configure", "Offloading"),
        "an unknown role": (lambda c: c.update(kv_role="both"), "parse", "kv_role"),
        "an unknown failure policy": (
            lambda c: c.update(kv_load_failure_policy="ignore"),
            "parse",
            "ignore",
        ),
        "a field that was removed": (lambda c: c.update(kv_rank=0), "parse", "kv_rank"),
    },
)
def test_a_wrong_connector(vllm: Worker, change: Callable[[Config], object], step: str, word: str) -> None:
    ((_, deployment),) = deployments(pool())
    started = kubelet.started(deployment)
    found = vllm.serve(_with(started.arguments, change), started.variables)
    assert (found["refused"], word in found["why"]) == (step, True), found["why"]


@table(
    "change, word",
    {
        "a key that the tier does not have": (lambda c: _tier(c).update(capacity_bytes=1), "capacity_bytes"),
        "a key that its store does not have": (
            lambda c: _tier(c)["store_config"].update(endpoint="h"),
            "endpoint",
        ),
        "a store without an endpoint": (
            lambda c: _tier(c)["store_config"].pop("endpoint_override"),
            "endpoint_override",
        ),
        "a store without a bucket": (lambda c: _tier(c)["store_config"].pop("bucket"), "bucket"),
        "an unknown locality": (lambda c: _tier(c).update(locality="CLOUD"), "CLOUD"),
    },
)
def test_a_wrong_object_tier(vllm: Worker, change: Callable[[Config], object], word: str) -> None:
    ((_, deployment),) = deployments(pool(tiers={"lustre": None, "objectStorage": {"bucket": "my-cache"}}))
    started = kubelet.started(deployment)
    found = vllm.serve(_with(started.arguments, change), started.variables)
    assert (found["refused"], word in found["why"]) == ("tiers", True), found["why"]


@table(
    "old, new, step",
    {
        "a renamed flag": ("--kv-cache-dtype=", "--kv-cache-type=", "parse"),
        "an unknown hash": ("=sha256_cbor", "=md5", "parse"),
        "an unknown element type": ("--kv-cache-dtype=auto", "--kv-cache-dtype=fp9", "configure"),
        "more memory than the GPU has": ("utilization=0.9", "utilization=1.5", "configure"),
        "a text instead of a number": ("--tensor-parallel-size=8", "--tensor-parallel-size=all", "parse"),
        "heads that the GPUs cannot share": (
            "--tensor-parallel-size=8",
            "--tensor-parallel-size=7",
            "configure",
        ),
        "a block without tokens": ("--block-size=16", "--block-size=0", "configure"),
        "two models": ("--enable-prefix-caching", "other/model", "parse"),
    },
)
def test_a_wrong_argument(vllm: Worker, old: str, new: str, step: str) -> None:
    ((_, deployment),) = deployments(BLOCKED)
    started = kubelet.started(deployment)
    changed = [one.replace(old, new) for one in started.arguments]
    assert changed != started.arguments
    found = vllm.serve(changed, started.variables)
    assert found["refused"] == step, found["why"]


@table(
    "old, new",
    {
        "another size of the tier": ('"cpu_bytes_to_use":1073', '"cpu_bytes_to_use":2073'),
        "another number of blocks in a chunk": ('"blocks_per_chunk":16', '"blocks_per_chunk":32'),
        "another size of blocks": ("--block-size=16", "--block-size=32"),
        "another element type": ("--kv-cache-dtype=auto", "--kv-cache-dtype=fp8"),
        "another directory": ("/kv/lustre/team-a", "/kv/lustre/team-b"),
        "another name": ("--served-model-name=llama", "--served-model-name=other"),
        "prefix caching off": ("--enable-prefix-caching", "--no-enable-prefix-caching"),
        "a forgotten policy": ('"kv_load_failure_policy":"recompute",', ""),
        "another model": ("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B"),
    },
)
def test_the_comparison_notices(vllm: Worker, old: str, new: str) -> None:
    """Settings that vLLM accepts, and that differ from the pool."""
    of = BLOCKED
    ((served, deployment),) = deployments(of)
    started = kubelet.started(deployment)
    changed = [one.replace(old, new) for one in started.arguments]
    assert changed != started.arguments
    found = vllm.serve(changed, started.variables)
    assert found["refused"] is None, found["why"]
    with pytest.raises(AssertionError):
        check(of, served, found, ["cpu", "lustre"])
