"""The Deployment and the Service of a model: engine, LMCache server, placement, and additions of the user.

These are the values of the templates `deployment`, `cache_server`, `adapters`, `pod` and `service`. `engines/` builds
the arguments of vLLM and LMCache.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from kvtier.api import names, placement
from kvtier.api.quantities import canonical
from kvtier.api.v1alpha1 import KVCachePool, ObjectStorageTier, ServedModel
from kvtier.api.v1alpha1.pod_template import PodTemplate
from kvtier.api.v1alpha1.served_model import Variable
from kvtier.api.v1alpha1.tiers import CREDENTIALS
from kvtier.context import ModelView
from kvtier.data.engines import LMCACHE
from kvtier.engines import adapters
from kvtier.engines.arguments import PORT, argv, environment
from kvtier.engines.lmcache import HEALTH_PATH, HTTP_PORT, POD_NAME, expandable, server_argv
from kvtier.plan.children import child, owner
from kvtier.plan.model import Manifest
from kvtier.sizing.host import PERIOD_SECONDS, pod_memory, startup_failures, weights_seconds

_SCHEDULING_SECONDS = 1200
"""Time before the engine starts: GKE creates a node, and the kubelet pulls a large image."""


def deployment(pool: KVCachePool, model: ModelView, claim: str | None) -> Manifest:
    """The Deployment of a model. Its Pods mount the PVC `claim`, if there is one."""
    tier, server = pool.spec.tiers.local_ssd, _cache_server(pool, model, claim is not None)
    failures = _startup_failures(pool, model)
    patience = failures + (server["startup_failures"] if server else 0)
    labels = selector(pool.name, model.spec.name)
    return child(
        "deployment",
        pool,
        model.name,
        owner=owner(pool),
        selector=labels,
        replicas=model.spec.wanted_replicas(),
        surge=1 if _on_demand(pool) else 0,
        progress_deadline=patience * PERIOD_SECONDS + _SCHEDULING_SECONDS,
        startup_period=PERIOD_SECONDS,
        startup_failures=failures,
        local_ssd=canonical(tier.capacity.bytes) if tier else None,
        claim=claim,
        cache_server=server,
        adapters=_adapters(model),
        **_engine(pool, model, claim is not None),
        **_with_additions(placed(pool, model.spec), _given(model.spec), labels),
    )


def service(pool: KVCachePool, model: ModelView) -> Manifest:
    """The Service: one address for all engines of the model."""
    labels = selector(pool.name, model.spec.name)
    return child("service", pool, model.name, owner=owner(pool), selector=labels, port=PORT)


def selector(pool: str, model: str) -> dict[str, str]:
    """Labels of a model's Pods. They never change, because a Deployment's selector is immutable."""
    return {names.LABEL_POOL: names.label_value(pool), names.LABEL_MODEL: model}


def _engine(pool: KVCachePool, model: ModelView, with_lustre: bool) -> dict[str, Any]:
    """The engine's container."""
    size = pod_memory(model.spec, pool.spec.tiers.cpu_bytes, model.engine.shm_headroom_gib)
    arguments = argv(pool, model.spec, with_lustre, model.cache)
    return {
        "image": model.spec.engine.image,
        "args": [literal(argument) for argument in arguments],
        "variables": variables(model, pool.spec.tiers.object_storage),
        "port": PORT,
        "cpu": canonical(model.spec.resources.cpu),
        "memory": canonical(size.engine),
        "shm": canonical(size.shm),
        "gpus": str(model.spec.tensor_parallel_size),
    }


def _startup_failures(pool: KVCachePool, model: ModelView) -> int:
    """failureThreshold of the engine's startup probe. The engine loads weights and pins the CPU tier."""
    accelerator, gpus = pool.spec.node_pool.accelerator.type, model.spec.tensor_parallel_size
    seconds = model.engine.startup_seconds + weights_seconds(accelerator, gpus)
    return startup_failures(seconds, pool.spec.tiers.cpu_bytes, model.engine.pin_seconds_per_gib)


# The engine's environment.


