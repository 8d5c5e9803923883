"""The identity of cached bytes: two engines share a cache directory only if their blocks are interchangeable."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from kvtier.api.names import digest
from kvtier.api.v1alpha1 import KVCachePool, ModelStatus, ServedModel
from kvtier.api.v1alpha1.served_model import Variable
from kvtier.data.cache_rules import CACHE_RULES
from kvtier.data.engines import ENGINES, EngineFacts
from kvtier.data.vllm_flags import arguments, given
from kvtier.engines.versions import facts
from kvtier.sizing.architectures import Config, text_config

_FORMAT = 2
_LENGTH = 16
_NAME = re.compile(rf"[0-9a-f]{{{_LENGTH}}}")

Identity = Mapping[str, Any]
"""All that changes the bytes of a block or of its file, by name, and nothing else."""


@dataclass(frozen=True)
class ModelCache:
    """The cache of a model: the name of its directory, the blocks per file, and its identity by `rules`.

    The name is the digest of the identity, unless older rules named the directory: then it keeps its name until the
    identity changes. So neither newer rules nor a longer table makes a warm cache cold.
    """

    fingerprint: str
    blocks_per_chunk: int
    rules: int
    identity: Identity

    @property
    def digest(self) -> str:
        """16 hex digits over the identity."""
        return _digest(self.identity)


def directory(pool: KVCachePool, cached: ModelCache) -> str:
    """Path of the model's cache below the root of a tier."""
    return f"{pool_directory(pool)}/{cached.fingerprint}"


def pool_directory(pool: KVCachePool) -> str:
    """Path of all caches of a pool below the root of a tier."""
    return f"{pool.namespace}/{pool.name}"


def descriptor(pool: KVCachePool, cached: ModelCache) -> str:
    """The file kvtier.json of a cache directory: the pool, and every part of the identity by name.

    The same content always gives the same bytes.
    """
    document = {
        "format": _FORMAT,
        "fingerprint": cached.fingerprint,
        "rules": cached.rules,
        "pool": {"namespace": pool.namespace, "name": pool.name, "uid": pool.uid},
        "identity": cached.identity,
    }
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def new_cache(model: ServedModel, blocks_per_chunk: int, config: Config | None) -> ModelCache:
    """A cache by the newest rules. `config` is the model's config.json, None if unknown."""
    rules = CACHE_RULES.newest
    identity = next(_identities(model, blocks_per_chunk, rules, config))
    return ModelCache(_digest(identity), blocks_per_chunk, rules, identity)


def kept_cache(
    model: ServedModel, blocks_per_chunk: int, config: Config | None, recorded: ModelStatus
) -> ModelCache | None:
    """The recorded cache if it is still the cache of this model, else None.

    Case 1: nothing is recorded, or what cannot be a name -> None.
    Case 2: the recorded rules give the recorded identity -> kept.
    Case 3: there is only a name, and rules 1 give it -> kept. From now on, the status has its identity by the newest
            rules, because rules 1 do not notice every change.
    """
    name = recorded.fingerprint
    if name is None or not _NAME.fullmatch(name):
        return None
    rules = recorded.fingerprint_rules or CACHE_RULES.newest
    for identity in _identities(model, blocks_per_chunk, rules, config):
        if _digest(identity) == (recorded.identity or name):
            return ModelCache(name, blocks_per_chunk, rules, identity)
    if recorded.identity is None and name in first_names(model, blocks_per_chunk):
        return replace(new_cache(model, blocks_per_chunk, config), fingerprint=name)
    return None


def first_names(model: ServedModel, blocks_per_chunk: int) -> tuple[str, ...]:
    """Names of the directory by rules 1. They contain a version of vLLM: that of the model, or one of its format."""
    engine = facts(model)
    alike = [row.version for row in ENGINES.versions.values() if row.cache_format == _format(model, engine)]
    return tuple(_first_name(model, blocks_per_chunk, of) for of in {engine.version, *alike})


def _identities(
    model: ServedModel, blocks_per_chunk: int, rules: int, config: Config | None
) -> Iterator[Identity]:
    """The identities that this model may have, the one for a new cache first.

    The longest context is in it only if it may change the bytes. A config.json may become known or unknown later, which
    changes no bytes. So an identity that is not needed, or not ruled out, counts as well.

    A version that had no row wrote files of a format that is named after it. They stay its files when it gets a row.
    """
    engine = facts(model)
    for written in dict.fromkeys((_format(model, engine), engine.version)):
        yield from _by_length(model, _identity(model, blocks_per_chunk, rules, written), config)


def _by_length(model: ServedModel, base: Identity, config: Config | None) -> Iterator[Identity]:
    long = {**base, "maxModelLen": model.max_model_len}
    if config is None:
        yield from (long, base)
    elif _free_of_length(config):
        yield from (base, long)
    else:
        yield long


