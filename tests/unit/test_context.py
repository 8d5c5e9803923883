"""The context of a pool: blocks per chunk of a model, and that the number stays the same for as long as the cache."""

import json
from dataclasses import replace
from typing import Any

import pytest

from kvtier.api.v1alpha1 import KVCachePool, ModelStatus, PoolStatus, TierStatus
from kvtier.context import ModelView
from kvtier.data import table as data
from kvtier.engines.fingerprint import first_names
from kvtier.facts.model import ConfigMaps, Facts
from unit.builders import context, joined, model, model_cache, pool, with_status
from unit.tables import table

MIB = 1 << 20
SMALL = {"model": "openai/gpt-oss-20b", "tensorParallelSize": 1}
"""A model whose usual chunks are too small for a tier that Pods share."""

MLA = {"model": "deepseek-ai/DeepSeek-V3", "tensorParallelSize": 8}
LMCACHE = {"backend": "LMCache", "lmcache": {"version": "0.5.6"}}
PRIVATE = {"lustre": None, "localSSD": {"capacity": "1Ti"}}
BUCKET = {"lustre": None, "objectStorage": {"bucket": "blocks"}}
LLAMA_70B = {"model": "meta-llama/Llama-3.3-70B-Instruct", "tensorParallelSize": 8}
FROM_MAP = {"modelConfigFrom": {"configMapKeyRef": {"name": "configs"}}}


def _pool(tiers: Any = None, **changes: Any) -> KVCachePool:
    return pool(tiers=tiers or {}, models=[model(**changes)])


def _seen(of: KVCachePool, facts: Facts | None = None) -> ModelView:
    (seen,) = context(of, facts=facts or Facts()).models
    return seen


def _blocks(of: KVCachePool, facts: Facts | None = None) -> int:
    return _seen(of, facts).cache.blocks_per_chunk


def _recorded(
    of: KVCachePool, blocks: int | None, *tiers: str, phase: str = "Bound", **changes: Any
) -> KVCachePool:
    """The pool with a status that has this number of blocks (None: from a kvtier version that recorded no number)."""
    status = PoolStatus(
        models=[
            ModelStatus(
                name="llama",
                blocks_per_chunk=blocks,
                fingerprint=model_cache(of.spec.models[0], blocks or 16).fingerprint,
                **changes,
            )
        ],
        tiers=[TierStatus(name=tier, phase=phase) for tier in tiers],
    )
    return with_status(of, status)


@table(
    "of, blocks, size",
    {
        "a large model has the usual number": (_pool(**LLAMA_70B), 16, 80 * MIB),
        "a small model has more blocks, for larger files on Lustre": (_pool(**SMALL), 64, 24 * MIB),
        "a small model has more blocks, for larger objects in a bucket": (
            _pool(BUCKET, **SMALL),
            64,
            24 * MIB,
        ),
        "a small model has the usual number without a shared tier": (_pool(PRIVATE, **SMALL), 16, 6 * MIB),
        "an unknown model has the usual number": (_pool(model="a/b"), 16, None),
        "the number of the user is used unchanged": (_pool(blocksPerChunk=3, **LLAMA_70B), 3, 15 * MIB),
        "larger blocks make the number smaller": (_pool(blockSize=64, **LLAMA_70B), 4, 80 * MIB),
        "the largest blocks of an unknown model make the number 2": (
            _pool(blockSize=128, model="a/b"),
            2,
            None,
        ),
        "LMCache has a file for every GPU": (_pool(engine=LMCACHE, **LLAMA_70B), 32, 20 * MIB),
        "LMCache has one file for a latent that every GPU has": (_pool(engine=LMCACHE, **MLA), 16, 17989632),
    },
)
def test_without_a_record(of: KVCachePool, blocks: int, size: int | None) -> None:
    seen = _seen(of)
    assert (seen.cache.blocks_per_chunk, seen.chunk.blocks, seen.chunk.size) == (blocks, blocks, size)


@pytest.mark.parametrize("name", data("models")["models"])
@pytest.mark.parametrize("gpus", [1, 2, 8])
def test_chunks_of_lmcache_are_large_files_of_whole_blocks_of_any_kernel(name: str, gpus: int) -> None:
    seen = _seen(_pool(model=name, tensorParallelSize=gpus, engine=LMCACHE))
    known, blocks = seen.geometry, seen.cache.blocks_per_chunk
    if known is None or len(known.groups) > 1 or known.groups[0].tokens != 16:
        return
    assert blocks * 16 % 128 == 0
    assert known.block_bytes * blocks >= 16 * MIB or blocks * 16 == 2048


