"""Reads the policy of the installer again and again: one ConfigMap, with a right on this object only."""

import asyncio
import logging
from collections.abc import Callable

from kvtier.api.kinds import CONFIG_MAP, Object
from kvtier.api.names import POLICY, PoolKey
from kvtier.api.policy import InvalidPolicyError
from kvtier.control.applier import write_event
from kvtier.control.queue import WorkQueue
from kvtier.control.store import Store
from kvtier.facts.policy import PolicyFacts, Problem, installed
from kvtier.kube.client import ApiError, KubeClient
from kvtier.plan.events import PoolEvent

logger = logging.getLogger(__name__)


class PolicyReader:
    """Keeps the policy in the store, and queues all pools when it changed.

    The last valid policy stays when a change is not valid, or while it cannot be read. Until one was valid, nothing is
    granted. `namespace` is that of the operator.
    """

    def __init__(
        self,
        client: KubeClient,
        store: Store,
        queue: WorkQueue[PoolKey],
        namespace: str,
        clock: Callable[[], str],
    ) -> None:
        self._client = client
        self._store = store
        self._queue = queue
        self._namespace = namespace
        self._clock = clock
        self._problem: str | None = None
        """What was last logged."""

    async def forever(self, seconds: float) -> None:
        """Read the policy every few seconds."""
        while True:
            await asyncio.sleep(seconds)
            try:
                await self.once()
            except Exception:
                logger.exception("Could not read the policy")

    async def once(self) -> None:
        """Read the policy now. Raises nothing that is expected."""
        found: Object | None = None
        try:
            found = await self._client.get(CONFIG_MAP, self._namespace, POLICY)
            policy = installed(found)
        except ApiError as error:
            self._refuse("Unread", str(error))
        except InvalidPolicyError as error:
            if self._refuse("Invalid", str(error)):
                await self._report(found or {}, str(error))
        else:
            self._problem = None
            self._take_effect(PolicyFacts(policy, self._where))

    @property
    def _where(self) -> str:
        return f"{self._namespace}/{POLICY}"

    def _refuse(self, problem: Problem, why: str) -> bool:
        """Keep the last valid policy, or grant nothing. Return whether this is new."""
        new, self._problem = why != self._problem, why
        if new:
            logger.error("ConfigMap %s is not in effect: %s", self._where, why)
        if self._store.policy().problem:
            self._store_policy(PolicyFacts(where=self._where, problem=problem))
        return new

    def _take_effect(self, policy: PolicyFacts) -> None:
        if policy != self._store.policy():
            logger.info("Policy %s is in effect: %d grants", self._where, len(policy.policy.grants))
            self._store_policy(policy)

    def _store_policy(self, policy: PolicyFacts) -> None:
        for key in self._store.set_policy(policy):
            self._queue.add(key)

    async def _report(self, config_map: Object, why: str) -> None:
        """An Event about the ConfigMap: only the installer may read it, as it may name other namespaces."""
        metadata = config_map["metadata"]
        about = {
            "apiVersion": "v1",
            "kind": CONFIG_MAP.kind,
            "name": POLICY,
            "namespace": self._namespace,
            "uid": metadata["uid"],
        }
        kept = (
            "kvtier grants nothing" if self._store.policy().problem else "kvtier uses the last valid policy"
        )
        event = PoolEvent("Warning", "PolicyInvalid", f"{kept}. Correct policy.yaml: {why}")
        await write_event(self._client, about, event, self._clock())
