"""The engines: one Deployment and one Service per model."""

from kvtier.api import placement
from kvtier.api.conditions import MODELS_READY, Condition, false, true
from kvtier.api.quantities import canonical
from kvtier.api.v1alpha1 import KVCachePool, ModelStatus, ServedModel
from kvtier.engines import native, versions
from kvtier.engines.fingerprint import fingerprint
from kvtier.facts.model import Observed
from kvtier.plan.children import child, model_name, mounts_lustre, owner, selector
from kvtier.plan.gates import ENGINES, ENGINES_ON_LUSTRE, LUSTRE_MOUNTS, SPEC_FAULTS, blockers
from kvtier.plan.handover import replica_handover
from kvtier.plan.model import Checks, Manifest, Part
from kvtier.sizing.memory import memory
from kvtier.sizing.probes import PERIOD_SECONDS, startup_failures

_SCHEDULING_SECONDS = 1200
_FAILURES = {"Progressing": "False", "ReplicaFailure": "True"}


def plan_serving(
    pool: KVCachePool, observed: Observed, checks: Checks, claim: str | None, nodes_usable: bool
) -> Part:
    """Engines for every model, mounting `claim` if it is bound.

    A Required pool makes no engine before its shared tier is bound; an Opportunistic one starts them without
    it where it cannot be mounted. An engine that exists is kept and updated even if a prerequisite fails
    later, unless the fault is in the spec itself.
    """
    if claim and pool.spec.mode == "Opportunistic" and blockers(checks, LUSTRE_MOUNTS, pool.spec.strict):
        claim = None
    with_lustre = claim is not None
    refused = blockers(checks, ENGINES_ON_LUSTRE if with_lustre else ENGINES, pool.spec.strict)
    waits = [f"{c.type} is {c.status}" for c in refused]
    if pool.spec.tiers.lustre and not claim and pool.spec.mode == "Required":
        waits.append("the Lustre claim is not bound")
    if not nodes_usable:
        waits.append("there are no nodes to run on")
    spec_fault = blockers(checks, SPEC_FAULTS, strict=False)
    applies: list[Manifest] = []
    for model in pool.spec.models:
        exists = observed.child("Deployment", model_name(pool, model)) is not None
        allowed = not waits or (exists and not spec_fault)
        if allowed and _keeps_tier(pool, model, observed, with_lustre):
            applies += [_deployment(pool, model, claim), _service(pool, model)]
    models = tuple(_status(pool, model, observed) for model in pool.spec.models)
    stuck = [reason for model in pool.spec.models for reason in _failures(pool, model, observed)]
    handovers = tuple(handover for one in applies for handover in replica_handover(one, observed))
    return Part(tuple(applies), (_condition(models, waits, stuck),), (), models, handovers)


def _keeps_tier(pool: KVCachePool, model: ServedModel, observed: Observed, with_lustre: bool) -> bool:
    """Whether an update leaves a mounted shared tier mounted: losing sight of the claim must not unmount it."""
    mounted = mounts_lustre(observed.child("Deployment", model_name(pool, model)) or {})
    return with_lustre or not mounted or pool.spec.tiers.lustre is None


def _deployment(pool: KVCachePool, model: ServedModel, claim: str | None) -> Manifest:
    engine = versions.facts(model)
    failures = startup_failures(pool, engine.startup_seconds, engine.pin_seconds_per_gib)
    size = memory(pool, model, engine.shm_headroom_gib)
    tier, on_demand = pool.spec.tiers.local_ssd, pool.spec.node_pool.provisioner == "ComputeClass"
    return child(
        "deployment",
        pool,
        model_name(pool, model),
        owner=owner(pool),
        selector=selector(pool, model),
        replicas=model.wanted_replicas(),
        surge=1 if on_demand else 0,
        node_selector=placement.node_selector(pool),
        zones=placement.zones(pool),
        compute_class=placement.compute_class(pool) if on_demand else None,
        image=model.engine.image,
        args=[_literal(argument) for argument in native.argv(pool, model, with_lustre=claim is not None)],
        variables=[(name, _literal(value)) for name, value in native.environment(model).items()],
        token=model.token_secret_ref,
        port=native.PORT,
        cpu=canonical(model.resources.cpu),
        memory=canonical(size.total),
        shm=canonical(size.shm),
        gpus=str(model.tensor_parallel_size),
        startup_period=PERIOD_SECONDS,
        startup_failures=failures,
        progress_deadline=failures * PERIOD_SECONDS + _SCHEDULING_SECONDS,
        local_ssd=canonical(tier.capacity.bytes) if tier else None,
        claim=claim,
    )


def _literal(text: str) -> str:
    """Text that reaches the container as it is: the kubelet expands $(NAME) and turns $$ into $."""
    return text.replace("$", "$$")


def _service(pool: KVCachePool, model: ServedModel) -> Manifest:
    return child(
        "service",
        pool,
        model_name(pool, model),
        owner=owner(pool),
        selector=selector(pool, model),
        port=native.PORT,
    )


def _status(pool: KVCachePool, model: ServedModel, observed: Observed) -> ModelStatus:
    live = observed.child("Deployment", model_name(pool, model)) or {}
    wanted = model.wanted_replicas()
    return ModelStatus(
        name=model.name,
        replicas=live.get("spec", {}).get("replicas", 0) if wanted is None else wanted,
        ready_replicas=live.get("status", {}).get("readyReplicas", 0) if _current(live) else 0,
        service=model_name(pool, model) if live else None,
        fingerprint=fingerprint(model),
    )


def _current(live: object) -> bool:
    """Whether the Deployment's status is about its present spec."""
    if not isinstance(live, dict) or not live:
        return False
    return bool(live.get("status", {}).get("observedGeneration", 0) >= live["metadata"].get("generation", 0))


def _failures(pool: KVCachePool, model: ServedModel, observed: Observed) -> list[str]:
    """What the Deployment controller says is wrong, such as a quota or a Pod that never gets ready."""
    live = observed.child("Deployment", model_name(pool, model)) or {}
    conditions = live.get("status", {}).get("conditions", [])
    wrong = [c for c in conditions if _FAILURES.get(c["type"]) == c["status"]]
    return [f"{model.name}: {c.get('message', c.get('reason', ''))}" for c in wrong]


def _condition(models: tuple[ModelStatus, ...], waits: list[str], stuck: list[str]) -> Condition:
    missing = [model for model in models if model.service is None or model.ready_replicas < model.replicas]
    if waits and any(model.service is None for model in models):
        return false(MODELS_READY, "Waiting", f"engines are not started while {', '.join(waits)}")
    if missing and stuck:
        return false(MODELS_READY, "NotProgressing", "; ".join(stuck))
    if missing:
        counts = ", ".join(f"{m.name} {m.ready_replicas}/{m.replicas}" for m in missing)
        return false(MODELS_READY, "Starting", f"Pods ready: {counts}")
    return true(MODELS_READY, "AllReady", "every model has all its Pods ready")
