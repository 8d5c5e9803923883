"""The data of a Secret or ConfigMap that a pool names. They are asked for one by one, and never listed."""

from collections import defaultdict
from typing import Any

from kvtier.api.keys import needed_keys
from kvtier.api.kinds import CONFIG_MAP, SECRET, Resource
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import ConfigMaps, Secrets
from kvtier.kube.client import ApiError, KubeClient


async def _data(client: KubeClient, resource: Resource, namespace: str, name: str) -> dict[str, Any] | None:
    """Empty for an object that is missing, None for one that may not be read. Raises ApiError for all else."""
    try:
        found = await client.get(resource, namespace, name)
    except ApiError as error:
        if error.status == 403:
            return None
        raise
    return (found or {}).get("data") or {}


async def read_secrets(client: KubeClient, pool: KVCachePool) -> Secrets:
    """One GET per Secret; kvtier never lists Secrets. A Secret that may not be read maps to None."""
    names = sorted({one.name for one in needed_keys(pool) if one.kind == "Secret"})
    return Secrets({name: await _keys(client, pool.namespace, name) for name in names})


async def _keys(client: KubeClient, namespace: str, name: str) -> frozenset[str] | None:
    found = await _data(client, SECRET, namespace, name)
    return None if found is None else frozenset(found)


async def read_config_maps(client: KubeClient, pool: KVCachePool) -> ConfigMaps:
    """One GET per ConfigMap; kvtier never lists them. One that may not be read maps to None."""
    wanted: dict[str, set[str]] = defaultdict(set)
    for model in pool.spec.models:
        reference = model.model_config_from.config_map_key_ref if model.model_config_from else None
        if reference:
            wanted[reference.name].add(reference.key)
    for needed in needed_keys(pool):
        if needed.kind == "ConfigMap":
            wanted[needed.name].add(needed.key)
    return ConfigMaps(
        {name: await _kept(client, pool.namespace, name, keys) for name, keys in sorted(wanted.items())}
    )


async def _kept(client: KubeClient, namespace: str, name: str, keys: set[str]) -> dict[str, str] | None:
    found = await _data(client, CONFIG_MAP, namespace, name)
    return None if found is None else {key: found[key] for key in sorted(keys) if key in found}
