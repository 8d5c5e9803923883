"""Every rule that Python enforces: one example that it accepts and one that it refuses, with its words.

That the API server gives the same verdicts is shown in tests/integration.
"""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from kvtier.api.rules import ApiModel, Rule
from kvtier.api.v1alpha1 import KVCachePool
from unit.builders import document, joined, model
from unit.instances import CLUSTER, KEY, api, by_hand, dynamic, existing
from unit.tables import table


def _lustre(throughput: int, capacity: str) -> dict[str, Any]:
    return {"tiers": {"lustre": {"throughputPerTiB": throughput, "capacity": capacity}}}


def _served(**changes: Any) -> dict[str, Any]:
    return {"models": [model(**changes)]}


def _pod(**additions: Any) -> dict[str, Any]:
    return _served(podTemplate=additions)


BUCKET = {"uri": "gs://bucket/chat/"}
COPIED: dict[str, Any] = {"cloudStorage": BUCKET}
KEY_OF_SECRET = {"secretKeyRef": {"name": "a", "key": "b"}}
LMCACHE = {"backend": "LMCache", "lmcache": {"version": "0.5.6"}}
BLOCKS = {"objectStorage": {"bucket": "blocks", "credentialsSecretRef": {"name": "hmac"}}}
UNTAGGED = {"image": "registry.example/vllm@sha256:0123"}