def variables(model: ModelView, bucket: ObjectStorageTier | None) -> list[dict[str, Any]]:
    """Items of the container's `env`. A variable of the user replaces kvtier's. Secrets are only references."""
    users = {variable.name for variable in model.spec.env}
    own = environment() | (model.engine.object_tier.environment if bucket else {})
    plain = [_plain(name, value) for name, value in own.items() if name not in users]
    token, credentials = model.spec.token_secret_ref, bucket.credentials_secret_ref if bucket else None
    return [
        *plain,
        *map(_of_user, model.spec.env),
        *([_from_secret("HF_TOKEN", token.name, token.key)] if token else []),
        *([_from_secret(key, credentials.name, key) for key in CREDENTIALS] if credentials else []),
    ]


def _plain(name: str, value: str) -> dict[str, Any]:
    """A variable with a plain value. An empty value is left out, as the API server does."""
    return {"name": name, **({"value": literal(value)} if value else {})}


def _of_user(variable: Variable) -> dict[str, Any]:
    if variable.value_from is None:
        return _plain(variable.name, variable.value or "")
    source = variable.value_from.model_dump(by_alias=True, exclude_none=True)
    return {"name": variable.name, "valueFrom": source}


def _from_secret(variable: str, name: str, key: str) -> dict[str, Any]:
    return {"name": variable, "valueFrom": {"secretKeyRef": {"name": name, "key": key}}}


def literal(text: str) -> str:
    """The text, escaped so that the container gets it unchanged: the kubelet expands $(NAME), and turns $$ into $."""
    return text.replace("$", "$$")


# The LMCache server.

_QUIET = {"LMCACHE_TRACK_USAGE": "false"}
"""Without this, the server sends usage statistics to LMCache's authors, and no field of a pool could prevent it."""


def _cache_server(pool: KVCachePool, model: ModelView, with_lustre: bool) -> dict[str, Any] | None:
    """The container of the LMCache server, None for an engine without one.

    Its startup probe allows time to pin the CPU tier. The server pins it if the runtime shows GPUs to every container.
    """
    lmcache = model.spec.engine.lmcache
    if lmcache is None:
        return None
    cpu_tier = pool.spec.tiers.cpu_bytes
    size = pod_memory(model.spec, cpu_tier, model.engine.shm_headroom_gib)
    seconds = LMCACHE.versions[lmcache.version].startup_seconds
    arguments = server_argv(pool, model.spec, with_lustre, model.cache)
    pod_name = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}
    return {
        "args": [one if expandable(one) else literal(one) for one in arguments],
        "env": [
            *(_plain(*item) for item in (environment() | _QUIET).items()),
            {"name": POD_NAME, "valueFrom": pod_name},
        ],
        "port": HTTP_PORT,
        "health": HEALTH_PATH,
        "cpu": canonical(lmcache.cpu),
        "memory": canonical(size.server),
        "memory_limit": canonical(size.server_limit),
        "startup_failures": startup_failures(seconds, cpu_tier, model.engine.pin_seconds_per_gib),
    }


# LoRA adapters.


def _adapters(model: ModelView) -> dict[str, Any] | None:
    """The init container that fetches the adapters, None without any. No shell sees the text of users."""
    sources = adapters.sources(model.spec)
    if not sources:
        return None
    return {
        "script": literal(fetch_script()),
        "args": [literal(json.dumps(source)) for source in sources],
        "env": variables(model, bucket=None),
    }


@cache
def fetch_script() -> str:
    """The Python program of that container. Its arguments are `adapters.sources`, each as JSON."""
    return files("kvtier.plan").joinpath("templates/fetch_adapters.py").read_text(encoding="utf-8")


# Where Pods run, and what users add to them.

