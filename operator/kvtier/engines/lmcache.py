"""LMCache: its cache server runs as a sidecar in every Pod, and vLLM's connector talks to it.

Facts (lmcache 0.5.6): by default, the server opens the GPU memory of the engine to move blocks. A container without
GPUs cannot do that. In engine-driven mode, the engine copies blocks through shared memory that both containers mount.
This mode supports only one group of layers, so models that mix kinds of attention are refused.
docs/explanation/lmcache.md describes what happens when the server is dead, slow or hanging.
"""

import json
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool, ServedModel, Tiers
from kvtier.data.engines import LMCACHE, AdapterKeys
from kvtier.engines.fingerprint import ModelCache, directory
from kvtier.engines.native import LUSTRE_ROOT, SSD_ROOT
from kvtier.engines.versions import facts

CONNECTOR = "LMCacheMPConnector"
PORT = 5555
HTTP_PORT = 8080
HEALTH_PATH = "/healthcheck"
POD_NAME = "POD_NAME"
"""Environment variable with the Pod's name, which Kubernetes expands in the arguments."""
SEGMENT = "lmcache_l1_pool_kvtier"
"""Name of the CPU tier in /dev/shm. LMCache adds the prefix lmcache_l1_pool_ if it is missing."""

_GIB = 1 << 30
_POD = f"$({POD_NAME})"
_MODE = "engine_driven"
_WATERMARK, _RATIO = 0.8, 0.1
"""The server evicts a tenth of a tier that is 80 % full, before the kubelet evicts the Pod for its emptyDir."""


def connector_config(version: str) -> dict[str, Any]:
    """Extra configuration of LMCache's connector in an engine with a cache server in its Pod."""
    known = LMCACHE.versions[version]
    keys = known.connector_keys
    return {
        keys.host: "tcp://127.0.0.1",
        keys.port: PORT,
        keys.request_seconds: known.request_seconds,
        keys.transfer_mode: _MODE,
    }


def server_argv(pool: KVCachePool, model: ServedModel, with_lustre: bool, cached: ModelCache) -> list[str]:
    """Command line of the cache server of a model with backend LMCache, in a pool with a CPU tier.

    LMCache's keys include neither element type nor revision, so the directories do (`engines/fingerprint.py`).
    Kubernetes expands `$(...)`: see `expandable`.
    """
    lmcache, cpu = model.engine.lmcache, pool.spec.tiers.cpu
    assert lmcache is not None
    assert cpu is not None
    known = LMCACHE.versions[lmcache.version]
    values: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": PORT,
        "httpHost": "0.0.0.0",  # noqa: S104 - probes come from the node, to the Pod's address
        "httpPort": HTTP_PORT,
        "workers": lmcache.cpu,
        "chunkTokens": cached.blocks_per_chunk * (model.block_size or facts(model).block_size),
        "hash": "blake3",
        "transferMode": _MODE,
        "segment": SEGMENT,
        "memoryGb": cpu.capacity.bytes / _GIB,
        "evictionPolicy": "LRU",
        "evictionWatermark": _WATERMARK,
        "evictionRatio": _RATIO,
        "prefetchPolicy": "retain",  # else the CPU tier does not keep blocks from a lower tier
    }
    given = [f"{known.flags[name]}={value}" for name, value in values.items()]
    below = directory(pool, cached)
    adapters = _adapters(pool.spec.tiers, with_lustre, below, known.adapter, lmcache.cpu)
    tiers = [f"{known.flags['adapter']}={json.dumps(one, separators=(',', ':'))}" for one in adapters]
    return ["lmcache", "server", known.flags["allocateAtStart"], *given, *tiers]


def _adapters(
    tiers: Tiers, with_lustre: bool, directory: str, keys: AdapterKeys, workers: int
) -> list[dict[str, Any]]:
    """The file tiers, in the order in which the server looks for a block.

    The directory on Lustre has no capacity limit: each server counts only what it wrote since it started, so kvtier's
    evictor limits what all Pods write together. Every writer there needs its own temporary files.
    """
    found = []
    if tiers.local_ssd is not None:
        eviction = {
            keys.eviction_policy: "LRU",
            keys.eviction_watermark: _WATERMARK,
            keys.eviction_ratio: _RATIO,
        }
        bounded = {keys.capacity_gb: tiers.local_ssd.capacity.bytes / _GIB, keys.eviction: eviction}
        found.append({**_files(f"{SSD_ROOT}/{directory}", keys, workers), **bounded})
    if with_lustre:
        own = {keys.temporary_directory: f"tmp-{_POD}"}
        found.append({**_files(f"{LUSTRE_ROOT}/{directory}", keys, workers), **own})
    return found


def _files(directory: str, keys: AdapterKeys, workers: int) -> dict[str, Any]:
    return {"type": keys.type, keys.directory: directory, keys.workers: workers}


def expandable(argument: str) -> bool:
    """Whether Kubernetes expands a variable in this argument. All other arguments are escaped."""
    return _POD in argument
