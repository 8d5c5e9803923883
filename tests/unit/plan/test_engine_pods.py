"""The Deployment, the Service and the Pods of a model."""

import re
from typing import Any

import pytest

from kvtier.api import names
from kvtier.api.quantities import GIB, parse
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.engines.lmcache import SEGMENT, server_argv
from kvtier.plan.engine_pods import deployment, literal, selector, variables
from unit.builders import context, job, manifest, model, model_cache, mounts_lustre, pool
from unit.tables import table

SSD = {"localSSD": {"capacity": "1Ti"}}
POOL = pool()
OWN = {"kvtier.dev/pool": "chat", "kvtier.dev/model": "llama"}


def _template(of: KVCachePool) -> dict[str, Any]:
    return dict(manifest(of, "Deployment")["spec"]["template"])


def _pod(of: KVCachePool) -> dict[str, Any]:
    return dict(_template(of)["spec"])


def _engine(of: KVCachePool) -> dict[str, Any]:
    (container,) = _pod(of)["containers"]
    return dict(container)


def _mounts(container: dict[str, Any]) -> dict[str, str]:
    return {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}


ALWAYS = {"shm": "/dev/shm", "home": "/home/vllm", "tmp": "/tmp"}


@table(
    "changes, replicas",
    {
        "replicas of the spec are set": ({"replicas": 3}, {"replicas": 3}),
        "zero replicas are set too": ({"replicas": 0}, {"replicas": 0}),
        "replicas that an autoscaler owns are left out": ({"autoscaling": {}}, {}),
    },
)
def test_replicas(changes: dict[str, Any], replicas: dict[str, int]) -> None:
    spec = manifest(pool(models=[model(**changes)]), "Deployment")["spec"]
    assert {key: value for key, value in spec.items() if key == "replicas"} == replicas


