"""What the operator keeps in memory depends on what exists, not on what has existed."""

from collections.abc import Collection, Iterator
from typing import Any

from kvtier.api.kinds import CHILD_KINDS, POOL
from kvtier.api.names import PoolKey
from kvtier.control.reconciler import Reconciler
from kvtier.control.store import Store
from kvtier.facts.gke import GKEReader
from kvtier.facts.lustre_api import LustreReader
from unit.builders import NOW, document
from unit.memory import MemoryClient


def sizes(root: Any) -> dict[str, int]:
    """The number of items in every collection that is reachable from an object of kvtier."""
    return {name: len(found) for name, found in _collections(root, "", set())}


def _collections(obj: Any, name: str, seen: set[int]) -> Iterator[tuple[str, Collection[Any]]]:
    if id(obj) in seen:
        return
    seen.add(id(obj))
    if isinstance(obj, dict | set | list):
        yield name, obj
    elif type(obj).__module__.startswith("kvtier.") and hasattr(obj, "__dict__"):
        for attribute, value in vars(obj).items():
            yield from _collections(value, f"{name}.{attribute}", seen)


async def test_a_pool_that_is_gone_leaves_nothing_behind() -> None:
    client, store = MemoryClient(), Store()
    reconciler = Reconciler(client, store, GKEReader(), LustreReader())
    reconciler.clock = lambda: NOW

    async def sync() -> None:
        for resource in (POOL, *(child.resource for child in CHILD_KINDS)):
            store.replace(resource.kind, await client.list(resource))

    async def live(name: str, mode: str) -> None:
        metadata = {"name": name, "uid": f"uid-of-{name}", "resourceVersion": "1"}
        client.store(document(metadata=metadata, mode=mode))
        for _ in range(4):
            await sync()
            await reconciler.reconcile(PoolKey("team-a", name))
        await client.delete(POOL, "team-a", name, f"uid-of-{name}")
        for _ in range(8):
            await sync()
            await reconciler.reconcile(PoolKey("team-a", name))
        assert store.all_keys() == set()

    await live("first", "Required")
    before = sizes(reconciler)
    assert len(before) > 10
    for index in range(3):
        await live(f"pool-{index}", "Required")
        await live(f"invalid-{index}", "Sometimes")
    assert sizes(reconciler) == before
