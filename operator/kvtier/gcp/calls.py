"""How Google's clients are called: in threads, because they are synchronous, and bounded in time."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from kvtier.gcp.errors import NoAnswerError, translating

SOCKET_SECONDS = 10.0
TOTAL_SECONDS = 15.0
"""The former bounds each read of a socket, of which one call makes many (credentials, slow bodies)."""


async def answer(api: str, call: Callable[[], Any]) -> Any:
    """What `call` returns; GoogleError, and nothing else, when that cannot be had within 15 s.

    `api` is for the name of the thread. Who calls knows better than the client when to try again: no retries.
    """
    try:
        async with asyncio.timeout(TOTAL_SECONDS):
            return await asyncio.wrap_future(_in_thread(api, partial(translating, call)))
    except TimeoutError:
        message = f"no answer within {TOTAL_SECONDS:g} s, credentials included"
        raise NoAnswerError(0, message, "DeadlineExceeded") from None


def connection(endpoint: str) -> dict[str, Any]:
    """Arguments of a client for `endpoint`, empty for Google's own; http:// is called without credentials."""
    from google.api_core.client_options import ClientOptions
    from google.auth.credentials import AnonymousCredentials

    return {
        "transport": "rest",
        "credentials": AnonymousCredentials() if endpoint.startswith("http://") else None,
        "client_options": ClientOptions(api_endpoint=endpoint) if endpoint else None,
    }


def _in_thread(api: str, call: Callable[[], Any]) -> Future[Any]:
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
    threading.Thread(target=run, name=api, daemon=True).start()
    return future
