"""Secrets and ConfigMaps that Pods need."""

from dataclasses import replace
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.credentials import check
from kvtier.facts.model import ConfigMaps
from unit.builders import context, facts, model, pool
from unit.tables import table
from unit.verdicts import assert_says

GATED = {"tokenSecretRef": {"name": "hf", "key": "token"}}
PULLED = {"engine": {"imagePullSecrets": [{"name": "registry"}]}}
VARIABLE = {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "a"}}}]}
SETTING = {"env": [{"name": "B", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "b"}}}]}
BUCKET = {"bucket": "blocks", "credentialsSecretRef": {"name": "hmac"}}
KEYS = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}


def _pool(*models: dict[str, Any]) -> KVCachePool:
    return pool(models=[model(**changes) for changes in models])


def _bucket(**of: Any) -> KVCachePool:
    return pool(tiers={"objectStorage": of})


@table(
    "of, secrets, verdict",
    {
        "no model names a Secret": (_pool({}), {}, "True Present"),
        "the key exists": (_pool(GATED), {"hf": {"token", "x"}}, "True Present"),
        "the Secret does not exist, and the message contains the command to create it": (
            _pool(GATED),
            {"hf": set()},
            "False SecretMissing: Secret hf has no key token, which model llama needs. Add the key, or create the "
            "Secret if it does not exist: kubectl -n team-a "
            "create secret generic hf --from-literal=token=TOKEN",
        ),
        "the Secret has another key": (_pool(GATED), {"hf": {"TOKEN"}}, "False SecretMissing"),
        "a Secret that kvtier may not read is unknown": (
            _pool(GATED),
            {"hf": None},
            "Unknown NotReadable: Secret hf could not be read. To check its keys, grant kvtier get on secrets",
        ),
        "a Secret that was not read is unknown": (_pool(GATED), {}, "Unknown NotReadable"),
        "a missing Secret has priority over an unreadable one": (
            _pool(GATED, {"name": "other", "tokenSecretRef": {"name": "more", "key": "token"}}),
            {"hf": None, "more": set()},
            "False SecretMissing: Secret more has no key token, which model other needs.",
        ),
        "a pull secret exists": (_pool(PULLED), {"registry": {".dockerconfigjson"}}, "True Present"),
        "a pull secret of the old format does not count": (
            _pool(PULLED),
            {"registry": {".dockercfg"}},
            "False SecretMissing: Secret registry has no key .dockerconfigjson, which model llama needs. "
            "Add the key, or create the Secret if it does not exist: "
            "kubectl -n team-a create secret docker-registry registry --docker-server=HOST --docker-username=USER",
        ),
        "the Secret of a variable does not exist": (
            _pool(VARIABLE),
            {"keys": set()},
            "False SecretMissing: create secret generic keys --from-literal=a=VALUE",
        ),
        "a bucket without credentialsSecretRef needs no Secret": (
            _bucket(bucket="blocks"),
            {},
            "True Present",
        ),
        "both keys of a bucket exist": (_bucket(**BUCKET), {"hmac": KEYS}, "True Present"),
        "one key of a bucket is not enough": (
            _bucket(**BUCKET),
            {"hmac": {"AWS_ACCESS_KEY_ID"}},
            "False SecretMissing: Secret hmac has no key AWS_SECRET_ACCESS_KEY, which tiers.objectStorage needs. "
            "Add the key, or create the Secret if it does not exist: "
            "kubectl -n team-a create secret generic hmac --from-literal=AWS_ACCESS_KEY_ID=VALUE "
            "--from-literal=AWS_SECRET_ACCESS_KEY=VALUE",
        ),
    },
)
def test_secrets(of: KVCachePool, secrets: dict[str, set[str] | None], verdict: str) -> None:
    known = {name: None if keys is None else frozenset(keys) for name, keys in secrets.items()}
    assert_says(check(context(of, facts=facts(secrets=known))), "CredentialsPresent", verdict)


@table(
    "seen, verdict",
    {
        "the key exists": ({"b": "1"}, "True Present"),
        "the ConfigMap does not exist": (
            {},
            "False ConfigMapMissing: ConfigMap settings has no key b, which model llama needs. Add the key, or create "
            "the ConfigMap if it does not exist: kubectl -n "
            "team-a create configmap settings --from-literal=b=VALUE",
        ),
        "kvtier may not read it": (
            None,
            "Unknown NotReadable: ConfigMap settings could not be read. To check its keys, grant kvtier get on "
            "configmaps.",
        ),
    },
)
def test_config_maps_of_variables(seen: dict[str, str] | None, verdict: str) -> None:
    known = replace(facts(), config_maps=ConfigMaps({"settings": seen}))
    assert_says(check(context(_pool(SETTING), facts=known)), "CredentialsPresent", verdict)
