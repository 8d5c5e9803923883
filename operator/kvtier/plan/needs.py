"""The kinds of objects that a pool depends on: without all of them, nothing may be decided about it."""

from kvtier.api.kinds import (
    CHILD_KINDS,
    CLAIM,
    COMPUTE_CLASS,
    CSI_DRIVER,
    CSI_NODE,
    DEPLOYMENT,
    JOB,
    NODE,
    SERVICE,
    STORAGE_CLASS,
    VOLUME,
)
from kvtier.api.v1alpha1 import KVCachePool

_ALWAYS = {NODE.kind, DEPLOYMENT.kind, SERVICE.kind}
_LUSTRE = {CLAIM.kind, VOLUME.kind, STORAGE_CLASS.kind, JOB.kind, CSI_NODE.kind, CSI_DRIVER.kind}
_TEARDOWN = {child.kind for child in CHILD_KINDS}


def needs(pool: KVCachePool) -> set[str]:
    """The kinds whose objects must be known before anything is planned for the pool.

    If a kind is unknown, "there is none" would be a guess: kvtier would create it again, move engines away from their
    tier, or take a step of the teardown too early. What the pool does not need is neither created nor deleted.
    """
    if pool.deleting:
        return _TEARDOWN
    created = {COMPUTE_CLASS.kind} if pool.spec.node_pool.provisioner != "Existing" else set()
    return _ALWAYS | created | (_LUSTRE if pool.spec.tiers.lustre else set())
