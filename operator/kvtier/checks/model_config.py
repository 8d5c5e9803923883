"""ModelConfigValid: the config.json that a model names is there and is one, and what kvtier makes of it."""

import math

from kvtier.api.conditions import MODEL_CONFIG_VALID, Condition, false, true, unknown
from kvtier.api.reasons import Reason
from kvtier.context import Context, ModelView
from kvtier.data.vllm_flags import given


def check(context: Context) -> Condition:
    """A model that kvtier does not understand is served all the same, with the usual sizes and without numbers."""
    models = context.models
    for model in models:
        if model.document.fault:
            message = f"model {model.spec.name}: {model.document.fault}"
            return false(MODEL_CONFIG_VALID, Reason.NOT_USABLE, message)
    unread = [model.spec.name for model in models if model.document.unread]
    if unread:
        return unknown(
            MODEL_CONFIG_VALID,
            Reason.NOT_READABLE,
            f"model {unread[0]}: its ConfigMap could not be read: grant kvtier get on configmaps",
        )
    reason = Reason.KNOWN if all(model.geometry for model in models) else Reason.NOT_KNOWN
    return true(
        MODEL_CONFIG_VALID, reason, "; ".join(f"model {one.spec.name}: {_size(one)}" for one in models)
    )


def _size(model: ModelView) -> str:
    """Bytes per token in a tier, at most, or why kvtier cannot tell."""
    if model.geometry:
        return f"{math.ceil(model.geometry.tier_token_bytes())} bytes per token"
    spec = model.spec
    if model.config is None:
        named = f"{spec.model} at revision {spec.revision}" if spec.revision else spec.model
        return f"no numbers, as kvtier does not know {named}: give modelConfigFrom"
    changed = given(spec.extra_args, model.engine.geometry_flags)
    if changed:
        return f"no numbers, as {changed[0].flag} of extraArgs may change what is cached"
    return (
        f"no numbers, as kvtier does not know how such a model is cached as {spec.kv_cache_dtype} on "
        f"{spec.tensor_parallel_size} GPUs"
    )
