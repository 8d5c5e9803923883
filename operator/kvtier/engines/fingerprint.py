"""The identity of cached bytes: two engines share a cache directory only if their blocks are interchangeable."""

import json
from typing import Any

from kvtier.api.names import digest
from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.data.engines import EngineFacts
from kvtier.data.vllm_flags import given
from kvtier.engines.versions import facts

_FORMAT = 1


def directory(pool: KVCachePool, model: ServedModel, blocks_per_chunk: int) -> str:
    """Path of the model's cache below the root of a tier."""
    return f"{pool_directory(pool)}/{fingerprint(model, blocks_per_chunk)}"


def pool_directory(pool: KVCachePool) -> str:
    """Path of all caches of a pool below the root of a tier."""
    return f"{pool.namespace}/{pool.name}"


def fingerprint(model: ServedModel, blocks_per_chunk: int) -> str:
    """16 hex digits over everything that changes the bytes of a block or of its file, and nothing else.

    vLLM's own directory name leaves out revision, quantization and vLLM's version. LMCache's also leaves out the
    element type. Engines that differ in one of these and share a directory return wrong tokens without an error.
    """
    *single, arguments, variables = _identity(model, blocks_per_chunk).values()
    return digest(*map(str, single), *arguments, *variables, length=16)


def descriptor(pool: KVCachePool, model: ServedModel, blocks_per_chunk: int) -> str:
    """The file kvtier.json of a cache directory: the pool, and every input of the fingerprint by name.

    The same content always gives the same bytes.
    """
    document = {
        "format": _FORMAT,
        "fingerprint": fingerprint(model, blocks_per_chunk),
        "pool": {"namespace": pool.namespace, "name": pool.name, "uid": pool.uid},
        "identity": _identity(model, blocks_per_chunk),
    }
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _identity(model: ServedModel, blocks_per_chunk: int) -> dict[str, Any]:
    """The inputs of the fingerprint. A change of their order gives every model a new, empty cache directory."""
    engine = facts(model)
    return {
        "model": model.model,
        "revision": model.revision or "",
        "backend": _backend(model),
        "version": engine.version,
        "kvCacheDtype": model.kv_cache_dtype,
        "blockSize": model.block_size or engine.block_size,
        "blocksPerChunk": blocks_per_chunk,
        "tensorParallelSize": model.tensor_parallel_size,
        "arguments": _layout_arguments(model, engine),
        "variables": _layout_variables(model, engine),
    }


def _backend(model: ServedModel) -> str:
    """Who writes the files: `Native`, or `LMCache` and its version, which does not follow from that of vLLM."""
    lmcache = model.engine.lmcache
    return f"{model.engine.backend} {lmcache.version}" if lmcache else model.engine.backend


def _layout_arguments(model: ServedModel, engine: EngineFacts) -> list[str]:
    """The extra arguments that change the layout, as `flag=value`, ordered by flag.

    Repetitions of a flag keep their order, because for vLLM the last one counts.
    """
    found = given(model.extra_args, engine.layout_flags)
    return [f"{one.flag}={one.value}" for one in sorted(found, key=lambda one: one.flag)]


def _layout_variables(model: ServedModel, engine: EngineFacts) -> list[str]:
    """The environment variables that change the layout, as `NAME=value`, ordered by name.

    Values from a Secret or ConfigMap are unknown here, and refused (`engines/conflicts.py`).
    """
    found = [one for one in model.env if one.name in engine.layout_variables]
    return [f"{one.name}={one.value or ''}" for one in sorted(found, key=lambda one: one.name)]