# The API server copies serviceAccountName into serviceAccount, and back. A manager must own both to remove them.
_FIELDS = {
    "serviceAccountName": "serviceAccountName",
    "serviceAccount": "serviceAccountName",
    "priorityClassName": "priorityClassName",
    "preemptionPolicy": "preemptionPolicy",
    "runtimeClassName": "runtimeClassName",
    "schedulerName": "schedulerName",
    "hostUsers": "hostUsers",
}
_ENGINE_FIELDS = (
    *("schedulingGates", "schedulingGroup", "resourceClaims", "readinessGates"),
    *(
        "dnsPolicy",
        "dnsConfig",
        "hostAliases",
        "hostname",
        "hostnameOverride",
        "subdomain",
        "setHostnameAsFQDN",
    ),
    "shareProcessNamespace",
)
"""Fields of the engine Pods that the write probe does not have."""
_CONTAINER_FIELDS = (
    *("volumeDevices", "lifecycle", "resizePolicy", "workingDir"),
    *("terminationMessagePath", "terminationMessagePolicy", "stdin", "stdinOnce", "tty"),
)


def placed(pool: KVCachePool, model: ServedModel) -> dict[str, Any]:
    """Values of `templates/pod.yaml.j2`: placement, user, service account and pull secrets of a model's Pods."""
    given = _given(model)
    nodes = _node_affinity(given, placement.zones(pool))
    return {
        "node_selector": placement.node_selector(pool),
        "affinity": {"nodeAffinity": nodes} if nodes else {},
        "compute_class": placement.compute_class(pool) if _on_demand(pool) else None,
        "gpu_resource": pool.spec.node_pool.accelerator.resource_name,
        "pull_secrets": [{"name": secret.name} for secret in model.engine.image_pull_secrets],
        "pull_policy": given.get("imagePullPolicy"),
        "fields": {field: given[name] for field, name in _FIELDS.items() if name in given},
        "tolerations": given["tolerations"],
        "security": given.get("securityContext", {}),
    }


def _node_affinity(given: Mapping[str, Any], zones: Sequence[str]) -> dict[str, Any]:
    """The user's node affinity, with the zones in each term: a node must match one term. An empty term matches none."""
    wanted = given.get("affinity", {}).get("nodeAffinity", {})
    if not zones:
        return dict(wanted)
    inside = {"key": placement.ZONE, "operator": "In", "values": zones}
    terms = wanted.get(_REQUIRED, {}).get("nodeSelectorTerms") or [{"matchExpressions": []}]
    both = [
        {**term, "matchExpressions": [*term.get("matchExpressions", []), inside]} if term else term
        for term in terms
    ]
    return {**wanted, _REQUIRED: {"nodeSelectorTerms": both}}


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _on_demand(pool: KVCachePool) -> bool:
    """Whether GKE creates nodes when Pods need them."""
    return pool.spec.node_pool.provisioner == "ComputeClass"


_NOTHING = PodTemplate()
_GRACE_SECONDS = 60
"""Time for running requests to end."""


def _given(model: ServedModel) -> dict[str, Any]:
    """The model's podTemplate, with the field names of the Kubernetes PodSpec."""
    return (model.pod_template or _NOTHING).model_dump(by_alias=True, exclude_none=True)


def _with_additions(
    common: Mapping[str, Any], given: Mapping[str, Any], labels: Mapping[str, str]
) -> dict[str, Any]:
    """The values of `placed`, and the user's additions to the engine Pods, unchanged. `labels`: those of the model."""
    return {
        **common,
        "affinity": {**given.get("affinity", {}), **common["affinity"]},
        "pod_labels": {**given["labels"], **labels},
        "pod_annotations": given["annotations"],
        "grace_seconds": given.get("terminationGracePeriodSeconds", _GRACE_SECONDS),
        "engine_fields": _present(given, _ENGINE_FIELDS),
        "container_fields": _present(given, _CONTAINER_FIELDS),
        "ports": given["ports"],
        "volumes": given["volumes"],
        "volume_mounts": given["volumeMounts"],
        "init_containers": given["initContainers"],
        "containers": given["containers"],
        "spread": _spread(given["topologySpreadConstraints"], labels),
    }


def _present(given: Mapping[str, Any], fields: Sequence[str]) -> dict[str, Any]:
    """Those of `fields` that say something: the API server does not store empty lists."""
    return {field: given[field] for field in fields if given.get(field) not in (None, [], {})}


def _spread(constraints: Sequence[Mapping[str, Any]], labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """Topology spread constraints. They select the Pods of the model, unless a constraint has its own selector."""
    return [{"labelSelector": {"matchLabels": labels}, **constraint} for constraint in constraints]
