"""The arguments of the LMCache server, read by LMCache's own parser, and the table data/lmcache.yaml."""

from typing import Any

import pytest

from engine import kubelet
from engine.cache_server import CHUNK, VERSION, below, pool
from engine.small import deployment
from engine.worker import Worker
from kvtier.api.quantities import GIB
from kvtier.api.v1alpha1.engine import VERSIONS
from kvtier.data.engines import LMCACHE
from kvtier.engines import lmcache
from unit.tables import table

pytestmark = pytest.mark.timeout(300)
POOL = pool(VERSIONS[0])
RENDERED = kubelet.started(deployment(POOL), {lmcache.POD_NAME: "chat-1"}, "initContainers").arguments
KNOWN = LMCACHE.versions[VERSION]


def _parsed(vllm: Worker, command: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = vllm.ask("cache_server.answer", command=command)
    return found


def test_the_server_understands_its_arguments(vllm: Worker) -> None:
    found = _parsed(vllm, RENDERED)
    assert found["refused"] is None
    server, memory, adapters = found["server"], found["memory"], found["adapters"]
    assert (server["port"], server["chunk_size"]) == (lmcache.PORT, CHUNK)
    assert server["supported_transfer_mode"] == "engine_driven"
    assert found["http"] == {"http_host": "0.0.0.0", "http_port": lmcache.HTTP_PORT}
    assert (memory["size_in_bytes"], memory["use_lazy"]) == (GIB // 2, False)
    assert memory["shm_name"] == server["shm_name"] == lmcache.SEGMENT
    assert found["eviction"]["eviction_policy"] == "LRU"
    assert {server["max_cpu_workers"], *(one["num_workers"] for one in adapters)} == {2}


def test_the_server_limits_only_the_private_tier(vllm: Worker) -> None:
    ssd, shared = _parsed(vllm, RENDERED)["adapters"]
    assert (ssd["base_path"], shared["base_path"]) == (f"/kv/ssd/{below(POOL)}", f"/kv/lustre/{below(POOL)}")
    assert (ssd["max_capacity_gb"], ssd["eviction"]["eviction_policy"]) == (4, "LRU")
    assert (shared["max_capacity_gb"], shared["eviction"]) == (0, None)
    assert shared["relative_tmp_dir"] == "tmp-chat-1"
    assert {ssd["kind"], shared["kind"]} == {"FSNativeL2AdapterConfig"}


@table(
    "more, words",
    {
        "an unknown flag": (["--capacity=1"], "unrecognized arguments"),
        "an unknown adapter": (['--l2-adapter={"type":"lustre"}'], "unknown adapter type"),
        "an adapter without a directory": (['--l2-adapter={"type":"fs_native"}'], "base_path"),
        "an unknown transfer mode": (["--supported-transfer-mode=any"], "invalid choice"),
    },
)
def test_the_server_refuses(vllm: Worker, more: list[str], words: str) -> None:
    """Controls."""
    assert words in _parsed(vllm, [*RENDERED, *more])["refused"]


def test_every_flag_of_the_table_exists(vllm: Worker) -> None:
    assert set(KNOWN.flags.values()) <= set(vllm.ask("cache_server.flags"))


def test_the_adapter_reads_the_keys_of_the_table(vllm: Worker) -> None:
    """LMCache silently ignores other keys."""
    keys = KNOWN.adapter
    listed = {keys.directory, keys.workers, keys.capacity_gb, keys.eviction, keys.temporary_directory}
    assert listed <= set(vllm.ask("cache_server.adapter_keys", kind=KNOWN.adapter.type))


def test_the_connector_reads_the_keys_of_the_table(vllm: Worker) -> None:
    assert set(KNOWN.connector_keys.model_dump().values()) <= set(vllm.ask("cache_server.connector_keys"))
