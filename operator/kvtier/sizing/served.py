"""The geometry of a model as a pool serves it."""

from collections.abc import Sequence

from kvtier.api.v1alpha1 import ServedModel
from kvtier.api.v1alpha1.engine import plain_flag
from kvtier.sizing.geometry import Geometry, geometry
from kvtier.sizing.models import cached, config_of
from kvtier.sizing.shapes import Config


def served_geometry(
    model: ServedModel, geometry_flags: Sequence[str], config: Config | None = None
) -> Geometry | None:
    """How the model's cache is cut, or None where kvtier cannot tell.

    `config` is the model's parsed config.json; without it the table of models is asked, which knows public
    models by the name of their repository. A revision of its own may differ from what the table says, and so
    may everything under a flag of `geometry_flags` in extraArgs.
    """
    known = config if config is not None or model.revision else config_of(model.model)
    if known is None or _changed(model.extra_args, geometry_flags):
        return None
    found = cached(known, model.kv_cache_dtype, model.tensor_parallel_size)
    return geometry(found, model.tensor_parallel_size) if found else None


def _changed(arguments: Sequence[str], flags: Sequence[str]) -> bool:
    given = [flag for flag in map(plain_flag, arguments) if flag]
    return any(known.startswith(flag) for flag in given for known in flags)
