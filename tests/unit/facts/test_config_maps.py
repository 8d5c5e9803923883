"""ConfigMaps are asked for by name, and only what the pool names is kept."""

from typing import Any

import pytest

from kvtier.facts.references import read_config_maps
from kvtier.kube.client import ApiError
from unit.builders import model, pool
from unit.facts.named import Named


def _named(name: str, **reference: Any) -> Any:
    return model(name=name, modelConfigFrom={"configMapKeyRef": {"name": "configs", **reference}})


POOL = pool(models=[_named("one"), _named("two", key="two.json"), _named("three")])


async def _read(known: Any) -> Any:
    return (await read_config_maps(Named(configs=known).client, POOL)).data


async def test_a_config_map_is_read_once_and_other_keys_are_dropped() -> None:
    client = Named(configs={"data": {"config.json": "{}", "two.json": "[]", "large": "x"}})
    found = await read_config_maps(client.client, POOL)
    assert found.data == {"configs": {"config.json": "{}", "two.json": "[]"}}
    assert client.asked == [("ConfigMap", "team-a", "configs")]


async def test_what_variables_come_from_is_read_too() -> None:
    reference = {"configMapKeyRef": {"name": "configs", "key": "level"}}
    of = pool(models=[_named("one"), model(name="two", env=[{"name": "LEVEL", "valueFrom": reference}])])
    client = Named(configs={"data": {"config.json": "{}", "level": "info", "other": "x"}})
    found = await read_config_maps(client.client, of)
    assert found.data == {"configs": {"config.json": "{}", "level": "info"}}


async def test_a_text_in_the_pool_asks_nobody() -> None:
    client = Named()
    of = pool(models=[model(modelConfigFrom={"inline": "{}"}), model(name="plain")])
    assert (await read_config_maps(client.client, of)).data == {}
    assert client.asked == []


@pytest.mark.parametrize("found", [None, {}, {"data": None}, {"binaryData": {"config.json": "e30="}}])
async def test_a_config_map_that_is_missing_or_empty_has_no_keys(found: Any) -> None:
    assert await _read(found) == {"configs": {}}


async def test_a_config_map_that_may_not_be_read_is_unknown() -> None:
    assert await _read(ApiError(403, "Forbidden", "no")) == {"configs": None}


async def test_any_other_failure_is_not_taken_for_an_answer() -> None:
    with pytest.raises(ApiError):
        await _read(ApiError(500, "InternalError", "no"))
