"""The GKE API (google-cloud-container). Its client is synchronous over REST, so calls run in threads."""

import asyncio
import os
import re
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache, partial
from typing import Any

ENDPOINT_VARIABLE = "KVTIER_GKE_ENDPOINT"
"""Overrides the API's address, for tests and private endpoints; an http:// address is called without credentials."""

SOCKET_SECONDS = 10.0
TOTAL_SECONDS = 15.0
"""The former bounds each read of a socket, of which one call makes many (credentials, slow bodies)."""

_LONGEST_MESSAGE = 300


class GKEError(Exception):
    """The GKE API's refusal. `code` is the HTTP status, 0 when there was none."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(_tidy(message))
        self.code = code


class NoCredentialsError(GKEError):
    """There are no credentials, or Google does not take them."""


class NoAnswerError(GKEError):
    """The API could not be reached, or did not answer in time."""


class BadAnswerError(GKEError):
    """What answered does not talk as the GKE API does."""


def _tidy(message: str) -> str:
    """Short, and without what differs from one failure to the next or tells nobody anything."""
    message = re.sub(r"<?\S+ object at 0x[0-9a-f]+>?", "", message[:2000])
    message = re.sub(r"(/\S*?)\?[^\s)]+", r"\1", message)
    return " ".join(message.split())[:_LONGEST_MESSAGE]


async def get_cluster(project: str, location: str, name: str) -> Any:
    """The `container_v1.Cluster`; GKEError, and nothing else, when it cannot be had within 15 s.

    One request, no retries: whoever asks knows better when to ask again.
    """
    path = f"projects/{project}/locations/{location}/clusters/{name}"
    call = partial(_get_cluster, os.environ.get(ENDPOINT_VARIABLE, ""), path)
    try:
        async with asyncio.timeout(TOTAL_SECONDS):
            return await asyncio.wrap_future(_in_thread(call))
    except TimeoutError:
        raise NoAnswerError(0, f"no answer within {TOTAL_SECONDS:g} s, credentials included") from None


def _in_thread(call: Callable[[], Any]) -> Future[Any]:
    """Run `call` in a thread of its own.

    The event loop's executor has few threads, which name resolution needs too, and an exiting process
    waits for them: calls that hang would stop more than themselves.
    """
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    future.set_running_or_notify_cancel()
    threading.Thread(target=run, name="gke-api", daemon=True).start()
    return future


def _get_cluster(endpoint: str, path: str) -> Any:
    try:
        return _client(endpoint).get_cluster(name=path, timeout=SOCKET_SECONDS, retry=None)
    except Exception as error:  # the libraries below do not say what they raise
        raise _translated(error) from error


def _translated(error: Exception) -> GKEError:
    from google.api_core.exceptions import GoogleAPICallError
    from google.auth.exceptions import GoogleAuthError
    from requests import exceptions

    if isinstance(error, GoogleAPICallError):
        kind = NoCredentialsError if error.code == 401 else GKEError
        return kind(int(error.code or 0), re.sub(r"^GET \S+: ", "", error.message))
    if isinstance(error, GoogleAuthError):
        return NoCredentialsError(0, _first_words(error))
    if isinstance(error, (exceptions.ConnectionError, exceptions.Timeout)):
        return NoAnswerError(0, str(error))
    return BadAnswerError(0, f"{type(error).__name__}: {error}")


def _first_words(error: BaseException) -> str:
    """google-auth wraps its errors in one another, together with the response."""
    inner = error.args[0] if error.args else ""
    return _first_words(inner) if isinstance(inner, BaseException) else str(inner)


@cache
def _client(endpoint: str) -> Any:
    """One client per address and process. Imported on first use: it costs 0.4 s and 26 MB."""
    from google.api_core.client_options import ClientOptions
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import container_v1

    options = ClientOptions(api_endpoint=endpoint) if endpoint else None
    credentials = AnonymousCredentials() if endpoint.startswith("http://") else None
    return container_v1.ClusterManagerClient(
        transport="rest", credentials=credentials, client_options=options
    )
