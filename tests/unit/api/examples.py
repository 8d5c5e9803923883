"""Pools that are refused, with the words of the refusal, and pools that are taken.

tests/integration/test_rules.py sends them to the API server, unit/api/test_rules.py to `kvtier render`.
"""

from dataclasses import dataclass
from typing import Any

from unit.builders import document, joined, model
from unit.instances import CLUSTER, KEY, NAME, POLICY, api, by_hand, dynamic, existing

Changes = dict[str, Any]
"""Of the pool of `unit.builders.document`."""


@dataclass(frozen=True)
class Refused:
    """A pool, the words of the API server, and those offline where they tell more; None where only the server looks."""

    changes: Changes
    words: str
    offline: str | None


def _no(changes: Changes, words: str, offline: str | None = "") -> Refused:
    return Refused(changes, words, words if offline == "" else offline)


def _twice(changes: Changes) -> Refused:
    """Items of one name: the one thing that only the API server looks for."""
    return _no(changes, "Duplicate value", None)


def _lustre(**changes: Any) -> Changes:
    return {"tiers": {"lustre": changes}}


def _capacity(throughput: int, capacity: str) -> Changes:
    return _lustre(throughputPerTiB=throughput, capacity=capacity)


def _copied(base: Changes, **changes: Any) -> Changes:
    return joined(base, {"tiers": {"cloudStorage": {"uri": "gs://bucket/chat/", **changes}}})


def _bucket(**changes: Any) -> Changes:
    return {"tiers": {"objectStorage": {"bucket": "blocks", **changes}}}


def _served(**changes: Any) -> Changes:
    return {"models": [model(**changes)]}


def _arguments(*arguments: str) -> Changes:
    return _served(extraArgs=list(arguments))


def _env(*variables: Changes) -> Changes:
    return _served(env=list(variables))


def _pod(**additions: Any) -> Changes:
    return _served(podTemplate=additions)


def _mounting(path: str) -> Changes:
    return _pod(volumeMounts=[{"name": "models", "mountPath": path}])


_NO_TIERS = {"tiers": {"cpu": None, "lustre": None}}
_NAMED = {"cluster": CLUSTER}
_KEYED = _bucket(credentialsSecretRef={"name": "hmac"})
_LMCACHE = {"backend": "LMCache", "lmcache": {"version": "0.5.6"}}
_UNTAGGED = {"image": "registry.example/vllm@sha256:0123"}
_KEY = {"name": "keys", "key": "api"}
_FROM_SECRET = {"valueFrom": {"secretKeyRef": _KEY}}
_CHECKSUMS = {"name": "AWS_REQUEST_CHECKSUM_CALCULATION", "value": "when_supported"}
_WINDOW = {"day": "Sunday", "hour": 3}
_SQUASH: Changes = {
    "defaultSquash": "RootSquash",
    "squashUID": 1000,
    "exceptions": [{"name": "admins", "addressRanges": ["10.0.0.0/24", "10.0.1.7"]}],
}
_MANAGED = "extraArgs may not set a flag that kvtier manages: use the field of the model instead"
_ONLY_API = "dynamicTier, kmsKey, placementPolicy, accessRules, maintenanceWindow can only be set with provisioner API"
_ONLY_EXISTING = (
    "instance, address can only be set with provisioner Existing: the others make an instance of their own"
)
_RESERVED_PATH = "a mountPath of podTemplate.volumeMounts may not be one of kvtier's, nor lie below /kv"
_SCHEDULE = "exportSchedule must be a cron expression of five fields, minute, hour, day, month and weekday"
_HAS_THEM = "throughputPerTiB, zone, network cannot be set with provisioner Existing: the instance has them"
_BY_HAND = "address, filesystem, capacity of an existing instance are given together or not at all"

