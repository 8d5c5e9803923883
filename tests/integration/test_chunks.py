"""Chunks on a real control plane: their size does not change, and every directory gets its kvtier.json."""

import json
from typing import Any

import pytest

from testbed.pools import Pools
from testbed.waiting import eventually

pytestmark = pytest.mark.usefixtures("operator")

DEPLOYMENT = ("apps/v1", "Deployment")
JOB = ("batch/v1", "Job")
CONFIG = {
    "model_type": "llama",
    "num_hidden_layers": 4,
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "dtype": "bfloat16",
}
"""A small model: on Lustre its files would have 128 blocks."""


def _told(pools: Pools, name: str) -> Any:
    return pools.get(name)["status"]["models"][0]


def _container(manifest: Any) -> Any:
    return manifest["spec"]["template"]["spec"]["containers"][0]


def _document(pools: Pools) -> tuple[str, Any]:
    """The directory and the document in the arguments of the only Job of the pool."""
    *_, directory, text = _container(pools.child(*JOB))["args"]
    return directory, json.loads(text)


def test_a_config_json_that_is_added_later_fills_the_status_without_a_rollout(pools: Pools) -> None:
    pools.create("late")
    pools.wait("late")
    before, engines = _told(pools, "late"), pools.child(*DEPLOYMENT)["metadata"]
    assert (before["blocksPerChunk"], before.get("bytesPerToken")) == (16, None)
    pools.patch("late", {"models": [_model(modelConfigFrom={"inline": json.dumps(CONFIG)})]})
    pools.wait("late")
    after = eventually(lambda: _counted(pools, "late"), 30.0, "bytes per token in the status")
    assert after["bytesPerToken"] == 8192
    assert (after["blocksPerChunk"], after["fingerprint"]) == (16, before["fingerprint"])
    assert pools.child(*DEPLOYMENT)["metadata"]["generation"] == engines["generation"]
    tokens = {tier["name"]: tier["tokens"] for tier in pools.get("late")["status"]["tiers"]}
    assert tokens["lustre"] == 9000 * (1 << 30) // 8192


def test_files_on_lustre_are_large_if_the_config_json_exists_from_the_start(pools: Pools) -> None:
    pools.create("early", models=[_model(modelConfigFrom={"inline": json.dumps(CONFIG)})])
    pools.wait("early")
    told = _told(pools, "early")
    assert told["blocksPerChunk"] == 128
    assert told["chunk"] == "chunks of 2048 tokens in files of 16Mi"
    assert any('"blocks_per_chunk":128' in one for one in _container(pools.child(*DEPLOYMENT))["args"])
    directory, document = _document(pools)
    assert directory == f"{pools.namespace}/early/{told['fingerprint']}"
    assert document["identity"]["blocksPerChunk"] == 128


def test_another_kv_cache_dtype_gets_another_directory_and_one_rollout(pools: Pools) -> None:
    pools.create("typed")
    pools.wait("typed")
    old, engines = _document(pools), pools.child(*DEPLOYMENT)["metadata"]["generation"]
    pools.patch("typed", {"models": [_model(kvCacheDtype="fp8")]})
    eventually(
        lambda: "--kv-cache-dtype=fp8" in str(pools.child(*DEPLOYMENT)), what="engines have the new type"
    )
    pools.wait("typed")
    directory, document = _document(pools)
    assert directory != old[0]
    assert directory.endswith(_told(pools, "typed")["fingerprint"])
    assert document["identity"]["kvCacheDtype"] == "fp8"
    rolled = pools.child(*DEPLOYMENT)
    assert rolled["metadata"]["generation"] == engines + 1
    assert any(directory in one for one in _container(rolled)["args"])


def _counted(pools: Pools, name: str) -> Any:
    told = _told(pools, name)
    assert "bytesPerToken" in told
    return told


def _model(**changes: Any) -> Any:
    return {"name": "chat", "model": "example/model", "tensorParallelSize": 8, **changes}
