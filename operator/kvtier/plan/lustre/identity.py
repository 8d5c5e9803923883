"""Which Lustre instance belongs to a pool, by its full name and by its file system."""

from kvtier.api import identity, names
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Observed
from kvtier.plan.children import claim_name


def instance_name(pool: KVCachePool, observed: Observed) -> str | None:
    """projects/P/locations/ZONE/instances/ID, None where it cannot be told.

    The driver names an instance after the claim's uid, in the project of the cluster; a volume that exists
    tells it itself. Once claim or tier are gone, kvtier's own volume or the status tell.
    """
    lustre = pool.spec.tiers.lustre
    if lustre is None:
        return _recorded(pool, observed)
    if lustre.provisioner != "CSI":
        return identity.instance(pool)
    claim = observed.child("PersistentVolumeClaim", claim_name(pool))
    if claim is None:
        return _outlived(pool, observed)
    volume = observed.facts.volumes.by_name.get(claim["spec"].get("volumeName", ""))
    if volume and volume.instance:
        return volume.instance
    project = pool.spec.cluster.project if pool.spec.cluster else None
    uid = claim["metadata"].get("uid", "")
    return f"projects/{project}/locations/{lustre.zone}/instances/pvc-{uid}" if project and uid else None


def volume_name(pool: KVCachePool) -> str:
    """Name of the volume that kvtier itself makes, which is cluster-scoped."""
    return names.derive(pool.namespace, pool.name, "lustre")


def _outlived(pool: KVCachePool, observed: Observed) -> str | None:
    """The instance of a claim of the driver's that is gone: of interest to a teardown.

    The claim of a namespace that goes may go before its pool does, which must not have forgotten the instance by
    then. It is remembered for as long as its volume is there.
    """
    name = _recorded(pool, observed)
    volumes = observed.facts.volumes.by_claim.get((pool.namespace, claim_name(pool)), ())
    return name if pool.deleting or any(one.instance == name for one in volumes) else None


def _recorded(pool: KVCachePool, observed: Observed) -> str | None:
    volume = observed.facts.volumes.by_name.get(volume_name(pool))
    if volume and observed.child("PersistentVolume", volume.name):
        return volume.instance or None
    return next((tier.instance for tier in pool.status.tiers if tier.name == "lustre"), None)


def filesystem(pool: KVCachePool) -> str:
    """The file system name that a new instance of the pool gets."""
    return identity.filesystem(pool) or names.filesystem(pool.namespace, pool.name)
