"""CredentialsPresent: the Secrets and ConfigMaps that Pods need exist and have their keys."""

from collections.abc import Collection

from kvtier.api.conditions import CREDENTIALS_PRESENT, Condition, false, true, unknown
from kvtier.api.keys import NeededKey, needed_keys
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Facts

_MISSING = {"Secret": Reason.SECRET_MISSING, "ConfigMap": Reason.CONFIG_MAP_MISSING}


def check(pool: KVCachePool, facts: Facts) -> Condition:
    """Only names and keys are looked at, never values. A Pod that lacks one of them never starts."""
    unread = []
    for needed in needed_keys(pool):
        keys = _keys(needed, facts)
        if keys is None:
            unread.append(needed)
        elif needed.key not in keys:
            return false(
                CREDENTIALS_PRESENT,
                _MISSING[needed.kind],
                f"{needed.by}: {needed.kind} {needed.name} has no key {needed.key}. Create it with kubectl -n "
                f"{pool.namespace} create {needed.create}",
            )
    if unread:
        kind = unread[0].kind
        return unknown(
            CREDENTIALS_PRESENT,
            Reason.NOT_READABLE,
            f"{kind} {unread[0].name} could not be read: grant kvtier get on {kind.lower()}s to have it checked",
        )
    return true(CREDENTIALS_PRESENT, Reason.PRESENT, "every Secret and ConfigMap that Pods need has its keys")


def _keys(needed: NeededKey, facts: Facts) -> Collection[str] | None:
    """The keys of the object, none where it does not exist, None where that is not known."""
    known = facts.secrets.keys if needed.kind == "Secret" else facts.config_maps.data
    return known.get(needed.name)
