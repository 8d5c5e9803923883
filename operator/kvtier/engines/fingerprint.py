"""The identity of cached bytes: two engines share a cache directory only if their blocks are interchangeable."""

from itertools import zip_longest

from kvtier.api.names import digest
from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.api.v1alpha1.engine import plain_flag
from kvtier.engines.versions import EngineFacts, facts


def fingerprint(model: ServedModel, blocks_per_chunk: int | None = None) -> str:
    """16 hex digits over everything that changes the bytes of a block or of its file, and nothing else.

    `blocks_per_chunk` is what the engine is told, if that is not the usual number of its version.

    vLLM's own directory name leaves out revision, quantization and its version, and LMCache's even the
    element type: sharing a directory across those returns wrong tokens without an error.
    """
    engine = facts(model)
    return digest(
        model.model,
        model.revision or "",
        model.engine.backend,
        engine.version,
        model.kv_cache_dtype,
        str(engine.block_size),
        str(blocks_per_chunk or engine.blocks_per_chunk),
        str(model.tensor_parallel_size),
        *layout_arguments(model, engine),
        length=16,
    )


def directory(pool: KVCachePool, model: ServedModel, blocks_per_chunk: int | None = None) -> str:
    """Path of the model's cache below the root of a tier."""
    return f"{pool_directory(pool)}/{fingerprint(model, blocks_per_chunk)}"


def pool_directory(pool: KVCachePool) -> str:
    """Path of all that a pool caches below the root of a tier."""
    return f"{pool.namespace}/{pool.name}"


def layout_arguments(model: ServedModel, engine: EngineFacts) -> list[str]:
    """The extra arguments that change the layout, with the value that follows each, as `flag=value`.

    In the order of their flags; of a flag that stands twice the last one counts for vLLM, so those keep theirs.
    """
    found = []
    for argument, after in zip_longest(model.extra_args, model.extra_args[1:], fillvalue=""):
        spelled, has_value, value = _apart(argument, engine).partition("=")
        flag = plain_flag(spelled)
        if flag and any(known.startswith(flag) for known in engine.layout_flags):
            found.append((spelled.replace("_", "-"), value if has_value else after))
    return [f"{flag}={value}" for flag, value in sorted(found, key=lambda item: item[0])]


def _apart(argument: str, engine: EngineFacts) -> str:
    """`-qfp8` as `-q=fp8`: a flag of one letter may have its value attached."""
    flag, value = argument[:2], argument[2:].removeprefix("=")
    return f"{flag}={value}" if value and flag in engine.layout_flags else argument
