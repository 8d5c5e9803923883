"""The facts of a cluster at one moment, for commands that do not watch."""

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts import secrets
from kvtier.facts.cluster import Parts
from kvtier.facts.gke import GKEReader
from kvtier.facts.model import Facts
from kvtier.kube.client import CLUSTER_FACTS, KubeClient


async def read(client: KubeClient, pool: KVCachePool) -> Facts:
    """All that the checks look at, in a handful of reads. Raises ApiError."""
    parts = Parts()
    parts.set_version(await client.server_version())
    for resource in CLUSTER_FACTS:
        parts.replace(resource.kind, await client.list(resource) or [])
    return Facts(parts.cluster(), await GKEReader().read(pool.spec.cluster), await secrets.read(client, pool))