CAPACITIES = {
    "a capacity in Ti": _no(
        _capacity(1000, "9Ti"),
        "capacity must be written in Gi, such as 9000Gi: sizes are multiples of 9000Gi",
        "capacity 9Ti must be written in Gi: the nearest are 9000Gi and 18000Gi",
    ),
    "a capacity between two steps": _no(
        _capacity(1000, "9001Gi"),
        "capacity at 1000 MBps per TiB must be a multiple of 9000Gi between 9000Gi and 10008000Gi, and of 72000Gi",
        "capacity 9001Gi is not possible at 1000 MBps per TiB: the nearest are 9000Gi and 18000Gi",
    ),
    "a small step above the threshold": _no(
        _capacity(1000, "1539000Gi"),
        "capacity at 1000 MBps per TiB must be",
        "the nearest are 1530000Gi and 1584000Gi",
    ),
    "a capacity above the tier's maximum": _no(
        _capacity(500, "20034000Gi"),
        "capacity at 500 MBps per TiB must be a multiple of 18000Gi",
        "capacity 20034000Gi is not possible at 500 MBps per TiB: the largest is 20016000Gi",
    ),
    "a capacity between two larger steps": _no(
        _capacity(250, "40000Gi"),
        "capacity at 250 MBps per TiB must be a multiple of 36000Gi",
        "capacity 40000Gi is not possible at 250 MBps per TiB: the nearest are 36000Gi and 72000Gi",
    ),
    "a capacity below the tier's minimum": _no(
        _capacity(125, "36000Gi"),
        "capacity at 125 MBps per TiB must be a multiple of 72000Gi",
        "capacity 36000Gi is not possible at 125 MBps per TiB: the smallest is 72000Gi",
    ),
    "a Dynamic tier between two steps": _no(
        dynamic(capacity="500000Gi"),
        "capacity in the Dynamic tier must be a multiple of 472000Gi",
        "capacity 500000Gi is not possible in the Dynamic tier: the nearest are 472000Gi and 944000Gi",
    ),
    "a Dynamic tier that is too small": _no(
        dynamic(capacity="9000Gi"), "capacity in the Dynamic tier must be", "the smallest is 472000Gi"
    ),
    "a Dynamic tier that is too large": _no(
        dynamic(capacity="84488000Gi"), "capacity in the Dynamic tier must be", "the largest is 84016000Gi"
    ),
    "by hand a capacity in Ti": _no(
        by_hand(capacity="18Ti"), "capacity must be written in Gi", "capacity 18Ti must be written in Gi"
    ),
    **{
        f"a capacity of {size!r}": _no({"tiers": {"cpu": {"capacity": size}}}, "spec.tiers.cpu.capacity")
        for size in ("9000.5Gi", "107374182400", 100, "-1Gi", "0Gi", "9999999999Pi")
    },
}

