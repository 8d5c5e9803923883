"""Keys of Secrets and ConfigMaps that a pool's Pods cannot start without."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kvtier.api.v1alpha1 import KVCachePool, ObjectStorageTier, ServedModel
from kvtier.api.v1alpha1.tiers import CREDENTIALS

PULL_KEY = ".dockerconfigjson"


@dataclass(frozen=True)
class NeededKey:
    """A key of a Secret or ConfigMap in the pool's namespace, and what needs it.

    `create` holds the arguments of `kubectl create` for the object.
    """

    kind: Literal["Secret", "ConfigMap"]
    name: str
    key: str
    by: str
    create: str


def needed_keys(pool: KVCachePool) -> list[NeededKey]:
    """The keys that the spec refers to, in its order. References in podTemplate are not among them."""
    return [
        *(one for model in pool.spec.models for one in _of_model(model)),
        *_of_bucket(pool.spec.tiers.object_storage),
    ]


def _of_model(model: ServedModel) -> Iterator[NeededKey]:
    by = f"model {model.name}"
    if token := model.token_secret_ref:
        yield NeededKey("Secret", token.name, token.key, by, _generic(token.name, token.key, "TOKEN"))
    for pull in model.engine.image_pull_secrets:
        make = f"secret docker-registry {pull.name} --docker-server=HOST --docker-username=USER"
        yield NeededKey("Secret", pull.name, PULL_KEY, by, f"{make} --docker-password=PASSWORD")
    for variable in model.env:
        source = variable.value_from
        if source and (secret := source.secret_key_ref):
            yield NeededKey("Secret", secret.name, secret.key, by, _generic(secret.name, secret.key, "VALUE"))
        if source and (found := source.config_map_key_ref):
            make = f"configmap {found.name} --from-literal={found.key}=VALUE"
            yield NeededKey("ConfigMap", found.name, found.key, by, make)


def _of_bucket(bucket: ObjectStorageTier | None) -> Iterator[NeededKey]:
    if bucket and (secret := bucket.credentials_secret_ref):
        make = f"secret generic {secret.name} " + " ".join(
            f"--from-literal={key}=VALUE" for key in CREDENTIALS
        )
        for key in CREDENTIALS:
            yield NeededKey("Secret", secret.name, key, "tiers.objectStorage", make)


def _generic(name: str, key: str, value: str) -> str:
    return f"secret generic {name} --from-literal={key}={value}"
