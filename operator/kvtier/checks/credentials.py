"""CredentialsPresent: the Secrets and ConfigMaps that Pods need exist and have their keys."""

from kvtier.api.conditions import CREDENTIALS_PRESENT, Condition, false, true, unknown
from kvtier.api.keys import needed_keys
from kvtier.api.reasons import Reason
from kvtier.context import Context

_MISSING = {"Secret": Reason.SECRET_MISSING, "ConfigMap": Reason.CONFIG_MAP_MISSING}


def check(context: Context) -> Condition:
    """Checks names and keys, never values. A Pod does not start while one of them is missing."""
    facts, unread = context.facts, []
    known = {"Secret": facts.secrets.keys, "ConfigMap": facts.config_maps.data}
    for needed in needed_keys(context.pool):
        keys = known[needed.kind].get(needed.name)
        if keys is None:
            unread.append(needed)
        elif needed.key not in keys:
            return false(
                CREDENTIALS_PRESENT,
                _MISSING[needed.kind],
                f"{needed.kind} {needed.name} has no key {needed.key}, which {needed.by} needs. Add the key, or "
                f"create the {needed.kind} if it does not exist: kubectl -n {context.pool.namespace} create "
                f"{needed.create}",
            )
    if unread:
        kind = unread[0].kind
        return unknown(
            CREDENTIALS_PRESENT,
            Reason.NOT_READABLE,
            f"{kind} {unread[0].name} could not be read. To check its keys, grant kvtier get on {kind.lower()}s.",
        )
    return true(
        CREDENTIALS_PRESENT, Reason.PRESENT, "All Secrets and ConfigMaps that Pods need have their keys."
    )
