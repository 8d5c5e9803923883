"""Whether a model's text can be a part of the names of its cache files, as both backends make it one.

vLLM's file tier names a directory after it (v1/kv_offload/file_mapper.py, 0.33.0), LMCache every file
(v1/distributed/l2_adapters/fs_l2_adapter.py, 0.5.6), whose keys also take no `@`.
"""

from kvtier.api.v1alpha1 import ServedModel

_LONGEST = 255
"""Bytes of one name in the file systems of Linux, Lustre's included."""
_BESIDE = {"Native": len("_0123456789ab_r0"), "LMCache": len("@0x01000100@0@.data.tmp") + 64}
"""Bytes that stand in the same name."""
_SLASH = {"Native": "_", "LMCache": "-SEP-"}


def fault(model: ServedModel) -> str | None:
    """Why the engine could not start, or could not store a block; None if the name is fine."""
    backend = model.engine.backend
    if backend == "LMCache" and "@" in model.model:
        return "LMCache does not take a model with @ in its name: use backend Native, or a path without it"
    size, most = len(model.model.replace("/", _SLASH[backend]).encode()), _LONGEST - _BESIDE[backend]
    if size <= most:
        return None
    return (
        f"{backend} names cache files after the model, whose text takes {size} bytes there where {most} fit: use a "
        "shorter path"
    )
