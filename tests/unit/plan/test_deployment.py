"""The Deployment and the Service of a model."""

from typing import Any

from kvtier.api.quantities import GIB, parse
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.plan.children import claim_name
from kvtier.plan.lustre.shared_tier import SharedTier
from kvtier.plan.serving import plan_serving
from unit.builders import checks, manifest, model, observed, pool
from unit.tables import table

SSD = {"localSSD": {"capacity": "1Ti"}}
POOL = pool()
OPPORTUNISTIC = pool(mode="Opportunistic")


def _pod(of: KVCachePool) -> dict[str, Any]:
    return dict(manifest(of, "Deployment")["spec"]["template"]["spec"])


def _engine(of: KVCachePool) -> dict[str, Any]:
    (container,) = _pod(of)["containers"]
    return dict(container)


@table(
    "changes, replicas",
    {
        "replicas of the spec are set": ({"replicas": 3}, 3),
        "no replicas are set too": ({"replicas": 0}, 0),
        "replicas that an autoscaler owns are left out": ({"autoscaling": {}}, None),
    },
)
def test_replicas(changes: dict[str, Any], replicas: int | None) -> None:
    spec = manifest(pool(models=[model(**changes)]), "Deployment")["spec"]
    assert spec.get("replicas") == replicas
    assert ("replicas" in spec) is (replicas is not None)


def test_pods_and_service_meet_by_labels_that_never_change() -> None:
    wanted = {"kvtier.dev/pool": "chat", "kvtier.dev/model": "llama"}
    made = manifest(POOL, "Deployment")
    assert made["spec"]["selector"]["matchLabels"] == wanted
    assert made["spec"]["template"]["metadata"]["labels"] == wanted
    service = manifest(POOL, "Service")
    assert service["spec"]["selector"] == wanted
    assert service["metadata"]["name"] == made["metadata"]["name"]
    assert service["spec"]["ports"][0]["port"] == 8000
    assert service["spec"]["ports"][0]["targetPort"] == _engine(POOL)["ports"][0]["name"]


def test_sizes_of_tiers_bound_memory_and_volumes() -> None:
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
def test_tiers_are_mounted_where_the_engine_looks_for_them(
    tiers: dict[str, Any], mounted: dict[str, str]
) -> None:
    of = pool(tiers=tiers)
    mounts = {mount["name"]: mount["mountPath"] for mount in _engine(of)["volumeMounts"]}
    always = {"shm": "/dev/shm", "home": "/home/vllm", "tmp": "/tmp"}
    assert mounts == always | mounted
    assert {volume["name"] for volume in _pod(of)["volumes"]} == set(mounts)
    if "lustre" in mounted:
        (shared,) = [volume for volume in _pod(of)["volumes"] if volume["name"] == "lustre"]
        assert shared["persistentVolumeClaim"] == {"claimName": claim_name(of)}


@table(
    "claim, names_it",
    {"the engine looks for Lustre where it is mounted": (True, True), "and only there": (False, False)},
)
def test_the_engine_and_its_mounts_agree(claim: bool, names_it: bool) -> None:
    part = plan_serving(
        OPPORTUNISTIC, observed(), checks(), SharedTier(claim_name(OPPORTUNISTIC) if claim else None), True
    )
    (container,) = part.applies[0]["spec"]["template"]["spec"]["containers"]
    assert ("/kv/lustre" in "".join(container["args"])) is names_it
    assert ("/kv/lustre" in {mount["mountPath"] for mount in container["volumeMounts"]}) is names_it


def test_the_shell_that_starts_the_engine_never_sees_its_arguments() -> None:
    of = pool(models=[model(model="$(rm -rf /); 'x'")])
    engine = _engine(of)
    assert engine["command"][:2] == ["/bin/sh", "-c"]
    assert "$(rm" not in "".join(engine["command"])
    # The kubelet makes $ of $$ again, and expands nothing.
    assert engine["args"][2] == "$$(rm -rf /); 'x'"


def test_a_token_comes_from_its_secret_and_stands_nowhere_else() -> None:
    of = pool(models=[model(tokenSecretRef={"name": "hf", "key": "read"})])
    token = [variable for variable in _engine(of)["env"] if variable["name"] == "HF_TOKEN"]
    assert token == [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "read"}}}]
    assert "HF_TOKEN" not in {variable["name"] for variable in _engine(POOL)["env"]}


def test_an_empty_variable_has_no_value_because_the_api_server_keeps_none() -> None:
    of = pool(models=[model(env=[{"name": "EMPTY"}, {"name": "ON", "value": "on"}])])
    assert _engine(of)["env"][-2:] == [{"name": "EMPTY"}, {"name": "ON", "value": "on"}]


@table(
    "nodes, surge, tolerated",
    {
        "nodes on demand surge, and their class is tolerated": (
            {},
            (1, 0),
            {"nvidia.com/gpu", "cloud.google.com/compute-class"},
        ),
        "existing nodes have no GPU to spare": ({"provisioner": "Existing"}, (0, 1), {"nvidia.com/gpu"}),
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


def test_the_deployment_gives_up_only_after_the_engine_had_its_time() -> None:
    slow = pool(tiers={"cpu": {"capacity": "10000Gi"}})
    for of in (POOL, slow):
        probe, spec = _engine(of)["startupProbe"], manifest(of, "Deployment")["spec"]
        assert spec["progressDeadlineSeconds"] > probe["failureThreshold"] * probe["periodSeconds"] >= 1800
    assert (
        _engine(slow)["startupProbe"]["failureThreshold"] > _engine(POOL)["startupProbe"]["failureThreshold"]
    )


def test_pods_hold_the_restricted_security_standard() -> None:
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
        "the capacity of Lustre, which is the claim's matter": {"tiers": {"lustre": {"capacity": "27000Gi"}}},
        "the policy of deletion": {"deletionPolicy": "Delete"},
        "the mode": {"mode": "Opportunistic"},
    },
)
def test_no_rollout_comes_from(change: dict[str, Any]) -> None:
    assert manifest(pool(**change), "Deployment") == manifest(POOL, "Deployment")