LUSTRE = {
    **{
        f"a claim without {name}": _no(_lustre(**{name: None}), f"{name} is required with provisioner CSI")
        for name in ("capacity", "throughputPerTiB", "zone", "network")
    },
    "an API instance without a zone": _no(api(zone=None), "zone is required with provisioner CSI and API"),
    "an API instance of no tier": _no(
        api(throughputPerTiB=None), "provisioner API needs either throughputPerTiB or dynamicTier"
    ),
    "an API instance of both tiers": _no(
        dynamic(throughputPerTiB=1000, capacity="4248000Gi"),
        "provisioner API needs either throughputPerTiB or dynamicTier",
    ),
    "an API instance in no project": _no(
        joined(api(), {"cluster": None}),
        "lustre.provisioner API needs cluster: it says in which project the instance is made",
    ),
    "no existing instance": _no(existing(instance=None), "instance is required with provisioner Existing"),
    "a claim of an instance": _no(
        _lustre(instance=NAME),
        _ONLY_EXISTING,
        "instance can only be set with provisioner Existing: the others",
    ),
    "a claim with an address": _no(
        _lustre(address="10.0.0.4"), _ONLY_EXISTING, "address can only be set with provisioner Existing"
    ),
    "an API instance with a name": _no(
        api(instance=NAME), _ONLY_EXISTING, "instance can only be set with provisioner Existing"
    ),
    **{
        f"a claim with {name}": _no(
            _lustre(**{name: value}),
            _ONLY_API + ": the Lustre CSI driver has no parameter for them",
            f"{name} can only be set with provisioner API: the Lustre CSI driver has no parameter for them",
        )
        for name, value in {
            "dynamicTier": "DefaultCache",
            "kmsKey": KEY,
            "placementPolicy": POLICY,
            "accessRules": _SQUASH,
            "maintenanceWindow": _WINDOW,
        }.items()
    },
    "an existing instance in the Dynamic tier": _no(
        existing(dynamicTier="DefaultCache"), _ONLY_API, "dynamicTier can only be set with provisioner API"
    ),
    **{
        f"an existing instance with its own {name}": _no(existing(**{name: value}), _HAS_THEM)
        for name, value in {
            "throughputPerTiB": 1000,
            "zone": "us-central1-a",
            "network": "projects/p1/global/networks/n",
        }.items()
    },
    **{
        f"by hand all but {name}": _no(by_hand(**{name: None}), _BY_HAND)
        for name in ("address", "filesystem", "capacity")
    },
    "a key of another region": _no(
        api(kmsKey=KEY.replace("central1", "east1")), "kmsKey must be in the region of the instance"
    ),
    "a key of a region that begins alike": _no(
        api(kmsKey=KEY.replace("us-central1", "us-central")), "kmsKey must be in the region of the instance"
    ),
    **{
        f"{name} without a mapping": _no(
            api(accessRules={"defaultSquash": "NoSquash", name: value}),
            "squashUID, squashGID and exceptions need defaultSquash RootSquash",
        )
        for name, value in {"squashUID": 1000, "squashGID": 1, "exceptions": _SQUASH["exceptions"]}.items()
    },
    "going around maintenance of what is required": _no(
        _lustre(maintenance="Bypass"),
        "lustre.maintenance Bypass needs mode Opportunistic: engines of a Required pool cannot run without",
    ),
    **{
        f"{field} {value!r} of a tier": _no(changes(**{field: value}), f"spec.tiers.lustre.{field}")
        for changes, field, value in (
            (_lustre, "provisioner", "Terraform"),
            (_lustre, "throughputPerTiB", 750),
            (_lustre, "zone", "us-central1"),
            (_lustre, "network", "default"),
            (_lustre, "network", "https://example/projects/p/global/networks/n"),
            (_lustre, "network", "projects/p1/regions/us-central1/networks/default"),
            (_lustre, "filesystem", "kvcache12"),
            (_lustre, "filesystem", "1cache"),
            (_lustre, "filesystem", "kv-cache"),
            (dynamic, "dynamicTier", "Large"),
            (api, "kmsKey", KEY.partition("/locations")[2]),
            (api, "placementPolicy", "near"),
            (existing, "instance", "shared"),
            (existing, "instance", NAME.replace("us-central1-a", "us-central1")),
            (by_hand, "address", "10.0.0.400"),
        )
    },
    "squashing to root": _no(
        api(accessRules={**_SQUASH, "squashUID": 0}), "spec.tiers.lustre.accessRules.squashUID"
    ),
    "an exception for no address": _no(
        api(accessRules={**_SQUASH, "exceptions": [{"name": "a", "addressRanges": ["10.0.0.256"]}]}),
        "spec.tiers.lustre.accessRules.exceptions[0].addressRanges",
    ),
    "an exception with a long name": _no(
        api(accessRules={**_SQUASH, "exceptions": [{"name": "a" * 17, "addressRanges": ["10.0.0.2"]}]}),
        "spec.tiers.lustre.accessRules.exceptions[0].name",
    ),
    "a window on no day": _no(api(maintenanceWindow={"day": "Caturday", "hour": 1}), "maintenanceWindow.day"),
    "a window at no hour": _no(
        api(maintenanceWindow={"day": "Sunday", "hour": 24}), "maintenanceWindow.hour"
    ),
}

