"""The GKE API (google-cloud-container). Its client is synchronous over REST, so calls run in a thread."""

import asyncio
import os
from functools import cache
from typing import Any

ENDPOINT_VARIABLE = "KVTIER_GKE_ENDPOINT"
"""Overrides the API's address, for tests and private endpoints; an http:// address is called without credentials."""

_TIMEOUT_SECONDS = 15.0


class GKEError(Exception):
    """The GKE API's refusal or silence. `code` is the HTTP status, 0 when there was no answer."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


async def get_cluster(project: str, location: str, name: str) -> Any:
    """The `container_v1.Cluster`; GKEError when it cannot be had within 15 s."""
    return await asyncio.to_thread(_get_cluster, f"projects/{project}/locations/{location}/clusters/{name}")


def _get_cluster(name: str) -> Any:
    from google.api_core.exceptions import GoogleAPICallError, RetryError
    from google.auth.exceptions import GoogleAuthError
    from requests.exceptions import RequestException

    try:
        return _client().get_cluster(name=name, timeout=_TIMEOUT_SECONDS, retry=None)
    except GoogleAPICallError as error:
        raise GKEError(int(error.code or 0), error.message) from error
    except (GoogleAuthError, RetryError, RequestException) as error:
        raise GKEError(0, str(error)) from error


@cache
def _client() -> Any:
    """One client per process. Imported on first use: it costs 1 s and 60 MB that most pools do not need."""
    from google.api_core.client_options import ClientOptions
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import container_v1

    endpoint = os.environ.get(ENDPOINT_VARIABLE)
    options = ClientOptions(api_endpoint=endpoint) if endpoint else None
    credentials = AnonymousCredentials() if endpoint and endpoint.startswith("http://") else None
    return container_v1.ClusterManagerClient(
        transport="rest", credentials=credentials, client_options=options
    )
