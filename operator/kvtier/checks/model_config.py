"""ModelConfigValid: the config.json that a model names exists and is valid. Reports the bytes per token."""

import math

from kvtier.api.conditions import MODEL_CONFIG_VALID, Condition, false, true, unknown
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.context import Context, ModelView
from kvtier.data.vllm_flags import given


def check(context: Context) -> Condition:
    """True also for an unknown model: it is served with the default sizes, and kvtier reports no numbers."""
    models = context.models
    for model in models:
        if model.document.fault:
            message = f"Model {model.spec.name} has no usable config.json: {model.document.fault}"
            return false(MODEL_CONFIG_VALID, Reason.NOT_USABLE, message)
    unread = [model.spec.name for model in models if model.document.unread]
    if unread:
        return unknown(
            MODEL_CONFIG_VALID,
            Reason.NOT_READABLE,
            f"The ConfigMap of model {unread[0]} could not be read. Grant kvtier get on configmaps.",
        )
    reason = Reason.KNOWN if all(model.geometry for model in models) else Reason.NOT_KNOWN
    sizes = sentences(*(_size(one) for one in models))
    return true(MODEL_CONFIG_VALID, reason, sizes)


def _size(model: ModelView) -> str:
    """Most bytes per token in a tier, or why they are unknown."""
    spec = model.spec
    if model.geometry:
        return f"Model {spec.name} takes {math.ceil(model.geometry.tier_token_bytes())} bytes per token."
    unknown_size = f"The size of model {spec.name} per token is unknown"
    if model.config is None:
        named = f"{spec.model} at revision {spec.revision}" if spec.revision else spec.model
        return f"{unknown_size}, because kvtier does not know {named}. Set modelConfigFrom."
    changed = given(spec.extra_args, model.engine.geometry_flags)
    if changed:
        return f"{unknown_size}, because {changed[0].flag} in extraArgs may change what is cached."
    return (
        f"{unknown_size}, because kvtier cannot calculate it for kvCacheDtype {spec.kv_cache_dtype} with "
        f"tensorParallelSize {spec.tensor_parallel_size}."
    )
