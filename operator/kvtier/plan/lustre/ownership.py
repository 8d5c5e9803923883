"""Which cluster and pool a Lustre instance belongs to: its labels name both by their uids.

Names alone are not enough: two clusters of one project can have a pool of the same namespace and name, and so an
instance of the same id.
"""

import re
from enum import Enum, auto

from kvtier.api import names
from kvtier.api.conditions import STORAGE_READY, Condition, false, unknown
from kvtier.api.names import ANNOTATION_ADOPT
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Instance, OwnCluster
from kvtier.plan.events import PoolEvent

_LABEL_MAX = 63
_POOL, _NAMESPACE, _CLUSTER = "kvtier-pool", "kvtier-pool-namespace", "kvtier-cluster"
_POOL_UID, _CLUSTER_UID = "kvtier-pool-uid", "kvtier-cluster-uid"


class Owner(Enum):
    """Whom an instance belongs to, by its labels."""

    THIS_POOL = auto()
    """This cluster and this pool, by their uids."""

    EARLIER_POOL = auto()
    """This cluster, and a pool of the same namespace and name with another uid. That pool no longer exists."""

    OTHER_CLUSTER = auto()
    """Another cluster, and a pool of the same namespace and name."""

    NAMED_ONLY = auto()
    """A pool and a cluster of these names, without uids: an earlier version of kvtier created it."""

    UNKNOWN = auto()
    """The uid of this cluster could not be read, and another pool of the same namespace and name has it."""

    OTHERS = auto()
    """Another pool, or nobody."""


def owner(pool: KVCachePool, cluster: OwnCluster, instance: Instance) -> Owner:
    """Whom the labels of an instance name."""
    labels, wanted = instance.labels, identity_labels(pool, cluster)
    if any(labels.get(key) != wanted[key] for key in (_POOL, _NAMESPACE)):
        return Owner.OTHERS
    if _CLUSTER_UID not in labels:
        return Owner.NAMED_ONLY if labels.get(_CLUSTER) == wanted.get(_CLUSTER) else Owner.OTHERS
    same = labels.get(_POOL_UID, "") == pool.uid
    if not cluster.uid:
        return Owner.THIS_POOL if same else Owner.UNKNOWN
    if labels[_CLUSTER_UID] != label_value(cluster.uid):
        return Owner.OTHER_CLUSTER
    return Owner.THIS_POOL if same else Owner.EARLIER_POOL


def usable(of: Owner, pool: KVCachePool, instance: Instance, *, referred: bool, granted: bool) -> bool:
    """Whether the pool may use an instance. If it is not labelled for this pool yet, its labels are then updated.

    `referred`: the pool's PersistentVolume in this cluster is for this instance. `granted`: whoever installed kvtier
    lets this pool adopt the instance from another cluster; the pool must name the instance in an annotation, too.
    """
    match of:
        case Owner.THIS_POOL | Owner.EARLIER_POOL:
            return True
        case Owner.NAMED_ONLY:
            return referred
        case Owner.OTHER_CLUSTER:
            annotations = pool.metadata.get("annotations") or {}
            return granted and annotations.get(ANNOTATION_ADOPT) == instance.name
        case _:
            return False


def identity_labels(pool: KVCachePool, cluster: OwnCluster) -> dict[str, str]:
    """Labels that identify cluster and pool: by uid, and for readers by name. A uid that is unknown is left out."""
    found = {_POOL: label_value(pool.name), _NAMESPACE: label_value(pool.namespace)}
    if pool.spec.cluster:
        named = names.derive(pool.spec.cluster.location, pool.spec.cluster.name, limit=_LABEL_MAX)
        found[_CLUSTER] = named
    uids = {_CLUSTER_UID: cluster.uid, _POOL_UID: pool.uid}
    return found | {key: label_value(uid) for key, uid in uids.items() if uid}


def takeover(of: Owner, instance: Instance) -> PoolEvent | None:
    """The Event when the labels of an instance start to name this pool, None if it had the instance before."""
    before = {
        Owner.EARLIER_POOL: "an earlier pool of the same namespace and name in this cluster",
        Owner.OTHER_CLUSTER: f"cluster {_cluster(instance)}",
    }
    if of not in before:
        return None
    text = f"kvtier takes over Lustre instance {instance.name} from {before[of]}, and updates its labels."
    return PoolEvent("Normal", "InstanceTakenOver", text)


def refusal(of: Owner, pool: KVCachePool, cluster: OwnCluster, instance: Instance) -> Condition:
    """StorageReady if the pool may not use an instance."""
    if of is Owner.UNKNOWN:
        seen = f"It is unknown whether Lustre instance {instance.name} belongs to this pool"
        return unknown(STORAGE_READY, Reason.CLUSTER_UNKNOWN, sentences(seen, cluster.error))
    text = (
        _of_other_cluster(pool, instance)
        if of is Owner.OTHER_CLUSTER
        else _unlabelled(pool, cluster, instance)
    )
    return false(STORAGE_READY, Reason.INSTANCE_NOT_OURS, text)


def without_cluster(cluster: OwnCluster) -> Condition:
    """StorageReady if no instance can be created, because its labels could not name the cluster."""
    text = sentences(
        "kvtier creates no Lustre instance while it cannot label it for this cluster", cluster.error
    )
    return false(STORAGE_READY, Reason.CLUSTER_UNKNOWN, text)


def label_value(text: str) -> str:
    """`text` if Google accepts it as the value of a label, else a derived name."""
    fits = re.fullmatch(r"[a-z0-9_-]{0,63}", text)
    return text if fits else names.derive(text, limit=_LABEL_MAX)


def _of_other_cluster(pool: KVCachePool, instance: Instance) -> str:
    return sentences(
        f"Lustre instance {instance.name} belongs to pool {pool.namespace}/{pool.name} of cluster {_cluster(instance)}",
        "Recreate this pool with another name, in another namespace or in another project",
        "If the other cluster no longer exists, this pool can adopt the instance, after whoever installed kvtier has "
        f"granted the instance to namespace {pool.namespace}: kubectl -n {pool.namespace} annotate kvcachepool "
        f"{pool.name} {ANNOTATION_ADOPT}={instance.name}",
    )


def _cluster(instance: Instance) -> str:
    """The cluster of an instance by name, if it is known, and by uid."""
    name, uid = instance.labels.get(_CLUSTER), f"with uid {instance.labels.get(_CLUSTER_UID)}"
    return f"{name} {uid}" if name else uid


def _unlabelled(pool: KVCachePool, cluster: OwnCluster, instance: Instance) -> str:
    labels = ",".join(f"{key}={value}" for key, value in identity_labels(pool, cluster).items())
    _, project, _, zone, _, name = instance.name.split("/")
    return sentences(
        f"Lustre instance {instance.name} exists, but its labels do not name this pool",
        "Delete the instance if its data is not needed, or label it for this pool: gcloud lustre instances update "
        f"{name} --project={project} --location={zone} --update-labels={labels}",
    )
