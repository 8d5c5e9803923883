"""Makes the requests to the Lustre API that a plan asks for."""

import asyncio
import logging
from collections.abc import Sequence

from kvtier.facts.asking import PATIENCE_SECONDS
from kvtier.facts.lustre_api import LustreReader
from kvtier.facts.model import Operation
from kvtier.gcp import lustre
from kvtier.gcp.errors import GoogleError
from kvtier.plan.lustre.operations import UNANSWERED
from kvtier.plan.model import Call

logger = logging.getLogger(__name__)


class LustreCaller:
    """Starts operations, each request in a task of its own, and tells the reader what has become of it.

    A plan that is carried out again repeats no request: neither one under way, nor one that was answered,
    be it by a refusal. Another attempt takes another request id.
    """

    def __init__(self, reader: LustreReader, patience: float = PATIENCE_SECONDS) -> None:
        self._reader = reader
        self.patience = patience
        self._under_way: dict[str, asyncio.Task[None]] = {}

    async def carry_out(self, calls: Sequence[Call]) -> bool:
        """Whether any request was made now. Waits for their answers, but no longer than `patience` seconds."""
        made = [self._begin(call) for call in calls if self._wanted(call)]
        if made:
            await asyncio.wait(made, timeout=self.patience)
        return bool(made)

    async def close(self) -> None:
        """Give up on requests that are under way. The API may carry them out nevertheless."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _wanted(self, call: Call) -> bool:
        if call.request in self._under_way:
            return False
        known = self._reader.operation(call.instance, call.request)
        return known is None or (not known.name and (not known.done or known.code in UNANSWERED))

    def _begin(self, call: Call) -> asyncio.Task[None]:
        self._reader.note(call.instance, call.request, Operation())
        task = asyncio.create_task(self._make(call))
        task.add_done_callback(lambda _: self._under_way.pop(call.request))
        self._under_way[call.request] = task
        return task

    async def _make(self, call: Call) -> None:
        try:
            started = await lustre.start(call.verb, call.instance, call.request, call.body)
        except GoogleError as error:
            logger.warning("%s %s: %s: %s", call.verb, call.instance, error.status, error)
            answer = Operation(done=True, code=error.status, message=str(error))
        else:
            logger.info("%s %s: %s", call.verb, call.instance, started.name)
            answer = Operation(started.name)
        self._reader.note(call.instance, call.request, answer)