TIERS = {
    "a lower tier without the cpu tier": _no(
        {"tiers": {"cpu": None}},
        "localSSD, lustre and objectStorage need the cpu tier: every block moves through host memory",
    ),
    "a bucket without the cpu tier": _no(
        joined(_NO_TIERS, _bucket()), "localSSD, lustre and objectStorage need"
    ),
    "copies without a shared tier": _no(
        joined(_copied(_NAMED), {"tiers": {"lustre": None}}),
        "cloudStorage needs the lustre tier: it is Lustre",
    ),
    "copies in no project": _no(
        _copied({}), "cloudStorage needs cluster, or an existing instance: kvtier has to ask the Lustre API"
    ),
    "copies from a directory without a slash": _no(
        _copied(_NAMED, uri="gs://bucket/chat"), "spec.tiers.cloudStorage.uri"
    ),
    "copies from elsewhere": _no(_copied(_NAMED, uri="s3://bucket/chat/"), "spec.tiers.cloudStorage.uri"),
    **{
        f"copies at {schedule!r}": _no(_copied(_NAMED, exportSchedule=schedule), _SCHEDULE)
        for schedule in (
            *("60 3 * * *", "0 24 * * *", "0 3 32 * *", "0 3 * 13 *", "0 3 * * 8", "0 3 * *", "0 0 3 * * *"),
            *("@daily", "*/0 * * * *", "every night", "0 3 * * *\n", "0 3 * * sun", ""),
        )
    },
    "a bucket by its URI": _no(_bucket(bucket="gs://blocks"), "spec.tiers.objectStorage.bucket"),
    "an endpoint with its protocol": _no(
        _bucket(endpoint="https://storage.googleapis.com"), "spec.tiers.objectStorage.endpoint"
    ),
    "credentials in the spec": _no(_bucket(accessKey="x"), "spec.tiers.objectStorage.accessKey"),
    "keys of the bucket by a variable": _no(
        {**_KEYED, **_env({"name": "AWS_ACCESS_KEY_ID", "value": "x"})},
        "env may not set the keys of objectStorage.credentialsSecretRef: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY",
        "env may not set AWS_ACCESS_KEY_ID: it comes from tiers.objectStorage.credentialsSecretRef",
    ),
    "uploads that a bucket may keep with their frame": _no(
        {**_bucket(), **_env(_CHECKSUMS)},
        "env may not set, with objectStorage, what keeps blocks whole and engines running: AWS_REQUEST_CHECKSUM_",
    ),
    "telemetry that is turned off": _no(
        {**_KEYED, **_env({"name": "NIXL_TELEMETRY_ENABLE", "value": "n"})},
        "env may not set, with objectStorage, what keeps blocks whole",
    ),
    "an unknown tier": _no({"tiers": {"ssd": {"capacity": "1Gi"}}}, "spec.tiers.ssd"),
}

