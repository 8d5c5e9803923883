"""Reading facts of Lustre instances in tests."""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType

from kvtier.facts.lustre_api import LustreReader
from kvtier.facts.model import LustreFacts
from testbed.lustre_client import Spoiled
from testbed.waiting import eventually

HOME = "projects/p/locations/us-central1-a/instances/home"
AWAY = "projects/p/locations/us-central1-a/instances/away"
REQUEST = "8f8e1a34-6b3d-4c8e-9f0a-0d6a4b1c2d3e"
_NONE: Mapping[str, str] = MappingProxyType({})


async def read(reader: LustreReader, name: str = HOME, operations: Mapping[str, str] = _NONE) -> LustreFacts:
    facts = await reader.read(name, operations)
    assert facts is not None
    return facts


async def state(reader: LustreReader, name: str = HOME) -> str:
    found = (await read(reader, name)).instance
    return found.state if found else ""


async def size(reader: LustreReader) -> int:
    """In GiB."""
    found = (await read(reader)).instance
    return found.capacity >> 30 if found else 0


async def met(fault: Spoiled) -> None:
    """Return when the first request has met a fault."""
    await asyncio.to_thread(eventually, fault.hits)