@table(
    "of, blocks",
    {
        "the recorded number stays, even if another one fits better": (
            _recorded(_pool(**SMALL), 16, "lustre"),
            16,
        ),
        "the recorded number stays when a table adds the model": (
            _recorded(_pool(model="a/b"), 64, "lustre"),
            64,
        ),
        "the usual number stays if an older kvtier recorded none": (
            _recorded(_pool(**SMALL), None, "lustre"),
            16,
        ),
        "the recorded number stays without a shared tier": (
            _recorded(_pool(PRIVATE, **SMALL), 64, "cpu", "localSSD"),
            64,
        ),
        "the recorded number stays with a bucket": (
            _recorded(_pool(BUCKET, **SMALL), 16, "objectStorage"),
            16,
        ),
        "the recorded number stays while the tier is bypassed": (
            _recorded(_pool(**SMALL), 16, "lustre", phase="Bypassed"),
            16,
        ),
        "the number of the user overrides the record": (
            _recorded(_pool(blocksPerChunk=8, **SMALL), 16, "lustre"),
            8,
        ),
        "a number that the user removed stays": (_recorded(_pool(**SMALL), 8, "lustre"), 8),
        "a new shared tier changes the number": (_recorded(_pool(**SMALL), 16, "cpu"), 64),
        "the removal of the shared tier changes the number": (
            _recorded(_pool(PRIVATE, **SMALL), 64, "lustre"),
            16,
        ),
        "a retained tier counts as removed": (
            _recorded(_pool(PRIVATE, **SMALL), 64, "lustre", phase="Retained"),
            64,
        ),
        "another shared tier in its place keeps the number": (
            _recorded(_pool(BUCKET, **SMALL), 16, "lustre"),
            16,
        ),
    },
)
def test_with_a_record(of: KVCachePool, blocks: int) -> None:
    assert _blocks(of) == blocks


@table(
    "change",
    {
        "another model": {"model": "openai/gpt-oss-120b"},
        "another data type": {"kvCacheDtype": "fp8"},
        "another number of GPUs": {"tensorParallelSize": 2},
        "another block size": {"blockSize": 32},
        "another backend": {"engine": LMCACHE},
    },
)
def test_a_record_does_not_apply_to_another_cache(change: dict[str, Any]) -> None:
    before = _recorded(_pool(**SMALL), 1, "lustre")
    after = _pool(**joined(SMALL, change))
    assert _blocks(before) == 1
    assert _blocks(with_status(after, before.status)) == _blocks(after)


def test_a_record_does_not_apply_to_a_model_with_another_name() -> None:
    of = _recorded(_pool(**SMALL), 16, "lustre")
    assert _blocks(with_status(_pool(name="other", **SMALL), of.status)) == 64


def _facts(text: str | None) -> Facts:
    return replace(Facts(), config_maps=ConfigMaps({"configs": {"config.json": text} if text else {}}))


_FIELDS = {"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 1024, "num_attention_heads": 16}
CONFIG, LARGER = (
    json.dumps({**_FIELDS, "dtype": "float16", "num_hidden_layers": count}) for count in (4, 40)
)


@table(
    "of, facts, expected",
    {
        "an existing document is used": (_pool(**FROM_MAP), _facts(CONFIG), (64, False)),
        "a missing document is waited for": (_pool(**FROM_MAP), _facts(None), (16, True)),
        "an invalid document is waited for": (_pool(**FROM_MAP), _facts("[]"), (16, True)),
        "an unreadable document is waited for": (_pool(**FROM_MAP), Facts(), (16, True)),
        "with a number of the user, no document is waited for": (
            _pool(blocksPerChunk=4, **FROM_MAP),
            Facts(),
            (4, False),
        ),
        "with a record, no document is waited for": (
            _recorded(_pool(**FROM_MAP), 32, "lustre"),
            Facts(),
            (32, False),
        ),
        "without a reference, no document is waited for": (_pool(), Facts(), (16, False)),
    },
)
def test_document(of: KVCachePool, facts: Facts, expected: tuple[int, bool]) -> None:
    seen = _seen(of, facts)
    assert (seen.cache.blocks_per_chunk, seen.provisional) == expected


def test_a_later_change_of_the_document_keeps_the_cache() -> None:
    of = _pool(**FROM_MAP)
    used = _recorded(of, _blocks(of, _facts(CONFIG)), "lustre")
    assert _blocks(of, _facts(LARGER)) != _blocks(of, _facts(CONFIG))
    assert _blocks(used, _facts(LARGER)) == _blocks(of, _facts(CONFIG))


def test_a_record_applies_to_a_version_of_the_same_format() -> None:
    before = _recorded(_pool(**SMALL), 1, "lustre")
    after = _pool(**joined(SMALL, {"engine": {"image": "vllm/vllm-openai:v0.32.0"}}))
    seen = _seen(with_status(after, before.status))
    assert (seen.cache.blocks_per_chunk, seen.cache.fingerprint) == (1, before.status.models[0].fingerprint)


def test_models_that_share_a_directory_by_mistake_get_their_own() -> None:
    """The first rules did not notice that the weights of one of them are random."""
    dummy = model(name="dummy", extraArgs=["--load-format=dummy"])
    of = pool(models=[model(), dummy])
    (name,) = {first_names(one, 16)[0] for one in of.spec.models}
    recorded = [ModelStatus(name=one.name, fingerprint=name, blocks_per_chunk=16) for one in of.spec.models]
    tiers = [TierStatus(name="lustre", phase="Bound")]
    seen = context(with_status(of, PoolStatus(models=recorded, tiers=tiers))).models
    assert len({name, *(one.cache.fingerprint for one in seen)}) == 3