ENGINES = {
    "a bucket with LMCache": _no(
        {**_bucket(), **_served(engine=_LMCACHE)},
        "objectStorage needs engine.backend Native: it is vLLM that reads and writes the bucket",
    ),
    "LMCache without its version": _no(
        _served(engine={"backend": "LMCache"}), "engine.lmcache belongs to backend LMCache, which needs it"
    ),
    "a version of LMCache with vLLM's own tiering": _no(
        _served(engine={"lmcache": {"version": "0.5.6"}}), "engine.lmcache belongs to backend LMCache"
    ),
    "LMCache without the cpu tier": _no(
        {**_NO_TIERS, **_served(engine=_LMCACHE)}, "engine.backend LMCache needs the cpu tier"
    ),
    **{
        f"an image whose version cannot be told, {image}": _no(
            _served(engine={"image": image}),
            "engine.version is required when the image's tag is not a supported vLLM version: 0.33",
        )
        for image in ("example/vllm:latest", _UNTAGGED["image"], "vllm/vllm-openai:v0.31.0")
    },
    "an unsupported engine version": _no(
        _served(engine={"version": "0.20"}), "spec.models[0].engine.version"
    ),
    "a Secret for images twice": _twice(_served(engine={"imagePullSecrets": [{"name": "a"}, {"name": "a"}]})),
    **{
        f"a managed flag by {' '.join(arguments)}": _no(
            _arguments("--enforce-eager", *arguments),
            _MANAGED,
            f"extraArgs: {arguments[0]!r} sets {flag}, which kvtier manages: use the field of the model",
        )
        for flag, *arguments in (
            ("--max-num-seqs", "--max_num_seqs=8"),
            ("--block-size", "--block-size=32"),
            ("--kv-transfer-config", "--kv-transfer-config", "{}"),
            ("--kv-transfer-config", "--kv_transfer_config", "{}"),
            ("--kv-transfer-config", "--kv-transfer-config={}"),
            ("--kv-transfer-config", "--kv-transfer-config.kv_role", "x"),
            ("--kv-transfer-config", "--kv-transf", "{}"),
            ("-tp", "-tp", "2"),
            ("--model", "--"),
        )
    },
    "an environment variable that kvtier owns": _no(
        _env({"name": "PYTHONHASHSEED", "value": "random"}),
        "env may not set a variable that kvtier owns: PYTHONHASHSEED, HF_TOKEN",
        "env may not set PYTHONHASHSEED: kvtier owns PYTHONHASHSEED, ",
    ),
    "a token that kvtier sets, from a Secret": _no(
        _env({"name": "HF_TOKEN", **_FROM_SECRET}),
        "env may not set a variable that kvtier owns",
        "env may not set HF_TOKEN: kvtier owns",
    ),
    "an environment variable twice": _twice(_env({"name": "A"}, {"name": "A"})),
    "a variable with two values": _no(
        _env({"name": "A", "value": "x", **_FROM_SECRET}), "a variable has a value or a valueFrom, not both"
    ),
    "a variable from two places": _no(
        _env({"name": "A", "valueFrom": dict.fromkeys(("secretKeyRef", "configMapKeyRef"), _KEY)}),
        "valueFrom needs one of secretKeyRef and configMapKeyRef",
    ),
    "a variable from nowhere": _no(
        _env({"name": "A", "valueFrom": {}}), "valueFrom needs one of secretKeyRef and configMapKeyRef"
    ),
}

MODELS = {
    "no models": _no({"models": []}, "spec.models"),
    "two models of one name": _twice({"models": [model(), model()]}),
    "replicas together with autoscaling": _no(
        _served(replicas=2, autoscaling={"provider": "External"}),
        "replicas cannot be set together with autoscaling: the autoscaler owns the number of replicas",
    ),
    "more GPUs for a Pod than a node has": _no(
        _served(tensorParallelSize=16),
        "tensorParallelSize of a model cannot exceed nodePool.accelerator.count",
    ),
    "fewer batched tokens than sequences": _no(
        _served(maxNumSeqs=256, maxNumBatchedTokens=255), "maxNumBatchedTokens must be at least maxNumSeqs"
    ),
    "a model's configuration from two places": _no(
        _served(modelConfigFrom={"inline": "{}", "configMapKeyRef": {"name": "a"}}),
        "modelConfigFrom needs one of inline and configMapKeyRef",
    ),
    "a model's configuration from nowhere": _no(
        _served(modelConfigFrom={}), "modelConfigFrom needs one of inline and configMapKeyRef"
    ),
    **{
        f"{field} {value!r} of a model": _no(_served(**{field: value}), f"spec.models[0].{field}")
        for field, value in (
            ("name", "Chat"),
            ("model", "--trust-remote-code"),
            ("replicas", -1),
            ("replicas", "two"),
            ("replicaCount", 2),
            ("gpuMemoryUtilization", 0),
            ("gpuMemoryUtilization", 1.01),
            ("kvCacheDtype", "fp7"),
            ("blockSize", 24),
            ("blocksPerChunk", 0),
        )
    },
}

