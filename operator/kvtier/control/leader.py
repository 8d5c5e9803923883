"""Leader election by a Lease: one replica writes, the others keep their stores up to date.

The official client has a leader election too, but its LeaseLock cannot create a Lease (kubernetes 37.0.2:
`pretty=True` fails its own validation), and it stops at the first broken connection.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from kvtier.api.kinds import LEASE, Object
from kvtier.kube.client import ApiError, KubeClient

logger = logging.getLogger(__name__)

NAME = "kvtier-operator"
DURATION_SECONDS = 15.0
RENEW_DEADLINE_SECONDS = 10.0
RETRY_SECONDS = 2.0


class Election:
    """One candidate. Every write has the resourceVersion that was read, so two candidates can never both win.

    A candidate decides by its own clock that the Lease of a rival has expired: from how long the Lease did not change.
    Clocks of different machines are never compared.
    """

    def __init__(
        self, client: KubeClient, namespace: str, identity: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._identity = identity
        self._clock = clock
        self._seen: tuple[Any, float] = (None, 0.0)
        self._renewed = 0.0

    async def lead(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Wait for the Lease, then run `work` while it is held.

        Return when the Lease is lost; raise what `work` raises. On cancellation, and when `work` ends, release the
        Lease, so that the next replica does not wait until it expires.
        """
        while not await self.attempt():  # noqa: ASYNC110 - the event happens on another machine
            await asyncio.sleep(RETRY_SECONDS)
        logger.info("Leading as %s", self._identity)
        working, holding = asyncio.create_task(work()), asyncio.create_task(self._hold())
        try:
            done, _ = await asyncio.wait((working, holding), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            lost = holding.done()
            working.cancel()
            holding.cancel()
            await asyncio.gather(working, holding, return_exceptions=True)
            if not lost:
                await self._quietly(self._release())

    async def attempt(self) -> bool:
        """Take or renew the Lease once, and return whether it is held now. No answer counts as not held.

        The Lease runs from the start of the request: a rival counts from the write, even if its answer arrives late.
        """
        asked = self._clock()
        held = await self._quietly(self._attempt())
        if held:
            self._renewed = asked
        return held

    async def _attempt(self) -> bool:
        lease = await self._client.get(LEASE, self._namespace, NAME)
        if lease is None:
            await self._client.create(LEASE, self._manifest({"name": NAME, "namespace": self._namespace}, {}))
            return True
        spec = lease.get("spec") or {}
        if spec.get("holderIdentity") not in (None, "", self._identity) and not self._expired(spec):
            return False
        await self._client.replace(LEASE, self._manifest(lease["metadata"], spec))
        return True

    def _expired(self, spec: Object) -> bool:
        seen, since = self._seen
        if seen != spec:
            self._seen = (spec, self._clock())
            return False
        return self._clock() - since > float(spec.get("leaseDurationSeconds") or DURATION_SECONDS)

    def _manifest(self, metadata: Object, old: Object, holder: str | None = None) -> dict[str, Any]:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        mine = old.get("holderIdentity") == self._identity
        return {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": dict(metadata),
            "spec": {
                "holderIdentity": self._identity if holder is None else holder,
                "leaseDurationSeconds": int(DURATION_SECONDS),
                "acquireTime": old["acquireTime"] if mine and old.get("acquireTime") else now,
                "renewTime": now,
                "leaseTransitions": int(old.get("leaseTransitions") or 0) + (not mine),
            },
        }

    async def _hold(self) -> None:
        """Renew until renewals fail or hang for the renewal deadline, which is shorter than the Lease."""
        while (left := self._renewed + RENEW_DEADLINE_SECONDS - self._clock()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await asyncio.sleep(RETRY_SECONDS)
                    await self.attempt()
        logger.error("The Lease could not be renewed for %.0f s", RENEW_DEADLINE_SECONDS)

    async def _release(self) -> bool:
        lease = await self._client.get(LEASE, self._namespace, NAME)
        if lease is not None and lease.get("spec", {}).get("holderIdentity") == self._identity:
            await self._client.replace(LEASE, self._manifest(lease["metadata"], lease["spec"], holder=""))
        return True

    async def _quietly(self, request: Awaitable[bool]) -> bool:
        try:
            async with asyncio.timeout(RENEW_DEADLINE_SECONDS):
                return await request
        except TimeoutError:
            logger.warning("Lease %s/%s: the API server did not answer", self._namespace, NAME)
        except ApiError as error:
            if error.status != 409:
                logger.warning("Lease %s/%s: %s", self._namespace, NAME, error)
        return False
