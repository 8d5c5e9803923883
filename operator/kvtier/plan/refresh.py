"""When to look again at what no watch tells about."""

from kvtier.api.conditions import CREDENTIALS_PRESENT, MODEL_CONFIG_VALID, NETWORK_MATCHED, PORT_MATCHED
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Facts
from kvtier.plan.model import Checks, soonest

_NAMED = (CREDENTIALS_PRESENT, MODEL_CONFIG_VALID)
_MISSING_SECONDS = 10.0
_GKE_SECONDS = 300.0
_GKE_WAITING_SECONDS = 60.0
_LUSTRE_SECONDS = 300.0
_LUSTRE_MOVING_SECONDS = 60.0
_LUSTRE_OPERATION_SECONDS = 15.0


def refresh_after(pool: KVCachePool, checks: Checks, facts: Facts) -> float | None:
    """Seconds until unwatched facts are read again, None when there are none.

    Secrets and ConfigMaps are read only while one is missing: a token that is there is the kubelet's business, and
    the sizes of a model do not change.
    """
    if any(checks[type_].status == "False" for type_ in _NAMED):
        return _MISSING_SECONDS
    return soonest(_gke(pool, checks), _lustre(pool, facts))


def _gke(pool: KVCachePool, checks: Checks) -> float | None:
    if pool.spec.cluster is None:
        return None
    settled = all(checks[type_].status == "True" for type_ in (NETWORK_MATCHED, PORT_MATCHED))
    return _GKE_SECONDS if settled else _GKE_WAITING_SECONDS


def _lustre(pool: KVCachePool, facts: Facts) -> float | None:
    """Maintenance, a state, an operation: the Lustre API tells of nothing by itself."""
    if pool.spec.tiers.lustre is None or facts.lustre is None:
        return None
    if any(operation.state == "Running" for operation in pool.status.operations):
        return _LUSTRE_OPERATION_SECONDS
    instance = facts.lustre.instance
    well = facts.lustre.error is not None or (instance is not None and instance.state == "ACTIVE")
    return _LUSTRE_SECONDS if well else _LUSTRE_MOVING_SECONDS
