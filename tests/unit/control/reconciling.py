"""A reconciler around one pool, on an API server in memory."""

from typing import Any

from kvtier.api.names import LUSTRE_DRIVER, PoolKey
from kvtier.control.reconciler import Reconciler
from kvtier.control.store import Store
from kvtier.facts.gke import GKEReader
from kvtier.facts.lustre_api import LustreReader
from kvtier.kube.client import ApiError
from unit.builders import NOW, document, joined
from unit.memory import MemoryClient, Write

KEY = PoolKey("team-a", "chat")
PLAIN = {"tiers": {"lustre": None}}


class Cluster:
    """A client, a store and a reconciler around one pool."""

    def __init__(self, *objects: Any) -> None:
        self.client = MemoryClient(*objects)
        self.store = Store()
        self.store.set_version("v1.35.6-gke.1049000")
        self.store.put("CSIDriver", {"metadata": {"name": LUSTRE_DRIVER}})
        for obj in objects:
            self.store.put(obj["kind"], obj)
        self._reconciler = Reconciler(self.client, self.store, GKEReader(), LustreReader())
        self._reconciler.clock = lambda: NOW

    async def reconcile(self) -> float | None:
        return await self._reconciler.reconcile(KEY)

    @property
    def written(self) -> list[tuple[str, str]]:
        """Verb and kind of every write since the last look."""
        writes, self.client.writes = self.client.writes, []
        return [write[:2] for write in writes]

    def status(self) -> Any:
        return self.client.find("KVCachePool")["status"]


def stored(**changes: Any) -> Any:
    return document(**joined({"metadata": {"resourceVersion": "1"}}, changes))


def refusing(kind: str, error: ApiError) -> Any:
    def refuse(write: Write) -> ApiError | None:
        return error if write[1] == kind else None

    return refuse
