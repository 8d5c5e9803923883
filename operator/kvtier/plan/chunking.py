"""How many blocks of a model make one file: a number that, once used, stays, because another means a cold cache."""

from kvtier.api.v1alpha1 import KVCachePool, ModelStatus, ServedModel
from kvtier.checks.geometry import model_geometry
from kvtier.engines import versions
from kvtier.engines.fingerprint import fingerprint
from kvtier.facts.model import Facts
from kvtier.sizing.chunks import Chunk, cut, suited
from kvtier.sizing.documents import model_document
from kvtier.sizing.geometry import Geometry

_GONE = ("Retained", "Deleting")
"""Phases of a shared tier that has left the spec."""


def blocks_per_chunk(pool: KVCachePool, model: ServedModel, facts: Facts) -> int:
    """The user's number, else the recorded one, else the one that suits the model and its tiers.

    What suits may change with kvtier's tables, and the recorded number outlives that: it is asked for anew only
    when the cache is another one anyway, or a shared tier comes or goes.
    """
    if model.blocks_per_chunk:
        return model.blocks_per_chunk
    return _recorded(pool, model) or suited(
        _filed(model, model_geometry(model, facts)), _usual(model), shared_in_spec(pool)
    )


def undecided(pool: KVCachePool, model: ServedModel, facts: Facts) -> bool:
    """Whether the number is a stopgap: the document that it should come from cannot be read yet."""
    if model.blocks_per_chunk or _recorded(pool, model):
        return False
    document = model_document(model, facts.config_maps)
    return document.unread or document.fault is not None


def model_chunk(pool: KVCachePool, model: ServedModel, facts: Facts) -> Chunk:
    """What one file of the model holds."""
    return cut(_filed(model, model_geometry(model, facts)), blocks_per_chunk(pool, model, facts))


def shared_in_spec(pool: KVCachePool) -> bool:
    """Whether the spec has a tier that all Pods share."""
    return pool.spec.tiers.lustre is not None or pool.spec.tiers.object_storage is not None


def _shared_in_status(pool: KVCachePool) -> bool:
    return any(
        tier.name in ("lustre", "objectStorage") and tier.phase not in _GONE for tier in pool.status.tiers
    )


def _recorded(pool: KVCachePool, model: ServedModel) -> int | None:
    """The number in the status, if it is about the cache that the spec still asks for.

    A status without the number was written when all models had the usual one.
    """
    known = next((one for one in pool.status.models if one.name == model.name), ModelStatus(name=model.name))
    blocks = known.blocks_per_chunk or versions.facts(model).blocks_per_chunk
    same = known.fingerprint == fingerprint(model, blocks) and _shared_in_status(pool) == shared_in_spec(pool)
    return blocks if same else None


def _usual(model: ServedModel) -> int:
    """As many tokens as the version's usual chunk has, in the user's blocks."""
    engine = versions.facts(model)
    return max(engine.blocks_per_chunk * engine.block_size // (model.block_size or engine.block_size), 1)


def _filed(model: ServedModel, known: Geometry | None) -> Geometry | None:
    """LMCache writes a file for each GPU, vLLM one for all."""
    return known.of_one_gpu() if known and model.engine.backend == "LMCache" else known
