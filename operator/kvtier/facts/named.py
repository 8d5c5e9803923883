"""The data of a Secret or ConfigMap that a pool names. They are asked for one by one, and never listed."""

from typing import Any

from kvtier.kube.client import ApiError, KubeClient, Resource


async def data(client: KubeClient, resource: Resource, namespace: str, name: str) -> dict[str, Any] | None:
    """Empty for an object that is missing, None for one that may not be read. Raises ApiError for all else."""
    try:
        found = await client.get(resource, namespace, name)
    except ApiError as error:
        if error.status == 403:
            return None
        raise
    return (found or {}).get("data") or {}
