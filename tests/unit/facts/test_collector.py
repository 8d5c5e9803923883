"""The input of `kvtier check` in a cluster with existing pools."""

from typing import Any

from kvtier import checks, context
from kvtier.api import names
from kvtier.api.kinds import CONFIG_MAP
from kvtier.api.names import LUSTRE_DRIVER
from kvtier.api.policy import Grant, Policy
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.context import Context
from kvtier.facts.collector import Collector, list_all
from kvtier.facts.gke import GKEReader
from kvtier.facts.lustre_api import LustreReader
from kvtier.facts.model import LustreFacts
from kvtier.kube.client import ApiError
from unit.builders import EVERYTHING, NOW, document, joined, model, pool
from unit.instances import NAME, existing, instance
from unit.memory import MemoryClient
from unit.tables import table

STORED = {"creationTimestamp": "2026-11-01T00:00:00Z", "resourceVersion": "7"}
NODES = {"nodePool": {"provisioner": "Existing"}}
NAMED: dict[str, Any] = joined(NODES, {"tiers": {"lustre": {"filesystem": "kvcache"}}})


class OneInstance(LustreReader):
    """A Lustre API with one instance."""

    async def read(self, instance_name: str | None, *_: Any) -> LustreFacts | None:
        return instance(filesystem="kvcache") if instance_name == NAME else None


def _stored(base: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return document(**joined(base, {"metadata": {**STORED, **metadata}}))


def policy(*grants: Grant) -> dict[str, Any]:
    """The policy of the installer."""
    text = Policy(grants=list(grants)).model_dump_json(by_alias=True)
    metadata = {"name": "kvtier-policy", "namespace": "kvtier-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"policy.yaml": text}}


async def _look(client: MemoryClient, *pools: KVCachePool) -> list[Context]:
    """The contexts of pools to which everything is granted."""
    await client.apply(CONFIG_MAP, policy(EVERYTHING))
    client.writes.clear()
    snapshot = await list_all(client, pools)
    collector = Collector(client, snapshot, GKEReader(), OneInstance())
    return [context.build(of, await collector.collect(of, NOW), NOW) for of in snapshot.pools]


async def _reasons(type_: str, client: MemoryClient, *pools: KVCachePool) -> list[str]:
    return [checks.run(look)[type_].reason for look in await _look(client, *pools)]


async def test_an_empty_cluster_has_no_facts_and_no_pools() -> None:
    client = MemoryClient()
    client.unserved = {"KVCachePool"}
    (look,) = await _look(client, pool())
    facts = look.facts
    assert (facts.cluster.nodes, facts.neighbours, facts.gke, facts.lustre) == ((), (), None, None)
    assert not client.writes


async def test_an_existing_pool_has_its_metadata_and_status() -> None:
    status = {"tiers": [{"name": "lustre", "phase": "Bound", "capacity": "27000Gi"}]}
    client = MemoryClient(_stored({"status": status}))
    assert await _reasons("CapacityValid", client, pool()) == ["WouldShrink"]


async def test_an_invalid_status_is_ignored() -> None:
    client = MemoryClient(_stored({}) | {"status": {"tiers": "odd"}})
    (look,) = await _look(client, pool())
    assert (look.pool.status.tiers, look.pool.metadata["resourceVersion"]) == ([], "7")


async def test_pools_of_the_cluster_are_older_neighbours() -> None:
    client = MemoryClient(_stored(NAMED, name="first"))
    assert await _reasons("FilesystemUnique", client, pool(**NAMED)) == ["FilesystemNameTaken"]


async def test_pools_of_one_file_are_neighbours_in_the_order_of_their_names() -> None:
    both = pool(**NAMED), pool(**joined(NAMED, {"metadata": {"name": "b"}}))
    assert await _reasons("FilesystemUnique", MemoryClient(), *both) == ["FilesystemNameTaken", "Unique"]


@table(
    "claim, reason",
    {
        "belongs to a foreign PVC": (("x", "data"), "ForeignVolume"),
        "belongs to another pool": (("team-a", names.claim("first")), "FilesystemNameTaken"),
    },
)
async def test_a_persistent_volume_of_an_existing_instance(claim: tuple[str, str], reason: str) -> None:
    theirs = joined(existing(instance=f"{NAME}2"), NODES)
    client = MemoryClient(_stored(theirs, name="first"), _volume("kvcache", *claim))
    (look,) = await _look(client, pool(**joined(existing(), NODES)))
    assert look.facts.lustre == instance(filesystem="kvcache")
    assert checks.run(look)["FilesystemUnique"].reason == reason


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


@table(
    "refused, verdict",
    {
        "no policy": (None, ("False", "NotGranted")),
        "a policy that the user may not read": (ApiError(403, "Forbidden", "no"), ("Unknown", "NotReadable")),
    },
)
async def test_a_command_reads_the_policy_if_it_may(
    refused: ApiError | None, verdict: tuple[str, str]
) -> None:
    client = MemoryClient()
    client.refuse = lambda request: refused if request[:2] == ("get", "ConfigMap") else None
    snapshot = await list_all(client, [pool(**existing())])
    collector = Collector(client, snapshot, GKEReader(), OneInstance())
    (of,) = snapshot.pools
    found = checks.run(context.build(of, await collector.collect(of, NOW), NOW))["AccessGranted"]
    assert (found.status, found.reason) == verdict


async def test_a_command_reports_a_policy_that_is_not_valid() -> None:
    config_map = policy() | {"data": {"policy.yaml": "grants: everything"}}
    assert (await list_all(MemoryClient(config_map), [])).policy().problem == "Invalid"


async def test_the_config_json_of_models_is_read() -> None:
    metadata = {"name": "configs", "namespace": "team-a"}
    client = MemoryClient(
        {"kind": "ConfigMap", "metadata": metadata, "data": {"config.json": "{}", "more": "x"}}
    )
    named = model(modelConfigFrom={"configMapKeyRef": {"name": "configs"}})
    (look,) = await _look(client, pool(models=[named]))
    assert look.facts.config_maps.data == {"configs": {"config.json": "{}"}}
