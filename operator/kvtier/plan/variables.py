"""The engine's environment: kvtier's variables, the user's over those that may differ, then what comes from Secrets."""

from typing import Any

from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.api.v1alpha1.object_storage import CREDENTIALS
from kvtier.api.v1alpha1.variables import Variable
from kvtier.engines.arguments import environment
from kvtier.engines.tiers import object_environment
from kvtier.plan.pods import literal


def variables(pool: KVCachePool, model: ServedModel) -> list[dict[str, Any]]:
    """Items of the container's `env`. A Secret's value is only ever referred to."""
    given = {variable.name for variable in model.env}
    version = model.engine.supported_version()
    bucket = object_environment(version) if pool.spec.tiers.object_storage else {}
    own = [_plain(name, value) for name, value in (environment() | bucket).items() if name not in given]
    return [*own, *map(_users, model.env), *_token(model), *_credentials(pool)]


def _plain(name: str, value: str) -> dict[str, Any]:
    """An empty value is left out, as the API server does."""
    return {"name": name, **({"value": literal(value)} if value else {})}


def _users(variable: Variable) -> dict[str, Any]:
    if variable.value_from is None:
        return _plain(variable.name, variable.value or "")
    return {
        "name": variable.name,
        "valueFrom": variable.value_from.model_dump(by_alias=True, exclude_none=True),
    }


def _token(model: ServedModel) -> list[dict[str, Any]]:
    reference = model.token_secret_ref
    return [_from_secret("HF_TOKEN", reference.name, reference.key)] if reference else []


def _credentials(pool: KVCachePool) -> list[dict[str, Any]]:
    tier = pool.spec.tiers.object_storage
    if tier is None or tier.credentials_secret_ref is None:
        return []
    return [_from_secret(key, tier.credentials_secret_ref.name, key) for key in CREDENTIALS]


def _from_secret(variable: str, name: str, key: str) -> dict[str, Any]:
    return {"name": variable, "valueFrom": {"secretKeyRef": {"name": name, "key": key}}}
