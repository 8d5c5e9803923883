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
        "the key is there": (_pool(GATED), {"hf": {"token", "x"}}, "True Present"),
        "the Secret is not there: the message creates it": (
            _pool(GATED),
            {"hf": set()},
            "False SecretMissing: model llama: Secret hf has no key token. Create it with kubectl -n team-a create "
            "secret generic hf --from-literal=token=TOKEN",
        ),
        "the Secret has another key": (_pool(GATED), {"hf": {"TOKEN"}}, "False SecretMissing"),
        "a Secret that may not be read cannot be judged": (
            _pool(GATED),
            {"hf": None},
            "Unknown NotReadable: Secret hf could not be read: grant kvtier get on secrets",
        ),
        "a Secret that was not looked at cannot be judged": (_pool(GATED), {}, "Unknown NotReadable"),
        "a missing Secret weighs more than an unreadable one": (
            _pool(GATED, {"name": "other", "tokenSecretRef": {"name": "more", "key": "token"}}),
            {"hf": None, "more": set()},
            "False SecretMissing: model other: Secret more",
        ),
        "a pull secret is there": (_pool(PULLED), {"registry": {".dockerconfigjson"}}, "True Present"),
        "a pull secret of the old format is none": (
            _pool(PULLED),
            {"registry": {".dockercfg"}},
            "False SecretMissing: model llama: Secret registry has no key .dockerconfigjson. Create it with kubectl -n "
            "team-a create secret docker-registry registry --docker-server=HOST --docker-username=USER",
        ),
        "a variable's Secret is not there": (
            _pool(VARIABLE),
            {"keys": set()},
            "False SecretMissing: create secret generic keys --from-literal=a=VALUE",
        ),
        "a bucket without keys of its own needs none": (_bucket(bucket="blocks"), {}, "True Present"),
        "both keys of a bucket are there": (_bucket(**BUCKET), {"hmac": KEYS}, "True Present"),
        "one key of a bucket is not enough": (
            _bucket(**BUCKET),
            {"hmac": {"AWS_ACCESS_KEY_ID"}},
            "False SecretMissing: tiers.objectStorage: Secret hmac has no key AWS_SECRET_ACCESS_KEY. Create it with "
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
        "the key is there": ({"b": "1"}, "True Present"),
        "the ConfigMap is not there": (
            {},
            "False ConfigMapMissing: model llama: ConfigMap settings has no key b. Create it with kubectl -n team-a "
            "create configmap settings --from-literal=b=VALUE",
        ),
        "it may not be read": (
            None,
            "Unknown NotReadable: ConfigMap settings could not be read: grant kvtier get on configmaps",
        ),
    },
)
def test_config_maps_of_variables(seen: dict[str, str] | None, verdict: str) -> None:
    known = replace(facts(), config_maps=ConfigMaps({"settings": seen}))
    assert_says(check(context(_pool(SETTING), facts=known)), "CredentialsPresent", verdict)
