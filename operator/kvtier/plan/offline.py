"""`kvtier render`: the manifests of a pool without a cluster. It assumes True prerequisites and a bound PVC."""

from collections.abc import Iterator
from dataclasses import dataclass

from kvtier.api import identity
from kvtier.api.conditions import ENGINE_SUPPORTED, KV_CACHE_DTYPE_SUPPORTED, true
from kvtier.api.kinds import CLAIM, VOLUME
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool, LustreTier
from kvtier.checks import blockers, run
from kvtier.context import Context, ModelView, build
from kvtier.facts.model import Facts, Instance, LustreFacts, Observed, OwnCluster
from kvtier.plan.lustre.ownership import identity_labels
from kvtier.plan.lustre.shared_tier import Access, plan_storage
from kvtier.plan.model import Manifest
from kvtier.plan.nodes import plan_nodes
from kvtier.plan.serving import plan_serving

_CLUSTER = OwnCluster("any")
_EPOCH = "1970-01-01T00:00:00Z"


@dataclass(frozen=True)
class Rendered:
    """Manifests in the order of application, and a sentence for each difference from what the operator would create."""

    manifests: tuple[Manifest, ...]
    left_out: tuple[str, ...]


def rendered(pool: KVCachePool) -> Rendered:
    """The objects of a pool, without those that need values from the Lustre API."""
    context = _context(pool)
    unknown = _unknown_kinds(pool.spec.tiers.lustre)
    known = tuple(one for one in _manifests(context) if one["kind"] not in unknown)
    left_out = (
        *_refused(context),
        *_without_instance(pool, context.lustre.volume_name, unknown),
        *_without_document(context.models),
    )
    return Rendered(known, left_out)


def manifests(pool: KVCachePool) -> list[Manifest]:
    """All objects that kvtier creates for a pool, in the order of application.

    Values from the Lustre API are placeholders. ownerReferences are left out, because they need the uid of an existing
    pool. The Job of the write probe is left out, because its name depends on the PVC.
    """
    return _manifests(_context(pool))


def _context(pool: KVCachePool) -> Context:
    """The context of a pool, with only its instance, if it has one."""
    instance = _instance(pool)
    lustre = LustreFacts(instance) if instance else None
    return build(pool, Observed(Facts(lustre=lustre, own_cluster=_CLUSTER)), _EPOCH)


def _instance(pool: KVCachePool) -> Instance | None:
    """The instance as if it existed; None if the CSI driver creates it, or if the spec has its address."""
    lustre, name = pool.spec.tiers.lustre, identity.instance(pool)
    if lustre is None or name is None or lustre.address:
        return None
    return Instance(
        name=name,
        state="ACTIVE",
        capacity=lustre.size,
        throughput=lustre.throughput_per_tib or 0,
        filesystem=identity.filesystem(pool) or "FILESYSTEM",
        network=lustre.network or "",
        address="ADDRESS",
        labels=identity_labels(pool, _CLUSTER),
        kms_key=lustre.kms_key or "",
    )


def _manifests(context: Context) -> list[Manifest]:
    checks = {type_: true(type_, Reason.ASSUMED) for type_ in run(context)}
    claim = context.lustre.claim_name if context.lustre.spec else None
    parts = (
        plan_storage(context, checks),
        plan_nodes(context, checks).part,
        plan_serving(context, checks, Access(claim), nodes_usable=True),
    )
    return [_without_owner(manifest) for part in parts for manifest in part.applies]


def _without_owner(manifest: Manifest) -> Manifest:
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "ownerReferences"}
    return {**manifest, "metadata": metadata}


def _unknown_kinds(lustre: LustreTier | None) -> tuple[str, ...]:
    """Kinds of objects that need values of the instance from the Lustre API."""
    if lustre is None or lustre.provisioner == "CSI" or lustre.address:
        return ()
    return (VOLUME.kind,) if lustre.provisioner == "API" else (VOLUME.kind, CLAIM.kind)


def _refused(context: Context) -> Iterator[str]:
    """Prerequisites that depend on nothing but the spec, and with which the operator would create no engine."""
    checks = run(context)
    for condition in blockers(checks, (ENGINE_SUPPORTED, KV_CACHE_DTYPE_SUPPORTED), context.pool.spec):
        yield f"kvtier does not create these engines while {condition.clause}: {condition.message}"


def _without_instance(pool: KVCachePool, volume: str, unknown: tuple[str, ...]) -> Iterator[str]:
    lustre, instance = pool.spec.tiers.lustre, identity.instance(pool)
    if lustre is None or not unknown:
        return
    if lustre.provisioner == "API":
        yield f"kvtier creates instance {instance} of {lustre.capacity} through the Lustre API, without a manifest."
        yield f"PersistentVolume {volume} is left out, because the instance has no address until it is created."
        return
    yield (
        f"PersistentVolume {volume} and its PVC are left out. The operator reads address, file system and capacity of "
        f"{instance} from the Lustre API, unless tiers.lustre has address, filesystem and capacity."
    )


def _without_document(models: tuple[ModelView, ...]) -> Iterator[str]:
    for model in models:
        if model.document.unread and model.spec.blocks_per_chunk is None:
            yield (
                f"The ConfigMap of model {model.spec.name} is not read here. In the cluster, blocks_per_chunk and the "
                "cache directory may differ."
            )
