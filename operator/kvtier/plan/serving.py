"""The engines: when each model's Deployment and Service are applied, and the state of its Pods."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kvtier.api.conditions import MODELS_READY, Condition, false, true
from kvtier.api.kinds import CHILD_KINDS, DEPLOYMENT
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.api.v1alpha1 import KVCachePool, ModelStatus
from kvtier.checks import ENGINES, ENGINES_ON_LUSTRE, LUSTRE_MOUNTS, SPEC_FAULTS, Checks, blockers
from kvtier.context import Context, ModelView, shared_in_spec
from kvtier.facts.children import Deployment
from kvtier.facts.model import Event
from kvtier.plan.children import signature
from kvtier.plan.engine_pods import deployment, service
from kvtier.plan.lustre.shared_tier import Access
from kvtier.plan.model import Manifest, Part, together
from kvtier.plan.model_sizes import with_sizes
from kvtier.plan.pod_events import hindrance

_PER_MODEL = tuple(child.kind for child in CHILD_KINDS if child.concern == MODELS_READY)
"""Kinds of which every model has one object, named after the model."""


def plan_serving(context: Context, checks: Checks, access: Access, nodes_usable: bool) -> Part:
    """The engines of every model, which mount the Lustre tier if they can use it.

    A Required pool starts no engine before it can use its Lustre tier. An Opportunistic pool starts engines without the
    tier. Existing engines are kept and updated even if a prerequisite fails later, unless the spec itself is faulty.
    """
    pool, models = context.pool, context.models
    access = _mountable(pool, access, checks)
    waits = _waits(pool, checks, access, nodes_usable)
    faulty = any(checks[type_].status == "False" for type_ in SPEC_FAULTS)
    served = [
        _engines(pool, model, access)
        for model in models
        if not waits or (model.deployment is not None and not faulty)
    ]
    statuses = [_status(pool, model) for model in models]
    lacking = [
        status for status in statuses if status.service is None or status.ready_replicas < status.replicas
    ]
    unstarted = waits if any(model.deployment is None for model in models) else []
    reported = Part(
        conditions=(_condition(unstarted, lacking, models, context.pod_events),),
        models=tuple(statuses),
        keeps=tuple((kind, model.name) for model in models for kind in _PER_MODEL),
        again=context.pace.pods if lacking and not unstarted else None,
    )
    return together(*served, reported)


def _mountable(pool: KVCachePool, access: Access, checks: Checks) -> Access:
    """The access to the Lustre tier. An Opportunistic pool has none if its nodes cannot mount the tier."""
    if pool.spec.mode == "Opportunistic" and blockers(checks, LUSTRE_MOUNTS, pool.spec):
        return replace(access, claim=None, mounted=None)
    return access


def _waits(pool: KVCachePool, checks: Checks, access: Access, nodes_usable: bool) -> list[str]:
    """Why new engines do not start, as clauses."""
    gate = ENGINES_ON_LUSTRE if access.claim else ENGINES
    waits = [one.clause for one in blockers(checks, gate, pool.spec)]
    if pool.spec.tiers.lustre and pool.spec.mode == "Required":
        waits += access.waits
    if not nodes_usable:
        waits.append("no nodes exist")
    return waits


def _engines(pool: KVCachePool, model: ModelView, access: Access) -> Part:
    """Deployment and Service of a model; nothing if an update would unmount the tier because its PVC is missing."""
    live = model.deployment
    mounted = live is not None and live.mounts_lustre
    claim = access.claim or (access.mounted if mounted else None)
    if mounted and claim is None and not access.leave and pool.spec.tiers.lustre is not None:
        return Part()
    made = deployment(pool, model, claim)
    released = model.spec.wanted_replicas() is None
    handovers = _replica_handover(live, signature(made)) if live and released else ()
    return Part(applies=(made, service(pool, model)), handovers=handovers)


def _replica_handover(live: Deployment, applying: str) -> tuple[Manifest, ...]:
    """A manifest that keeps the number of replicas of a Deployment that kvtier now applies without replicas.

    If the only manager of a field stops applying it, the API server removes it. Replicas would become 1, and Pods that
    serve would be deleted. `applying`: the signature of the new manifest; once it is applied, no handover is needed.
    With the resourceVersion, the API server refuses the handover if the autoscaler changed the number meanwhile.
    """
    if live.replicas is None or live.applied == applying:
        return ()
    identity = {"name": live.name, "namespace": live.namespace, "resourceVersion": live.version}
    return (
        {
            "apiVersion": DEPLOYMENT.api_version,
            "kind": DEPLOYMENT.kind,
            "metadata": identity,
            "spec": {"replicas": live.replicas},
        },
    )


def _status(pool: KVCachePool, model: ModelView) -> ModelStatus:
    live, wanted = model.deployment, model.spec.wanted_replicas()
    present = live.replicas or 0 if live else 0
    status = ModelStatus(
        name=model.spec.name,
        replicas=present if wanted is None else wanted,
        ready_replicas=live.ready if live else 0,
        service=model.name if live else None,
    )
    return with_sizes(status, model, shared_in_spec(pool), pool.spec.node_pool.accelerator.type)


def _condition(
    waits: Sequence[str],
    lacking: Sequence[ModelStatus],
    models: Sequence[ModelView],
    events: Sequence[Event],
) -> Condition:
    """ModelsReady. `waits`: why a model does not start. `lacking`: models without all their Pods."""
    if waits:
        return false(MODELS_READY, Reason.WAITING, f"Engines do not start while {', '.join(waits)}.")
    if not lacking:
        return true(MODELS_READY, Reason.ALL_READY, "All Pods of every model are ready.")
    why = next((text for model in models if (text := hindrance(events, model.name))), "")
    if failures := _failures(models):
        return false(MODELS_READY, Reason.NOT_PROGRESSING, sentences(*failures, why))
    counts = ", ".join(f"{one.name} {one.ready_replicas}/{one.replicas}" for one in lacking)
    return false(MODELS_READY, Reason.STARTING, sentences(f"Pods are starting. Ready so far: {counts}", why))


def _failures(models: Iterable[ModelView]) -> list[str]:
    """What the Deployment controller reports, such as an exceeded quota, or Pods that do not become ready."""
    return [
        f"Deployment {model.name} of model {model.spec.name} reports: {failure}"
        for model in models
        for failure in (model.deployment.failures if model.deployment else ())
    ]
