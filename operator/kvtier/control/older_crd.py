"""A CRD that is older than the operator: what it lacks is reported, and left out of every status."""

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

from kvtier import __version__
from kvtier.api.crd import missing_fields
from kvtier.api.kinds import EVENT, LEASE, POOL
from kvtier.api.names import derive
from kvtier.api.sentences import sentences
from kvtier.control import leader
from kvtier.control.reconciler import utc_now
from kvtier.kube.aio import AioClient
from kvtier.kube.client import ApiError
from kvtier.plan.events import PoolEvent

logger = logging.getLogger(__name__)

_MOST_NAMED = 5


class ServedCRD:
    """What the CRD in the cluster lacks. Until the first `compare`, nothing."""

    def __init__(self, client: AioClient, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._lacking: list[str] = []

    def fitting(self, status: dict[str, Any]) -> dict[str, Any]:
        """A status without the fields that the CRD lacks. The API server refuses a server-side apply with any."""
        return without(
            status, [one.removeprefix("status.") for one in self._lacking if one.startswith("status.")]
        )

    async def compare_regularly(self, seconds: float) -> None:
        """Compare every few minutes: the CRD may be updated, or replaced by an older one."""
        while True:
            await asyncio.sleep(seconds)
            await self.compare()

    async def compare(self) -> None:
        """Compare the served CRD with that of this version. Log a difference, and write an Event about the Lease."""
        try:
            served = await self._client.schema(POOL)
            lacking = missing_fields(served) if served else []
            if lacking == self._lacking:
                return
            self._lacking = lacking
            if lacking:
                event = older(lacking)
                logger.error("%s", event.message)
                await self._client.apply(EVENT, _manifest(event, self._namespace))
        except ApiError as error:
            logger.warning("Could not compare the CRD with that of this version: %s", error)


def without(document: dict[str, Any], paths: Iterable[str]) -> dict[str, Any]:
    """A copy without the fields at these paths, such as `operations[].name`."""
    for path in paths:
        step, _, rest = path.partition(".")
        name = step.removesuffix("[]")
        if not rest:
            document = {key: value for key, value in document.items() if key != name}
        elif isinstance(document.get(name), list):
            document = {**document, name: [without(item, [rest]) for item in document[name]]}
        elif isinstance(document.get(name), dict):
            document = {**document, name: without(document[name], [rest])}
    return document


def older(lacking: list[str]) -> PoolEvent:
    """The Event that says what the CRD lacks, and what to do."""
    named = ", ".join(lacking[:_MOST_NAMED])
    more = f" and {len(lacking) - _MOST_NAMED} more" if len(lacking) > _MOST_NAMED else ""
    message = sentences(
        f"The CRD {POOL.full_name} is older than kvtier {__version__}. It lacks {named}{more}",
        "Pools lose these fields",
        "Apply the CRD of this version: kvtier crd | kubectl apply --server-side -f -",
    )
    return PoolEvent("Warning", "OlderCRD", message)


def _manifest(event: PoolEvent, namespace: str) -> dict[str, Any]:
    now = utc_now()
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.kind,
        "metadata": {"name": derive(leader.NAME, event.message, now, limit=63), "namespace": namespace},
        "involvedObject": {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "name": leader.NAME,
            "namespace": namespace,
        },
        "type": event.type,
        "reason": event.reason,
        "message": event.message,
        "source": {"component": "kvtier"},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
