"""What the API server refuses at create, and that `kvtier render` refuses the same offline."""

from typing import Any

import pytest
import yaml

from kvtier.api.load import LoadError, load
from testbed.kube import ApiError
from testbed.pools import SPEC, Pools, manifest

MODEL = SPEC["models"][0]
SECRET_KEY = {"name": "keys", "key": "api"}
SOURCES = ("secretKeyRef", "configMapKeyRef")
LMCACHE = {"backend": "LMCache", "lmcache": {"version": "0.5.6"}}
BUCKET = {"tiers__objectStorage": {"bucket": "blocks", "credentialsSecretRef": {"name": "hmac"}}}


def _mounting(path: str) -> dict[str, Any]:
    return {"models__0__podTemplate": {"volumeMounts": [{"name": "models", "mountPath": path}]}}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a capacity between two steps": ({"tiers__lustre__capacity": "10000Gi"}, "9000Gi"),
    "a capacity in Ti, which is no multiple of the step": (
        {"tiers__lustre__capacity": "9Ti"},
        "written in Gi",
    ),
    "a capacity below the tier's minimum": (
        {"tiers__lustre__throughputPerTiB": 125, "tiers__lustre__capacity": "9000Gi"},
        "72000Gi",
    ),
    "a capacity above the tier's maximum": ({"tiers__lustre__capacity": "10080000Gi"}, "10008000Gi"),
    "a small step above the threshold": ({"tiers__lustre__capacity": "1539000Gi"}, "1000 MBps per TiB"),
    "a decimal capacity": ({"tiers__lustre__capacity": "9000.5Gi"}, "capacity"),
    "a capacity without a unit": ({"tiers__cpu__capacity": "107374182400"}, "capacity"),
    "a capacity that is a number": ({"tiers__cpu__capacity": 100}, "capacity"),
    "a negative capacity": ({"tiers__cpu__capacity": "-1Gi"}, "capacity"),
    "an enormous capacity": ({"tiers__lustre__capacity": "9999999999Pi"}, ""),
    "a throughput that no tier has": ({"tiers__lustre__throughputPerTiB": 750}, "throughputPerTiB"),
    "a network in short form": ({"tiers__lustre__network": "default"}, "network"),
    "a network as URL": (
        {"tiers__lustre__network": "https://example/projects/p/global/networks/n"},
        "network",
    ),
    "a file system name of nine characters": ({"tiers__lustre__filesystem": "kvcache12"}, "filesystem"),
    "a file system name that begins with a digit": ({"tiers__lustre__filesystem": "1cache"}, "filesystem"),
    "a zone that is a region": ({"tiers__lustre__zone": "us-central1"}, "zone"),
    "a lower tier without the cpu tier": ({"tiers__cpu": None}, "need the cpu tier"),
    "no models": ({"models": []}, "models"),
    "two models of one name": ({"models": [MODEL, MODEL]}, ""),
    "a model name in capitals": ({"models__0__name": "Chat"}, "name"),
    "a model that looks like a flag": ({"models__0__model": "--trust-remote-code"}, "model"),
    "negative replicas": ({"models__0__replicas": -1}, "replicas"),
    "replicas as text": ({"models__0__replicas": "two"}, "replicas"),
    "replicas together with autoscaling": (
        {"models__0__replicas": 2, "models__0__autoscaling": {"provider": "External"}},
        "replicas cannot be set together with autoscaling",
    ),
    "more GPUs for a Pod than a node has": (
        {"models__0__tensorParallelSize": 16},
        "tensorParallelSize of a model cannot exceed",
    ),
    "no GPU memory at all": ({"models__0__gpuMemoryUtilization": 0}, "gpuMemoryUtilization"),
    "more GPU memory than there is": ({"models__0__gpuMemoryUtilization": 1.01}, "gpuMemoryUtilization"),
    "fewer batched tokens than sequences": (
        {"models__0__maxNumSeqs": 256, "models__0__maxNumBatchedTokens": 128},
        "maxNumBatchedTokens must be at least maxNumSeqs",
    ),
    "an unknown KV dtype": ({"models__0__kvCacheDtype": "fp7"}, "kvCacheDtype"),
    "a managed flag with dashes": ({"models__0__extraArgs": ["--kv-transfer-config", "{}"]}, "extraArgs"),
    "a managed flag with underscores": (
        {"models__0__extraArgs": ["--kv_transfer_config", "{}"]},
        "extraArgs",
    ),
    "a managed flag with =": ({"models__0__extraArgs": ["--kv-transfer-config={}"]}, "extraArgs"),
    "a managed flag by a JSON key": (
        {"models__0__extraArgs": ["--kv-transfer-config.kv_role", "x"]},
        "extraArgs",
    ),
    "a managed flag abbreviated": ({"models__0__extraArgs": ["--kv-transf", "{}"]}, "extraArgs"),
    "a managed short flag": ({"models__0__extraArgs": ["-tp", "2"]}, "extraArgs"),
    "the end of options": ({"models__0__extraArgs": ["--"]}, "extraArgs"),
    "an environment variable that kvtier owns": (
        {"models__0__env": [{"name": "PYTHONHASHSEED", "value": "random"}]},
        "PYTHONHASHSEED",
    ),
    "an environment variable twice": ({"models__0__env": [{"name": "A"}, {"name": "A"}]}, ""),
    "a variable with two values": (
        {"models__0__env": [{"name": "A", "value": "x", "valueFrom": {"secretKeyRef": SECRET_KEY}}]},
        "not both",
    ),
    "a variable from two places": (
        {"models__0__env": [{"name": "A", "valueFrom": dict.fromkeys(SOURCES, SECRET_KEY)}]},
        "needs one of secretKeyRef and configMapKeyRef",
    ),
    "a variable from nowhere": (
        {"models__0__env": [{"name": "A", "valueFrom": {}}]},
        "needs one of secretKeyRef and configMapKeyRef",
    ),
    "a token that kvtier sets, from a Secret": (
        {"models__0__env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": SECRET_KEY}}]},
        "HF_TOKEN",
    ),
    "keys of the bucket by a variable": (
        {**BUCKET, "models__0__env": [{"name": "AWS_SECRET_ACCESS_KEY", "value": "x"}]},
        "AWS_SECRET_ACCESS_KEY",
    ),
    "uploads that a bucket may keep with their frame": (
        {
            "tiers__objectStorage": {"bucket": "blocks"},
            "models__0__env": [{"name": "AWS_REQUEST_CHECKSUM_CALCULATION", "value": "when_supported"}],
        },
        "AWS_REQUEST_CHECKSUM_CALCULATION",
    ),
    "telemetry that is turned off": (
        {**BUCKET, "models__0__env": [{"name": "NIXL_TELEMETRY_ENABLE", "value": "n"}]},
        "NIXL_TELEMETRY_ENABLE",
    ),
    "a bucket without the cpu tier": (
        {"tiers": {"objectStorage": {"bucket": "blocks"}}},
        "need the cpu tier",
    ),
    "a bucket by its URI": ({"tiers__objectStorage": {"bucket": "gs://blocks"}}, "bucket"),
    "an endpoint with its protocol": (
        {"tiers__objectStorage": {"bucket": "blocks", "endpoint": "https://storage.googleapis.com"}},
        "endpoint",
    ),
    "credentials in the spec": (
        {"tiers__objectStorage": {"bucket": "blocks", "accessKey": "x"}},
        "accessKey",
    ),
    "a bucket with LMCache": ({**BUCKET, "models__0__engine": LMCACHE}, "needs engine.backend Native"),
    "LMCache without its version": ({"models__0__engine": {"backend": "LMCache"}}, "engine.lmcache"),
    "a version of LMCache with vLLM's own tiering": (
        {"models__0__engine": {"lmcache": {"version": "0.5.6"}}},
        "engine.lmcache",
    ),
    "LMCache without the cpu tier": ({"tiers": None, "models__0__engine": LMCACHE}, "needs the cpu tier"),
    "a model's configuration from two places": (
        {"models__0__modelConfigFrom": {"inline": "{}", "configMapKeyRef": {"name": "a"}}},
        "needs one of inline and configMapKeyRef",
    ),
    "a model's configuration from nowhere": (
        {"models__0__modelConfigFrom": {}},
        "needs one of inline and configMapKeyRef",
    ),
    "a block that no kernel takes": ({"models__0__blockSize": 24}, "blockSize"),
    "an empty chunk": ({"models__0__blocksPerChunk": 0}, "blocksPerChunk"),
    "a block size by its flag": ({"models__0__extraArgs": ["--block-size=32"]}, "extraArgs"),
    "a resource without a domain": ({"nodePool__accelerator__resourceName": "gpu"}, "resourceName"),
    "a label that finds the Pods": (
        {"models__0__podTemplate": {"labels": {"kvtier.dev/model": "x"}}},
        "which are kvtier's",
    ),
    "an annotation of kvtier's": (
        {"models__0__podTemplate": {"annotations": {"kvtier.dev/x": "x"}}},
        "which are kvtier's",
    ),
    "a label that is none": ({"models__0__podTemplate": {"labels": {"a": "b c"}}}, "labels"),
    "a volume of a tier": ({"models__0__podTemplate": {"volumes": [{"name": "lustre"}]}}, "volumes may not"),
    "a volume without a name": ({"models__0__podTemplate": {"volumes": [{"emptyDir": {}}]}}, "name"),
    "a volume whose name is a number": ({"models__0__podTemplate": {"volumes": [{"name": 1}]}}, "name"),
    "a volume twice": ({"models__0__podTemplate": {"volumes": [{"name": "a"}, {"name": "a"}]}}, ""),
    "a second engine": ({"models__0__podTemplate": {"containers": [{"name": "engine"}]}}, "containers of"),
    "an engine before the engine": (
        {"models__0__podTemplate": {"initContainers": [{"name": "engine"}]}},
        "containers of",
    ),
    "a container in capitals": ({"models__0__podTemplate": {"containers": [{"name": "Logs"}]}}, "name"),
    "a mount over a tier": (_mounting("/kv/lustre"), "a mountPath"),
    "a mount over the cpu tier": (_mounting("/dev/shm"), "a mountPath"),
    "a mount over a tier, spelled otherwise": (_mounting("/kv/./lustre"), "mountPath"),
    "a mount in a directory with a slash behind it": (_mounting("/models/"), "mountPath"),
    "a mount of the root": (_mounting("/"), "mountPath"),
    "a mount without a path": ({"models__0__podTemplate": {"volumeMounts": [{"name": "a"}]}}, "mountPath"),
    "a mount twice": (
        {"models__0__podTemplate": {"volumeMounts": [{"name": "a", "mountPath": "/a"}] * 2}},
        "",
    ),
    "no time to end": ({"models__0__podTemplate": {"terminationGracePeriodSeconds": 0}}, "Seconds"),
    "a security context, which is kvtier's": (
        {"models__0__podTemplate": {"securityContext": {"runAsUser": 0}}},
        "securityContext",
    ),
    "a host's network": ({"models__0__podTemplate": {"hostNetwork": True}}, "hostNetwork"),
    "a Secret for images twice": (
        {"models__0__engine": {"imagePullSecrets": [{"name": "a"}, {"name": "a"}]}},
        "",
    ),
    "an image whose version cannot be told": (
        {"models__0__engine": {"image": "example/vllm:latest"}},
        "engine.version",
    ),
    "an unsupported engine version": ({"models__0__engine": {"version": "0.20"}}, "version"),
    "no machine type for a ComputeClass": ({"nodePool__machineType": None}, "machineType"),
    "no accelerator": ({"nodePool__accelerator": None}, "accelerator"),
    "an unknown mode": ({"mode": "Eager"}, "mode"),
    "a YAML boolean as mode": ({"mode": True}, "mode"),
    "an unknown field": ({"models__0__replicaCount": 2}, "replicaCount"),
    "an unknown tier": ({"tiers__ssd": {"capacity": "1Gi"}}, "ssd"),
}

