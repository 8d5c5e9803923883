"""What all Pods of a pool have in common, whatever they run."""

from typing import Any

from kvtier.api import placement
from kvtier.api.quantities import canonical
from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.api.v1alpha1.pod_template import PodTemplate
from kvtier.api.v1alpha1.served_model import Variable
from kvtier.api.v1alpha1.tiers import CREDENTIALS
from kvtier.data.engines import LMCACHE
from kvtier.engines import versions
from kvtier.engines.arguments import PORT, argv, environment
from kvtier.engines.lmcache import HEALTH_PATH, HTTP_PORT, POD_NAME, expandable, server_argv
from kvtier.plan.children import child, model_name, owner, selector, signed
from kvtier.plan.model import Manifest
from kvtier.sizing.host import PERIOD_SECONDS, pod_memory, startup_failures, weights_seconds

# The API server copies serviceAccountName into serviceAccount, and back: only who owns both can take it away again.
_FIELDS = {
    "serviceAccountName": "serviceAccountName",
    "serviceAccount": "serviceAccountName",
    "priorityClassName": "priorityClassName",
    "runtimeClassName": "runtimeClassName",
    "schedulerName": "schedulerName",
}


def placed(pool: KVCachePool, model: ServedModel) -> dict[str, Any]:
    """Values of `templates/pod.yaml.j2`: where Pods of a model may run, as whom, and with which secrets for images."""
    template = model.pod_template
    given = template.model_dump(by_alias=True, exclude_none=True) if template else {}
    return {
        "node_selector": placement.node_selector(pool),
        "zones": placement.zones(pool),
        "compute_class": placement.compute_class(pool) if on_demand(pool) else None,
        "gpu_resource": pool.spec.node_pool.accelerator.resource_name,
        "pull_secrets": [{"name": secret.name} for secret in model.engine.image_pull_secrets],
        "fields": {field: given[name] for field, name in _FIELDS.items() if name in given},
        "tolerations": given.get("tolerations", []),
    }


def on_demand(pool: KVCachePool) -> bool:
    """Whether GKE makes nodes when Pods need them."""
    return pool.spec.node_pool.provisioner == "ComputeClass"


def literal(text: str) -> str:
    """Text that reaches the container as it is: the kubelet expands $(NAME) and turns $$ into $."""
    return text.replace("$", "$$")


def variables(pool: KVCachePool, model: ServedModel) -> list[dict[str, Any]]:
    """Items of the container's `env`. A Secret's value is only ever referred to."""
    given = {variable.name for variable in model.env}
    bucket = versions.facts(model).object_tier.environment if pool.spec.tiers.object_storage else {}
    own = [_plain(name, value) for name, value in (environment() | bucket).items() if name not in given]
    return [*own, *map(_users, model.env), *_token(model), *_credentials(pool)]


def _plain(name: str, value: str) -> dict[str, Any]:
    """An empty value is left out, as the API server does."""
    return {"name": name, **({"value": literal(value)} if value else {})}


def _users(variable: Variable) -> dict[str, Any]:
    if variable.value_from is None:
        return _plain(variable.name, variable.value or "")
    return {
        "name": variable.name,
        "valueFrom": variable.value_from.model_dump(by_alias=True, exclude_none=True),
    }


def _token(model: ServedModel) -> list[dict[str, Any]]:
    reference = model.token_secret_ref
    return [_from_secret("HF_TOKEN", reference.name, reference.key)] if reference else []


def _credentials(pool: KVCachePool) -> list[dict[str, Any]]:
    tier = pool.spec.tiers.object_storage
    if tier is None or tier.credentials_secret_ref is None:
        return []
    return [_from_secret(key, tier.credentials_secret_ref.name, key) for key in CREDENTIALS]


def _from_secret(variable: str, name: str, key: str) -> dict[str, Any]:
    return {"name": variable, "valueFrom": {"secretKeyRef": {"name": name, "key": key}}}


_LISTS = ("volumes", "initContainers", "containers")


def added(deployment: Manifest, template: PodTemplate | None) -> Manifest:
    """The Deployment with the additions, every one as it was written. Where Pods run is `pods.placed`'s matter."""
    if template is None:
        return deployment
    given = template.model_dump(by_alias=True, exclude_none=True)
    pod = deployment["spec"]["template"]
    made = {"metadata": _metadata(pod["metadata"], given), "spec": _spec(pod, given)}
    return signed({**deployment, "spec": {**deployment["spec"], "template": made}})


