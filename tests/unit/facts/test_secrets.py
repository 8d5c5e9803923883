"""Secrets are asked for by name, and only their keys are kept."""

from typing import Any

import pytest

from kvtier.facts.references import read_secrets
from kvtier.kube.client import ApiError
from unit.builders import model, pool
from unit.facts.named import Named

ONE = model(tokenSecretRef={"name": "hf"})
SAME = model(name="same", tokenSecretRef={"name": "hf", "key": "more"})


async def test_a_secret_is_read_once_in_the_pool_s_namespace_and_its_values_are_dropped() -> None:
    secrets = Named(hf={"data": {"token": "c2VjcmV0"}})
    found = await read_secrets(secrets.client, pool(models=[ONE, SAME]))
    assert found.keys == {"hf": frozenset({"token"})}
    assert secrets.asked == [("Secret", "team-a", "hf")]


async def test_every_secret_that_pods_need_is_asked_for_and_no_config_map() -> None:
    secrets = Named()
    needs = model(
        tokenSecretRef={"name": "hf"},
        engine={"imagePullSecrets": [{"name": "registry"}]},
        env=[
            {"name": "A", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "a"}}},
            {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "b"}}},
        ],
    )
    bucket = {"bucket": "blocks", "credentialsSecretRef": {"name": "hmac"}}
    found = await read_secrets(secrets.client, pool(models=[needs], tiers={"objectStorage": bucket}))
    assert set(found.keys) == {"hf", "registry", "keys", "hmac"}
    assert len(secrets.asked) == 4


async def test_without_a_token_nothing_is_asked() -> None:
    secrets = Named()
    assert (await read_secrets(secrets.client, pool())).keys == {}
    assert secrets.asked == []


@pytest.mark.parametrize("secret", [None, {}, {"data": None}])
async def test_a_secret_that_is_missing_or_empty_has_no_keys(secret: Any) -> None:
    assert (await read_secrets(Named(hf=secret).client, pool(models=[ONE]))).keys == {"hf": frozenset()}


async def test_a_secret_that_may_not_be_read_is_unknown() -> None:
    refusal = ApiError(403, "Forbidden", "no")
    assert (await read_secrets(Named(hf=refusal).client, pool(models=[ONE]))).keys == {"hf": None}


async def test_any_other_failure_is_not_taken_for_an_answer() -> None:
    with pytest.raises(ApiError):
        await read_secrets(Named(hf=ApiError(500, "InternalError", "no")).client, pool(models=[ONE]))
