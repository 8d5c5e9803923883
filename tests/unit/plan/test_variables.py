"""The engine's environment."""

from typing import Any

from kvtier.plan.engine_pods import variables
from unit.builders import model, pool
from unit.tables import table

BUCKET: dict[str, Any] = {"bucket": "blocks", "credentialsSecretRef": {"name": "hmac"}}
SECRET = {"secretKeyRef": {"name": "keys", "key": "api"}}
CONFIG = {"configMapKeyRef": {"name": "settings", "key": "level"}}


def _made(tiers: dict[str, Any] | None = None, **changes: Any) -> dict[str, dict[str, Any]]:
    of = pool(tiers=tiers or {}, models=[model(**changes)])
    made = variables(of, of.spec.models[0])
    by_name = {one["name"]: one for one in made}
    assert len(by_name) == len(made), "a variable stands twice"
    return by_name


@table(
    "given, item",
    {
        "a value": ({"value": "x"}, {"value": "x"}),
        "a value with dollars, which Kubernetes would expand": (
            {"value": "$(A) $$"},
            {"value": "$$(A) $$$$"},
        ),
        "an empty value, which the API server leaves out": ({"value": ""}, {}),
        "no value": ({}, {}),
        "a key of a Secret": ({"valueFrom": SECRET}, {"valueFrom": SECRET}),
        "a key of a ConfigMap": ({"valueFrom": CONFIG}, {"valueFrom": CONFIG}),
    },
)
def test_a_variable_of_the_user(given: dict[str, Any], item: dict[str, Any]) -> None:
    assert _made(env=[{"name": "A", **given}])["A"] == {"name": "A", **item}


@table(
    "name",
    {"home": "HOME", "the name of the user": "USER"},
)
def test_the_user_may_replace(name: str) -> None:
    assert _made()[name]["value"]
    assert _made(env=[{"name": name, "value": "mine"}])[name]["value"] == "mine"


def test_a_token_is_only_referred_to() -> None:
    made = _made(tokenSecretRef={"name": "hf", "key": "token"})["HF_TOKEN"]
    assert made["valueFrom"] == {"secretKeyRef": {"name": "hf", "key": "token"}}


def test_keys_of_the_bucket_are_only_referred_to() -> None:
    made = _made({"objectStorage": BUCKET})
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        assert made[name]["valueFrom"] == {"secretKeyRef": {"name": "hmac", "key": name}}


def test_without_a_secret_the_sdk_looks_for_keys_by_itself() -> None:
    made = _made({"objectStorage": {"bucket": "blocks"}})
    assert "AWS_ACCESS_KEY_ID" not in made
    assert made["AWS_REQUEST_CHECKSUM_CALCULATION"]["value"] == "when_required"


def test_settings_of_the_sdk_are_there_with_a_bucket_only_and_the_user_may_replace_them() -> None:
    assert not [name for name in _made() if name.startswith("AWS_")]
    mine = [{"name": "AWS_RETRY_MODE", "value": "adaptive"}]
    assert _made({"objectStorage": BUCKET}, env=mine)["AWS_RETRY_MODE"]["value"] == "adaptive"