RULES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "125 MBps per TiB comes in steps of 72000Gi": (
        _lustre(125, "72000Gi"),
        _lustre(125, "36000Gi"),
        "capacity 36000Gi is not possible at 125 MBps per TiB: the smallest is 72000Gi",
    ),
    "250 MBps per TiB comes in steps of 36000Gi": (
        _lustre(250, "72000Gi"),
        _lustre(250, "40000Gi"),
        "capacity 40000Gi is not possible at 250 MBps per TiB: the nearest are 36000Gi and 72000Gi",
    ),
    "500 MBps per TiB ends at 20016000Gi": (
        _lustre(500, "20016000Gi"),
        _lustre(500, "20034000Gi"),
        "capacity 20034000Gi is not possible at 500 MBps per TiB: the largest is 20016000Gi",
    ),
    "1000 MBps per TiB comes in steps of 9000Gi": (
        _lustre(1000, "9000Gi"),
        _lustre(1000, "9001Gi"),
        "capacity 9001Gi is not possible at 1000 MBps per TiB: the nearest are 9000Gi and 18000Gi",
    ),
    "a Lustre capacity is written in Gi": (
        _lustre(1000, "9000Gi"),
        _lustre(1000, "9Ti"),
        "capacity 9Ti must be written in Gi: the nearest are 9000Gi and 18000Gi",
    ),
    "the Dynamic tier comes in steps of 472000Gi": (
        dynamic(capacity="944000Gi"),
        dynamic(capacity="500000Gi"),
        "capacity 500000Gi is not possible in the Dynamic tier: the nearest are 472000Gi and 944000Gi",
    ),
    **{
        f"{name} is required of an instance that is made": (
            existing(),
            {"tiers": {"lustre": {name: None}}},
            f"{name} is required with provisioner CSI",
        )
        for name in ("capacity", "zone", "network", "throughputPerTiB")
    },
    "an instance made through the Lustre API has one tier": (
        dynamic(),
        dynamic(throughputPerTiB=1000, capacity="4248000Gi"),
        "provisioner API needs either throughputPerTiB or dynamicTier",
    ),
    "an existing instance has a name": (
        existing(),
        existing(instance=None),
        "instance is required with provisioner Existing",
    ),
    "an instance that is made is none that exists": (
        by_hand(),
        {"tiers": {"lustre": {"address": "10.0.0.4"}}},
        "address can only be set with provisioner Existing",
    ),
    "the driver has no parameter for a key": (
        api(kmsKey=KEY),
        {"tiers": {"lustre": {"kmsKey": KEY}}},
        "kmsKey can only be set with provisioner API: the Lustre CSI driver has no parameter",
    ),
    "an existing instance is where it is": (
        existing(),
        existing(zone="us-central1-a"),
        "throughputPerTiB, zone, network cannot be set with provisioner Existing: the instance has them",
    ),
    "what one knows by hand is all or nothing": (
        by_hand(),
        by_hand(filesystem=None),
        "address, filesystem, capacity of an existing instance are given together or not at all",
    ),
    "a key is of the instance's region": (
        api(kmsKey=KEY),
        api(kmsKey=KEY.replace("us-central1", "us-central")),
        "kmsKey must be in the region of the instance",
    ),
    "who is mapped needs a mapping": (
        api(accessRules={"defaultSquash": "RootSquash", "squashUID": 1000}),
        api(accessRules={"defaultSquash": "NoSquash", "squashUID": 1000}),
        "squashUID, squashGID and exceptions need defaultSquash RootSquash",
    ),
    "the Lustre API is asked in the cluster's project": (
        api(),
        joined(api(), {"cluster": None}),
        "lustre.provisioner API needs cluster: it says in which project the instance is made",
    ),
    "it is Lustre that copies": (
        {"cluster": CLUSTER, "tiers": COPIED},
        {"cluster": CLUSTER, "tiers": {**COPIED, "lustre": None}},
        "cloudStorage needs the lustre tier",
    ),
    "copies are asked for somewhere": (
        joined(existing(), {"tiers": COPIED}),
        {"tiers": COPIED},
        "cloudStorage needs cluster, or an existing instance",
    ),
    "a schedule is a cron expression": (
        {"cluster": CLUSTER, "tiers": {"cloudStorage": {**BUCKET, "exportSchedule": "*/15 0-6 1,15 JAN *"}}},
        {"cluster": CLUSTER, "tiers": {"cloudStorage": {**BUCKET, "exportSchedule": "60 3 * * *"}}},
        "exportSchedule must be a cron expression of five fields",
    ),
    "only an Opportunistic pool runs without the tier": (
        {"mode": "Opportunistic", "tiers": {"lustre": {"maintenance": "Bypass"}}},
        {"tiers": {"lustre": {"maintenance": "Bypass"}}},
        "lustre.maintenance Bypass needs mode Opportunistic",
    ),
    "lower tiers need the CPU tier": (
        {"tiers": {"cpu": None, "lustre": None}},
        {"tiers": {"cpu": None}},
        "localSSD, lustre and objectStorage need the cpu tier: every block moves through host memory",
    ),
    "a ComputeClass needs a machine type": (
        {"nodePool": {"machineType": None, "provisioner": "Existing"}},
        {"nodePool": {"machineType": None}},
        "machineType is required when the provisioner is ComputeClass",
    ),
    "an image that does not tell its version needs one": (
        _served(engine={**UNTAGGED, "version": "0.33"}),
        _served(engine=UNTAGGED),
        "engine.version is required when the image's tag is not a supported vLLM version: 0.33",
    ),
    "an autoscaler owns the replicas": (
        _served(autoscaling={}),
        _served(autoscaling={}, replicas=2),
        "replicas cannot be set together with autoscaling: the autoscaler owns the number of replicas",
    ),
    "a Pod's GPUs are those of one node": (
        _served(tensorParallelSize=8),
        _served(tensorParallelSize=16),
        "tensorParallelSize of a model cannot exceed nodePool.accelerator.count",
    ),
    "a step holds a token of each sequence": (
        _served(maxNumSeqs=256, maxNumBatchedTokens=256),
        _served(maxNumSeqs=256, maxNumBatchedTokens=255),
        "maxNumBatchedTokens must be at least maxNumSeqs",
    ),
    "flags that kvtier renders are not the user's": (
        _served(extraArgs=["--enforce-eager"]),
        _served(extraArgs=["--enforce-eager", "--max_num_seqs=8"]),
        "extraArgs: '--max_num_seqs=8' sets --max-num-seqs, which kvtier manages: use the field of the model",
    ),
    "variables that kvtier sets are not the user's": (
        _served(env=[{"name": "VLLM_LOGGING_LEVEL", "value": "DEBUG"}]),
        _served(env=[{"name": "PYTHONHASHSEED", "value": "random"}]),
        "env may not set PYTHONHASHSEED: kvtier owns PYTHONHASHSEED, ",
    ),
    "a variable has one value": (
        _served(env=[{"name": "A", "valueFrom": KEY_OF_SECRET}]),
        _served(env=[{"name": "A", "value": "x", "valueFrom": KEY_OF_SECRET}]),
        "a variable has a value or a valueFrom, not both",
    ),
    "a value comes from one place": (
        _served(env=[{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}}]),
        _served(env=[{"name": "A", "valueFrom": {}}]),
        "valueFrom needs one of secretKeyRef and configMapKeyRef",
    ),
    "a model's configuration comes from one place": (
        _served(modelConfigFrom={"configMapKeyRef": {"name": "a"}}),
        _served(modelConfigFrom={"configMapKeyRef": {"name": "a"}, "inline": "{}"}),
        "modelConfigFrom needs one of inline and configMapKeyRef",
    ),
    "LMCache says its version": (
        _served(engine=LMCACHE),
        _served(engine={"backend": "LMCache"}),
        "engine.lmcache belongs to backend LMCache, which needs it",
    ),
    "LMCache holds the CPU tier": (
        _served(engine=LMCACHE),
        {"tiers": {"cpu": None, "lustre": None}, **_served(engine=LMCACHE)},
        "engine.backend LMCache needs the cpu tier",
    ),
    "LMCache does not know the bucket": (
        {"tiers": BLOCKS},
        {"tiers": BLOCKS, **_served(engine=LMCACHE)},
        "objectStorage needs engine.backend Native",
    ),
    "keys of a bucket come from one place": (
        {"tiers": BLOCKS, **_served(env=[{"name": "AWS_REGION", "value": "auto"}])},
        {"tiers": BLOCKS, **_served(env=[{"name": "AWS_ACCESS_KEY_ID", "value": "x"}])},
        "env may not set AWS_ACCESS_KEY_ID: it comes from tiers.objectStorage.credentialsSecretRef",
    ),
    "uploads to a bucket stay plain": (
        {"tiers": BLOCKS, **_served(env=[{"name": "AWS_RETRY_MODE", "value": "adaptive"}])},
        {
            "tiers": {"objectStorage": {"bucket": "blocks"}},
            **_served(env=[{"name": "AWS_REQUEST_CHECKSUM_CALCULATION", "value": "when_supported"}]),
        },
        "env may not set, with objectStorage, what keeps blocks whole and engines running",
    ),
    "labels that find Pods are kvtier's": (
        _pod(labels={"example.com/team": "a"}),
        _pod(annotations={"kvtier.dev/pool": "a"}),
        "podTemplate may not set labels or annotations under kvtier.dev/",
    ),
    "volumes of the tiers are kvtier's": (
        _pod(volumes=[{"name": "models", "emptyDir": {}}]),
        _pod(volumes=[{"name": "lustre", "emptyDir": {}}]),
        "podTemplate.volumes may not have a name that kvtier uses: shm, home, tmp, local-ssd, lustre",
    ),
    "the engine is kvtier's": (
        _pod(containers=[{"name": "logs"}]),
        _pod(initContainers=[{"name": "engine"}]),
        "containers of podTemplate may not have a name that kvtier uses: engine, cache-server",
    ),
    "directories of the tiers are kvtier's": (
        _pod(volumeMounts=[{"name": "models", "mountPath": "/home/vllm/.cache"}]),
        _pod(volumeMounts=[{"name": "models", "mountPath": "/kv/lustre"}]),
        "a mountPath of podTemplate.volumeMounts may not be one of kvtier's, nor lie below /kv",
    ),
}


