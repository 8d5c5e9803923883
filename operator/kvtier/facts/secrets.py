"""Which keys the Secrets have that a pool's Pods need. Values are dropped at once."""

from kvtier.api.keys import needed_keys
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Secrets
from kvtier.facts.named import data
from kvtier.kube.client import SECRET, KubeClient


async def read(client: KubeClient, pool: KVCachePool) -> Secrets:
    """One GET per Secret; kvtier never lists Secrets. A Secret that may not be read maps to None."""
    names = sorted({one.name for one in needed_keys(pool) if one.kind == "Secret"})
    return Secrets({name: await _keys(client, pool.namespace, name) for name in names})


async def _keys(client: KubeClient, namespace: str, name: str) -> frozenset[str] | None:
    found = await data(client, SECRET, namespace, name)
    return None if found is None else frozenset(found)