ACCEPTED: dict[str, dict[str, Any]] = {
    "the smallest instance": {},
    "the largest instance": {"tiers__lustre__capacity": "10008000Gi"},
    "the largest instance of every tier": {
        "tiers__lustre__throughputPerTiB": 250,
        "tiers__lustre__capacity": "40032000Gi",
    },
    "a file system name of eight characters": {"tiers__lustre__filesystem": "kvcache1"},
    "all GPU memory": {"models__0__gpuMemoryUtilization": 1},
    "as many batched tokens as sequences": {
        "models__0__maxNumSeqs": 256,
        "models__0__maxNumBatchedTokens": 256,
    },
    "replicas left to an autoscaler": {"models__0__autoscaling": {"provider": "External"}},
    "no replicas": {"models__0__replicas": 0},
    "flags that kvtier does not manage": {
        "models__0__extraArgs": [
            "--enable-chunked-prefill",
            "--seed",
            "-1",
            '--hf-overrides={"a": "--port"}',
            "-O3",
        ]
    },
    "quotes, braces, newlines and unicode": {
        "models__0__env": [{"name": "A", "value": "'\"${x}{{y}}\nüñ🦙"}]
    },
    "an explicit engine version for a digest": {
        "models__0__engine": {"image": "example/vllm@sha256:" + "0" * 64, "version": "0.33"}
    },
    "the older engine": {"models__0__engine": {"image": "vllm/vllm-openai:v0.32.0"}},
    "LMCache": {"models__0__engine": LMCACHE},
    "Secrets for images": {"models__0__engine": {"imagePullSecrets": [{"name": "a"}, {"name": "b"}]}},
    "variables from Secrets and ConfigMaps": {
        "models__0__env": [
            {"name": "A", "valueFrom": {"secretKeyRef": SECRET_KEY}},
            {"name": "B", "valueFrom": {"configMapKeyRef": SECRET_KEY}},
            {"name": "C", "value": ""},
            {"name": "D"},
        ]
    },
    "a bucket with its keys": BUCKET,
    "a bucket with all that can be said of it": {
        "tiers__objectStorage": {
            "bucket": "blocks.example.com",
            "endpoint": "minio.storage.svc:9000",
            "scheme": "http",
            "region": "us-east-1",
        }
    },
    "settings of the AWS SDK where there is no bucket": {
        "models__0__env": [{"name": "AWS_REQUEST_CHECKSUM_CALCULATION", "value": "when_supported"}]
    },
    "keys for other uses where the bucket has none": {
        "tiers__objectStorage": {"bucket": "blocks"},
        "models__0__env": [{"name": "AWS_ACCESS_KEY_ID", "value": "x"}],
    },
    "a model's configuration inline": {"models__0__modelConfigFrom": {"inline": '{"model_type": "llama"}'}},
    "a model's configuration in a ConfigMap": {
        "models__0__modelConfigFrom": {"configMapKeyRef": {"name": "a", "key": "llama.json"}}
    },
    "block and chunk": {"models__0__blockSize": 32, "models__0__blocksPerChunk": 8},
    "GPUs by another name": {"nodePool__accelerator__resourceName": "amd.com/gpu"},
    "a Pod with everything": {
        "models__0__podTemplate": {
            "labels": {"example.com/team": "a", "app": ""},
            "annotations": {"note": "anything: {}\n\"'$"},
            "serviceAccountName": "reader",
            "priorityClassName": "high",
            "runtimeClassName": "gvisor",
            "schedulerName": "other",
            "terminationGracePeriodSeconds": 600,
            "tolerations": [{"operator": "Exists"}, {"key": "a", "effect": "NoSchedule", "value": ""}],
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}
            ],
            "volumes": [{"name": "models", "csi": {"driver": "x", "volumeAttributes": {"a": "b"}}}],
            "volumeMounts": [{"name": "models", "mountPath": "/models", "subPath": "a/b", "readOnly": False}],
            "initContainers": [{"name": "fetch", "image": "x", "restartPolicy": "Always"}],
            "containers": [{"name": "logs", "env": [{"name": "A", "valueFrom": {"fieldRef": {}}}]}],
        }
    },
    "no tier at all": {"tiers": None},
    "the cpu tier alone": {"tiers__lustre": None, "tiers__localSSD": None},
}


