"""Stores chunks in a bucket and loads them, with vLLM's own tier, as an engine creates it, and the real NIXL."""

import functools
import sys
import time
from collections.abc import Iterator
from typing import Any

import nixl_cu12
import numpy as np
from nixl_cu12 import _api, _bindings
from vllm.v1.kv_offload.base import LookupResult, ReqContext, make_offload_key
from vllm.v1.kv_offload.tiering.base import ScheduleEndContext, TransferJob
from vllm.v1.kv_offload.tiering.factory import SecondaryTierFactory

from . import offloading

# vLLM imports the package nixl, which would choose the build for the CUDA version of torch.
sys.modules.update({"nixl": nixl_cu12, "nixl._api": _api, "nixl._bindings": _bindings})
_KEYS = [make_offload_key(bytes([number]) * 32, 0) for number in range(2)]
_ABSENT = make_offload_key(b"\xff" * 32, 0)
# Longer than any response of the endpoint, and shorter than the limit of a test.
_PATIENCE_SECONDS = 90.0


def answer(config: dict[str, Any], transfer: dict[str, Any], steps: list[str]) -> dict[str, Any]:
    """The results of these steps in an engine with only this tier below its CPU tier.

    `steps` are methods of the engine below. Each has its result and its time (`seconds`). `ended`: the exception with
    which the engine would have ended, and the step. `same`: the loaded bytes are equal to the stored bytes.
    """
    found: dict[str, Any] = {"ended": None, "seconds": {}}
    engine = _Engine(config, transfer)
    for step in ("start", *steps):
        started = time.monotonic()
        try:
            found[step] = getattr(engine, step)()
        except Exception as error:
            found["ended"] = f"{step}: {type(error).__name__}: {error}"
            break
        finally:
            found["seconds"][step] = time.monotonic() - started
    engine.end()
    return found | {"same": engine.same()}


class _Engine:
    """Host memory for the stored chunks, and for as many loaded chunks."""

    def __init__(self, config: dict[str, Any], transfer: dict[str, Any]) -> None:
        self._spec = offloading.specified(config, transfer, "auto", 1, None)
        self._memory = _memory(self._spec.kv_bytes_per_chunk)
        stored, loaded = np.split(self._memory, 2)
        stored[:] = np.random.default_rng(0).integers(0, 256, stored.shape, dtype=np.uint8)
        loaded[:] = 0
        self._tier: Any = None

    def start(self) -> str:
        (tier,) = self._spec.secondary_tier_configs
        self._tier = SecondaryTierFactory.create_secondary_tier(tier, memoryview(self._memory), self._spec)
        return type(self._tier).__name__

    def store(self) -> bool:
        self._tier.submit_store(_job(1, range(len(_KEYS)), is_promotion=False))
        return self._finished()

    def load(self) -> bool:
        self._tier.submit_load(_job(2, range(len(_KEYS), 2 * len(_KEYS)), is_promotion=True))
        return self._finished()

    def reuse(self) -> None:
        """Reuse the memory of the stored chunks, as the CPU tier may do after a store has ended."""
        self._memory[: len(_KEYS)] = 0

    def lookup(self) -> list[str]:
        """Look up the stored chunks, and in a separate request one that is never stored."""
        request = ReqContext(req_id=str(time.monotonic()))
        for _ in _until_given_up():
            found = [self._tier.lookup(key, request) for key in (*_KEYS, _ABSENT)]
            self._tier.on_schedule_end(ScheduleEndContext([], []))
            if LookupResult.RETRY not in found:
                break
        self._tier.on_request_finished(request)
        return [one.name for one in found]

    def appear(self) -> list[str]:
        """Look up until something is found."""
        return next(found for _ in _until_given_up() if "HIT" in (found := self.lookup()))

    def same(self) -> bool:
        return bool((self._memory[: len(_KEYS)] == self._memory[len(_KEYS) :]).all())

    def end(self) -> None:
        if self._tier:
            self._tier.shutdown()
            self._tier = None

    def _finished(self) -> bool:
        return bool(next(one.success for _ in _until_given_up() for one in self._tier.get_finished_jobs()))


def _until_given_up() -> Iterator[None]:
    """Repeat it until it succeeds. Raises TimeoutError after some time."""
    given_up = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < given_up:
        yield
        time.sleep(0.01)
    raise TimeoutError(f"no answer in {_PATIENCE_SECONDS} s")


@functools.cache
def _memory(chunk_bytes: int) -> Any:
    """Memory that is never freed, as in an engine: NIXL may still read from it after a failed transfer."""
    return np.zeros((2 * len(_KEYS), chunk_bytes), dtype=np.uint8)


def _job(number: int, places: range, is_promotion: bool) -> TransferJob:
    return TransferJob(
        number, _KEYS, np.array(places, dtype=np.int32), is_promotion, ReqContext(req_id="transfer")
    )
