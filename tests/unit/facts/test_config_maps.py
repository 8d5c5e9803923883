"""ConfigMaps are asked for by name, and only what the pool names is kept."""

from typing import Any, cast

import pytest

from kvtier.facts.config_maps import read
from kvtier.kube.client import ApiError, KubeClient, Resource
from unit.builders import model, pool


class _ConfigMaps:
    """A client that knows ConfigMaps by name; an ApiError in place of one is raised."""

    def __init__(self, **known: Any) -> None:
        self._known = known
        self.asked: list[tuple[str, str | None, str]] = []

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Any:
        self.asked.append((resource.kind, namespace, name))
        found = self._known.get(name)
        if isinstance(found, ApiError):
            raise found
        return found


def _named(name: str, **reference: Any) -> Any:
    return model(name=name, modelConfigFrom={"configMapKeyRef": {"name": "configs", **reference}})


POOL = pool(models=[_named("one"), _named("two", key="two.json"), _named("three")])


async def _read(known: Any) -> Any:
    return (await read(cast(KubeClient, _ConfigMaps(configs=known)), POOL)).data


async def test_a_config_map_is_read_once_and_other_keys_are_dropped() -> None:
    client = _ConfigMaps(configs={"data": {"config.json": "{}", "two.json": "[]", "large": "x"}})
    found = await read(cast(KubeClient, client), POOL)
    assert found.data == {"configs": {"config.json": "{}", "two.json": "[]"}}
    assert client.asked == [("ConfigMap", "team-a", "configs")]


async def test_what_variables_come_from_is_read_too() -> None:
    reference = {"configMapKeyRef": {"name": "configs", "key": "level"}}
    of = pool(models=[_named("one"), model(name="two", env=[{"name": "LEVEL", "valueFrom": reference}])])
    client = _ConfigMaps(configs={"data": {"config.json": "{}", "level": "info", "other": "x"}})
    found = await read(cast(KubeClient, client), of)
    assert found.data == {"configs": {"config.json": "{}", "level": "info"}}


async def test_a_text_in_the_pool_asks_nobody() -> None:
    client = _ConfigMaps()
    of = pool(models=[model(modelConfigFrom={"inline": "{}"}), model(name="plain")])
    assert (await read(cast(KubeClient, client), of)).data == {}
    assert client.asked == []


@pytest.mark.parametrize("found", [None, {}, {"data": None}, {"binaryData": {"config.json": "e30="}}])
async def test_a_config_map_that_is_missing_or_empty_has_no_keys(found: Any) -> None:
    assert await _read(found) == {"configs": {}}


async def test_a_config_map_that_may_not_be_read_is_unknown() -> None:
    assert await _read(ApiError(403, "Forbidden", "no")) == {"configs": None}


async def test_any_other_failure_is_not_taken_for_an_answer() -> None:
    with pytest.raises(ApiError):
        await _read(ApiError(500, "InternalError", "no"))
