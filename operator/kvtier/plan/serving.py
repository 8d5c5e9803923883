"""Replicas that the pool leaves to an autoscaler."""

from typing import Any

from kvtier.api.conditions import MODELS_READY, Condition, false, true
from kvtier.api.kinds import Object
from kvtier.api.names import ANNOTATION_APPLIED
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool, ModelStatus, ServedModel
from kvtier.engines.arguments import PORT
from kvtier.facts.model import Observed
from kvtier.plan.children import child, model_name, mounts_lustre, owner, selector
from kvtier.plan.engine_pods import deployment
from kvtier.plan.gates import ENGINES, ENGINES_ON_LUSTRE, LUSTRE_MOUNTS, SPEC_FAULTS, blockers
from kvtier.plan.lustre.shared_tier import SharedTier
from kvtier.plan.model import Checks, Manifest, Part
from kvtier.plan.model_sizes import blocks_per_chunk, with_sizes
from kvtier.plan.pod_events import hindrance


def replica_handover(wanted: Manifest, observed: Observed) -> tuple[Manifest, ...]:
    """What keeps the number of replicas when kvtier no longer applies it.

    A field that its only manager stops applying is removed, and replicas would become 1: engines that serve
    would be ended. Needed only when the Deployment is about to be applied without replicas. The version makes
    the API server refuse a number that the autoscaler has changed since.
    """
    if wanted["kind"] != "Deployment" or "replicas" in wanted["spec"]:
        return ()
    live: Any = observed.child("Deployment", wanted["metadata"]["name"]) or {}
    replicas = live.get("spec", {}).get("replicas")
    applied = live.get("metadata", {}).get("annotations", {}).get(ANNOTATION_APPLIED)
    if replicas is None or applied == wanted["metadata"]["annotations"][ANNOTATION_APPLIED]:
        return ()
    identity = {key: live["metadata"][key] for key in ("name", "namespace", "resourceVersion")}
    kind = {key: wanted[key] for key in ("apiVersion", "kind")}
    return ({**kind, "metadata": identity, "spec": {"replicas": replicas}},)


_FAILURES = {"Progressing": "False", "ReplicaFailure": "True"}
_AWAITING = (Reason.STARTING, Reason.NOT_PROGRESSING)
_LOOK_SECONDS = 20.0
"""How often Events about Pods are read while some are missing: no watch tells of them."""


def plan_serving(
    pool: KVCachePool, observed: Observed, checks: Checks, tier: SharedTier, nodes_usable: bool
) -> Part:
    """Engines for every model, mounting the shared tier if it can be used.

    A Required pool makes no engine before its shared tier is bound; an Opportunistic one starts them without
    it where it cannot be mounted. An engine that exists is kept and updated even if a prerequisite fails
    later, unless the fault is in the spec itself.
    """
    claim, kept = tier.claim, None if tier.leave else tier.bound
    if pool.spec.mode == "Opportunistic" and blockers(checks, LUSTRE_MOUNTS, pool.spec.strict):
        claim = kept = None
    with_lustre = claim is not None
    refused = blockers(checks, ENGINES_ON_LUSTRE if with_lustre else ENGINES, pool.spec.strict)
    waits = [f"{c.type} is {c.status}" for c in refused]
    if pool.spec.tiers.lustre and pool.spec.mode == "Required":
        waits += tier.waits
    if not nodes_usable:
        waits.append("there are no nodes to run on")
    spec_fault = blockers(checks, SPEC_FAULTS, strict=False)
    applies: list[Manifest] = []
    for model in pool.spec.models:
        live = observed.child("Deployment", model_name(pool, model))
        allowed = not waits or (live is not None and not spec_fault)
        mount = claim or (kept if mounts_lustre(live or {}) else None)
        if allowed and _keeps_tier(pool, live or {}, mount is not None or tier.leave):
            blocks = blocks_per_chunk(pool, model, observed.facts)
            applies += [deployment(pool, model, mount, blocks), _service(pool, model)]
    models = tuple(_status(pool, model, observed) for model in pool.spec.models)
    stuck = [reason for model in pool.spec.models for reason in _failures(pool, model, observed)]
    condition = _explained(_condition(models, waits, stuck), pool, observed)
    handovers = tuple(handover for one in applies for handover in replica_handover(one, observed))
    again = _LOOK_SECONDS if condition.reason in _AWAITING else None
    return Part(tuple(applies), (condition,), (), models, handovers, again=again)


def _keeps_tier(pool: KVCachePool, live: Object, decided: bool) -> bool:
    """Whether an update leaves a mounted shared tier mounted: losing sight of the claim must not unmount it.

    `decided` is whether it is mounted, or left on purpose.
    """
    return decided or not mounts_lustre(live) or pool.spec.tiers.lustre is None


def _service(pool: KVCachePool, model: ServedModel) -> Manifest:
    return child(
        "service",
        pool,
        model_name(pool, model),
        owner=owner(pool),
        selector=selector(pool, model),
        port=PORT,
    )


def _status(pool: KVCachePool, model: ServedModel, observed: Observed) -> ModelStatus:
    live = observed.child("Deployment", model_name(pool, model)) or {}
    wanted = model.wanted_replicas()
    status = ModelStatus(
        name=model.name,
        replicas=live.get("spec", {}).get("replicas", 0) if wanted is None else wanted,
        ready_replicas=live.get("status", {}).get("readyReplicas", 0) if _current(live) else 0,
        service=model_name(pool, model) if live else None,
    )
    return with_sizes(pool, model, observed.facts, status)


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


def _explained(condition: Condition, pool: KVCachePool, observed: Observed) -> Condition:
    """With what keeps Pods from starting, if any are missing."""
    hindered = (hindrance(observed, model_name(pool, model)) for model in pool.spec.models)
    why = next((text for text in hindered if text), None)
    if condition.reason not in _AWAITING or why is None:
        return condition
    return condition.model_copy(update={"message": f"{condition.message}; {why}"})


def _condition(models: tuple[ModelStatus, ...], waits: list[str], stuck: list[str]) -> Condition:
    missing = [model for model in models if model.service is None or model.ready_replicas < model.replicas]
    if waits and any(model.service is None for model in models):
        return false(MODELS_READY, Reason.WAITING, f"engines are not started while {', '.join(waits)}")
    if missing and stuck:
        return false(MODELS_READY, Reason.NOT_PROGRESSING, "; ".join(stuck))
    if missing:
        counts = ", ".join(f"{m.name} {m.ready_replicas}/{m.replicas}" for m in missing)
        return false(MODELS_READY, Reason.STARTING, f"Pods ready: {counts}")
    return true(MODELS_READY, Reason.ALL_READY, "every model has all its Pods ready")
