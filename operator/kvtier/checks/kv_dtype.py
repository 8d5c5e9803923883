"""KVCacheDtypeSupported: the version of vLLM, the GPU and the model support kvCacheDtype."""

from kvtier.api.conditions import KV_CACHE_DTYPE_SUPPORTED, Condition, false, true
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.context import Context
from kvtier.data.engines import EngineFacts
from kvtier.engines import kv_dtypes
from kvtier.engines.kv_dtypes import Traits


def check(context: Context) -> Condition:
    """True also where something is unknown, which the message then says: vLLM itself refuses what it cannot do."""
    if all(model.spec.kv_cache_dtype == "auto" for model in context.models):
        return true(KV_CACHE_DTYPE_SUPPORTED, Reason.NOT_NEEDED, "Every model uses kvCacheDtype auto.")
    accelerator, doubts = context.pool.spec.node_pool.accelerator.type, []
    for model in context.models:
        name, dtype = model.spec.name, model.spec.kv_cache_dtype
        traits = kv_dtypes.traits(model.spec, model.config)
        fault = _version_fault(dtype, model.engine) or kv_dtypes.fault(dtype, accelerator, traits)
        if fault:
            return false(
                KV_CACHE_DTYPE_SUPPORTED, Reason.NOT_SUPPORTED, f"Model {name} cannot be served: {fault}"
            )
        doubts += [f"Model {name}: {doubt}" for doubt in _doubts(dtype, accelerator, traits)]
    message = sentences(f"kvtier knows no incompatibility of kvCacheDtype with {accelerator}", *doubts)
    return true(KV_CACHE_DTYPE_SUPPORTED, Reason.SUPPORTED, message)


def _version_fault(dtype: str, engine: EngineFacts) -> str | None:
    if dtype in engine.kv_cache_dtypes or not engine.tested:
        return None
    listed = ", ".join(engine.kv_cache_dtypes)
    return f"vLLM {engine.version} does not support kvCacheDtype {dtype}. It supports {listed}."


def _doubts(dtype: str, accelerator: str, traits: Traits) -> list[str]:
    if dtype == "auto":
        return []
    unknown = None
    if traits == Traits():
        unknown = "its config.json is unknown. Only the version of vLLM and the GPU were checked."
    return [doubt for doubt in (kv_dtypes.caution(dtype, accelerator), unknown) if doubt]