def test_the_service_selects_pods_by_labels_that_never_change() -> None:
    of = pool(metadata={"labels": {"app": "search", "kvtier.dev/pool": "other"}})
    made, service = manifest(of, "Deployment"), manifest(of, "Service")
    assert selector(of.name, "llama") == OWN
    assert made["spec"]["selector"]["matchLabels"] == OWN
    assert made["spec"]["template"]["metadata"]["labels"] == OWN
    assert service["spec"]["selector"] == OWN
    assert service["metadata"]["name"] == made["metadata"]["name"]
    (port,) = service["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (8000, _engine(of)["ports"][0]["name"])


def test_sizes_of_tiers_limit_memory_and_volumes() -> None:
    of = pool(tiers=SSD, models=[model(resources={"cpu": 12, "memory": "48Gi"})])
    resources = _engine(of)["resources"]
    volumes = {volume["name"]: volume for volume in _pod(of)["volumes"]}
    shm = parse(volumes["shm"]["emptyDir"]["sizeLimit"])
    assert shm > 100 * GIB
    assert parse(resources["requests"]["memory"]) == shm + 48 * GIB
    assert resources["limits"]["memory"] == resources["requests"]["memory"]
    assert resources["requests"]["ephemeral-storage"] == "1Ti"
    assert volumes["local-ssd"]["emptyDir"]["sizeLimit"] == "1Ti"
    assert resources["requests"]["cpu"] == "12"
    assert resources["requests"]["nvidia.com/gpu"] == resources["limits"]["nvidia.com/gpu"] == "8"


@table(
    "tiers, mounted",
    {
        "no file tier": ({"lustre": None}, {}),
        "Local SSD": ({"lustre": None, **SSD}, {"local-ssd": "/kv/ssd"}),
        "Lustre": ({}, {"lustre": "/kv/lustre"}),
        "both": (SSD, {"local-ssd": "/kv/ssd", "lustre": "/kv/lustre"}),
    },
)
def test_tiers_are_mounted_at_the_paths_of_the_engine(tiers: dict[str, Any], mounted: dict[str, str]) -> None:
    of = pool(tiers=tiers)
    assert _mounts(_engine(of)) == ALWAYS | mounted
    volumes = {volume["name"]: volume for volume in _pod(of)["volumes"]}
    assert set(volumes) == set(ALWAYS | mounted)
    if "lustre" in mounted:
        assert volumes["lustre"]["persistentVolumeClaim"] == {"claimName": names.claim(of.name)}


@pytest.mark.parametrize("claim", ["a-claim", None])
def test_the_engine_uses_lustre_only_where_it_is_mounted(claim: str | None) -> None:
    made = deployment(POOL, context(POOL).models[0], claim)
    (container,) = made["spec"]["template"]["spec"]["containers"]
    assert ("/kv/lustre" in "".join(container["args"])) is bool(claim)
    assert ("lustre" in _mounts(container)) is bool(claim)


def test_the_shell_that_starts_the_engine_does_not_interpret_its_arguments() -> None:
    engine = _engine(pool(models=[model(model="$(rm -rf /); 'x'")]))
    assert engine["command"][:2] == ["/bin/sh", "-c"]
    assert "$(rm" not in "".join(engine["command"])
    # The kubelet makes $ of $$ again, and expands nothing.
    assert engine["args"][2] == "$$(rm -rf /); 'x'"


@table(
    "text, written",
    {
        "words": ("a b", "a b"),
        "a reference to a variable": ("$(HOME)", "$$(HOME)"),
        "a dollar": ("$", "$$"),
        "two dollars": ("$$", "$$$$"),
    },
)
def test_text_that_kubernetes_would_expand_is_escaped(text: str, written: str) -> None:
    assert literal(text) == written


@table(
    "nodes, surge, tolerated",
    {
        "on-demand nodes surge, and Pods tolerate their class": (
            {},
            (1, 0),
            {"nvidia.com/gpu", "cloud.google.com/compute-class"},
        ),
        "existing nodes have no unused GPU": ({"provisioner": "Existing"}, (0, 1), {"nvidia.com/gpu"}),
    },
)
def test_rollout(nodes: dict[str, Any], surge: tuple[int, int], tolerated: set[str]) -> None:
    of = pool(nodePool=nodes)
    strategy = manifest(of, "Deployment")["spec"]["strategy"]["rollingUpdate"]
    assert (strategy["maxSurge"], strategy["maxUnavailable"]) == surge
    assert {toleration["key"] for toleration in _pod(of)["tolerations"]} == tolerated


def test_engines_run_in_the_zones_of_the_pool_or_anywhere() -> None:
    terms = _pod(POOL)["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (expression,) = terms["nodeSelectorTerms"][0]["matchExpressions"]
    assert expression == {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["us-central1-a"]}
    assert "affinity" not in _pod(pool(tiers={"lustre": None}))


def test_the_progress_deadline_is_longer_than_the_start_of_the_engine() -> None:
    slow = pool(tiers={"cpu": {"capacity": "10000Gi"}})
    for of in (POOL, slow):
        probe, spec = _engine(of)["startupProbe"], manifest(of, "Deployment")["spec"]
        assert spec["progressDeadlineSeconds"] > probe["failureThreshold"] * probe["periodSeconds"] >= 1800
    later, sooner = (_engine(of)["startupProbe"]["failureThreshold"] for of in (slow, POOL))
    assert later > sooner


def test_pods_meet_the_restricted_pod_security_standard() -> None:
    pod, engine = _pod(POOL), _engine(POOL)
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert engine["securityContext"]["allowPrivilegeEscalation"] is False
    assert engine["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert pod["automountServiceAccountToken"] is False


@table(
    "change",
    {
        "labels of the pool": {"metadata": {"labels": {"a": "b"}}},
        "its generation": {"metadata": {"generation": 9}},
        "its status": {"status": {"phase": "Ready"}},
        "the capacity of Lustre, which is in the PVC": {"tiers": {"lustre": {"capacity": "27000Gi"}}},
        "deletionPolicy": {"deletionPolicy": "Delete"},
        "the mode": {"mode": "Opportunistic"},
        "an empty podTemplate": {"models": [model(podTemplate={})]},
        "a podTemplate with empty lists": {"models": [model(podTemplate={"labels": {}, "containers": []})]},
    },
)
def test_no_rollout_for_a_change_of(change: dict[str, Any]) -> None:
    assert manifest(pool(**change), "Deployment") == manifest(POOL, "Deployment")


# What engine Pods and the Pods of the write probe have in common.

PULL = {"imagePullSecrets": [{"name": "registry"}, {"name": "mirror"}]}
ADDED = {"serviceAccountName": "reader", "tolerations": [{"key": "team", "operator": "Exists"}]}


def _pods(**changes: Any) -> list[dict[str, Any]]:
    """The Pods of the engines and of the Job."""
    of = pool(**changes)
    return [one["spec"]["template"]["spec"] for one in (manifest(of, "Deployment"), job(of))]


def test_every_pod_pulls_its_image_with_the_secrets_of_the_model() -> None:
    engine, probe = _pods(models=[model(engine=PULL)])
    assert engine["imagePullSecrets"] == probe["imagePullSecrets"] == PULL["imagePullSecrets"]
    engine, probe = _pods()
    assert not {"imagePullSecrets"} & {*engine, *probe}


def test_the_job_has_image_and_secrets_of_the_same_model() -> None:
    image = "example/vllm:v0.33.0"
    _, probe = _pods(models=[model(engine={**PULL, "image": image}), model(name="other")])
    assert (probe["containers"][0]["image"], len(probe["imagePullSecrets"])) == (image, 2)


def test_the_job_has_placement_and_user_of_the_engines() -> None:
    for pod in _pods(models=[model(podTemplate=ADDED)]):
        assert pod["serviceAccountName"] == pod["serviceAccount"] == "reader"
        assert pod["automountServiceAccountToken"] is False
        assert pod["tolerations"][-1] == ADDED["tolerations"][0]


@table("resource", {"NVIDIA's": "nvidia.com/gpu", "another": "example.com/gpu.shared"})
def test_gpus_are_requested_once_and_by_their_name(resource: str) -> None:
    pods = _pods(nodePool={"accelerator": {"resourceName": resource}})
    for pod in pods:
        assert [one["key"] for one in pod["tolerations"] if "gpu" in one["key"]] == [resource]
    for bound in ("requests", "limits"):
        asked = pods[0]["containers"][0]["resources"][bound]
        assert {key: value for key, value in asked.items() if "gpu" in key} == {resource: "8"}


# The engine's environment.

BUCKET: dict[str, Any] = {"bucket": "blocks", "credentialsSecretRef": {"name": "hmac"}}
SECRET = {"secretKeyRef": {"name": "keys", "key": "api"}}
CONFIG = {"configMapKeyRef": {"name": "settings", "key": "level"}}


def _variables(tiers: dict[str, Any] | None = None, **changes: Any) -> dict[str, dict[str, Any]]:
    of = pool(tiers=tiers or {}, models=[model(**changes)])
    made = variables(context(of).models[0], of.spec.tiers.object_storage)
    by_name = {one["name"]: one for one in made}
    assert len(by_name) == len(made), "a variable stands twice"
    assert _engine(of)["env"] == made
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
    assert _variables(env=[{"name": "A", **given}])["A"] == {"name": "A", **item}


@pytest.mark.parametrize("name", ["HOME", "USER"])
def test_the_user_may_replace(name: str) -> None:
    assert _variables()[name]["value"]
    assert _variables(env=[{"name": name, "value": "mine"}])[name]["value"] == "mine"


def test_a_token_is_only_a_reference() -> None:
    made = _variables(tokenSecretRef={"name": "hf", "key": "read"})["HF_TOKEN"]
    assert made == {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "read"}}}
    assert "HF_TOKEN" not in _variables()


def test_keys_of_the_bucket_are_only_references() -> None:
    made = _variables({"objectStorage": BUCKET})
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        assert made[name]["valueFrom"] == {"secretKeyRef": {"name": "hmac", "key": name}}


def test_without_a_secret_there_are_no_keys_for_the_sdk() -> None:
    made = _variables({"objectStorage": {"bucket": "blocks"}})
    assert "AWS_ACCESS_KEY_ID" not in made
    assert made["AWS_REQUEST_CHECKSUM_CALCULATION"]["value"] == "when_required"


def test_settings_of_the_sdk_are_set_only_with_a_bucket_and_the_user_may_replace_them() -> None:
    assert not [name for name in _variables() if name.startswith("AWS_")]
    mine = [{"name": "AWS_RETRY_MODE", "value": "adaptive"}]
    assert _variables({"objectStorage": BUCKET}, env=mine)["AWS_RETRY_MODE"]["value"] == "adaptive"


# Additions of the user.

SPREAD = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
SIDECAR = {"name": "logs", "image": "example/logs", "args": ["$(HOME)", "$$", "üñ🦙\n{}"], "resources": {}}
MODELS = {"name": "models", "persistentVolumeClaim": {"claimName": "models", "readOnly": True}}
MOUNT = {"name": "models", "mountPath": "/models", "readOnly": False}
PLAIN = _template(POOL)


def _added(**additions: Any) -> dict[str, Any]:
    return _template(pool(models=[model(podTemplate=additions)]))


@table(
    "field, value",
    {
        "a priority": ("priorityClassName", "high"),
        "a runtime": ("runtimeClassName", "gvisor"),
        "a scheduler": ("schedulerName", "other"),
        "a grace period": ("terminationGracePeriodSeconds", 300),
    },
)
def test_the_pod_has(field: str, value: Any) -> None:
    assert _added(**{field: value}) == {**PLAIN, "spec": {**PLAIN["spec"], field: value}}


@table(
    "field, item",
    {
        "a toleration": ("tolerations", {"key": "team", "operator": "Exists"}),
        "a toleration of everything": ("tolerations", {"operator": "Exists"}),
        "a volume": ("volumes", MODELS),
        "a container beside the engine": ("containers", SIDECAR),
        "a container before the engine": ("initContainers", SIDECAR),
        "a constraint with its own labels": (
            "topologySpreadConstraints",
            {**SPREAD, "labelSelector": {"matchLabels": {"app": "x"}}},
        ),
    },
)
def test_an_item_is_added_unchanged_at_the_end(field: str, item: dict[str, Any]) -> None:
    made = _added(**{field: [item]})["spec"]
    assert made[field] == [*PLAIN["spec"].get(field, []), item]
    assert {**made, field: None} == {**PLAIN["spec"], field: None}


def test_mounts_are_only_for_the_engine() -> None:
    engine, sidecar = _added(volumes=[MODELS], volumeMounts=[MOUNT], containers=[SIDECAR])["spec"][
        "containers"
    ]
    assert engine["volumeMounts"] == [*PLAIN["spec"]["containers"][0]["volumeMounts"], MOUNT]
    assert sidecar == SIDECAR


def test_pods_spread_among_the_pods_of_their_model() -> None:
    (constraint,) = _added(topologySpreadConstraints=[SPREAD])["spec"]["topologySpreadConstraints"]
    assert constraint == {**SPREAD, "labelSelector": {"matchLabels": OWN}}


def test_labels_and_annotations_are_added_to_those_of_kvtier() -> None:
    of = pool(models=[model(podTemplate={"labels": {"team": "a"}, "annotations": {"note": "yes"}})])
    made = manifest(of, "Deployment")["spec"]
    assert made["template"]["metadata"] == {"labels": {"team": "a", **OWN}, "annotations": {"note": "yes"}}
    assert made["template"]["spec"] == PLAIN["spec"]
    assert made["selector"]["matchLabels"] == OWN


def test_additions_are_part_of_the_digest() -> None:
    """Otherwise a removed label would stay."""
    added = pool(models=[model(podTemplate={"labels": {"team": "a"}})])
    one, other = (manifest(of, "Deployment")["metadata"]["annotations"] for of in (POOL, added))
    assert one[names.ANNOTATION_APPLIED] != other[names.ANNOTATION_APPLIED]


# The LMCache server.

LMCACHE = {"backend": "LMCache", "lmcache": {"version": "0.5.6", "cpu": 6, "memory": "12Gi"}}


def _served(tiers: dict[str, Any] | None = None, **changes: Any) -> KVCachePool:
    return pool(tiers=tiers or {}, models=[model(engine=LMCACHE, **changes)])


def _server(of: KVCachePool) -> dict[str, Any]:
    return dict(_pod(of)["initContainers"][0])


def test_there_is_no_server_with_the_native_backend() -> None:
    assert "initContainers" not in _pod(POOL)


def test_the_server_is_a_sidecar_with_the_image_of_the_engine() -> None:
    server, engine = _server(_served()), _engine(_served())
    assert (server["name"], server["restartPolicy"]) == ("cache-server", "Always")
    assert server["image"] == engine["image"]
    assert server["securityContext"] == engine["securityContext"]
    assert "nvidia.com/gpu" not in str(server["resources"]), "GPUs are counted once"


def test_containers_of_the_user_start_after_the_server() -> None:
    containers = _pod(_served(podTemplate={"initContainers": [SIDECAR]}))["initContainers"]
    assert [one["name"] for one in containers] == ["cache-server", "logs"]


def test_server_and_engine_hash_with_the_same_seed() -> None:
    for container in (_server(_served()), _engine(_served())):
        assert {"name": "PYTHONHASHSEED", "value": "0"} in container["env"]


def test_the_server_has_no_variables_or_secrets_of_the_user() -> None:
    of = _served(env=[{"name": "MINE", "value": "x"}], tokenSecretRef={"name": "hf"})
    own = {"PYTHONHASHSEED", "HOME", "USER", "LMCACHE_TRACK_USAGE", "POD_NAME"}
    assert {variable["name"] for variable in _server(of)["env"]} == own


def test_kubernetes_expands_only_the_name_of_the_pod() -> None:
    server = _server(_served(SSD))
    name = {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}
    assert name in server["env"]
    assert re.findall(r"\$.[^)]*.", "".join(server["args"])) == ["$(POD_NAME)"]


def test_the_shell_that_starts_the_server_does_not_interpret_its_arguments() -> None:
    of = _served(SSD, blocksPerChunk=8)
    server = _server(of)
    assert server["args"] == server_argv(of, of.spec.models[0], True, model_cache(of.spec.models[0], 8))
    assert server["command"] == ["/bin/sh", "-c", f'rm -f /dev/shm/{SEGMENT}; exec "$@"', "cache-server"]


def test_both_limits_include_the_cpu_tier_and_the_pod_requests_it_once() -> None:
    server, engine = _server(_served())["resources"], _engine(_served())["resources"]
    assert server["requests"] == {"cpu": "6", "memory": "12Gi"}
    assert parse(server["limits"]["memory"]) == (12 + 100) * GIB
    assert engine == _engine(POOL)["resources"]


def test_only_the_server_mounts_file_tiers_and_both_mount_shared_memory() -> None:
    of = _served(SSD)
    assert _mounts(_engine(of)) == ALWAYS
    assert _mounts(_server(of)) == {**ALWAYS, "local-ssd": "/kv/ssd", "lustre": "/kv/lustre"}
    assert mounts_lustre(manifest(of, "Deployment"))


def test_the_probes_of_the_server_use_its_own_port() -> None:
    server = _server(_served())
    assert server["ports"] == [{"name": "http-cache", "containerPort": 8080, "protocol": "TCP"}]
    for probe in ("startupProbe", "livenessProbe"):
        assert server[probe]["httpGet"] == {"path": "/healthcheck", "port": "http-cache"}
    assert "readinessProbe" not in server, "an engine serves without it"


def test_a_larger_tier_may_start_longer_and_the_deployment_waits_for_both() -> None:
    small, large = _served(), _served({"cpu": {"capacity": "10000Gi"}})
    sooner, later = (_server(of)["startupProbe"]["failureThreshold"] for of in (small, large))
    assert later > sooner
    for of in (small, large):
        budgets = [container["startupProbe"] for container in (_server(of), _engine(of))]
        seconds = sum(budget["periodSeconds"] * budget["failureThreshold"] for budget in budgets)
        assert manifest(of, "Deployment")["spec"]["progressDeadlineSeconds"] > seconds