def offline(pool: dict[str, Any]) -> str:
    """What `kvtier render` would say, '' when it accepts."""
    try:
        load(yaml.safe_dump(pool), "default")
    except LoadError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("changes", "says"), REFUSED.values(), ids=REFUSED)
def test_is_refused_by_the_api_server_and_offline(pools: Pools, changes: dict[str, Any], says: str) -> None:
    pool = manifest("refused", pools.namespace, **changes)
    query = {"fieldValidation": "Strict", "dryRun": "All"}
    with pytest.raises(ApiError) as refusal:
        pools.kube.request("POST", _path(pools), json=pool, params=query)
    assert refusal.value.code in (400, 422)
    assert says in str(refusal.value)
    # Duplicate items of list maps are the one thing that only the API server looks for.
    assert offline(pool) or "Duplicate value" in str(refusal.value)


@pytest.mark.parametrize("changes", ACCEPTED.values(), ids=ACCEPTED)
def test_is_accepted_by_the_api_server_and_offline(pools: Pools, changes: dict[str, Any]) -> None:
    pool = manifest("accepted", pools.namespace, **changes)
    query = {"fieldValidation": "Strict", "dryRun": "All"}
    pools.kube.request("POST", _path(pools), json=pool, params=query)
    assert offline(pool) == ""


def _path(pools: Pools) -> str:
    return pools.kube.path("kvtier.dev/v1alpha1", "KVCachePool", pools.namespace)
