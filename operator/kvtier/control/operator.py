"""The operator's process: it waits for the CRD, watches, and reconciles while it leads."""

import asyncio
import gc
import logging
import os
import socket
import time
from contextlib import suppress
from dataclasses import dataclass

import kopf

from kvtier.api.kinds import POOL
from kvtier.api.names import PoolKey
from kvtier.control import watch
from kvtier.control.leader import Election
from kvtier.control.older_crd import ServedCRD
from kvtier.control.policy import PolicyReader
from kvtier.control.queue import WorkQueue
from kvtier.control.reconciler import Reconciler, utc_now
from kvtier.control.resync import Resync
from kvtier.control.store import Store
from kvtier.facts.gke import GKEReader
from kvtier.facts.lustre_api import LustreReader
from kvtier.kube.aio import AioClient, connect
from kvtier.kube.client import ApiError
from kvtier.pace import DEFAULT, Pace

logger = logging.getLogger(__name__)

_RETRY_SECONDS = 2.0
_HEAD_START_SECONDS = 5.0
_GC_THRESHOLDS = (50_000, 20, 50)


@dataclass(frozen=True)
class Options:
    """Settings of the process. `lease_namespace` is the namespace of the Lease that replicas compete for, and of the
    policy.

    `pace` sets how often it reads what no watch reports.
    """

    lease_namespace: str
    workers: int = 8
    resync_seconds: float = 300.0
    pace: Pace = DEFAULT
    liveness: str | None = None
    kubeconfig: str | None = None
    context: str | None = None


class LeadershipLostError(Exception):
    """Another replica may lead now, so this process must end."""


async def operate(options: Options) -> None:
    """Connect and run until a signal. Raise LeadershipLostError when the Lease is lost."""
    _collect_garbage_less()
    api = await connect(options.kubeconfig, options.context)
    try:
        await Operator(AioClient(api), options).run()
    finally:
        await api.close()


class Operator:
    """Connects the store, the queue and the reconciler."""

    def __init__(self, client: AioClient, options: Options) -> None:
        self._client = client
        self._options = options
        self._store = Store()
        self._queue: WorkQueue[PoolKey] = WorkQueue()
        gke = GKEReader(pace=options.pace)
        lustre = LustreReader(pace=options.pace)
        self._crd = ServedCRD(client, options.lease_namespace)
        self._reconciler = Reconciler(client, self._store, gke, lustre, options.pace)
        self._reconciler.fitting = self._crd.fitting
        self._unverified: set[PoolKey] = set()
        self._all_verified = asyncio.Event()
        self._started = time.monotonic()

    async def run(self) -> None:
        """Run until a signal. Raise LeadershipLostError when the Lease is lost."""
        await self._await_crd()
        stop = asyncio.Event()
        leading = asyncio.create_task(self._lead(stop))
        handlers = watch.registry(self._client.api, self._store, self._queue, self._head_start)

        @kopf.on.cleanup(registry=handlers)
        async def stand_down(**_: object) -> None:
            leading.cancel()
            await asyncio.gather(leading, return_exceptions=True)

        await kopf.operator(
            registry=handlers,
            settings=watch.settings(),
            clusterwide=True,
            stop_flag=stop,
            liveness_endpoint=self._options.liveness,
        )
        if not leading.cancelled():
            leading.result()
            raise LeadershipLostError("leadership was lost; the process ends so that a new one replaces it")

    async def _await_crd(self) -> None:
        """Wait until the API server serves pools: kopf never watches a resource that is missing when it starts."""
        while not await self._pools_are_served():  # noqa: ASYNC110 - the event happens in the cluster
            await asyncio.sleep(_RETRY_SECONDS)

    async def _pools_are_served(self) -> bool:
        try:
            # One namespace is enough to find out, and cheap.
            if await self._client.list(POOL, self._options.lease_namespace) is not None:
                return True
            crd = f"{POOL.plural}.{POOL.group}"
            logger.error("CRD %s is missing. Install it: kvtier crd | kubectl apply --server-side -f -", crd)
        except ApiError as error:
            logger.error("Could not list a resource that kvtier needs: %s", error)
        return False

    async def _lead(self, stop: asyncio.Event) -> None:
        identity = f"{socket.gethostname()}-{os.getpid()}"
        try:
            await Election(self._client, self._options.lease_namespace, identity).lead(self._work)
        finally:
            stop.set()

    async def _work(self) -> None:
        """The work that only the leader does."""
        resync = Resync(self._client, self._store, self._queue)
        policy = PolicyReader(self._client, self._store, self._queue, self._options.lease_namespace, utc_now)
        await policy.once()
        await resync.until_done()
        await self._crd.compare()
        self._unverified = self._store.all_keys()
        self._verified()
        async with asyncio.TaskGroup() as group:
            group.create_task(resync.forever(self._options.resync_seconds))
            group.create_task(self._crd.compare_regularly(self._options.resync_seconds))
            group.create_task(policy.forever(self._options.pace.policy))
            for _ in range(self._options.workers):
                group.create_task(self._worker())

    async def _worker(self) -> None:
        while True:
            key = await self._queue.get()
            failed, retry_after = False, None
            try:
                again = await self._reconciler.reconcile(key)
                if again is not None:
                    self._queue.add_after(key, again)
            except ApiError as error:
                failed, retry_after = True, error.retry_after
                logger.warning("Pool %s/%s: %s", *key, error)
            except Exception:
                failed = True
                logger.exception("Pool %s/%s: unexpected error", *key)
            self._queue.done(key, failed, retry_after)
            self._verified(key)

    async def _head_start(self) -> None:
        """Let a new leader verify all listed pools before kopf lists and replays everything again.

        A replica that does not lead starts to watch after some seconds.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(_HEAD_START_SECONDS):
                await self._all_verified.wait()

    def _verified(self, *keys: PoolKey) -> None:
        """Record reconciled pools. Log once when every pool of the first LIST was reconciled."""
        self._unverified.difference_update(keys)
        if not self._unverified and not self._all_verified.is_set():
            self._all_verified.set()
            logger.info("Verified all pools %.2f s after the start", time.monotonic() - self._started)


def _collect_garbage_less() -> None:
    """Let Python's garbage collector skip what the imports created, and run less often.

    Stored objects are never garbage. A collection at every LIST took a fifth of the CPU time of a start with 1,000
    pools, and freed nothing.
    """
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