PODS = {
    "a label that finds the Pods": _no(
        _pod(labels={"kvtier.dev/model": "x"}),
        "podTemplate may not set labels or annotations under kvtier.dev/, which are kvtier's",
    ),
    "an annotation of kvtier's": _no(
        _pod(annotations={"kvtier.dev/pool": "x"}),
        "podTemplate may not set labels or annotations under kvtier.dev/",
    ),
    "a label that is none": _no(_pod(labels={"a": "b c"}), "labels"),
    "a volume of a tier": _no(
        _pod(volumes=[{"name": "lustre", "emptyDir": {}}]),
        "podTemplate.volumes may not have a name that kvtier uses: shm, home, tmp, local-ssd, lustre",
    ),
    "a volume without a name": _no(_pod(volumes=[{"emptyDir": {}}]), "name"),
    "a volume whose name is a number": _no(_pod(volumes=[{"name": 1}]), "name"),
    "a volume twice": _twice(_pod(volumes=[{"name": "a"}, {"name": "a"}])),
    "a second engine": _no(
        _pod(containers=[{"name": "engine"}]),
        "containers of podTemplate may not have a name that kvtier uses: engine, cache-server",
    ),
    "an engine before the engine": _no(
        _pod(initContainers=[{"name": "engine"}]), "containers of podTemplate may not have a name"
    ),
    "a container in capitals": _no(_pod(containers=[{"name": "Logs"}]), "name"),
    **{
        f"a mount at {path!r}, which kvtier has": _no(_mounting(path), _RESERVED_PATH)
        for path in ("/kv", "/kv/lustre", "/dev/shm", "/home/vllm", "/tmp")
    },
    **{
        f"a mount at {path!r}, which is no spelling of a path": _no(_mounting(path), "mountPath")
        for path in ("", "/", "models", "/a:b", "/tmp/", "//tmp", "/tmp/.", "/kv/./lustre", "/models/../tmp")
    },
    "a mount without a path": _no(_pod(volumeMounts=[{"name": "a"}]), "mountPath"),
    "a mount twice": _twice(_pod(volumeMounts=[{"name": "a", "mountPath": "/a"}] * 2)),
    "no time to end": _no(_pod(terminationGracePeriodSeconds=0), "podTemplate.terminationGracePeriodSeconds"),
    "a security context, which is kvtier's": _no(
        _pod(securityContext={"runAsUser": 0}), "spec.models[0].podTemplate.securityContext"
    ),
    "a host's network": _no(_pod(hostNetwork=True), "spec.models[0].podTemplate.hostNetwork"),
}

NODES = {
    "no machine type for a ComputeClass": _no(
        {"nodePool": {"machineType": None}}, "machineType is required when the provisioner is ComputeClass"
    ),
    "no accelerator": _no({"nodePool": {"accelerator": None}}, "spec.nodePool.accelerator"),
    "a resource without a domain": _no(
        {"nodePool": {"accelerator": {"resourceName": "gpu"}}}, "spec.nodePool.accelerator.resourceName"
    ),
    "an unknown mode": _no({"mode": "Eager"}, "spec.mode"),
    "a YAML boolean as mode": _no({"mode": True}, "spec.mode"),
}

REFUSED = CAPACITIES | LUSTRE | TIERS | ENGINES | MODELS | PODS | NODES

