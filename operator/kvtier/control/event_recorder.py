"""Kubernetes Events about a pool, as `kubectl describe` shows them."""

import logging

from kvtier.api.kinds import EVENT
from kvtier.api.names import derive
from kvtier.api.v1alpha1 import GROUP, KIND, VERSION, KVCachePool
from kvtier.kube.client import ApiError, KubeClient
from kvtier.plan.events import PoolEvent

logger = logging.getLogger(__name__)

_MESSAGE_MAX = 1024


async def record(client: KubeClient, pool: KVCachePool, notice: PoolEvent, now: str) -> None:
    """Write one Event. Its name is made of its content, so that a repeat after a lost answer is the same Event.

    An Event that cannot be written is logged and given up: it must never hold up the pool.
    """
    name = derive(pool.name, pool.uid, notice.reason, notice.message, now, limit=63)
    manifest = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": pool.namespace},
        "involvedObject": {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": KIND,
            "name": pool.name,
            "namespace": pool.namespace,
            "uid": pool.uid,
        },
        "type": notice.type,
        "reason": notice.reason,
        "message": notice.message[:_MESSAGE_MAX],
        "source": {"component": "kvtier"},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    try:
        await client.apply(EVENT, manifest)
    except ApiError as error:
        logger.warning("event %s of %s/%s not written: %s", notice.reason, pool.namespace, pool.name, error)
