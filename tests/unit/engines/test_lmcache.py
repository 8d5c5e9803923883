"""The cache server beside an engine, and the engine's connector."""

import json
from typing import Any

from kvtier.api.quantities import GIB
from kvtier.data import table as data
from kvtier.engines.lmcache import fault, server_argv, transfer_config
from unit.tables import table

SSD, LUSTRE = "/kv/ssd/team-a/chat/0123456789abcdef", "/kv/lustre/team-a/chat/0123456789abcdef"
KNOWN = data("lmcache")["versions"]["0.5.6"]


def _adapters(line: list[str]) -> list[dict[str, Any]]:
    return [json.loads(one.partition("=")[2]) for one in line if one.startswith("--l2-adapter=")]


def test_the_command_line_is_a_list_of_arguments() -> None:
    assert server_argv("0.5.6", 100 * GIB, None, 0, None) == [
        "lmcache",
        "server",
        "--no-l1-use-lazy",
        "--host=127.0.0.1",
        "--port=5555",
        "--http-host=0.0.0.0",
        "--http-port=8080",
        "--chunk-size=256",
        "--hash-algorithm=blake3",
        "--supported-transfer-mode=engine_driven",
        "--shm-name=kvtier",
        "--l1-size-gb=100.0",
        "--eviction-policy=LRU",
        "--eviction-trigger-watermark=0.8",
        "--eviction-ratio=0.1",
    ]


@table(
    "ssd, lustre, paths",
    {
        "without lower tiers": (None, None, []),
        "with Local SSD": (SSD, None, [SSD]),
        "with Lustre": (None, LUSTRE, [LUSTRE]),
        "Local SSD is looked at before Lustre": (SSD, LUSTRE, [SSD, LUSTRE]),
    },
)
def test_lower_tiers(ssd: str | None, lustre: str | None, paths: list[str]) -> None:
    adapters = _adapters(server_argv("0.5.6", GIB, ssd, 1000 * GIB, lustre))
    assert [adapter["base_path"] for adapter in adapters] == paths
    assert {adapter["type"] for adapter in adapters} <= {"fs_native"}


def test_a_capacity_always_comes_with_the_eviction_that_keeps_it() -> None:
    ssd, lustre = _adapters(server_argv("0.5.6", GIB, SSD, 1000 * GIB, LUSTRE))
    assert ssd["max_capacity_gb"] == 1000
    assert ssd["eviction"] == {"eviction_policy": "LRU", "trigger_watermark": 0.8, "eviction_ratio": 0.1}
    assert not {"max_capacity_gb", "eviction"} & set(lustre), "no server can keep what several share"


def test_pods_that_share_a_directory_have_temporary_files_of_their_own() -> None:
    ssd, lustre = _adapters(server_argv("0.5.6", GIB, SSD, 1000 * GIB, LUSTRE))
    assert lustre["relative_tmp_dir"] == "tmp-$(POD_NAME)"
    assert "relative_tmp_dir" not in ssd


def test_only_flags_and_keys_of_the_table_are_rendered() -> None:
    line = server_argv("0.5.6", GIB, SSD, 1000 * GIB, LUSTRE)
    assert {one.partition("=")[0] for one in line[2:]} == set(KNOWN["serverFlags"])
    keys = KNOWN["adapters"]["fs_native"]
    for adapter in _adapters(line):
        assert set(keys["required"]) <= set(adapter) <= {*keys["required"], *keys["optional"]}
    assert set(transfer_config("0.5.6")["kv_connector_extra_config"]) <= set(KNOWN["connectorKeys"])


def test_engine_and_server_agree_on_how_blocks_move_and_where() -> None:
    line, config = server_argv("0.5.6", GIB, None, 0, None), transfer_config("0.5.6")
    extra = config.pop("kv_connector_extra_config")
    assert config == {
        "kv_connector": "LMCacheMPConnector",
        "kv_role": "kv_both",
        "kv_load_failure_policy": "recompute",
    }
    assert f"--supported-transfer-mode={extra['lmcache.mp.mp_transfer_mode']}" in line
    assert f"--port={extra['lmcache.mp.port']}" in line
    assert extra["lmcache.mp.host"] == "tcp://127.0.0.1"


@table(
    "vllm, lmcache, groups, says",
    {
        "a pair that was seen to work": ("0.32", "0.5.6", 1, None),
        "a model of which nothing is known": ("0.32", "0.5.6", None, None),
        "a version that is not known": (
            "0.32",
            "0.4.9",
            1,
            "kvtier does not know LMCache 0.4.9: supported are 0.5.6",
        ),
        "a model that mixes kinds of attention": (
            "0.32",
            "0.5.6",
            2,
            "LMCache cannot cache a model with 2 groups of layers: use engine.backend Native",
        ),
    },
)
def test_faults(vllm: str, lmcache: str, groups: int | None, says: str | None) -> None:
    assert fault(vllm, lmcache, groups) == says


def test_a_pair_that_was_not_tried_is_refused_with_those_that_were() -> None:
    says = fault("0.21", "0.5.6", 1)
    assert says is not None
    assert says.startswith(
        "vLLM 0.21 with LMCache 0.5.6 was not seen to give right tokens: supported are vLLM 0.3"
    )
