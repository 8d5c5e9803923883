"""The cache server of LMCache, and the connector of the engine."""

import json
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.engines.fingerprint import directory
from kvtier.engines.lmcache import connector_config, expandable, server_argv
from unit.builders import model, model_cache, pool
from unit.tables import table

BLOCKS = 16
ENGINE = {"backend": "LMCache", "lmcache": {"version": "0.5.6", "cpu": 6}}
SSD = {"localSSD": {"capacity": "1000Gi"}}
POOL = pool(tiers=SSD, models=[model(engine=ENGINE)])


def _line(of: KVCachePool = POOL, with_lustre: bool = True, blocks: int = BLOCKS) -> list[str]:
    return server_argv(of, of.spec.models[0], with_lustre, model_cache(of.spec.models[0], blocks))


def _adapters(line: list[str]) -> list[dict[str, Any]]:
    return [json.loads(one.partition("=")[2]) for one in line if one.startswith("--l2-adapter=")]


def test_the_command_line_is_a_list_of_arguments() -> None:
    assert " ".join(_line(pool(models=[model(engine=ENGINE)]), with_lustre=False)) == (
        "lmcache server --no-l1-use-lazy --host=127.0.0.1 --port=5555 --http-host=0.0.0.0 --http-port=8080 "
        "--max-workers=6 --chunk-size=256 --hash-algorithm=blake3 --supported-transfer-mode=engine_driven "
        "--shm-name=lmcache_l1_pool_kvtier --l1-size-gb=100.0 --eviction-policy=LRU "
        "--eviction-trigger-watermark=0.8 --eviction-ratio=0.1 --l2-prefetch-policy=retain"
    )


@table(
    "block_size, blocks, tokens",
    {
        "blocks of the default size": (None, 16, 256),
        "blocks of another size": (64, 16, 1024),
        "more blocks": (None, 64, 1024),
    },
)
def test_a_chunk_is_whole_blocks(block_size: int | None, blocks: int, tokens: int) -> None:
    of = pool(models=[model(engine=ENGINE, blockSize=block_size)])
    assert f"--chunk-size={tokens}" in _line(of, blocks=blocks)


@table(
    "tiers, with_lustre, roots",
    {
        "without lower tiers": ({}, False, []),
        "with Local SSD": (SSD, False, ["/kv/ssd"]),
        "with Lustre": ({}, True, ["/kv/lustre"]),
        "Local SSD comes before Lustre": (SSD, True, ["/kv/ssd", "/kv/lustre"]),
    },
)
def test_lower_tiers_are_directories_of_the_model(
    tiers: dict[str, Any], with_lustre: bool, roots: list[str]
) -> None:
    of = pool(tiers=tiers, models=[model(engine=ENGINE)])
    adapters = _adapters(_line(of, with_lustre))
    own = directory(of, model_cache(of.spec.models[0], BLOCKS))
    assert [adapter["base_path"] for adapter in adapters] == [f"{root}/{own}" for root in roots]
    assert {(adapter["type"], adapter["num_workers"]) for adapter in adapters} <= {("fs_native", 6)}


def test_a_capacity_is_set_only_together_with_eviction() -> None:
    ssd, lustre = _adapters(_line())
    assert ssd["max_capacity_gb"] == 1000
    assert ssd["eviction"] == {"eviction_policy": "LRU", "trigger_watermark": 0.8, "eviction_ratio": 0.1}
    assert not {"max_capacity_gb", "eviction"} & set(lustre), (
        "no server can limit a directory that several share"
    )


def test_pods_that_share_a_directory_have_separate_temporary_files() -> None:
    ssd, lustre = _adapters(_line())
    assert lustre["relative_tmp_dir"] == "tmp-$(POD_NAME)"
    assert "relative_tmp_dir" not in ssd


def test_kubernetes_expands_only_the_adapter_of_lustre() -> None:
    assert [one for one in _line() if expandable(one)] == [one for one in _line() if "/kv/lustre" in one]


def test_engine_and_server_use_the_same_port_and_transfer_mode() -> None:
    config = connector_config("0.5.6")
    assert config == {
        "lmcache.mp.host": "tcp://127.0.0.1",
        "lmcache.mp.port": 5555,
        "lmcache.mp.mq_timeout": 20,
        "lmcache.mp.mp_transfer_mode": "engine_driven",
    }
    assert f"--supported-transfer-mode={config['lmcache.mp.mp_transfer_mode']}" in _line()
    assert f"--port={config['lmcache.mp.port']}" in _line()
