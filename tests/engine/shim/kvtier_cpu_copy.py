"""TEST ONLY: a vLLM plugin that lets vLLM's own offloading run without a GPU.

Replaced: the copy between device and host memory (a synchronous memmove instead of streams, events and a copy kernel),
one assertion that the device is a GPU, and the check of the platform. Not changed: the scheduler, the tiering manager,
the file tier with its threads, names and bytes on disk, /dev/shm, and the command line.
"""

import contextlib
import ctypes
import inspect
import textwrap
import time
from collections.abc import Iterator
from typing import Any

_ASSERTION = "assert gpu_tensor.is_cuda or gpu_tensor.is_xpu"


class _Event:
    """An event in a synchronous stream."""

    def __init__(self, **_: Any) -> None:
        self._at = 0.0

    def record(self, _: Any = None) -> None:
        self._at = time.perf_counter()

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        """Return at once."""

    def elapsed_time(self, other: "_Event") -> float:
        return (other._at - self._at) * 1e3


class _Stream:
    def wait_stream(self, _: Any) -> None:
        """Everything before is done."""

    def wait_event(self, _: Any) -> None:
        """Everything before is done."""


class _Instead:
    """`original` with some attributes replaced."""

    def __init__(self, original: Any, **others: Any) -> None:
        self.__dict__.update(others, _original=original)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


@contextlib.contextmanager
def _on(_: Any) -> Iterator[None]:
    yield


def _copy(sources: Any, targets: Any, sizes: Any, **_: Any) -> None:
    for source, target, size in zip(sources.tolist(), targets.tolist(), sizes.tolist(), strict=True):
        ctypes.memmove(target, source, size)


def register() -> None:
    """Called by vLLM in each of its processes."""
    from vllm.v1.kv_offload.cpu import gpu_worker as worker
    from vllm.v1.kv_offload.cpu import spec

    if isinstance(worker.torch, _Instead):
        return
    platform = worker.current_platform
    worker.current_platform = _Instead(platform, Stream=_Stream, current_stream=_Stream, stream=_on)
    worker.torch = _Instead(worker.torch, Event=_Event)
    worker._select_swap_blocks_fn = lambda *_: _copy
    worker.PIN_MEMORY = False
    worker.SingleDirectionOffloadingHandler.__init__ = _without_assertion(worker)
    spec.CPUOffloadingSpec.get_worker = _get_worker


def _without_assertion(worker: Any) -> Any:
    source = textwrap.dedent(inspect.getsource(worker.SingleDirectionOffloadingHandler.__init__))
    assert source.count(_ASSERTION) == 1, "vLLM's handler has changed: check what this plugin must replace"
    made: dict[str, Any] = {}
    exec(compile(source.replace(_ASSERTION, "pass"), worker.__file__, "exec"), worker.__dict__, made)
    return made["__init__"]


def _get_worker(self: Any, kv_caches: Any) -> Any:
    if not self._worker:
        self._worker = self.create_worker(kv_caches)
    return self._worker
