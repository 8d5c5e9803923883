"""When to look again at what no watch tells about."""

from kvtier.api.conditions import CREDENTIALS_PRESENT, NETWORK_MATCHED
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.plan.model import Checks

_SECRET_SECONDS = 10.0
_GKE_SECONDS = 300.0
_GKE_WAITING_SECONDS = 60.0


def refresh_after(pool: KVCachePool, checks: Checks) -> float | None:
    """Seconds until unwatched facts are read again, None when there are none.

    Secrets are read only while one is missing: a token that is there is the kubelet's business.
    """
    if checks[CREDENTIALS_PRESENT].status == "False":
        return _SECRET_SECONDS
    if pool.spec.cluster is None:
        return None
    return _GKE_SECONDS if checks[NETWORK_MATCHED].status == "True" else _GKE_WAITING_SECONDS
