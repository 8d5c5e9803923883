"""LMCache beside the engine: its cache server runs as a sidecar of every Pod, and vLLM's connector talks to it.

Facts (lmcache 0.5.6): the default way to move blocks opens the engine's GPU memory from the server, which a container
without GPUs cannot do. In the engine-driven way the engine copies through shared memory that both containers mount. It
takes one group of layers only, so models that mix kinds of attention are refused. What a dead, slow or hanging server
costs is in docs/design/lmcache.md.
"""

import json
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.data import table
from kvtier.engines.fingerprint import directory
from kvtier.engines.native import LUSTRE_ROOT, SSD_ROOT
from kvtier.engines.versions import facts

PORT = 5555
HTTP_PORT = 8080
HEALTH_PATH = "/healthcheck"
POD_NAME = "POD_NAME"
"""Variable with the Pod's name, which Kubernetes puts into the arguments."""
SEGMENT = "lmcache_l1_pool_kvtier"
"""Name of the CPU tier in /dev/shm. LMCache puts the prefix there if it is missing."""

_GIB = 1 << 30
_POD = f"$({POD_NAME})"
_MODE = "engine_driven"
_WATERMARK, _RATIO = 0.8, 0.1
"""The server evicts a tenth when a tier is 80 % full, before the kubelet would evict the Pod for its emptyDir."""


def fault(vllm: str, lmcache: str, groups: int | None) -> str | None:
    """Why LMCache cannot serve here, or None. `groups` is how many groups of layers the model has, None if unknown."""
    known = table("lmcache")
    if lmcache not in known["versions"]:
        return f"kvtier does not know LMCache {lmcache}: supported are {', '.join(known['versions'])}"
    if not any(pair["vllm"] == vllm and pair["lmcache"] == lmcache for pair in known["pairs"]):
        pairs = ", ".join(f"vLLM {pair['vllm']} with LMCache {pair['lmcache']}" for pair in known["pairs"])
        return f"vLLM {vllm} with LMCache {lmcache} was not seen to give right tokens: supported are {pairs}"
    if groups is not None and groups > 1:
        return f"LMCache cannot cache a model with {groups} groups of layers: use engine.backend Native"
    return None


def server_argv(pool: KVCachePool, model: ServedModel, with_lustre: bool, blocks_per_chunk: int) -> list[str]:
    """Command line of the cache server of a model with backend LMCache, in a pool with a CPU tier.

    LMCache's keys know neither element type nor revision, so the directories must (`engines/fingerprint.py`).
    What stands in `$(...)` is for Kubernetes to fill in: see `expandable`.
    """
    lmcache, cpu = model.engine.lmcache, pool.spec.tiers.cpu
    assert lmcache is not None
    assert cpu is not None
    flags: dict[str, Any] = {
        "--host": "127.0.0.1",
        "--port": PORT,
        "--http-host": "0.0.0.0",  # noqa: S104 - probes come from the node, to the Pod's address
        "--http-port": HTTP_PORT,
        "--max-workers": lmcache.cpu,
        "--chunk-size": blocks_per_chunk * (model.block_size or facts(model).block_size),
        "--hash-algorithm": "blake3",
        "--supported-transfer-mode": _MODE,
        "--shm-name": SEGMENT,
        "--l1-size-gb": cpu.capacity.bytes / _GIB,
        "--eviction-policy": "LRU",
        "--eviction-trigger-watermark": _WATERMARK,
        "--eviction-ratio": _RATIO,
        "--l2-prefetch-policy": "retain",  # else the CPU tier does not keep what a lower tier had
    }
    given = [f"{flag}={value}" for flag, value in flags.items()]
    adapters = _adapters(pool, with_lustre, directory(pool, model, blocks_per_chunk), lmcache.cpu)
    return ["lmcache", "server", "--no-l1-use-lazy", *given, *(f"--l2-adapter={one}" for one in adapters)]


def expandable(argument: str) -> bool:
    """Whether Kubernetes has something to fill in here; every other argument must reach the server as it is."""
    return _POD in argument


def transfer_config(lmcache: str) -> dict[str, Any]:
    """`--kv-transfer-config` of an engine with a cache server in its Pod."""
    return {
        "kv_connector": "LMCacheMPConnector",
        "kv_role": "kv_both",
        "kv_load_failure_policy": "recompute",
        "kv_connector_extra_config": {
            "lmcache.mp.host": "tcp://127.0.0.1",
            "lmcache.mp.port": PORT,
            "lmcache.mp.mq_timeout": table("lmcache")["versions"][lmcache]["requestSeconds"],
            "lmcache.mp.mp_transfer_mode": _MODE,
        },
    }


def _adapters(pool: KVCachePool, with_lustre: bool, below: str, workers: int) -> list[str]:
    """The tiers of files, in the order in which the server looks for a block.

    The directory on Lustre has no capacity: servers count only what they wrote since they started, so that no
    number bounds what Pods share, and it is kvtier's evictor that does. Its writers need temporary files of
    their own.
    """
    ssd, found = pool.spec.tiers.local_ssd, []
    if ssd is not None:
        found.append(
            {
                **_files(f"{SSD_ROOT}/{below}", workers),
                "max_capacity_gb": ssd.capacity.bytes / _GIB,
                "eviction": {
                    "eviction_policy": "LRU",
                    "trigger_watermark": _WATERMARK,
                    "eviction_ratio": _RATIO,
                },
            }
        )
    if with_lustre:
        found.append({**_files(f"{LUSTRE_ROOT}/{below}", workers), "relative_tmp_dir": f"tmp-{_POD}"})
    return [json.dumps(adapter, separators=(",", ":")) for adapter in found]


def _files(directory: str, workers: int) -> dict[str, Any]:
    return {"type": "fs_native", "base_path": directory, "num_workers": workers}
