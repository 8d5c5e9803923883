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
    """Path of all that a pool caches below the root of a tier."""
    return f"{pool.namespace}/{pool.name}"


def fingerprint(model: ServedModel, blocks_per_chunk: int) -> str:
    """16 hex digits over everything that changes the bytes of a block or of its file, and nothing else.

    vLLM's own directory name leaves out revision, quantization and its version, and LMCache's even the
    element type: sharing a directory across those returns wrong tokens without an error.
    """
    *single, arguments, variables = _identity(model, blocks_per_chunk).values()
    return digest(*map(str, single), *arguments, *variables, length=16)


def descriptor(pool: KVCachePool, model: ServedModel, blocks_per_chunk: int) -> str:
    """The file kvtier.json of a cache directory: every input of the fingerprint by name, and whose directory it is.

    The same bytes for the same content.
    """
    document = {
        "format": _FORMAT,
        "fingerprint": fingerprint(model, blocks_per_chunk),
        "pool": {"namespace": pool.namespace, "name": pool.name, "uid": pool.uid},
        "identity": _identity(model, blocks_per_chunk),
    }
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _identity(model: ServedModel, blocks_per_chunk: int) -> dict[str, Any]:
    """The inputs of the fingerprint. Their order counts: another one is a cold cache for everybody."""
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
    """Who writes the files: `Native`, or `LMCache` with its version, which vLLM's does not tell."""
    lmcache = model.engine.lmcache
    return f"{model.engine.backend} {lmcache.version}" if lmcache else model.engine.backend


def _layout_arguments(model: ServedModel, engine: EngineFacts) -> list[str]:
    """The extra arguments that change the layout, with the values that follow each, as `flag=value`.

    In the order of their flags; of a flag that stands twice the last one counts for vLLM, so those keep theirs.
    """
    found = given(model.extra_args, engine.layout_flags)
    return [f"{one.flag}={one.value}" for one in sorted(found, key=lambda one: one.flag)]


def _layout_variables(model: ServedModel, engine: EngineFacts) -> list[str]:
    """The environment variables that change the layout, as `NAME=value`, in the order of their names.

    The value of one that comes from a Secret or ConfigMap is not known here (`engines/conflicts.py`).
    """
    found = [one for one in model.env if one.name in engine.layout_variables]
    return [f"{one.name}={one.value or ''}" for one in sorted(found, key=lambda one: one.name)]
