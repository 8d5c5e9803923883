"""What a pool names in ConfigMaps: documents of its models, and variables of its Pods."""

from collections import defaultdict

from kvtier.api.keys import needed_keys
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import ConfigMaps
from kvtier.facts.named import data
from kvtier.kube.client import CONFIG_MAP, KubeClient


async def read(client: KubeClient, pool: KVCachePool) -> ConfigMaps:
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
    found = await data(client, CONFIG_MAP, namespace, name)
    return None if found is None else {key: found[key] for key in sorted(keys) if key in found}
