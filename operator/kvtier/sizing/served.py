"""The geometry of a model as a pool serves it."""

from collections.abc import Sequence

from kvtier.api.v1alpha1 import ServedModel
from kvtier.api.v1alpha1.flags import given
from kvtier.sizing.documents import Document
from kvtier.sizing.geometry import BLOCK, Geometry, geometry
from kvtier.sizing.models import cached, config_of
from kvtier.sizing.shapes import Config

_OF_THE_TABLE = (None, "main")


def served_geometry(model: ServedModel, geometry_flags: Sequence[str], document: Document) -> Geometry | None:
    """How the model's cache is cut, or None where kvtier cannot tell.

    A flag of `geometry_flags` in extraArgs may make it another one than the model's config.json says.
    """
    known = known_config(model, document)
    if known is None or given(model.extra_args, geometry_flags):
        return None
    found = cached(known, model.kv_cache_dtype, model.tensor_parallel_size)
    return geometry(found, model.tensor_parallel_size, model.block_size or BLOCK) if found else None


def known_config(model: ServedModel, document: Document) -> Config | None:
    """The model's own document where it names one, else what the table of public models says.

    Any other revision than the branch that the table was read from may be another model.
    """
    if model.model_config_from is not None:
        return document.config
    return config_of(model.model) if model.revision in _OF_THE_TABLE else None
