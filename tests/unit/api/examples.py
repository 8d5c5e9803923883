"""Pools that are refused, with the words of the refusal, and pools that are accepted.

tests/integration/test_rules.py sends them to the API server; unit/api/test_rules.py gives them to `kvtier render`.
"""

from dataclasses import dataclass
from typing import Any

from unit.api.pod_fields import ADDITIONS
from unit.builders import document, joined, model
from unit.instances import CLUSTER, KEY, NAME, POLICY, api, by_hand, dynamic, existing

Changes = dict[str, Any]
"""Changes to the pool of `unit.builders.document`."""


@dataclass(frozen=True)
class Refused:
    """A pool, the words of the API server, and the words offline."""

    changes: Changes
    words: str
    offline: str


def _no(changes: Changes, words: str, offline: str = "") -> Refused:
    return Refused(changes, words, offline or words)


def _twice(changes: Changes) -> Refused:
    """Two items with the same name."""
    return _no(changes, "Duplicate value")


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


def _adapter(**fields: Any) -> Changes:
    return _served(adapters=[{**_SQL, **fields}])


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
_MANAGED = "extraArgs must not set a flag that kvtier manages: use the field of the model instead (adapters, for LoRA)"
_UNKEYED = (
    "engine.backend LMCache must not be used with adapters, or with extraArgs --enable-lora, --lora-modules, "
    "--default-mm-loras, --enable-prompt-embeds: LMCache's keys do not contain them, so engines would read blocks of "
    "other inputs. Use engine.backend Native"
)
_RUNTIME = "env must not set a variable that lets requests change the weights of a running engine"
_CONTENT = "name of an adapter must not be a type of chat content, because vLLM uses such an adapter for all requests"
_SQL = {"name": "sql", "model": "example/sql-lora", "revision": "v2"}
_ONLY_API = "dynamicTier, kmsKey, placementPolicy, accessRules, maintenanceWindow can be set only with provisioner API"
_ONLY_EXISTING = (
    "instance, address can be set only with provisioner Existing: the other provisioners create an instance"
)
_RESERVED_PATH = (
    "mountPath in podTemplate.volumeMounts must not be below /kv or a path reserved for kvtier: /dev/shm,"
)
_SCHEDULE = "exportSchedule must be a cron expression with five fields (minute, hour, day of month, month, day of week)"
_FIXED = "env must not set AWS_REQUEST_CHECKSUM_CALCULATION or NIXL_TELEMETRY_ENABLE with tiers.objectStorage"
_HAS_THEM = (
    "throughputPerTiB, zone, network must not be set with provisioner Existing: the instance defines them"
)
_BY_HAND = "address, filesystem, capacity must be set all together or not at all with provisioner Existing"

_PORT = {"containerPort": 9000}
_OWNED: Changes = {
    "hostNetwork": True,
    "hostPID": True,
    "nodeName": "a",
    "nodeSelector": {"a": "b"},
    "restartPolicy": "Always",
    "resources": {},
    "env": [],
    "envFrom": [],
    "livenessProbe": {},
}
"""Fields of a PodSpec or a Container that podTemplate does not have."""
_UNKNOWN: dict[str, Changes] = {
    "volumes[0].emptyDirr": {"volumes": [{"name": "a", "emptyDirr": {}}]},
    "containers[0].imagge": {"containers": [{"name": "a", "imagge": "x"}]},
    "containers[0].args": {"containers": [{"name": "a", "args": "text"}]},
    "containers[0].env[0].value": {"containers": [{"name": "a", "env": [{"name": "A", "value": 1}]}]},
    "containers[0].ports[0].containerPort": {
        "containers": [{"name": "a", "ports": [{"containerPort": 2**31}]}]
    },
    "tolerations[0].tolerationSeconds": {"tolerations": [{"tolerationSeconds": "60"}]},
    "affinity.nodeAffinity.required": {"affinity": {"nodeAffinity": {"required": {}}}},
    "volumes[0].a": {"volumes": [{"name": "a", "a": {"a": {"a": {}}}}]},
}
"""Unknown fields and wrong types, by the path in the message."""

