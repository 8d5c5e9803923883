"""LMCache beside the engine: its cache server runs as a sidecar of every Pod, and vLLM's connector talks to it.

Facts (lmcache 0.5.6): the default way to move blocks opens the engine's GPU memory from the server, which a container
without GPUs cannot do. In the engine-driven way the engine copies through shared memory that both containers mount. It
takes one group of layers only, so models that mix kinds of attention are refused. What a dead, slow or hanging server
costs is in docs/explanation/lmcache.md.
"""

import json
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool, ServedModel, Tiers
from kvtier.data.engines import LMCACHE, AdapterKeys
from kvtier.engines.fingerprint import directory
from kvtier.engines.native import LUSTRE_ROOT, SSD_ROOT
from kvtier.engines.versions import facts

CONNECTOR = "LMCacheMPConnector"
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


def server_argv(pool: KVCachePool, model: ServedModel, with_lustre: bool, blocks_per_chunk: int) -> list[str]:
    """Command line of the cache server of a model with backend LMCache, in a pool with a CPU tier.

    LMCache's keys know neither element type nor revision, so the directories must (`engines/fingerprint.py`).
    What stands in `$(...)` is for Kubernetes to fill in: see `expandable`.
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
        "chunkTokens": blocks_per_chunk * (model.block_size or facts(model).block_size),
        "hash": "blake3",
        "transferMode": _MODE,
        "segment": SEGMENT,
        "memoryGb": cpu.capacity.bytes / _GIB,
        "evictionPolicy": "LRU",
        "evictionWatermark": _WATERMARK,
        "evictionRatio": _RATIO,
        "prefetchPolicy": "retain",  # else the CPU tier does not keep what a lower tier had
    }
    given = [f"{known.flags[name]}={value}" for name, value in values.items()]
    below = directory(pool, model, blocks_per_chunk)
    adapters = _adapters(pool.spec.tiers, with_lustre, below, known.adapter, lmcache.cpu)
    tiers = [f"{known.flags['adapter']}={json.dumps(one, separators=(',', ':'))}" for one in adapters]
    return ["lmcache", "server", known.flags["allocateAtStart"], *given, *tiers]


def _adapters(
    tiers: Tiers, with_lustre: bool, directory: str, keys: AdapterKeys, workers: int
) -> list[dict[str, Any]]:
    """The tiers of files, in the order in which the server looks for a block.

    The directory on Lustre has no capacity: servers count only what they wrote since they started, so that no
    number bounds what Pods share, and it is kvtier's evictor that does. Its writers need temporary files of
    their own.
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
    """Whether Kubernetes has something to fill in here; every other argument must reach the server as it is."""
    return _POD in argument
