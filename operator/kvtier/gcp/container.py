"""The GKE API (google-cloud-container)."""

import os
from functools import cache
from typing import Any

from kvtier.gcp import calls

ENDPOINT_VARIABLE = "KVTIER_GKE_ENDPOINT"
"""Overrides the API's address, for tests and private endpoints; an http:// address is called without credentials."""


async def get_cluster(project: str, location: str, name: str) -> Any:
    """The `container_v1.Cluster`; GoogleError, and nothing else, when it cannot be had within 15 s."""
    path = f"projects/{project}/locations/{location}/clusters/{name}"
    endpoint = os.environ.get(ENDPOINT_VARIABLE, "")
    return await calls.answer("gke-api", lambda: _get_cluster(endpoint, path))


def _get_cluster(endpoint: str, path: str) -> Any:
    return _client(endpoint).get_cluster(name=path, timeout=calls.SOCKET_SECONDS, retry=None)


@cache
def _client(endpoint: str) -> Any:
    """One client per address and process. Imported on first use: it costs 0.4 s and 26 MB."""
    from google.cloud import container_v1

    return container_v1.ClusterManagerClient(**calls.connection(endpoint))