@table("accepted, refused, words", RULES)
def test_rule(accepted: dict[str, Any], refused: dict[str, Any], words: str) -> None:
    KVCachePool.model_validate(document(**accepted))
    with pytest.raises(ValidationError) as refusal:
        KVCachePool.model_validate(document(**refused))
    assert [words in problem["msg"] for problem in refusal.value.errors()] == [True]


def test_all_that_is_missing_is_told_at_once() -> None:
    with pytest.raises(ValidationError, match=r"capacity is required .*; zone is required"):
        KVCachePool.model_validate(document(tiers={"lustre": {"capacity": None, "zone": None}}))


def _offline_rules(of: type[BaseModel], seen: set[type[BaseModel]]) -> list[Rule]:
    """All rules with a Python side of a model and of the models in its fields."""
    if of in seen:
        return []
    seen.add(of)
    nested = [inner for field in of.model_fields.values() for inner in _models(field.annotation)]
    own = [rule for rule in getattr(of, "rules", ()) if rule.holds is not None]
    return own + [rule for inner in nested for rule in _offline_rules(inner, seen)]


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, ApiModel):
        return [annotation]
    return [found for part in getattr(annotation, "__args__", ()) for found in _models(part)]


def test_no_rule_is_without_an_example() -> None:
    told = {words for _, _, words in RULES.values()}
    assert len(told) == len(_offline_rules(KVCachePool, set()))
