"""What `kvtier check` looks at, against a cluster that has pools already."""

from typing import Any

import pytest

from kvtier.api import names
from kvtier.api.names import LUSTRE_DRIVER
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks import run
from kvtier.facts import snapshot
from kvtier.facts.lustre_api import LustreReader
from kvtier.facts.model import Facts, LustreFacts
from unit.builders import context, document, joined, model, pool
from unit.instances import NAME, existing, instance
from unit.memory import MemoryClient

STORED = {"creationTimestamp": "2026-11-01T00:00:00Z", "resourceVersion": "7"}
NODES = {"nodePool": {"provisioner": "Existing"}}
NAMED: dict[str, Any] = joined(NODES, {"tiers": {"lustre": {"filesystem": "kvcache"}}})


class Told(LustreReader):
    """A Lustre API with one instance."""

    async def read(self, instance_name: str | None, *_: Any) -> LustreFacts | None:
        return instance(filesystem="kvcache") if instance_name == NAME else None


def _stored(base: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return document(**joined(base, {"metadata": {**STORED, **metadata}}))


async def _read(client: MemoryClient, *pools: KVCachePool) -> list[tuple[KVCachePool, Facts]]:
    return await snapshot.read(client, pools, lustre=Told())


async def test_an_empty_cluster_has_nothing_and_no_pools_either() -> None:
    client = MemoryClient()
    client.unserved = {"KVCachePool"}
    ((_, facts),) = await _read(client, pool())
    assert (facts.cluster.nodes, facts.neighbours, facts.gke, facts.lustre) == ((), (), None, None)
    assert not client.writes


async def test_a_pool_that_exists_is_judged_by_what_it_has_become() -> None:
    status = {"tiers": [{"name": "lustre", "phase": "Bound", "capacity": "27000Gi"}]}
    client = MemoryClient(_stored({"status": status}))
    ((checked, facts),) = await _read(client, pool())
    assert run(context(checked, facts=facts))["CapacityValid"].reason == "WouldShrink"


async def test_a_status_that_cannot_be_read_is_none() -> None:
    client = MemoryClient(_stored({}) | {"status": {"tiers": "odd"}})
    ((checked, _),) = await _read(client, pool())
    assert (checked.status.tiers, checked.metadata["resourceVersion"]) == ([], "7")


async def test_pools_of_the_cluster_are_neighbours_and_were_there_first() -> None:
    client = MemoryClient(_stored(NAMED, name="first"))
    ((checked, facts),) = await _read(client, pool(**NAMED))
    assert run(context(checked, facts=facts))["FilesystemUnique"].reason == "FilesystemNameTaken"


async def test_pools_of_one_file_are_neighbours_too() -> None:
    found = await _read(MemoryClient(), pool(**NAMED), pool(**joined(NAMED, {"metadata": {"name": "b"}})))
    assert [run(context(checked, facts=facts))["FilesystemUnique"].reason for checked, facts in found] == [
        "FilesystemNameTaken",
        "Unique",
    ], "b comes before chat"


@pytest.mark.parametrize("claim", [("x", "data"), ("team-a", names.claim("first"))])
async def test_the_volume_of_an_existing_instance_is_seen(claim: tuple[str, str]) -> None:
    theirs = joined(existing(instance=f"{NAME}2"), NODES)
    client = MemoryClient(_stored(theirs, name="first"), _volume("kvcache", *claim))
    ((checked, facts),) = await _read(client, pool(**joined(existing(), NODES)))
    assert facts.lustre == instance(filesystem="kvcache")
    reason = "ForeignVolume" if claim[0] == "x" else "FilesystemNameTaken"
    assert run(context(checked, facts=facts))["FilesystemUnique"].reason == reason


def _volume(filesystem: str, namespace: str, name: str) -> dict[str, Any]:
    attributes = {"ip": "10.0.0.5", "filesystem": filesystem}
    return {
        "kind": "PersistentVolume",
        "metadata": {"name": "pv", "uid": "pv-uid", "resourceVersion": "5"},
        "spec": {
            "csi": {"driver": LUSTRE_DRIVER, "volumeHandle": "p/z/i", "volumeAttributes": attributes},
            "claimRef": {"namespace": namespace, "name": name},
        },
        "status": {"phase": "Bound"},
    }


async def test_the_documents_of_models_are_read() -> None:
    metadata = {"name": "configs", "namespace": "team-a"}
    client = MemoryClient(
        {"kind": "ConfigMap", "metadata": metadata, "data": {"config.json": "{}", "more": "x"}}
    )
    named = model(modelConfigFrom={"configMapKeyRef": {"name": "configs"}})
    ((_, facts),) = await _read(client, pool(models=[named]))
    assert facts.config_maps.data == {"configs": {"config.json": "{}"}}
