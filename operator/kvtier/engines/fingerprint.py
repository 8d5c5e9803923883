"""The identity of cached bytes: two engines share a cache directory only if their blocks are interchangeable."""

from itertools import zip_longest

from kvtier.api.names import digest
from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.api.v1alpha1.engine import plain_flag
from kvtier.engines.versions import EngineFacts, facts


def fingerprint(model: ServedModel) -> str:
    """16 hex digits over everything that changes the bytes of a block, and nothing else.

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
        str(engine.blocks_per_chunk),
        str(model.tensor_parallel_size),
        *_layout_arguments(model, engine),
        length=16,
    )


def directory(pool: KVCachePool, model: ServedModel) -> str:
    """Path of the model's cache below the root of a tier."""
    return f"{pool.namespace}/{pool.name}/{fingerprint(model)}"


def _layout_arguments(model: ServedModel, engine: EngineFacts) -> list[str]:
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
