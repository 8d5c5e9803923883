"""CredentialsPresent: the Secrets that the models name exist and have their key."""

from kvtier.api.conditions import CREDENTIALS_PRESENT, Condition, false, true, unknown
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Facts


def check(pool: KVCachePool, facts: Facts) -> Condition:
    """Only names and keys are looked at, never values."""
    unread = []
    for model in pool.spec.models:
        if model.token_secret_ref is None:
            continue
        name, key = model.token_secret_ref.name, model.token_secret_ref.key
        keys = facts.secrets.keys.get(name)
        if keys is None:
            unread.append(name)
        elif key not in keys:
            return false(
                CREDENTIALS_PRESENT,
                "SecretMissing",
                f"model {model.name}: Secret {name} has no key {key}. Create it with kubectl -n {pool.namespace} "
                f"create secret generic {name} --from-literal={key}=TOKEN",
            )
    if unread:
        return unknown(
            CREDENTIALS_PRESENT,
            "NotReadable",
            f"Secret {unread[0]} could not be read: grant kvtier get on secrets to have it checked",
        )
    return true(CREDENTIALS_PRESENT, "Present", "every Secret that a model names has its key")
