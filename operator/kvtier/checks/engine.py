"""EngineSupported: the versions were tested together, and no setting conflicts with what kvtier renders."""

from collections.abc import Iterator

from kvtier.api.conditions import ENGINE_SUPPORTED, Condition, false, true
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.api.v1alpha1 import ServedModel, Tiers
from kvtier.context import Context, ModelView
from kvtier.data.engines import ENGINES, EngineFacts
from kvtier.engines import conflicts, versions

_BUCKET_NOTES = (
    "objectStorage requires the nixl package in the image. Without it, vLLM exits. kvtier cannot check the image.",
    "After a failed write to objectStorage, vLLM may read a wrong block without an error "
    "(docs/explanation/shared-tier.md).",
)


def check(context: Context) -> Condition:
    """Faults that only an edit of the spec can fix. kvtier knows the name of an image, not its content."""
    tiers = context.pool.spec.tiers
    notes = list(_BUCKET_NOTES) if tiers.object_storage else []
    for model in context.models:
        name = f"Model {model.spec.name}"
        for reason, fault in _faults(model, tiers):
            if fault:
                return false(ENGINE_SUPPORTED, reason, f"{name} cannot be served: {fault}")
        notes += [f"{name}: {note}" for note in engine_notes(model.spec, model.engine, _groups(model))]
    untested = [_untested(model) for model in context.models if not model.engine.tested]
    if untested:
        return false(ENGINE_SUPPORTED, Reason.UNTESTED, sentences(*untested, *notes))
    known = sorted({_versions(model) for model in context.models})
    return true(
        ENGINE_SUPPORTED,
        Reason.SUPPORTED,
        sentences(f"The pool uses supported versions: {', '.join(known)}", *notes),
    )


def _faults(model: ModelView, tiers: Tiers) -> Iterator[tuple[Reason, str | None]]:
    """Each fault that an engine may have: its reason, and the message, or None if the engine does not have it."""
    lmcache = model.spec.engine.lmcache
    if lmcache:
        pair = conflicts.pair_fault(model.engine.version, lmcache.version)
        yield Reason.PAIR_NOT_SUPPORTED, sentences(pair, _read(model)) if pair else None
        yield Reason.PAIR_NOT_SUPPORTED, conflicts.groups_fault(_groups(model))
    yield Reason.CONFLICTING_SETTINGS, conflicts.setting_conflict(model.spec, tiers.cpu is not None)
    if tiers.has_files():
        yield Reason.NAME_NOT_USABLE, conflicts.file_name_fault(model.spec)


def engine_notes(model: ServedModel, engine: EngineFacts, groups: int | None) -> list[str]:
    """Warnings about a supported engine. `groups` is the model's number of groups of layers, None if unknown."""
    notes = []
    if other := model.engine.contradicting_tag():
        notes.append(
            f"engine.version says vLLM {engine.version}, but the tag of engine.image says {other}. Correct the one "
            "that is wrong."
        )
    if not engine.eviction_safe:
        notes.append(
            f"In vLLM {engine.version}, a request may hang when its cache files are deleted (vllm#49176). Stop all "
            "engines before you delete cache files, or use a later version."
        )
    if model.engine.lmcache and groups is None:
        notes.append(
            "LMCache caches only models with one group of layers. The number of groups of this model is unknown."
        )
    return notes


def _untested(model: ModelView) -> str:
    """The version and the tested ones, and what an engine of that version gets if the user vouches for it."""
    release = model.engine.version
    used, tested = versions.nearest(release).version, sorted(ENGINES.versions, key=versions.minor)
    older = versions.minor(release) < versions.minor(tested[0])
    return sentences(
        f"Model {model.spec.name} uses vLLM {release}. kvtier is tested with vLLM {' and '.join(tested)}",
        _read(model),
        "An older vLLM may lack arguments and fixes that kvtier relies on" if older else "",
        f"Use a tested version. Another one gets the arguments of vLLM {used} and a cache directory of its own",
    )


def _read(model: ModelView) -> str:
    """Where kvtier read the version, if not in the spec."""
    if model.spec.engine.version:
        return ""
    return "kvtier read this version in the tag of engine.image. If the image has another vLLM, set engine.version."


def _groups(model: ModelView) -> int | None:
    """Groups of layers that are cached alike, None for an unknown model."""
    return len(model.geometry.groups) if model.geometry else None


def _versions(model: ModelView) -> str:
    lmcache, vllm = model.spec.engine.lmcache, f"vLLM {model.engine.version}"
    return f"{vllm} with LMCache {lmcache.version}" if lmcache else vllm
