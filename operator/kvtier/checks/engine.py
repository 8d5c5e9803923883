"""EngineSupported: versions that were seen to work together, and no setting that cannot work."""

from collections.abc import Iterator

from kvtier.api.conditions import ENGINE_SUPPORTED, Condition, false, true
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import ServedModel, Tiers
from kvtier.context import Context, ModelView
from kvtier.data.engines import EngineFacts
from kvtier.engines import conflicts

_BUCKET_NOTES = (
    "objectStorage needs the nixl package in the image, which kvtier cannot see: vLLM ends without it",
    "after a store to objectStorage that failed, vLLM may read a wrong block without an error: see docs/storage.md",
)


def check(context: Context) -> Condition:
    """What only an edit of the spec mends. Of the image nothing can be seen but its name."""
    tiers = context.pool.spec.tiers
    notes = list(_BUCKET_NOTES) if tiers.object_storage else []
    for model in context.models:
        name = f"model {model.spec.name}"
        for reason, fault in _faults(model, tiers):
            if fault:
                return false(ENGINE_SUPPORTED, reason, f"{name}: {fault}")
        notes += [f"{name}: {note}" for note in engine_notes(model.spec, model.engine, _groups(model))]
    known = sorted({_versions(model) for model in context.models})
    return true(ENGINE_SUPPORTED, Reason.SUPPORTED, "; ".join([f"kvtier knows {', '.join(known)}", *notes]))


def _faults(model: ModelView, tiers: Tiers) -> Iterator[tuple[Reason, str | None]]:
    """What may be wrong with an engine, and each with a sentence if it is."""
    lmcache = model.spec.engine.lmcache
    if lmcache:
        pair = conflicts.lmcache_fault(model.engine.version, lmcache.version, _groups(model))
        yield Reason.PAIR_NOT_SUPPORTED, pair
    yield Reason.CONFLICTING_SETTINGS, conflicts.setting_conflict(model.spec, tiers.cpu is not None)
    if tiers.has_files():
        yield Reason.NAME_NOT_USABLE, conflicts.file_name_fault(model.spec)


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


def _groups(model: ModelView) -> int | None:
    """Groups of layers that are cached alike, None where kvtier does not know the model."""
    return len(model.geometry.groups) if model.geometry else None


def _versions(model: ModelView) -> str:
    lmcache, vllm = model.spec.engine.lmcache, f"vLLM {model.engine.version}"
    return f"{vllm} with LMCache {lmcache.version}" if lmcache else vllm
