"""Secrets and ConfigMaps that Pods need."""

from dataclasses import replace
from typing import Any

from kvtier.checks.credentials import check
from kvtier.facts.model import ConfigMaps
from unit.builders import facts, model, pool
from unit.tables import table
from unit.verdicts import assert_verdict

GATED = model(tokenSecretRef={"name": "hf", "key": "token"})
OTHER = model(name="other", tokenSecretRef={"name": "more", "key": "token"})
PULLED = model(engine={"imagePullSecrets": [{"name": "registry"}]})
SECRET_VARIABLE = model(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "a"}}}])
PLAIN_VARIABLE = model(
    env=[{"name": "B", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "b"}}}]
)
BUCKET = {"objectStorage": {"bucket": "blocks", "credentialsSecretRef": {"name": "hmac"}}}
PRESENT = ("True", "Present", "")


@table(
    "models, secrets, verdict",
    {
        "no model names a Secret": ([model()], {}, PRESENT),
        "the key is there": ([GATED], {"hf": frozenset({"token", "x"})}, PRESENT),
        "the Secret is not there: the message creates it": (
            [GATED],
            {"hf": frozenset()},
            (
                "False",
                "SecretMissing",
                "model llama: Secret hf has no key token. Create it with kubectl -n team-a create secret generic hf "
                "--from-literal=token=TOKEN",
            ),
        ),
        "the Secret has another key": ([GATED], {"hf": frozenset({"TOKEN"})}, ("False", "SecretMissing", "")),
        "a Secret that may not be read cannot be judged": (
            [GATED],
            {"hf": None},
            ("Unknown", "NotReadable", "Secret hf could not be read: grant kvtier get on secrets"),
        ),
        "a Secret that was not looked at cannot be judged": ([GATED], {}, ("Unknown", "NotReadable", "")),
        "a missing Secret weighs more than an unreadable one": (
            [GATED, OTHER],
            {"hf": None, "more": frozenset()},
            ("False", "SecretMissing", "model other: Secret more"),
        ),
        "a pull secret is there": ([PULLED], {"registry": frozenset({".dockerconfigjson"})}, PRESENT),
        "a pull secret of the old format is none": (
            [PULLED],
            {"registry": frozenset({".dockercfg"})},
            (
                "False",
                "SecretMissing",
                "model llama: Secret registry has no key .dockerconfigjson. Create it with kubectl -n team-a create "
                "secret docker-registry registry --docker-server=HOST --docker-username=USER",
            ),
        ),
        "a variable's Secret is not there": (
            [SECRET_VARIABLE],
            {"keys": frozenset()},
            ("False", "SecretMissing", "create secret generic keys --from-literal=a=VALUE"),
        ),
    },
)
def test_secrets(models: Any, secrets: Any, verdict: tuple[str, str, str]) -> None:
    assert_verdict(check(pool(models=models), facts(secrets=secrets)), "CredentialsPresent", *verdict)


@table(
    "seen, verdict",
    {
        "the key is there": ({"settings": {"b": "1"}}, PRESENT),
        "the ConfigMap is not there": (
            {"settings": {}},
            (
                "False",
                "ConfigMapMissing",
                "model llama: ConfigMap settings has no key b. Create it with kubectl -n team-a create configmap "
                "settings --from-literal=b=VALUE",
            ),
        ),
        "it may not be read": (
            {"settings": None},
            (
                "Unknown",
                "NotReadable",
                "ConfigMap settings could not be read: grant kvtier get on configmaps",
            ),
        ),
    },
)
def test_config_maps_of_variables(seen: Any, verdict: tuple[str, str, str]) -> None:
    known = replace(facts(), config_maps=ConfigMaps(seen))
    assert_verdict(check(pool(models=[PLAIN_VARIABLE]), known), "CredentialsPresent", *verdict)


@table(
    "keys, verdict",
    {
        "both keys are there": ({"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}, PRESENT),
        "one key is not enough": (
            {"AWS_ACCESS_KEY_ID"},
            (
                "False",
                "SecretMissing",
                "tiers.objectStorage: Secret hmac has no key AWS_SECRET_ACCESS_KEY. Create it with kubectl -n team-a "
                "create secret generic hmac --from-literal=AWS_ACCESS_KEY_ID=VALUE "
                "--from-literal=AWS_SECRET_ACCESS_KEY=VALUE",
            ),
        ),
    },
)
def test_the_keys_of_a_bucket(keys: set[str], verdict: tuple[str, str, str]) -> None:
    seen = facts(secrets={"hmac": frozenset(keys)})
    assert_verdict(check(pool(tiers=BUCKET), seen), "CredentialsPresent", *verdict)


def test_a_bucket_without_keys_of_its_own_needs_none() -> None:
    of = pool(tiers={"objectStorage": {"bucket": "blocks"}})
    assert_verdict(check(of, facts()), "CredentialsPresent", *PRESENT)