ACCEPTED: dict[str, Changes] = {
    "nothing out of the ordinary": {},
    "the smallest instance": _capacity(1000, "9000Gi"),
    "the largest instance": _capacity(1000, "10008000Gi"),
    "the largest instances of other tiers": _capacity(500, "20016000Gi"),
    "the largest instance of all": _capacity(250, "40032000Gi"),
    "the smallest instance of the slowest tier": _capacity(125, "72000Gi"),
    "an instance made through the API": api(),
    "with all that only the API can do": api(
        kmsKey=KEY,
        placementPolicy=POLICY,
        accessRules=_SQUASH,
        maintenanceWindow=_WINDOW,
        filesystem="kvcache1",
    ),
    "the Dynamic tier": dynamic(),
    "the largest Dynamic tier": dynamic(capacity="84016000Gi"),
    "an existing instance": existing(),
    "an existing instance by hand": by_hand(),
    "an existing instance of a size that no tier has": by_hand(capacity="18432Gi"),
    "going around maintenance": {"mode": "Opportunistic", **_lustre(maintenance="Bypass")},
    "handing over the top directory": _lustre(prepareAsRoot=True),
    "copies of a claim": _copied(_NAMED),
    "copies at times": _copied(_NAMED, exportSchedule="*/15 0-6,22 1,15 JAN-MAR MON", importOnCreate=False),
    "copies of the whole bucket": _copied(_NAMED, uri="gs://bucket/"),
    "copies of an existing instance": _copied(existing()),
    "no tier at all": {"tiers": None},
    "the cpu tier alone": {"tiers": {"lustre": None}},
    "a bucket with its keys": {**_KEYED, **_env({"name": "AWS_REGION", "value": "auto"})},
    "a bucket with all that can be said of it": _bucket(
        bucket="blocks.example.com", endpoint="minio.storage.svc:9000", scheme="http", region="us-east-1"
    ),
    "patience with a bucket": {**_KEYED, **_env({"name": "AWS_RETRY_MODE", "value": "adaptive"})},
    "settings of the AWS SDK where there is no bucket": _env(_CHECKSUMS),
    "keys for other uses where the bucket has none": {
        **_bucket(),
        **_env({"name": "AWS_ACCESS_KEY_ID", "value": "x"}),
    },
    "nodes of any machine type where they exist": {
        "nodePool": {"machineType": None, "provisioner": "Existing"}
    },
    "GPUs by another name": {"nodePool": {"accelerator": {"resourceName": "amd.com/gpu"}}},
    "an explicit engine version for a digest": _served(engine={**_UNTAGGED, "version": "0.33"}),
    "the older engine": _served(engine={"image": "vllm/vllm-openai:v0.32.0"}),
    "LMCache": _served(engine=_LMCACHE),
    "Secrets for images": _served(engine={"imagePullSecrets": [{"name": "a"}, {"name": "b"}]}),
    "all GPUs of a node, and all of their memory": _served(tensorParallelSize=8, gpuMemoryUtilization=1),
    "as many batched tokens as sequences": _served(maxNumSeqs=256, maxNumBatchedTokens=256),
    "replicas left to an autoscaler": _served(autoscaling={"provider": "External"}),
    "no replicas": _served(replicas=0),
    "block and chunk": _served(blockSize=32, blocksPerChunk=8),
    "a model's configuration inline": _served(modelConfigFrom={"inline": '{"model_type": "llama"}'}),
    "a model's configuration in a ConfigMap": _served(
        modelConfigFrom={"configMapKeyRef": {"name": "a", "key": "llama.json"}}
    ),
    "flags that kvtier does not manage": _arguments(
        "--enable-chunked-prefill", "--seed", "-1", '--hf-overrides={"a": "--port"}', "-O3"
    ),
    "quotes, braces, newlines and unicode": _env({"name": "A", "value": "'\"${x}{{y}}\nüñ🦙"}),
    "variables from Secrets and ConfigMaps": _env(
        {"name": "A", **_FROM_SECRET},
        {"name": "B", "valueFrom": {"configMapKeyRef": _KEY}},
        {"name": "C", "value": ""},
        {"name": "D"},
    ),
    **{
        f"a mount at {path!r}": _mounting(path)
        for path in (
            "/models",
            "/home/vllm/.cache/hub",
            "/tmp/mine",
            "/kv2",
            "/.cache",
            "/a..b/..c",
            "/my models/üñ",
        )
    },
    "a Pod with everything": _pod(
        labels={"example.com/team": "a", "app": ""},
        annotations={"note": "anything: {}\n\"'$"},
        serviceAccountName="reader",
        priorityClassName="high",
        runtimeClassName="gvisor",
        schedulerName="other",
        terminationGracePeriodSeconds=600,
        tolerations=[{"operator": "Exists"}, {"key": "a", "effect": "NoSchedule", "value": ""}],
        topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}],
        volumes=[{"name": "models", "csi": {"driver": "x", "volumeAttributes": {"a": "b"}}}],
        volumeMounts=[{"name": "models", "mountPath": "/models", "subPath": "a/b", "readOnly": False}],
        initContainers=[{"name": "fetch", "image": "x", "restartPolicy": "Always"}],
        containers=[{"name": "logs", "env": [{"name": "A", "valueFrom": {"fieldRef": {}}}]}],
    ),
}


def written(changes: Changes, namespace: str) -> dict[str, Any]:
    """The pool as a user would write it in this namespace."""
    metadata = {"name": "ruled", "namespace": namespace, "uid": None, "generation": None}
    return document(**changes, metadata=metadata)