CAPACITIES = {
    "a capacity in Ti": _no(
        _capacity(1000, "9Ti"),
        "capacity must be in Gi, such as 9000Gi: 9Ti is 9216Gi",
        "capacity 9Ti must be in Gi: the nearest are 9000Gi and 18000Gi",
    ),
    "a capacity between two steps": _no(
        _capacity(1000, "9001Gi"),
        "capacity at 1000 MBps per TiB must be a multiple of 9000Gi, from 9000Gi to 10008000Gi; above 1530000Gi, a m",
        "capacity 9001Gi is not valid at 1000 MBps per TiB: the nearest are 9000Gi and 18000Gi",
    ),
    "a small step above the threshold": _no(
        _capacity(1000, "1539000Gi"),
        "capacity at 1000 MBps per TiB must be",
        "the nearest are 1530000Gi and 1584000Gi",
    ),
    "a capacity above the tier's maximum": _no(
        _capacity(500, "20034000Gi"),
        "capacity at 500 MBps per TiB must be a multiple of 18000Gi",
        "capacity 20034000Gi is not valid at 500 MBps per TiB: the largest is 20016000Gi",
    ),
    "a capacity between two larger steps": _no(
        _capacity(250, "40000Gi"),
        "capacity at 250 MBps per TiB must be a multiple of 36000Gi",
        "capacity 40000Gi is not valid at 250 MBps per TiB: the nearest are 36000Gi and 72000Gi",
    ),
    "a capacity below the tier's minimum": _no(
        _capacity(125, "36000Gi"),
        "capacity at 125 MBps per TiB must be a multiple of 72000Gi",
        "capacity 36000Gi is not valid at 125 MBps per TiB: the smallest is 72000Gi",
    ),
    "a Dynamic tier between two steps": _no(
        dynamic(capacity="500000Gi"),
        "capacity in the Dynamic tier must be a multiple of 472000Gi",
        "capacity 500000Gi is not valid in the Dynamic tier: the nearest are 472000Gi and 944000Gi",
    ),
    "a Dynamic tier that is too small": _no(
        dynamic(capacity="9000Gi"), "capacity in the Dynamic tier must be", "the smallest is 472000Gi"
    ),
    "a Dynamic tier that is too large": _no(
        dynamic(capacity="84488000Gi"), "capacity in the Dynamic tier must be", "the largest is 84016000Gi"
    ),
    "a capacity in Ti with an address": _no(
        by_hand(capacity="18Ti"), "capacity must be in Gi", "capacity 18Ti must be in Gi"
    ),
    **{
        f"a capacity of {size!r}": _no({"tiers": {"cpu": {"capacity": size}}}, "spec.tiers.cpu.capacity")
        for size in ("9000.5Gi", "107374182400", 100, "-1Gi", "0Gi", "9999999999Pi")
    },
}

