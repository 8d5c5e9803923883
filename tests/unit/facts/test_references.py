"""Secrets and ConfigMaps are read by name, and only what the pool needs is kept."""

from typing import Any

import pytest

from kvtier.facts.references import read_config_maps, read_secrets
from kvtier.kube.client import ApiError
from unit.builders import model, pool
from unit.memory import MemoryClient
from unit.tables import table


def _described(name: str, **reference: Any) -> Any:
    """A model whose config.json is in a ConfigMap."""
    return model(name=name, modelConfigFrom={"configMapKeyRef": {"name": "configs", **reference}})


def _variable(name: str, **source: Any) -> Any:
    return {"name": name, "valueFrom": source}


TOKENS = pool(
    models=[
        model(tokenSecretRef={"name": "hf"}),
        model(name="same", tokenSecretRef={"name": "hf", "key": "more"}),
    ]
)
DOCUMENTS = pool(
    models=[
        _described("one"),
        _described("two", key="two.json"),
        model(name="three", env=[_variable("LEVEL", configMapKeyRef={"name": "configs", "key": "level"})]),
    ]
)


def _cluster(kind: str, name: str, found: Any) -> MemoryClient:
    """With this object, or with this result for every request."""
    if found is None:
        return MemoryClient()
    if isinstance(found, ApiError):
        client = MemoryClient()
        client.refuse = lambda request: found
        return client
    return MemoryClient({"kind": kind, "metadata": {"name": name, "namespace": "team-a"}, **found})


FORBIDDEN = ApiError(403, "Forbidden", "no")


@table(
    "found, keys",
    {
        "one that has keys": ({"data": {"token": "c2VjcmV0"}}, frozenset({"token"})),
        "one that is missing": (None, frozenset()),
        "one without data": ({}, frozenset()),
        "one whose data is null": ({"data": None}, frozenset()),
        "one that may not be read": (FORBIDDEN, None),
    },
)
async def test_only_the_keys_of_a_secret_are_kept(found: Any, keys: frozenset[str] | None) -> None:
    client = _cluster("Secret", "hf", found)
    assert (await read_secrets(client, TOKENS)).keys == {"hf": keys}
    assert client.reads == ([] if found is FORBIDDEN else [("get", "Secret", "hf")]), "once, by its name"


@table(
    "found, data",
    {
        "one that has more keys": (
            {"data": {"config.json": "{}", "two.json": "[]", "level": "info", "large": "x"}},
            {"config.json": "{}", "two.json": "[]", "level": "info"},
        ),
        "one that is missing": (None, {}),
        "one without data": ({}, {}),
        "one whose data is null": ({"data": None}, {}),
        "one whose data is binary": ({"binaryData": {"config.json": "e30="}}, {}),
        "one that may not be read": (FORBIDDEN, None),
    },
)
async def test_only_the_named_keys_of_a_config_map_are_kept(found: Any, data: dict[str, str] | None) -> None:
    client = _cluster("ConfigMap", "configs", found)
    assert (await read_config_maps(client, DOCUMENTS)).data == {"configs": data}
    assert client.reads == ([] if found is FORBIDDEN else [("get", "ConfigMap", "configs")]), (
        "once, by its name"
    )


async def test_every_secret_that_pods_need_is_read_and_no_config_map() -> None:
    client = MemoryClient()
    needs = model(
        tokenSecretRef={"name": "hf"},
        engine={"imagePullSecrets": [{"name": "registry"}]},
        env=[
            _variable("A", secretKeyRef={"name": "keys", "key": "a"}),
            _variable("B", configMapKeyRef={"name": "settings", "key": "b"}),
        ],
    )
    bucket = {"bucket": "blocks", "credentialsSecretRef": {"name": "hmac"}}
    found = await read_secrets(client, pool(models=[needs], tiers={"objectStorage": bucket}))
    assert set(found.keys) == {"hf", "registry", "keys", "hmac"}
    assert len(client.reads) == 4


async def test_a_pool_without_references_costs_no_request() -> None:
    client = MemoryClient()
    of = pool(models=[model(modelConfigFrom={"inline": "{}"}), model(name="plain")])
    assert (await read_secrets(client, of)).keys == {}
    assert (await read_config_maps(client, of)).data == {}
    assert client.reads == []


@pytest.mark.parametrize(("read", "of"), [(read_secrets, TOKENS), (read_config_maps, DOCUMENTS)])
async def test_any_other_failure_is_raised(read: Any, of: Any) -> None:
    with pytest.raises(ApiError):
        await read(_cluster("", "", ApiError(500, "InternalError", "no")), of)
