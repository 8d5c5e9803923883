"""What a cache directory is, as a document that stands in it: for people, and for whoever cleans up after a pool."""

import json
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.engines.fingerprint import backend, fingerprint, layout_arguments, layout_variables
from kvtier.engines.versions import facts

FILE_NAME = "kvtier.json"
_FORMAT = 1


def descriptor(pool: KVCachePool, model: ServedModel, blocks_per_chunk: int) -> dict[str, Any]:
    """Every input of the fingerprint by name, and whose directory it is.

    Two documents with equal `identity` have equal fingerprints, and the other way round.
    """
    engine = facts(model)
    return {
        "format": _FORMAT,
        "fingerprint": fingerprint(model, blocks_per_chunk),
        "pool": {"namespace": pool.namespace, "name": pool.name, "uid": pool.uid},
        "identity": {
            "model": model.model,
            "revision": model.revision or "",
            "backend": backend(model),
            "version": engine.version,
            "kvCacheDtype": model.kv_cache_dtype,
            "blockSize": model.block_size or engine.block_size,
            "blocksPerChunk": blocks_per_chunk,
            "tensorParallelSize": model.tensor_parallel_size,
            "arguments": layout_arguments(model, engine),
            "variables": layout_variables(model, engine),
        },
    }


def text(document: dict[str, Any]) -> str:
    """The document as a file: the same bytes for the same content."""
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
