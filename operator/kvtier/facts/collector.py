"""Collects everything that kvtier observes about a pool, for the operator and for commands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pydantic import ValidationError

from kvtier.api import names
from kvtier.api.kinds import POOL, VOLUME, Object
from kvtier.api.names import PoolKey
from kvtier.api.v1alpha1 import KVCachePool, PoolStatus
from kvtier.facts import events, references
from kvtier.facts.children import Children
from kvtier.facts.cluster import ClusterParts
from kvtier.facts.gke import GKEReader
from kvtier.facts.identity import instance_name
from kvtier.facts.lustre_api import LustreReader
from kvtier.facts.model import Cluster, Facts, Observed, OwnCluster
from kvtier.facts.neighbours import Neighbour, Neighbourhood, neighbour, parsed
from kvtier.facts.own_cluster import OwnClusterReader
from kvtier.facts.volumes import Volumes, volume
from kvtier.kube.client import CLUSTER_FACTS, KubeClient
from kvtier.pace import DEFAULT, Pace


class Source(Protocol):
    """The cluster from watches or LISTs. `volumes`: all Lustre PersistentVolumes, also those of others."""

    def cluster(self) -> Cluster: ...

    def volumes(self) -> Volumes: ...

    def neighbours(self, key: PoolKey, filesystem: str = "") -> tuple[Neighbour, ...]:
        """Other pools that name the same Lustre instance or file system.

        `filesystem`: the pool's own name, if only its existing instance gives it.
        """

    def children(self, key: PoolKey) -> Children: ...


class Collector:
    """Collects the input of checks and planner.

    The source is watched. The rest is read each time: the GKE and Lustre APIs (whose readers cache answers), Secrets,
    ConfigMaps and Events.
    """

    def __init__(
        self, client: KubeClient, source: Source, gke: GKEReader, lustre: LustreReader, pace: Pace = DEFAULT
    ) -> None:
        self._client = client
        self._source = source
        self._own_cluster = OwnClusterReader(client)
        self._gke = gke
        self._lustre = lustre
        self._pace = pace

    async def collect(self, pool: KVCachePool, now: str) -> Observed:
        """Read everything. Raises ApiError."""
        facts = Facts(
            cluster=self._source.cluster(),
            own_cluster=await self._own_cluster.read() if _has_own_instance(pool) else OwnCluster(),
            gke=await self._gke.read(pool.spec.cluster),
            secrets=await references.read_secrets(self._client, pool),
            config_maps=await references.read_config_maps(self._client, pool),
        )
        seen = await self.again(pool, Observed(facts))
        found = await events.read(self._client, pool, seen.children, now, self._pace)
        return replace(
            seen, claim_events=found.claim_events, pod_events=found.pod_events, holders=found.holders
        )

    async def again(self, pool: KVCachePool, seen: Observed) -> Observed:
        """`seen`, updated with the results of kvtier's own writes and calls since then."""
        key = PoolKey(pool.namespace, pool.name)
        children = self._source.children(key)
        unfinished = {
            one.request_id: one.name or "" for one in pool.status.operations if one.state == "Running"
        }
        lustre = await self._lustre.read(instance_name(pool, children, self._source.volumes()), unfinished)
        filesystem = lustre.instance.filesystem if lustre and lustre.instance else ""
        facts = replace(
            seen.facts,
            lustre=lustre,
            volumes=self._source.volumes(),
            neighbours=self._source.neighbours(key, filesystem),
        )
        return replace(seen, facts=facts, children=children)


def _has_own_instance(pool: KVCachePool) -> bool:
    """Whether the pool has, or had, an instance that kvtier itself labels."""
    lustre = pool.spec.tiers.lustre
    return (lustre is not None and lustre.provisioner == "API") or bool(pool.status.operations)


@dataclass(frozen=True)
class Snapshot:
    """The cluster from one set of LISTs: a Source for commands, without children.

    `pools`: the pools of the command line, each as if it were applied.
    """

    pools: tuple[KVCachePool, ...]
    _cluster: Cluster
    _volumes: Volumes
    _neighbours: Neighbourhood

    def cluster(self) -> Cluster:
        return self._cluster

    def volumes(self) -> Volumes:
        return self._volumes

    def neighbours(self, key: PoolKey, filesystem: str = "") -> tuple[Neighbour, ...]:
        return self._neighbours.of(key, filesystem)

    def children(self, key: PoolKey) -> Children:
        return Children()


async def list_all(client: KubeClient, pools: Sequence[KVCachePool]) -> Snapshot:
    """The cluster with these pools in it. Raises ApiError."""
    parts = ClusterParts()
    parts.set_version(await client.server_version())
    for resource in CLUSTER_FACTS:
        for obj in await client.list(resource) or []:
            parts.put(resource.kind, obj)
    found = [volume(obj) for obj in await client.list(VOLUME) or []]
    volumes = Volumes({one.name: one for one in found if one})
    stored = {_key(obj): obj for obj in await client.list(POOL) or []}
    applied = tuple(_applied(pool, stored.get(PoolKey(pool.namespace, pool.name))) for pool in pools)
    return Snapshot(applied, parts.cluster(), volumes, _neighbourhood(stored, applied, volumes))


def _neighbourhood(
    stored: Mapping[PoolKey, Object], applied: Sequence[KVCachePool], volumes: Volumes
) -> Neighbourhood:
    """The pools of the cluster, replaced by those of the command where the names match."""
    known = {
        **{name: parsed(obj) for name, obj in stored.items()},
        **{PoolKey(pool.namespace, pool.name): neighbour(pool) for pool in applied},
    }
    around = Neighbourhood()
    for key, one in known.items():
        around.put(key, one)
        for mounted in volumes.by_claim.get((key.namespace, names.claim(key.name)), ()):
            around.mount(key, mounted.filesystem)
    return around


def _applied(pool: KVCachePool, stored: Object | None) -> KVCachePool:
    """The pool with the metadata and status of the pool of the same name in the cluster."""
    if stored is None:
        return pool
    try:
        status = PoolStatus.model_validate(stored.get("status") or {})
    except ValidationError:
        status = PoolStatus()
    return pool.model_copy(update={"metadata": dict(stored["metadata"]), "status": status})


def _key(obj: Object) -> PoolKey:
    return PoolKey(obj["metadata"]["namespace"], obj["metadata"]["name"])
