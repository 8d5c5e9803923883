"""The lines of a watch that kopf gets."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kvtier.kube.watching import _Lines, event
from unit.kube.test_documents import nested, odd, text
from unit.tables import table


class Stream:
    """A stream of these chunks."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = chunks

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


async def lines(*chunks: bytes) -> list[bytes]:
    stream: Any = Stream(*chunks)
    return [line async for line in _Lines(stream).iter_chunked(10)]


@table(
    "line, shown",
    {
        "an event is passed on": ({"type": "ADDED", "object": odd()}, {"type": "ADDED", "object": odd()}),
        "a deep object loses its field": (
            {"type": "ADDED", "object": odd(spec=nested(1100))},
            {"type": "ADDED", "object": odd()},
        ),
        "a large object is passed on": (
            {"type": "ADDED", "object": odd(spec=[{}] * 300)},
            {"type": "ADDED", "object": odd(spec=[{}] * 300)},
        ),
    },
)
def test_an_event_can_be_decoded(line: Any, shown: Any) -> None:
    assert json.loads(event(text(line).encode())) == shown


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"ERROR","object":{"code":500,"message":"etcd"}}',
        b'{"type":"ERROR","object":{"code":410}}',
        b"[" * 300,
        b"<html>",
    ],
)
def test_after_an_error_kopf_lists_again(line: bytes) -> None:
    sent = json.loads(event(line))
    assert (sent["type"], sent["object"]["code"]) == ("ERROR", 410)


async def test_chunks_become_whole_lines_and_a_cut_line_is_dropped() -> None:
    assert await lines(b'{"a"', b":1}\n{}\n[", b"]", b'\n{"cut":') == [b'{"a":1}\n', b"{}\n", b"[]\n"]