def _identity(model: ServedModel, blocks_per_chunk: int, rules: int, cache_format: str) -> Identity:
    return {
        "model": model.model,
        "revision": model.revision or "",
        **({"image": model.engine.image} if _in_image(model) else {}),
        "backend": _backend(model),
        "cacheFormat": cache_format,
        "kvCacheDtype": model.kv_cache_dtype,
        "blockSize": model.block_size or facts(model).block_size,
        "blocksPerChunk": blocks_per_chunk,
        "tensorParallelSize": model.tensor_parallel_size,
        "arguments": _arguments(model, rules),
        "variables": _variables(model, rules),
    }


def _in_image(model: ServedModel) -> bool:
    """Whether the weights are a part of the image, so that only the image or `revision` says which they are."""
    mounts = model.pod_template.volume_mounts if model.pod_template else []
    mounted = (one["mountPath"] for one in mounts)
    path = model.model.startswith("/") and not model.revision
    return path and not any(f"{model.model}/".startswith(f"{mount}/") for mount in mounted)


def _backend(model: ServedModel) -> str:
    """Who writes the files: `Native`, or `LMCache` and its version, which does not follow from that of vLLM."""
    lmcache = model.engine.lmcache
    return f"{model.engine.backend} {lmcache.version}" if lmcache else model.engine.backend


def _format(model: ServedModel, engine: EngineFacts) -> str:
    """The format of the files. For LMCache, no two versions of vLLM were proven to share one.

    If the tag of the image names another release of vLLM than engine.version, one of them is wrong, and the files could
    be of either. Unless both have the same format, such an image gets a format of its own.
    """
    if model.engine.lmcache:
        return engine.version
    tagged = model.engine.contradicting_tag()
    other = ENGINES.versions.get(tagged) if tagged else engine
    alike = other is not None and other.cache_format == engine.cache_format
    return engine.cache_format if alike else f"{engine.cache_format} in {tagged}"


_harmless_flags = cache(CACHE_RULES.harmless_flags)
_harmless_variables = cache(CACHE_RULES.harmless_variables)


def _arguments(model: ServedModel, rules: int) -> list[str]:
    """The extra arguments that may change the bytes, as `flag=value`, ordered by flag.

    Only a full spelling of a harmless flag is harmless. Repetitions of a flag keep their order, because for vLLM the
    last one counts.
    """
    harmless = _harmless_flags(rules)
    found = [one for one in arguments(model.extra_args) if one.flag.partition(".")[0] not in harmless]
    return [f"{one.flag}={one.value}" for one in sorted(found, key=lambda one: one.flag)]


def _variables(model: ServedModel, rules: int) -> list[str]:
    """The environment variables that may change the bytes, as `NAME=value`, ordered by name."""
    harmless = _harmless_variables(rules)
    found = [
        one for one in model.env if one.name.startswith(CACHE_RULES.prefixes) and one.name not in harmless
    ]
    return [f"{one.name}={_value(one)}" for one in sorted(found, key=lambda one: one.name)]


def _value(variable: Variable) -> str:
    """The value, or where it comes from: kvtier does not read it there."""
    source = variable.value_from
    return source.model_dump_json(by_alias=True, exclude_none=True) if source else variable.value or ""


def _free_of_length(config: Config) -> bool:
    """Whether the longest context changes no bytes of a model with this config.json."""
    text = text_config(config)
    known = CACHE_RULES.length_free
    ropes = {*_rope_types(text.get("rope_scaling")), *_rope_types(text.get("rope_parameters"))}
    return ropes <= known.rope_types and str(text.get("model_type")) not in known.except_model_types


def _rope_types(rope: Any) -> Iterator[str]:
    """Types in a config's description of rotary positions, which may have one part per kind of layer."""
    parts = [rope, *rope.values()] if isinstance(rope, Mapping) else []
    for part in parts:
        if isinstance(part, Mapping) and (kind := part.get("rope_type") or part.get("type")):
            yield str(kind)


def _digest(identity: Identity) -> str:
    return digest(json.dumps(identity, sort_keys=True, ensure_ascii=False), length=_LENGTH)


def _first_name(model: ServedModel, blocks_per_chunk: int, version: str) -> str:
    """The name by rules 1. Frozen: another value would make caches cold."""
    first, engine = CACHE_RULES.first, facts(model)
    flags = sorted(given(model.extra_args, first.flags), key=lambda one: one.flag)
    variables = sorted((one for one in model.env if one.name in first.variables), key=lambda one: one.name)
    single = (
        model.model,
        model.revision or "",
        _backend(model),
        version,
        model.kv_cache_dtype,
        model.block_size or engine.block_size,
        blocks_per_chunk,
        model.tensor_parallel_size,
    )
    parts = [f"{one.flag}={one.value}" for one in flags] + [
        f"{one.name}={one.value or ''}" for one in variables
    ]
    return digest(*map(str, single), *parts, length=_LENGTH)
