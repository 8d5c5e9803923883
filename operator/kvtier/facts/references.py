"""Reads the Secrets and ConfigMaps that a pool names, each by name. kvtier never lists them."""

from collections import defaultdict
from typing import Any

from kvtier.api.keys import needed_keys
from kvtier.api.kinds import CONFIG_MAP, SECRET, Resource
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import ConfigMaps, Secrets
from kvtier.kube.client import ApiError, KubeClient


async def read_secrets(client: KubeClient, pool: KVCachePool) -> Secrets:
    """The keys of every Secret that the pool names. The values are dropped."""
    names = sorted({one.name for one in needed_keys(pool) if one.kind == "Secret"})
    found = {name: await _data(client, SECRET, pool.namespace, name) for name in names}
    return Secrets({name: None if data is None else frozenset(data) for name, data in found.items()})


async def read_config_maps(client: KubeClient, pool: KVCachePool) -> ConfigMaps:
    """The keys and values that the pool names, of every ConfigMap."""
    wanted: dict[str, set[str]] = defaultdict(set)
    for model in pool.spec.models:
        if model.model_config_from and (reference := model.model_config_from.config_map_key_ref):
            wanted[reference.name].add(reference.key)
    for needed in needed_keys(pool):
        if needed.kind == "ConfigMap":
            wanted[needed.name].add(needed.key)
    found = {name: await _data(client, CONFIG_MAP, pool.namespace, name) for name in sorted(wanted)}
    return ConfigMaps({name: _only(data, wanted[name]) for name, data in found.items()})


async def _data(client: KubeClient, resource: Resource, namespace: str, name: str) -> dict[str, Any] | None:
    """Empty for an object that does not exist, None without permission to read it. Raises other ApiErrors."""
    try:
        found = await client.get(resource, namespace, name)
    except ApiError as error:
        if error.status == 403:
            return None
        raise
    return (found or {}).get("data") or {}


def _only(data: dict[str, Any] | None, keys: set[str]) -> dict[str, str] | None:
    return None if data is None else {key: data[key] for key in sorted(keys) if key in data}
