"""The client of unit tests behaves like the API server: the same calls go to a dictionary and to the real one."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from kvtier.api.kinds import CONFIG_MAP, DEPLOYMENT, EVENT, LEASE, POOL, Resource
from kvtier.api.names import HANDOVER_MANAGER
from kvtier.kube.aio import AioClient, connect
from kvtier.kube.client import ApiError, KubeClient
from testbed.fault_injection import FaultyCluster
from testbed.pools import manifest as pool
from unit.memory import MemoryClient


@dataclass
class Server:
    """A client, and a namespace for the test."""

    client: KubeClient
    namespace: str

    def config_map(self, name: str = "one", data: dict[str, str] | None = None, **metadata: Any) -> Any:
        return {**self._names(CONFIG_MAP, name, **metadata), "data": data or {}}

    def deployment(self, *containers: Any) -> Any:
        labels = {"app": "x"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": list(containers)}}
        return {
            **self._names(DEPLOYMENT, "one"),
            "spec": {"selector": {"matchLabels": labels}, "template": template},
        }

    def lease(self, **metadata: Any) -> Any:
        return {**self._names(LEASE, "one", **metadata), "spec": {"holderIdentity": "a"}}

    def event(self, name: str, kind: str, type_: str) -> Any:
        about = {"kind": kind, "name": "x", "namespace": self.namespace}
        return {**self._names(EVENT, name), "involvedObject": about, "type": type_, "reason": "Because"}

    def pool(self, **metadata: Any) -> Any:
        made = pool("one", self.namespace)
        return {**made, "metadata": {**made["metadata"], **metadata}}

    def status(self, status: Any) -> Any:
        return {**self._names(POOL, "one"), "status": status}

    async def get(self, resource: Resource, name: str = "one") -> Any:
        found = await self.client.get(resource, self.namespace, name)
        assert found is not None
        return found

    async def names(self, resource: Resource, selector: str = "", fields: str = "") -> list[str]:
        found = await self.client.list(resource, self.namespace, selector, fields)
        known = (resource.api_version, resource.kind)
        return [one["metadata"]["name"] for one in found or () if (one["apiVersion"], one["kind"]) == known]

    def _names(self, resource: Resource, name: str, **metadata: Any) -> dict[str, Any]:
        metadata = {"name": name, "namespace": self.namespace, **metadata}
        return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}


@pytest.fixture(params=["dictionary", "API server"])
async def server(request: pytest.FixtureRequest, faulty: FaultyCluster) -> AsyncIterator[Server]:
    if request.param == "dictionary":
        yield Server(MemoryClient(), "team-a")
        return
    api = await connect(str(faulty.plane.kubeconfig), None)
    yield Server(AioClient(api), faulty.namespace())
    await api.close()


async def refusal(call: Any) -> tuple[int, str]:
    with pytest.raises(ApiError) as caught:
        await call
    return caught.value.status, caught.value.reason


def version(obj: Any) -> str:
    return str(obj["metadata"]["resourceVersion"])


def environment(deployment: Any) -> dict[str, list[str]]:
    """Names of the variables of every container."""
    containers = deployment["spec"]["template"]["spec"]["containers"]
    return {one["name"]: [variable["name"] for variable in one.get("env", [])] for one in containers}


def container(name: str, *variables: str, **fields: Any) -> Any:
    return {"name": name, "image": "x", "env": [{"name": one, "value": "1"} for one in variables], **fields}


async def test_an_apply_removes_fields_that_only_its_manager_applied_before(server: Server) -> None:
    both = server.config_map(data={"a": "1", "b": "2"}, labels={"x": "y"})
    await server.client.apply(CONFIG_MAP, both)
    applied = await server.client.apply(CONFIG_MAP, server.config_map(data={"a": "1"}))
    assert applied["data"] == (await server.get(CONFIG_MAP))["data"] == {"a": "1"}
    assert "labels" not in applied["metadata"]
    await server.client.apply(CONFIG_MAP, both)
    await server.client.apply(CONFIG_MAP, server.config_map(data={"b": "3"}), HANDOVER_MANAGER)
    applied = await server.client.apply(CONFIG_MAP, server.config_map(data={"a": "1"}))
    assert applied["data"] == {"a": "1", "b": "3"}
    managers = {(one["manager"], one["operation"]) for one in applied["metadata"]["managedFields"]}
    assert managers == {("kvtier", "Apply"), ("kvtier-handover", "Apply")}
    applied = await server.client.apply(CONFIG_MAP, server.config_map(), HANDOVER_MANAGER)
    assert applied["data"] == {"a": "1"}


async def test_items_of_lists_are_merged_by_their_names(server: Server) -> None:
    ours = server.deployment(container("engine", "A", "B"), container("cache", "A"))
    await server.client.apply(DEPLOYMENT, ours)
    theirs = server.deployment({"name": "engine", "image": "x", "env": [{"name": "C", "value": "1"}]})
    await server.client.apply(DEPLOYMENT, theirs, HANDOVER_MANAGER)
    assert environment(await server.get(DEPLOYMENT)) == {"engine": ["A", "B", "C"], "cache": ["A"]}
    await server.client.apply(DEPLOYMENT, server.deployment(container("engine", "A")))
    assert environment(await server.get(DEPLOYMENT)) == {"engine": ["A", "C"]}


async def test_an_apply_that_changes_nothing_keeps_the_version(server: Server) -> None:
    resources = {"requests": {"cpu": "1000m", "memory": "1Gi"}}
    manifest = server.deployment(container("engine", resources=resources))
    first = await server.client.apply(DEPLOYMENT, manifest)
    kept = first["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]
    assert kept == {"cpu": "1", "memory": "1Gi"}
    assert version(await server.client.apply(DEPLOYMENT, manifest)) == version(first)
    other = server.deployment(container("engine", "A", resources=resources))
    assert int(version(await server.client.apply(DEPLOYMENT, other))) > int(version(first))


async def test_an_apply_to_another_object_or_version_is_a_conflict(server: Server) -> None:
    nobody = "3f0c1a52-0000-4000-8000-000000000001"
    assert await refusal(server.client.apply(CONFIG_MAP, server.config_map(uid=nobody))) == (409, "Conflict")
    old = version(await server.client.apply(CONFIG_MAP, server.config_map(data={"a": "1"})))
    assert await refusal(server.client.apply(CONFIG_MAP, server.config_map(uid=nobody))) == (422, "Invalid")
    changed = server.config_map(data={"a": "2"}, resourceVersion=old)
    await server.client.apply(CONFIG_MAP, changed)
    assert await refusal(server.client.apply(CONFIG_MAP, changed)) == (409, "Conflict")


async def test_a_lock_is_created_once_and_replaced_only_with_the_version_that_was_read(
    server: Server,
) -> None:
    made = await server.client.create(LEASE, server.lease())
    assert await refusal(server.client.create(LEASE, server.lease())) == (409, "AlreadyExists")
    renewed = {**server.lease(resourceVersion=version(made)), "spec": {"holderIdentity": "b"}}
    assert (await server.client.replace(LEASE, renewed))["spec"] == {"holderIdentity": "b"}
    assert await refusal(server.client.replace(LEASE, renewed)) == (409, "Conflict")
    assert (await server.get(LEASE))["spec"] == {"holderIdentity": "b"}


async def test_the_status_is_written_separately(server: Server) -> None:
    assert (await refusal(server.client.patch_status(POOL, server.status({"phase": "Ready"}))))[0] == 404
    made = await server.client.apply(POOL, {**server.pool(), "status": {"phase": "Ready"}})
    assert "status" not in made
    written = await server.client.patch_status(
        POOL, {**server.status({"phase": "Ready"}), "spec": {"mode": "x"}}
    )
    assert (written["status"], written["spec"]) == ({"phase": "Ready"}, made["spec"])
    await server.client.apply(POOL, server.pool())
    assert (await server.get(POOL))["status"] == {"phase": "Ready"}


async def test_a_list_that_becomes_empty_is_left_out_and_one_that_was_empty_stays(server: Server) -> None:
    await server.client.apply(POOL, server.pool())
    cpu, lustre = {"name": "cpu", "phase": "Configured"}, {"name": "lustre", "phase": "Bound"}
    for applied, kept in (
        ({"tiers": [cpu, lustre], "operations": []}, {"tiers": [cpu, lustre], "operations": []}),
        ({"tiers": [cpu]}, {"tiers": [cpu], "operations": []}),
        ({"tiers": []}, {"operations": []}),
        ({"tiers": []}, {"tiers": [], "operations": []}),
        ({"tiers": [lustre]}, {"tiers": [lustre], "operations": []}),
        ({}, {"operations": []}),
    ):
        written = await server.client.patch_status(POOL, server.status({"phase": "Ready", **applied}))
        assert written["status"] == {"phase": "Ready", **kept}


async def test_a_finalizer_keeps_an_object_until_it_is_removed(server: Server) -> None:
    made = await server.client.apply(CONFIG_MAP, server.config_map(finalizers=["kvtier.dev/teardown"]))
    await server.client.delete(CONFIG_MAP, server.namespace, "one", "3f0c1a52-0000-4000-8000-000000000001")
    assert "deletionTimestamp" not in (await server.get(CONFIG_MAP))["metadata"]
    await server.client.delete(CONFIG_MAP, server.namespace, "one", made["metadata"]["uid"])
    assert (await server.get(CONFIG_MAP))["metadata"]["deletionTimestamp"]
    await server.client.apply(CONFIG_MAP, server.config_map(finalizers=[]))
    assert await server.client.get(CONFIG_MAP, server.namespace, "one") is None
    await server.client.delete(CONFIG_MAP, server.namespace, "one", made["metadata"]["uid"])


async def test_a_list_has_the_objects_that_namespace_labels_and_fields_select(server: Server) -> None:
    for name, labels in {"one": {"a": "1"}, "two": {"a": "1", "b": "2"}, "three": {}}.items():
        await server.client.apply(CONFIG_MAP, server.config_map(name, {"k": "v"}, labels=labels))
    assert set(await server.names(CONFIG_MAP)) >= {"one", "two", "three"}
    assert await server.names(CONFIG_MAP, "a=1") == ["one", "two"]
    assert await server.names(CONFIG_MAP, "a=1,b=2") == ["two"]
    assert await server.names(CONFIG_MAP, "", "metadata.name=three") == ["three"]
    assert await server.client.list(CONFIG_MAP, "elsewhere") == []
    found = await server.client.get_metadata(CONFIG_MAP, server.namespace, "two")
    assert found is not None
    assert found["metadata"]["labels"] == {"a": "1", "b": "2"}
    assert "data" not in found
    assert await server.client.get_metadata(CONFIG_MAP, "elsewhere", "two") is None
    for name, kind, type_ in (("a", "Pod", "Warning"), ("b", "Pod", "Normal"), ("c", "Job", "Warning")):
        await server.client.apply(EVENT, server.event(name, kind, type_))
    assert await server.names(EVENT, "", "involvedObject.kind=Pod,type=Warning") == ["a"]
    assert await server.names(EVENT, "", "involvedObject.kind=Pod,reason=Because") == ["a", "b"]
