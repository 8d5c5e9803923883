"""EngineSupported: versions that were seen to work together, and no setting that cannot work."""

from kvtier.api.conditions import ENGINE_SUPPORTED, Condition, false, true
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.checks.geometry import model_geometry
from kvtier.data.engines import EngineFacts
from kvtier.engines import conflicts, versions
from kvtier.facts.model import Facts


def check(pool: KVCachePool, facts: Facts) -> Condition:
    """What only an edit of the spec mends. Of the image nothing can be seen but its name."""
    tiered, notes = pool.spec.tiers.cpu is not None, _bucket_notes(pool)
    for model in pool.spec.models:
        engine, groups = versions.facts(model), _groups(model, facts)
        if fault := _pair_fault(model, engine, groups):
            return false(ENGINE_SUPPORTED, Reason.PAIR_NOT_SUPPORTED, f"model {model.name}: {fault}")
        if fault := conflicts.setting_conflict(model, tiered):
            return false(ENGINE_SUPPORTED, Reason.CONFLICTING_SETTINGS, f"model {model.name}: {fault}")
        if pool.spec.tiers.has_files() and (fault := conflicts.file_name_fault(model)):
            return false(ENGINE_SUPPORTED, Reason.NAME_NOT_USABLE, f"model {model.name}: {fault}")
        notes += [f"model {model.name}: {note}" for note in engine_notes(model, engine, groups)]
    known = sorted({_described(model) for model in pool.spec.models})
    return true(ENGINE_SUPPORTED, Reason.SUPPORTED, "; ".join([f"kvtier knows {', '.join(known)}", *notes]))


def engine_notes(model: ServedModel, engine: EngineFacts, groups: int | None) -> list[str]:
    """What a user should know of an engine that is not refused. `groups` are the model's, None where unknown."""
    notes = []
    if not engine.eviction_safe:
        notes.append(
            f"a request may loop in vLLM {engine.version} when a file of its prefix is removed (vllm#49176): remove "
            "cache files only while no engine runs, or use a later version"
        )
    if model.engine.lmcache and groups is None:
        notes.append(
            "LMCache takes models with one group of layers only, and kvtier does not know this one's"
        )
    return notes


def _pair_fault(model: ServedModel, engine: EngineFacts, groups: int | None) -> str | None:
    known = model.engine.lmcache
    return conflicts.lmcache_fault(engine.version, known.version, groups) if known else None


def _groups(model: ServedModel, facts: Facts) -> int | None:
    geometry = model_geometry(model, facts)
    return len(geometry.groups) if geometry else None


def _described(model: ServedModel) -> str:
    known = model.engine.lmcache
    vllm = f"vLLM {versions.facts(model).version}"
    return f"{vllm} with LMCache {known.version}" if known else vllm


def _bucket_notes(pool: KVCachePool) -> list[str]:
    if pool.spec.tiers.object_storage is None:
        return []
    return [
        "objectStorage needs the nixl package in the image, which kvtier cannot see: vLLM ends without it",
        "after a store to objectStorage that failed, vLLM may read a wrong block without an error: see docs/storage.md",
    ]
