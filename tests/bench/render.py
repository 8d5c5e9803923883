"""The planner alone, compared with parsing the same manifests from YAML each time."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

import yaml

from bench.rows import Row
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Observed
from kvtier.plan.offline import manifests
from kvtier.plan.plan import plan
from testbed import pools

_REPEATS = 500
_NOW = "2026-01-01T00:00:00Z"


def rows() -> Iterator[Row]:
    made = [_pool(f"pool-{i}") for i in range(_REPEATS)]
    texts = [yaml.safe_dump_all(manifests(pool)) for pool in made]
    ours = [_milliseconds(partial(plan, pool, Observed(), _NOW)) for pool in made]
    parsed = [_milliseconds(partial(_parse, text)) for text in texts]
    yield Row("render_pool", median(ours), "ms", median(parsed))


def _pool(name: str) -> KVCachePool:
    return KVCachePool.model_validate(pools.manifest(name, "default", mode="Opportunistic"))


def _parse(text: str) -> list[object]:
    return list(yaml.load_all(text, yaml.CSafeLoader))


def _milliseconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3
