"""AccessGranted: kvtier may use what the pool names outside of its namespace.

kvtier acts with rights that the author of a pool does not have. So what does not belong to the cluster itself needs a
grant of the installer for the namespace of the pool.
"""

import json
from collections.abc import Sequence

from kvtier.api.access import Demand, demands
from kvtier.api.conditions import ACCESS_GRANTED, Condition, false, true, unknown
from kvtier.api.policy import Kind
from kvtier.api.reasons import Reason
from kvtier.context import Context
from kvtier.facts.policy import KINDS, Grants

_BY_DEFAULT: tuple[Kind, ...] = ("projects", "networks", "kmsKeys")
"""Kinds that need no grant if they belong to the project of the cluster."""


def check(context: Context) -> Condition:
    """Compares the spec with the policy. Unless it is True, kvtier creates nothing and sends no request with a value
    that is not granted; what exists stays.
    """
    if not demands(context.pool):
        return true(ACCESS_GRANTED, Reason.NOT_NEEDED, "The pool uses nothing that needs a grant.")
    ungranted, grants = missing(context), context.facts.grants
    if not ungranted:
        text = "What the pool uses belongs to the cluster, or is granted to its namespace."
        return true(ACCESS_GRANTED, Reason.GRANTED, text)
    seen = f"Pools in namespace {context.pool.namespace} may not use {_listed(ungranted)}"
    if grants.problem:
        return _without_policy(grants, ungranted)
    if not grants.projects and all(one.kind in _BY_DEFAULT for one in ungranted):
        return _without_project(grants, ungranted)
    return false(
        ACCESS_GRANTED,
        Reason.NOT_GRANTED,
        f"{seen}. The installer of kvtier can grant it in ConfigMap {grants.where}, with this item of grants in "
        f"policy.yaml: {snippet(context.pool.namespace, ungranted)}",
    )


def missing(context: Context, *kinds: Kind) -> tuple[Demand, ...]:
    """What the pool asks for and is not granted; only of these kinds if any are given."""
    asked = (one for one in demands(context.pool) if one.kind in (kinds or KINDS))
    return tuple(one for one in asked if not context.facts.grants.allows(one.kind, one.value))


def snippet(namespace: str, ungranted: Sequence[Demand]) -> str:
    """An item of `grants` that would grant this, as YAML that can be copied."""
    found: dict[str, list[str]] = {"namespaces": [namespace]}
    for one in ungranted:
        values = found.setdefault(one.kind, [])
        if one.value not in values:
            values.append(one.value)
    return json.dumps(found)


def _listed(ungranted: Sequence[Demand]) -> str:
    return " and ".join(one.text for one in ungranted)


def _without_policy(grants: Grants, ungranted: Sequence[Demand]) -> Condition:
    what = _listed(ungranted)
    if grants.problem == "Invalid":
        return false(
            ACCESS_GRANTED,
            Reason.POLICY_INVALID,
            f"The policy in ConfigMap {grants.where} is not valid, so it grants nothing, and {what} needs a grant. The "
            "installer of kvtier must correct it; the log of kvtier and an Event of the ConfigMap say what is wrong.",
        )
    return unknown(
        ACCESS_GRANTED,
        Reason.NOT_READABLE,
        f"ConfigMap {grants.where} could not be read, and {what} needs a grant. kvtier needs the verb get on this "
        "ConfigMap, as in the Role of manifests/install.yaml.",
    )


def _without_project(grants: Grants, ungranted: Sequence[Demand]) -> Condition:
    return unknown(
        ACCESS_GRANTED,
        Reason.CLUSTER_NOT_SEEN,
        f"It is unknown whether {_listed(ungranted)} belongs to this cluster: no node has a provider ID "
        "gce://PROJECT/ZONE/NAME. The installer of kvtier can set cluster.project in policy.yaml of ConfigMap "
        f"{grants.where}.",
    )
