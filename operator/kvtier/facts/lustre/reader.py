"""Asks the Lustre API about instances and operations, once for all who want to know, and never for long."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType

from kvtier.facts.lustre import hints, messages
from kvtier.facts.lustre.memory import FRESH_SECONDS, Memory
from kvtier.facts.model import Instance, LustreFacts, Operation
from kvtier.gcp import lustre
from kvtier.gcp.errors import GoogleError

logger = logging.getLogger(__name__)

_PATIENCE_SECONDS = 2.0
_NONE: Mapping[str, str] = MappingProxyType({})

_FINAL = ("InvalidArgument", "PermissionDenied")
"""Answers about this very resource; everything else may have to do with the moment."""


class LustreReader:
    """Facts of instances, by full name: projects/P/locations/ZONE/instances/ID.

    An answer that takes longer than `patience` seconds is left to the next reader, the first one too. How
    long an answer stands, and what an outage does to it, is for `Memory` to say.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        patience: float = _PATIENCE_SECONDS,
        fresh_seconds: float = FRESH_SECONDS,
    ) -> None:
        self._clock = clock
        self._fresh_seconds = fresh_seconds
        self.patience = patience
        self._memories: dict[str, Memory] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}

    async def read(self, instance: str | None, operations: Mapping[str, str] = _NONE) -> LustreFacts | None:
        """Facts of the instance, None without one. `operations` are the names to look at, by request id."""
        if instance is None:
            return None
        memory = self._expecting(instance, operations)
        if memory.due(self._clock()):
            await asyncio.wait({self._question(instance)}, timeout=self.patience)
        return memory.facts()

    async def ask(self, instance: str | None, operations: Mapping[str, str] = _NONE) -> LustreFacts | None:
        """The same, for commands: waits for the answer, at most 15 s (30 s, if there are operations)."""
        if instance is None:
            return None
        memory = self._expecting(instance, operations)
        if memory.due(self._clock()):
            await asyncio.shield(self._question(instance))
        return memory.facts()

    def note(self, instance: str, request: str, operation: Operation) -> None:
        """What has become of a request; the instance is asked for anew. A bare Operation is under way."""
        self._memory(instance).note(request, operation, self._clock())

    def noted(self, instance: str, request: str) -> Operation | None:
        """The operation of a request id, as far as it is known here."""
        return self._memory(instance).operation(request, self._clock())

    def forget(self, instance: str) -> None:
        """The next reader asks anew."""
        self._memory(instance).outdate()

    def _memory(self, instance: str) -> Memory:
        return self._memories.setdefault(instance, Memory(instance, self._fresh_seconds))

    def _expecting(self, instance: str, operations: Mapping[str, str]) -> Memory:
        memory = self._memory(instance)
        memory.expect(operations, self._clock())
        return memory

    def _question(self, instance: str) -> asyncio.Task[None]:
        """The question under way, or a new one. It is nobody's own, so that a cancelled reader ends only itself."""
        if instance not in self._asking:
            task = asyncio.create_task(self._refresh(instance))
            task.add_done_callback(lambda done: self._answered(instance, done))
            self._asking[instance] = task
        return self._asking[instance]

    def _answered(self, instance: str, task: asyncio.Task[None]) -> None:
        del self._asking[instance]
        if not task.cancelled() and (error := task.exception()):
            logger.error("%s: unexpected error", instance, exc_info=error)

    async def _refresh(self, instance: str) -> None:
        """Operations, then the instance; once more if anything has happened meanwhile."""
        memory, changes = self._memory(instance), -1
        while changes != memory.changes:
            changes = memory.changes
            polled = await self._poll(memory.unfinished())
            try:
                found = await _instance(instance)
            except GoogleError as error:
                self._failed(instance, error, polled)
            else:
                memory.answered(found, polled, self._clock())

    def _failed(self, instance: str, error: GoogleError, polled: Mapping[str, Operation]) -> None:
        memory, hint = self._memory(instance), hints.hint(instance, error)
        if hint != memory.failure:
            logger.warning("%s", hint)
        memory.failed(hint, polled, self._clock(), final=error.status in _FINAL)

    async def _poll(self, names: Mapping[str, str]) -> dict[str, Operation]:
        """Operations by request id, without those of which nothing can be told now."""
        found = await asyncio.gather(*(_operation(name) for name in names.values()))
        return {request: one for request, one in zip(names, found, strict=True) if one}


async def _instance(name: str) -> Instance | None:
    """None if there is none. GoogleError if that cannot be told."""
    try:
        return messages.instance(await lustre.get_instance(name), name)
    except GoogleError as error:
        if error.status == "NotFound":
            return None
        raise


async def _operation(name: str) -> Operation | None:
    try:
        return messages.operation(await lustre.get_operation(name), name)
    except GoogleError as error:
        if error.status == "NotFound":
            return Operation(name, done=True, code="NotFound", message=str(error))
        if error.status == "PermissionDenied":
            return Operation(name, message=hints.hint(name, error))
        return None
