"""LMCache beside the engine: its cache server runs as a sidecar of every Pod, and vLLM's connector talks to it.

Facts (lmcache 0.5.6): the default way to move blocks opens the engine's GPU memory from the server, which a container
without GPUs cannot do. In the engine-driven way the engine copies through shared memory that both containers mount. It
takes one group of layers only, so models that mix kinds of attention are refused. A server on every node instead would
need the node's GPUs and host IPC: kvtier does not make one.

At start the engine waits for the server, so the server has to be up first. Later a server that does not answer costs
hits, not requests: the connector neither looks up nor stores until it answers again.
"""

import json
from typing import Any

from kvtier.data import table

PORT = 5555
HTTP_PORT = 8080
HEALTH_PATH = "/healthcheck"
METRICS_PATH = "/metrics"
POD_NAME = "POD_NAME"
"""Variable with the Pod's name, which Kubernetes puts into the arguments."""

_GIB = 1 << 30
_SHARED_MEMORY = "kvtier"
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


def server_argv(
    lmcache: str, cpu_bytes: int, ssd: str | None, ssd_bytes: int, lustre: str | None
) -> list[str]:
    """Command line of the cache server. `ssd` and `lustre` are directories of this model's own.

    LMCache's keys know neither element type nor revision, so the directories must (`engines/fingerprint.py`).
    The directory on Lustre has no capacity: servers count only what they wrote since they started, so that no
    number bounds what Pods share, and it is kvtier's evictor that does. What stands in `$(...)` is for
    Kubernetes to fill in: these arguments must not be escaped.
    """
    adapters = [_adapter(ssd, ssd_bytes)] if ssd else []
    adapters += [_adapter(lustre, None)] if lustre else []
    flags: dict[str, Any] = {
        "--host": "127.0.0.1",
        "--port": PORT,
        "--http-host": "0.0.0.0",  # noqa: S104 - probes come from the node
        "--http-port": HTTP_PORT,
        "--chunk-size": table("lmcache")["versions"][lmcache]["chunkTokens"],
        "--hash-algorithm": "blake3",
        "--supported-transfer-mode": _MODE,
        "--shm-name": _SHARED_MEMORY,
        "--l1-size-gb": cpu_bytes / _GIB,
        "--eviction-policy": "LRU",
        "--eviction-trigger-watermark": _WATERMARK,
        "--eviction-ratio": _RATIO,
    }
    given = [f"{flag}={value}" for flag, value in flags.items()]
    return ["lmcache", "server", "--no-l1-use-lazy", *given, *(f"--l2-adapter={one}" for one in adapters)]


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


def _adapter(directory: str, capacity: int | None) -> str:
    """A tier of files. Writers of one directory need temporary files of their own; a capacity needs an eviction."""
    adapter: dict[str, Any] = {"type": "fs_native", "base_path": directory}
    if capacity is None:
        adapter["relative_tmp_dir"] = f"tmp-$({POD_NAME})"
    else:
        adapter["max_capacity_gb"] = capacity / _GIB
        adapter["eviction"] = {
            "eviction_policy": "LRU",
            "trigger_watermark": _WATERMARK,
            "eviction_ratio": _RATIO,
        }
    return json.dumps(adapter, separators=(",", ":"))