def _metadata(own: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    annotations = {"annotations": given["annotations"]} if given["annotations"] else {}
    return {**own, **annotations, "labels": {**given["labels"], **own["labels"]}}


def _spec(pod: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    spec = pod["spec"]
    engine = spec["containers"][0]
    mounting = {**engine, "volumeMounts": [*engine["volumeMounts"], *given["volumeMounts"]]}
    own = {**spec, "containers": [mounting, *spec["containers"][1:]]}
    lists = {name: [*own.get(name, []), *given[name]] for name in _LISTS if given[name]}
    return {**own, **lists, **_spread(pod["metadata"]["labels"], given), **_grace(given)}


def _spread(selector: dict[str, str], given: dict[str, Any]) -> dict[str, Any]:
    """Pods are spread among those of their model, unless a constraint says otherwise."""
    own = {"labelSelector": {"matchLabels": selector}}
    constraints = [{**own, **constraint} for constraint in given["topologySpreadConstraints"]]
    return {"topologySpreadConstraints": constraints} if constraints else {}


def _grace(given: dict[str, Any]) -> dict[str, Any]:
    name = "terminationGracePeriodSeconds"
    return {name: given[name]} if name in given else {}


_QUIET = {"LMCACHE_TRACK_USAGE": "false"}
"""Else the server sends statistics of its use to LMCache's authors, and no field of a pool could tell it not to."""
_POD_NAME_FIELD = {"apiVersion": "v1", "fieldPath": "metadata.name"}


def cache_server(
    pool: KVCachePool, model: ServedModel, with_lustre: bool, blocks: int
) -> dict[str, Any] | None:
    """None for an engine without one.

    Its startup probe leaves time for pinning the CPU tier: it does where the runtime shows GPUs to every container.
    """
    lmcache, engine = model.engine.lmcache, versions.facts(model)
    if lmcache is None:
        return None
    cpu_tier = pool.spec.tiers.cpu_bytes
    size = pod_memory(model, cpu_tier, engine.shm_headroom_gib)
    seconds = LMCACHE.versions[lmcache.version].startup_seconds
    arguments = server_argv(pool, model, with_lustre, blocks)
    return {
        "args": [one if expandable(one) else literal(one) for one in arguments],
        "env": [
            *_named(environment() | _QUIET),
            {"name": POD_NAME, "valueFrom": {"fieldRef": _POD_NAME_FIELD}},
        ],
        "port": HTTP_PORT,
        "health": HEALTH_PATH,
        "cpu": canonical(lmcache.cpu),
        "memory": canonical(size.server),
        "memory_limit": canonical(size.server_limit),
        "startup_failures": startup_failures(seconds, cpu_tier, engine.pin_seconds_per_gib),
    }


def _named(variables: dict[str, str]) -> list[dict[str, Any]]:
    return [{"name": name, "value": literal(value)} for name, value in variables.items()]


_SCHEDULING_SECONDS = 1200
"""Beyond the start of an engine: GKE makes a node, a large image is pulled."""


def deployment(pool: KVCachePool, model: ServedModel, claim: str | None, blocks: int) -> Manifest:
    """Engines that mount `claim`, if there is one, and keep `blocks` blocks as one file."""
    engine = versions.facts(model)
    cpu_tier, accelerator = pool.spec.tiers.cpu_bytes, pool.spec.node_pool.accelerator.type
    load_seconds = engine.startup_seconds + weights_seconds(accelerator, model.tensor_parallel_size)
    failures = startup_failures(load_seconds, cpu_tier, engine.pin_seconds_per_gib)
    size = pod_memory(model, cpu_tier, engine.shm_headroom_gib)
    tier = pool.spec.tiers.local_ssd
    server = cache_server(pool, model, claim is not None, blocks)
    patience = failures + (server["startup_failures"] if server else 0)
    made = child(
        "deployment",
        pool,
        model_name(pool, model),
        owner=owner(pool),
        selector=selector(pool, model),
        replicas=model.wanted_replicas(),
        surge=1 if on_demand(pool) else 0,
        **placed(pool, model),
        image=model.engine.image,
        args=[literal(argument) for argument in argv(pool, model, claim is not None, blocks)],
        variables=variables(pool, model),
        port=PORT,
        cpu=canonical(model.resources.cpu),
        memory=canonical(size.engine),
        shm=canonical(size.shm),
        gpus=str(model.tensor_parallel_size),
        startup_period=PERIOD_SECONDS,
        startup_failures=failures,
        progress_deadline=patience * PERIOD_SECONDS + _SCHEDULING_SECONDS,
        local_ssd=canonical(tier.capacity.bytes) if tier else None,
        claim=claim,
        cache_server=server,
    )
    return added(made, model.pod_template)
