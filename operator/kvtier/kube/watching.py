"""The response of a LIST or a watch, for kopf: no object in it and no error in it ends the watch."""

import logging
from collections.abc import AsyncIterator
from typing import Any, cast

import aiohttp

from kvtier.kube.documents import decode, readable

logger = logging.getLogger(__name__)

_ERROR = b'{"type":"ERROR"'
_EXPIRED = b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"reason":"Expired","code":410}}'


class Response(aiohttp.ClientResponse):
    """A response that is decoded as everywhere else in kvtier. kopf decodes the lines of a watch itself.

    kopf retries after an `aiohttp.ClientConnectionError`. After most other errors, the process would end.
    """

    async def start(self, connection: Any) -> "Response":
        try:
            await super().start(connection)
        except aiohttp.ClientResponseError as error:
            raise aiohttp.ClientConnectionError(f"not HTTP: {error}") from error
        self.content = cast(aiohttp.StreamReader, _Lines(self.content))
        return self

    async def json(self, **_: Any) -> Any:
        try:
            return decode(await self.read())
        except ValueError as error:
            raise aiohttp.ClientConnectionError(f"not JSON: {error}") from error


class _Lines:
    """A stream whose chunks are whole lines that kopf can decode."""

    def __init__(self, stream: aiohttp.StreamReader) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        """Whole lines. A line that the end of the connection has cut is dropped: the watch resumes before it."""
        rest: list[bytes] = []
        async for chunk in self._stream.iter_chunked(size):
            *lines, last = chunk.split(b"\n")
            for line in lines:
                yield event(b"".join([*rest, line])) + b"\n"
                rest.clear()
            rest.append(last)


def event(line: bytes) -> bytes:
    """A line of a watch that kopf can decode, and that does not end the process.

    An error of the server, whatever it is about, is passed on as one after which kopf lists again.
    """
    if line.startswith(_ERROR):
        logger.info("A watch ended: %s", line[:500].decode(errors="replace"))
        return _EXPIRED
    try:
        return readable(line)
    except ValueError:
        return _EXPIRED
