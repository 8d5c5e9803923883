"""The facts of a cluster at one moment, for commands that do not watch."""

from collections.abc import Sequence

from pydantic import ValidationError

from kvtier.api import identity, names
from kvtier.api.kinds import POOL, VOLUME, Object
from kvtier.api.names import PoolKey
from kvtier.api.v1alpha1 import KVCachePool, PoolStatus
from kvtier.facts import references
from kvtier.facts.cluster import ClusterParts
from kvtier.facts.gke import GKEReader
from kvtier.facts.lustre_api import LustreReader
from kvtier.facts.model import Cluster, Facts
from kvtier.facts.neighbours import Neighbourhood, neighbour, parsed
from kvtier.facts.volumes import Volumes, volume
from kvtier.kube.client import CLUSTER_FACTS, KubeClient


async def read(
    client: KubeClient,
    pools: Sequence[KVCachePool],
    gke: GKEReader | None = None,
    lustre: LustreReader | None = None,
) -> list[tuple[KVCachePool, Facts]]:
    """Every pool as it would be if it were applied, and all that the checks look at. Raises ApiError."""
    gke, lustre = gke or GKEReader(), lustre or LustreReader(patience=None)
    cluster, volumes = await _cluster(client), await _volumes(client)
    stored = {_key(obj): obj for obj in await client.list(POOL) or []}
    applied = [_applied(pool, stored.get(PoolKey(pool.namespace, pool.name))) for pool in pools]
    around = _around(stored, applied, volumes)
    found = []
    for pool in applied:
        seen = await lustre.read(identity.instance(pool))
        filesystem = seen.instance.filesystem if seen and seen.instance else ""
        facts = Facts(
            cluster=cluster,
            gke=await gke.read(pool.spec.cluster),
            secrets=await references.read_secrets(client, pool),
            config_maps=await references.read_config_maps(client, pool),
            lustre=seen,
            volumes=volumes,
            neighbours=around.of(PoolKey(pool.namespace, pool.name), filesystem),
        )
        found.append((pool, facts))
    return found


async def _cluster(client: KubeClient) -> Cluster:
    parts = ClusterParts()
    parts.set_version(await client.server_version())
    for resource in CLUSTER_FACTS:
        parts.replace(resource.kind, await client.list(resource) or [])
    return parts.cluster()


async def _volumes(client: KubeClient) -> Volumes:
    found = [volume(obj) for obj in await client.list(VOLUME) or []]
    return Volumes({one.name: one for one in found if one})


def _around(stored: dict[PoolKey, Object], applied: Sequence[KVCachePool], volumes: Volumes) -> Neighbourhood:
    """The pools of the cluster, and over them those that are checked."""
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
    """The pool with the identity and the status that its namesake in the cluster has."""
    if stored is None:
        return pool
    try:
        status = PoolStatus.model_validate(stored.get("status") or {})
    except ValidationError:
        status = PoolStatus()
    return pool.model_copy(update={"metadata": dict(stored["metadata"]), "status": status})


def _key(obj: Object) -> PoolKey:
    return PoolKey(obj["metadata"]["namespace"], obj["metadata"]["name"])
