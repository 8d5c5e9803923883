"""A pool's surroundings at one moment, from the store and from what has to be asked for."""

from dataclasses import replace

from kvtier.api.names import PoolKey
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.control.store import Store
from kvtier.facts import events, references
from kvtier.facts.children import children
from kvtier.facts.gke import GKEReader
from kvtier.facts.lustre_api import LustreReader
from kvtier.facts.model import Facts, LustreFacts, Observed
from kvtier.kube.client import KubeClient
from kvtier.pace import Pace
from kvtier.plan.lustre.identity import instance_name


class Observer:
    """Puts together what the planner looks at."""

    def __init__(
        self, client: KubeClient, store: Store, gke: GKEReader, lustre: LustreReader, pace: Pace
    ) -> None:
        self._client = client
        self._store = store
        self._gke = gke
        self._lustre = lustre
        self._pace = pace

    async def observe(self, pool: KVCachePool, now: str) -> Observed:
        """Everything, asked anew where the store cannot know. Raises ApiError."""
        facts = Facts(
            cluster=self._store.cluster(),
            gke=await self._gke.read(pool.spec.cluster),
            secrets=await references.read_secrets(self._client, pool),
            config_maps=await references.read_config_maps(self._client, pool),
            volumes=self._store.volumes(),
        )
        seen = await self.again(pool, Observed(facts))
        heard = await events.read(self._client, pool, seen.views, now, self._pace)
        return replace(
            seen, claim_events=heard.claim_events, pod_events=heard.pod_events, holders=heard.holders
        )

    async def again(self, pool: KVCachePool, seen: Observed) -> Observed:
        """`seen` with what kvtier's own writes and calls have changed since."""
        key = PoolKey(pool.namespace, pool.name)
        objects = self._store.children(key)
        fresh = replace(seen, children=objects, views=children(objects))
        lustre, volumes = await self._ask(pool, fresh), self._store.volumes()
        filesystem = lustre.instance.filesystem if lustre and lustre.instance else ""
        neighbours = self._store.neighbours(key, filesystem)
        return replace(
            fresh, facts=replace(fresh.facts, volumes=volumes, lustre=lustre, neighbours=neighbours)
        )

    async def _ask(self, pool: KVCachePool, seen: Observed) -> LustreFacts | None:
        unfinished = {
            one.request_id: one.name or "" for one in pool.status.operations if one.state == "Running"
        }
        return await self._lustre.read(instance_name(pool, seen), unfinished)
