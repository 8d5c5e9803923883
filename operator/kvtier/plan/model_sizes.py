"""What the status says of a model's cache: its directory, its chunks, its tokens."""

import math

from kvtier.api.v1alpha1 import KVCachePool, ModelStatus, ServedModel
from kvtier.checks.geometry import model_geometry
from kvtier.engines.fingerprint import fingerprint
from kvtier.facts.model import Facts
from kvtier.plan.chunking import blocks_per_chunk, model_chunk, shared_in_spec, undecided
from kvtier.plan.suggestion import suggestion
from kvtier.sizing.chunks import described


def with_sizes(pool: KVCachePool, model: ServedModel, facts: Facts, status: ModelStatus) -> ModelStatus:
    """The status with the model's sizes.

    A number that is only a stopgap is not recorded, lest it stays, unless there are engines that use it.
    """
    if undecided(pool, model, facts) and status.service is None:
        return status
    known, blocks = model_geometry(model, facts), blocks_per_chunk(pool, model, facts)
    return status.model_copy(
        update={
            "fingerprint": fingerprint(model, blocks),
            "blocks_per_chunk": blocks,
            "chunk": described(model_chunk(pool, model, facts), shared_in_spec(pool)),
            "bytes_per_token": math.ceil(known.tier_token_bytes()) if known else None,
            "suggestion": suggestion(pool, model, facts),
        }
    )
