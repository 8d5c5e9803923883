"""ModelConfigValid: the config.json that a model names is there and is one, and what kvtier makes of it."""

import math

from kvtier.api.conditions import MODEL_CONFIG_VALID, Condition, false, true, unknown
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.checks.geometry import model_geometry
from kvtier.data.vllm_flags import given
from kvtier.engines import versions
from kvtier.facts.model import Facts
from kvtier.sizing.models import Document, known_config, model_document


def check(pool: KVCachePool, facts: Facts) -> Condition:
    """A model that kvtier does not understand is served all the same, with the usual sizes and without numbers."""
    documents = {model.name: model_document(model, facts.config_maps) for model in pool.spec.models}
    for name, document in documents.items():
        if document.fault:
            return false(MODEL_CONFIG_VALID, Reason.NOT_USABLE, f"model {name}: {document.fault}")
    unread = [model for model in pool.spec.models if documents[model.name].unread]
    if unread:
        return unknown(
            MODEL_CONFIG_VALID,
            Reason.NOT_READABLE,
            f"model {unread[0].name}: its ConfigMap could not be read: grant kvtier get on configmaps",
        )
    told = {model.name: _size(model, facts) for model in pool.spec.models}
    reason = Reason.NOT_KNOWN if None in told.values() else Reason.KNOWN
    said = (
        f"model {model.name}: {told[model.name] or _unknown(model, documents[model.name])}"
        for model in pool.spec.models
    )
    return true(MODEL_CONFIG_VALID, reason, "; ".join(said))


def _size(model: ServedModel, facts: Facts) -> str | None:
    """Bytes per token in a tier, at most; None where kvtier cannot tell."""
    found = model_geometry(model, facts)
    return f"{math.ceil(found.tier_token_bytes())} bytes per token" if found else None


def _unknown(model: ServedModel, document: Document) -> str:
    changed = given(model.extra_args, versions.facts(model).geometry_flags)
    if known_config(model, document) is None:
        named = f"{model.model} at revision {model.revision}" if model.revision else model.model
        return f"no numbers, as kvtier does not know {named}: give modelConfigFrom"
    if changed:
        return f"no numbers, as {changed[0].flag} of extraArgs may change what is cached"
    return (
        f"no numbers, as kvtier does not know how such a model is cached as {model.kv_cache_dtype} on "
        f"{model.tensor_parallel_size} GPUs"
    )
