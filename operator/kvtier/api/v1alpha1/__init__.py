"""The kvtier.dev/v1alpha1 API."""

from kvtier.api.v1alpha1.acknowledgement import AcknowledgedCondition
from kvtier.api.v1alpha1.lustre import LustreTier
from kvtier.api.v1alpha1.nodepool import NodePool
from kvtier.api.v1alpha1.pool import Cluster, KVCachePool, PoolSpec
from kvtier.api.v1alpha1.served_model import ServedModel
from kvtier.api.v1alpha1.status import ModelStatus, OperationStatus, PoolStatus, TierStatus, TransferStatus
from kvtier.api.v1alpha1.tiers import CloudStorageTier, ObjectStorageTier, Tiers

GROUP, VERSION, PLURAL, KIND = "kvtier.dev", "v1alpha1", "kvcachepools", "KVCachePool"

__all__ = [
    "GROUP",
    "KIND",
    "PLURAL",
    "VERSION",
    "AcknowledgedCondition",
    "CloudStorageTier",
    "Cluster",
    "KVCachePool",
    "LustreTier",
    "ModelStatus",
    "NodePool",
    "ObjectStorageTier",
    "OperationStatus",
    "PoolSpec",
    "PoolStatus",
    "ServedModel",
    "TierStatus",
    "Tiers",
    "TransferStatus",
]