LUSTRE = {
    **{
        f"a CSI tier without {name}": _no(_lustre(**{name: None}), f"{name} is required with provisioner CSI")
        for name in ("capacity", "throughputPerTiB", "zone", "network")
    },
    "an API instance without a zone": _no(api(zone=None), "zone is required with provisioner CSI or API"),
    "an API instance without a performance tier": _no(
        api(throughputPerTiB=None), "provisioner API requires either throughputPerTiB or dynamicTier"
    ),
    "an API instance with two performance tiers": _no(
        dynamic(throughputPerTiB=1000, capacity="4248000Gi"),
        "provisioner API requires either throughputPerTiB or dynamicTier",
    ),
    "an API instance without a cluster": _no(
        joined(api(), {"cluster": None}),
        "lustre.provisioner API requires cluster: kvtier creates the instance in cluster.project",
    ),
    "an existing instance without a name": _no(
        existing(instance=None), "instance is required with provisioner Existing"
    ),
    "a CSI tier with an instance": _no(
        _lustre(instance=NAME),
        _ONLY_EXISTING,
        "instance can be set only with provisioner Existing: the other provisioners",
    ),
    "a CSI tier with an address": _no(
        _lustre(address="10.0.0.4"), _ONLY_EXISTING, "address can be set only with provisioner Existing"
    ),
    "an API instance with a name": _no(
        api(instance=NAME), _ONLY_EXISTING, "instance can be set only with provisioner Existing"
    ),
    **{
        f"a CSI tier with {name}": _no(
            _lustre(**{name: value}),
            _ONLY_API + ": not supported by the Lustre CSI driver",
            f"{name} can be set only with provisioner API: not supported by the Lustre CSI driver",
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
        existing(dynamicTier="DefaultCache"), _ONLY_API, "dynamicTier can be set only with provisioner API"
    ),
    **{
        f"an existing instance with {name}": _no(existing(**{name: value}), _HAS_THEM)
        for name, value in {
            "throughputPerTiB": 1000,
            "zone": "us-central1-a",
            "network": "projects/p1/global/networks/n",
        }.items()
    },
    **{
        f"an existing instance without {name} but with the other two": _no(by_hand(**{name: None}), _BY_HAND)
        for name in ("address", "filesystem", "capacity")
    },
    "a key in another region": _no(
        api(kmsKey=KEY.replace("central1", "east1")), "kmsKey must be in the region of the instance"
    ),
    "a key in a region whose name is a prefix": _no(
        api(kmsKey=KEY.replace("us-central1", "us-central")), "kmsKey must be in the region of the instance"
    ),
    **{
        f"{name} without RootSquash": _no(
            api(accessRules={"defaultSquash": "NoSquash", name: value}),
            "squashUID, squashGID and exceptions require defaultSquash RootSquash",
        )
        for name, value in {"squashUID": 1000, "squashGID": 1, "exceptions": _SQUASH["exceptions"]}.items()
    },
    "maintenance Bypass with mode Required": _no(
        _lustre(maintenance="Bypass"),
        "lustre.maintenance Bypass requires mode Opportunistic: with mode Required, engines do not run without",
    ),
    **{
        f"{field} {value!r} of the Lustre tier": _no(changes(**{field: value}), f"spec.tiers.lustre.{field}")
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
    "root mapped to root": _no(
        api(accessRules={**_SQUASH, "squashUID": 0}), "spec.tiers.lustre.accessRules.squashUID"
    ),
    "an exception for an invalid address": _no(
        api(accessRules={**_SQUASH, "exceptions": [{"name": "a", "addressRanges": ["10.0.0.256"]}]}),
        "spec.tiers.lustre.accessRules.exceptions[0].addressRanges",
    ),
    "an exception with a long name": _no(
        api(accessRules={**_SQUASH, "exceptions": [{"name": "a" * 17, "addressRanges": ["10.0.0.2"]}]}),
        "spec.tiers.lustre.accessRules.exceptions[0].name",
    ),
    "a maintenance window on an unknown day": _no(
        api(maintenanceWindow={"day": "Caturday", "hour": 1}), "maintenanceWindow.day"
    ),
    "a maintenance window at hour 24": _no(
        api(maintenanceWindow={"day": "Sunday", "hour": 24}), "maintenanceWindow.hour"
    ),
}

TIERS = {
    "a lower tier without the cpu tier": _no(
        {"tiers": {"cpu": None}},
        "localSSD, lustre and objectStorage require the cpu tier: every block passes through host memory",
    ),
    "a bucket without the cpu tier": _no(
        joined(_NO_TIERS, _bucket()), "localSSD, lustre and objectStorage require"
    ),
    "cloudStorage without the Lustre tier": _no(
        joined(_copied(_NAMED), {"tiers": {"lustre": None}}),
        "cloudStorage requires the lustre tier: Managed Lustre imports",
    ),
    "cloudStorage without a cluster": _no(
        _copied({}),
        "cloudStorage requires cluster, or lustre.provisioner Existing: kvtier starts copies through the Lustre API",
    ),
    "cloudStorage with a prefix without a slash": _no(
        _copied(_NAMED, uri="gs://bucket/chat"), "spec.tiers.cloudStorage.uri"
    ),
    "cloudStorage with another scheme": _no(
        _copied(_NAMED, uri="s3://bucket/chat/"), "spec.tiers.cloudStorage.uri"
    ),
    **{
        f"exports at {schedule!r}": _no(_copied(_NAMED, exportSchedule=schedule), _SCHEDULE)
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
    "a key of the bucket as a variable": _no(
        {**_KEYED, **_env({"name": "AWS_ACCESS_KEY_ID", "value": "x"})},
        "env must not set variables that come from tiers.objectStorage.credentialsSecretRef: AWS_ACCESS_KEY_ID, AWS_SE",
        "env must not set AWS_ACCESS_KEY_ID: it comes from tiers.objectStorage.credentialsSecretRef",
    ),
    "uploads that the bucket may store with their checksum frame": _no(
        {**_bucket(), **_env(_CHECKSUMS)},
        f"{_FIXED}: another value corrupts cached blocks or ends the engine",
    ),
    "telemetry that is turned off": _no(
        {**_KEYED, **_env({"name": "NIXL_TELEMETRY_ENABLE", "value": "n"})},
        f"{_FIXED}: another value corrupts cached blocks",
    ),
    "an unknown tier": _no({"tiers": {"ssd": {"capacity": "1Gi"}}}, "spec.tiers.ssd"),
}

ENGINES = {
    "a bucket with LMCache": _no(
        {**_bucket(), **_served(engine=_LMCACHE)},
        "tiers.objectStorage requires engine.backend Native: vLLM itself reads and writes the bucket",
    ),
    "LMCache without its version": _no(
        _served(engine={"backend": "LMCache"}),
        "engine.lmcache is required with engine.backend LMCache, and must not",
    ),
    "an LMCache version with backend Native": _no(
        _served(engine={"lmcache": {"version": "0.5.6"}}),
        "engine.lmcache is required with engine.backend LMCache",
    ),
    "LMCache without the cpu tier": _no(
        {**_NO_TIERS, **_served(engine=_LMCACHE)},
        "engine.backend LMCache requires tiers.cpu: the LMCache server",
    ),
    **{
        f"an image whose version is unknown, {image}": _no(
            _served(engine={"image": image}),
            "engine.version is required unless the image tag is a vLLM version, such as v0.34.0",
        )
        for image in ("example/vllm:latest", _UNTAGGED["image"], "vllm/vllm-openai:v0.33.0-patched")
    },
    **{
        f"an engine version that is no release, {version}": _no(
            _served(engine={"version": version}), "spec.models[0].engine.version"
        )
        for version in ("latest", "1", "0.33.x", "0.33-rc1", "0.33.0.0", "20261129.1")
    },
    "an LMCache version that kvtier does not know": _no(
        _served(engine={"backend": "LMCache", "lmcache": {"version": "0.5.7"}}),
        "spec.models[0].engine.lmcache.version",
    ),
    "a pull Secret twice": _twice(_served(engine={"imagePullSecrets": [{"name": "a"}, {"name": "a"}]})),
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
    "an environment variable that is reserved for kvtier": _no(
        _env({"name": "PYTHONHASHSEED", "value": "random"}),
        "env must not set a variable that is reserved for kvtier: PYTHONHASHSEED, HF_TOKEN",
        "env must not set PYTHONHASHSEED: reserved for kvtier are PYTHONHASHSEED, ",
    ),
    "a token that kvtier sets, from a Secret": _no(
        _env({"name": "HF_TOKEN", **_FROM_SECRET}),
        "env must not set a variable that is reserved for kvtier",
        "env must not set HF_TOKEN: reserved for kvtier are",
    ),
    "an environment variable twice": _twice(_env({"name": "A"}, {"name": "A"})),
    "a variable with two values": _no(
        _env({"name": "A", "value": "x", **_FROM_SECRET}), "a variable must not have both value and valueFrom"
    ),
    "a variable with two sources": _no(
        _env({"name": "A", "valueFrom": dict.fromkeys(("secretKeyRef", "configMapKeyRef"), _KEY)}),
        "valueFrom requires exactly one of secretKeyRef and configMapKeyRef",
    ),
    "a variable with an empty source": _no(
        _env({"name": "A", "valueFrom": {}}),
        "valueFrom requires exactly one of secretKeyRef and configMapKeyRef",
    ),
}

ADAPTERS = {
    "an adapter with LMCache": _no(_served(engine=_LMCACHE, adapters=[_SQL]), _UNKEYED),
    **{
        f"LMCache with {argument}": _no(_served(engine=_LMCACHE, extraArgs=[argument]), _UNKEYED)
        for argument in ("--enable-prompt-embeds", "--enable_prompt_emb", "--enable-lora", "--lora-mod=a=/a")
    },
    **{
        f"adapters by {' '.join(arguments)}": _no(
            _arguments(*arguments),
            _MANAGED,
            f"extraArgs: {arguments[0]!r} sets {flag}, which kvtier manages: use adapters of the model",
        )
        for flag, *arguments in (
            ("--enable-lora", "--enable-lora"),
            ("--no-enable-lora", "--no_enable_lora"),
            ("--disable-lora", "--disable_lora"),
            ("--lora-modules", "--lora-modules", "sql=/adapters/sql"),
            ("--lora-modules", "--lora_modul=sql=/adapters/sql"),
            ("--default-mm-loras", '--default-mm-loras={"audio": "/adapters/audio"}'),
        )
    },
    **{
        f"the variable {name}": _no(_env({"name": name, "value": "1"}), _RUNTIME)
        for name in (
            "VLLM_ALLOW_RUNTIME_LORA_UPDATING",
            "VLLM_LORA_RESOLVER_CACHE_DIR",
            "VLLM_LORA_RESOLVER_HF_REPO_LIST",
            "VLLM_SERVER_DEV_MODE",
        )
    },
    "a variable for updates from a Secret": _no(
        _env({"name": "VLLM_ALLOW_RUNTIME_LORA_UPDATING", **_FROM_SECRET}), _RUNTIME
    ),
    "an adapter with the name of its model": _no(
        _adapter(name="llama"),
        "name of an adapter must not be the name of its model: requests choose between them by name",
    ),
    **{f"an adapter with the name {name}": _no(_adapter(name=name), _CONTENT) for name in ("text", "image")},
    "an adapter twice": _twice(_served(adapters=[_SQL, _SQL])),
    **{
        f"{field} {value!r} of an adapter": _no(
            _adapter(**{field: value}), f"spec.models[0].adapters[0].{field}"
        )
        for field, value in (
            ("name", "sql=/etc"),
            ("name", "a,b"),
            ("name", "--port"),
            ("name", ""),
            ("model", "--port=1"),
            ("model", "../adapters"),
            ("model", "/"),
            ("model", "/adapters/../etc"),
            ("model", "a/b/c"),
            ("model", "https://example/a"),
            ("revision", ""),
            ("path", "/adapters"),
        )
    },
}

MODELS = {
    "no models": _no({"models": []}, "spec.models"),
    "two models with one name": _twice({"models": [model(), model()]}),
    "replicas together with autoscaling": _no(
        _served(replicas=2, autoscaling={"provider": "External"}),
        "replicas must not be set together with autoscaling: the autoscaler sets the number of replicas",
    ),
    "more GPUs for a Pod than a node has": _no(
        _served(tensorParallelSize=16),
        "tensorParallelSize of a model must not exceed nodePool.accelerator.count",
    ),
    "fewer batched tokens than sequences": _no(
        _served(maxNumSeqs=256, maxNumBatchedTokens=255), "maxNumBatchedTokens must be at least maxNumSeqs"
    ),
    "a model configuration with two sources": _no(
        _served(modelConfigFrom={"inline": "{}", "configMapKeyRef": {"name": "a"}}),
        "modelConfigFrom requires exactly one of inline or configMapKeyRef",
    ),
    "a model configuration without a source": _no(
        _served(modelConfigFrom={}), "modelConfigFrom requires exactly one of inline or configMapKeyRef"
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
    "a label that selects the Pods": _no(
        _pod(labels={"kvtier.dev/model": "x"}),
        "podTemplate must not set labels or annotations under kvtier.dev/, which is reserved for kvtier",
    ),
    "an annotation of kvtier": _no(
        _pod(annotations={"kvtier.dev/pool": "x"}),
        "podTemplate must not set labels or annotations under kvtier.dev/",
    ),
    **{
        f"a key that no Pod can have in {field}": _no(
            _pod(**{field: {key: "x"}}), "podTemplate must have keys of labels and annotations such as"
        )
        for field, key in {"labels": "Example.com/a", "annotations": "a/b/c"}.items()
    },
    "an invalid label value": _no(_pod(labels={"a": "b c"}), "labels"),
    "a volume of a tier": _no(
        _pod(volumes=[{"name": "lustre", "emptyDir": {}}]),
        "podTemplate.volumes must not use a name reserved for kvtier: shm, home, tmp, local-ssd, lustre, lo",
    ),
    "a volume without a name": _no(_pod(volumes=[{"emptyDir": {}}]), "name"),
    "a volume whose name is a number": _no(_pod(volumes=[{"name": 1}]), "name"),
    "a volume twice": _twice(_pod(volumes=[{"name": "a"}, {"name": "a"}])),
    "a second engine": _no(
        _pod(containers=[{"name": "engine"}]),
        "containers and initContainers of podTemplate must not use a name reserved for kvtier: engine, cache-server,",
    ),
    "an init container with the engine's name": _no(
        _pod(initContainers=[{"name": "engine"}]),
        "containers and initContainers of podTemplate must not use a name",
    ),
    "a container in capitals": _no(_pod(containers=[{"name": "Logs"}]), "name"),
    **{
        f"a mount at {path!r}, which is reserved": _no(_mounting(path), _RESERVED_PATH)
        for path in ("/kv", "/kv/lustre", "/dev/shm", "/home/vllm", "/tmp")
    },
    **{
        f"a mount at {path!r}, which is not a canonical path": _no(_mounting(path), "mountPath")
        for path in ("", "/", "models", "/a:b", "/tmp/", "//tmp", "/tmp/.", "/kv/./lustre", "/models/../tmp")
    },
    "a mount without a path": _no(_pod(volumeMounts=[{"name": "a"}]), "mountPath"),
    "a mount twice": _twice(_pod(volumeMounts=[{"name": "a", "mountPath": "/a"}] * 2)),
    "a grace period of 0": _no(
        _pod(terminationGracePeriodSeconds=0), "podTemplate.terminationGracePeriodSeconds"
    ),
    "a security context": _no(
        _pod(securityContext={"runAsUser": 0}), "spec.models[0].podTemplate.securityContext"
    ),
    **{
        f"{name}, which kvtier or the Deployment decides": _no(
            _pod(**{name: value}), f"spec.models[0].podTemplate.{name}"
        )
        for name, value in _OWNED.items()
    },
    **{
        f"{path} in podTemplate": _no(_pod(**additions), f"spec.models[0].podTemplate.{path}")
        for path, additions in _UNKNOWN.items()
    },
    "a number of CPUs that is neither whole nor a string": _no(
        _pod(containers=[{"name": "a", "resources": {"limits": {"cpu": 0.5}}}]),
        "spec.models[0].podTemplate.containers[0].resources.limits.cpu",
    ),
    **{
        f"a quantity of {quantity!r}": _no(
            _pod(containers=[{"name": "a", "resources": {"limits": {"cpu": quantity}}}]),
            "spec.models[0].podTemplate.containers[0].resources.limits.cpu",
        )
        for quantity in ("", "many", "1 Gi", "1Ki1", "1e", "--1", ".", "1gi")
    },
    "a port beyond 32 bits": _no(
        _pod(lifecycle={"preStop": {"httpGet": {"port": 2**31}}}),
        "spec.models[0].podTemplate.lifecycle.preStop.httpGet.port",
    ),
    "a port twice, once by the default protocol": _twice(_pod(ports=[_PORT, {**_PORT, "protocol": "TCP"}])),
}

NODES = {
    "no machine type for a ComputeClass": _no(
        {"nodePool": {"machineType": None}}, "machineType is required with provisioner ComputeClass"
    ),
    "no accelerator": _no({"nodePool": {"accelerator": None}}, "spec.nodePool.accelerator"),
    "a resource without a domain": _no(
        {"nodePool": {"accelerator": {"resourceName": "gpu"}}}, "spec.nodePool.accelerator.resourceName"
    ),
    "a label that nodes cannot have": _no(
        {"nodePool": {"nodeSelector": {"team a": "x"}}}, "nodeSelector must have keys of labels, such as"
    ),
    "a zone twice": _twice({"nodePool": {"zones": ["us-central1-a"] * 2}}),
    "an unknown mode": _no({"mode": "Eager"}, "spec.mode"),
    "a YAML boolean as mode": _no({"mode": True}, "spec.mode"),
}


def _accepted(type_: str, reason: str) -> Changes:
    return {"acknowledgedConditions": [{"type": type_, "reason": reason}]}


ACKNOWLEDGED = {
    **{
        f"a condition for which nobody can vouch, {type_}": _no(
            _accepted(type_, "Untested"), "spec.acknowledgedConditions[0].type"
        )
        for type_ in ("FilesystemUnique", "CredentialsPresent", "StorageReady", "Ready", "Other")
    },
    **{
        f"a reason for which nobody can vouch, {reason}": _no(
            _accepted("EngineSupported", reason), "spec.acknowledgedConditions[0].reason"
        )
        for reason in ("PairNotSupported", "ConflictingSettings", "NameNotUsable", "Other")
    },
    "a condition twice": _twice(
        {"acknowledgedConditions": 2 * _accepted("EngineSupported", "Untested")["acknowledgedConditions"]}
    ),
}

REFUSED = CAPACITIES | LUSTRE | TIERS | ENGINES | ADAPTERS | MODELS | PODS | NODES | ACKNOWLEDGED

ACCEPTED: dict[str, Changes] = {
    "an ordinary pool": {},
    "the smallest instance": _capacity(1000, "9000Gi"),
    "the largest instance": _capacity(1000, "10008000Gi"),
    "the largest instance of another performance tier": _capacity(500, "20016000Gi"),
    "the largest instance of all": _capacity(250, "40032000Gi"),
    "the smallest instance of the slowest tier": _capacity(125, "72000Gi"),
    "an instance created through the API": api(),
    "all settings that only the API has": api(
        kmsKey=KEY,
        placementPolicy=POLICY,
        accessRules=_SQUASH,
        maintenanceWindow=_WINDOW,
        filesystem="kvcache1",
    ),
    "the Dynamic tier": dynamic(),
    "the largest Dynamic tier": dynamic(capacity="84016000Gi"),
    "an existing instance": existing(),
    "an existing instance with its address": by_hand(),
    "an existing instance with a size of no performance tier": by_hand(capacity="18432Gi"),
    "maintenance Bypass with mode Opportunistic": {"mode": "Opportunistic", **_lustre(maintenance="Bypass")},
    "a Job that prepares the root directory": _lustre(prepareAsRoot=True),
    "cloudStorage with a CSI tier": _copied(_NAMED),
    "exports on a schedule": _copied(
        _NAMED, exportSchedule="*/15 0-6,22 1,15 JAN-MAR MON", importOnCreate=False
    ),
    "cloudStorage with a whole bucket": _copied(_NAMED, uri="gs://bucket/"),
    "cloudStorage with an existing instance": _copied(existing()),
    "no tier at all": {"tiers": None},
    "the cpu tier alone": {"tiers": {"lustre": None}},
    "a bucket with its keys": {**_KEYED, **_env({"name": "AWS_REGION", "value": "auto"})},
    "a bucket with all its fields": _bucket(
        bucket="blocks.example.com", endpoint="minio.storage.svc:9000", scheme="http", region="us-east-1"
    ),
    "another retry mode for a bucket": {**_KEYED, **_env({"name": "AWS_RETRY_MODE", "value": "adaptive"})},
    "settings of the AWS SDK without a bucket": _env(_CHECKSUMS),
    "AWS keys with a bucket that has no Secret": {
        **_bucket(),
        **_env({"name": "AWS_ACCESS_KEY_ID", "value": "x"}),
    },
    "existing nodes without a machine type": {"nodePool": {"machineType": None, "provisioner": "Existing"}},
    "GPUs with another resource name": {"nodePool": {"accelerator": {"resourceName": "amd.com/gpu"}}},
    "an explicit engine version for a digest": _served(engine={**_UNTAGGED, "version": "0.33"}),
    "engine versions that kvtier does not know": {
        "models": [
            model(name=f"m{index}", engine={**_UNTAGGED, "version": version})
            for index, version in enumerate(
                ("0.34", "v0.34.1", "0.20.0", "1.0", "0.33.0rc1", "0.33.0.post1", "0.34.0.dev7")
            )
        ]
    },
    "an image tag that kvtier does not know": _served(engine={"image": "vllm/vllm-openai:v0.34.0"}),
    "conditions that the user vouches for": {
        "acknowledgedConditions": [
            {"type": "EngineSupported", "reason": "Untested"},
            {"type": "GKEVersionSupported", "reason": "NodesTooOld"},
            {"type": "GKEVersionSupported", "reason": "ControlPlaneTooOld"},
        ]
    },
    "the older engine": _served(engine={"image": "vllm/vllm-openai:v0.32.0"}),
    "LMCache": _served(engine=_LMCACHE),
    "pull Secrets": _served(engine={"imagePullSecrets": [{"name": "a"}, {"name": "b"}]}),
    "all GPUs of a node and all their memory": _served(tensorParallelSize=8, gpuMemoryUtilization=1),
    "as many batched tokens as sequences": _served(maxNumSeqs=256, maxNumBatchedTokens=256),
    "replicas left to an autoscaler": _served(autoscaling={"provider": "External"}),
    "no replicas": _served(replicas=0),
    "a block size and blocks per chunk": _served(blockSize=32, blocksPerChunk=8),
    "an inline model configuration": _served(modelConfigFrom={"inline": '{"model_type": "llama"}'}),
    "a model configuration in a ConfigMap": _served(
        modelConfigFrom={"configMapKeyRef": {"name": "a", "key": "llama.json"}}
    ),
    "adapters, with the flags that size their memory": _served(
        adapters=[
            _SQL,
            {"name": "law", "model": "/my models/law.v1", "revision": "$(date) ü"},
            {"name": "text-2", "model": "Example_1/x"},
        ],
        extraArgs=["--max-lora-rank=64", "--max-loras=3", "--max-cpu-loras", "8", "--lora-dtype=bfloat16"],
    ),
    "prompt embeddings with backend Native": _arguments("--enable-prompt-embeds"),
    "no prompt embeddings, with LMCache": _served(
        engine=_LMCACHE, extraArgs=["--no-enable-prompt-embeds"], adapters=[]
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
    "an annotation with a domain in capitals": _pod(annotations={"Example.com/a": "x"}),
    "a Pod with everything": _pod(**ADDITIONS),
    **{
        f"a quantity of {quantity!r} in a Pod": _pod(
            containers=[{"name": "a", "image": "x", "resources": {"limits": {"cpu": quantity}}}]
        )
        for quantity in (1, "0.5", "1500m", ".5", "5.", "+1", "1e3", "1E-3", "1Ei", "1n", " 1Gi ")
    },
    "fields that are null": _pod(volumes=None, tolerations=[{"key": None, "operator": "Exists"}]),
    "a long argument of a container": _pod(containers=[{"name": "a", "args": ["🙂" * 131_072]}]),
}


def written(changes: Changes, namespace: str) -> dict[str, Any]:
    """The pool as a user writes it, in this namespace."""
    metadata = {"name": "ruled", "namespace": namespace, "uid": None, "generation": None}
    return document(**changes, metadata=metadata)
