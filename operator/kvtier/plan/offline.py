"""The manifests of a pool without a cluster: as if every prerequisite held and the claim were bound."""

from collections.abc import Iterator
from dataclasses import dataclass

from kvtier.api import identity
from kvtier.api.conditions import true
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool, LustreTier
from kvtier.checks import run
from kvtier.context import build
from kvtier.facts.model import ConfigMaps, Facts, Instance, LustreFacts, Observed
from kvtier.plan.children import claim_name
from kvtier.plan.lustre.identity import filesystem, instance_name, volume_name
from kvtier.plan.lustre.instance import identity_labels
from kvtier.plan.lustre.shared_tier import SharedTier
from kvtier.plan.lustre.storage import plan_storage
from kvtier.plan.model import Manifest
from kvtier.plan.nodes import plan_nodes
from kvtier.plan.serving import plan_serving
from kvtier.sizing.models import model_document

_EPOCH = "1970-01-01T00:00:00Z"


def manifests(pool: KVCachePool) -> list[Manifest]:
    """All objects that kvtier would end up with, in the order in which it makes them.

    ownerReferences are left out: they need the uid of a pool that exists. So is the Job that tries the shared
    tier out: its name depends on the claim.
    """
    checks = {type_: true(type_, Reason.ASSUMED) for type_ in run(build(pool, Observed(), _EPOCH))}
    claim = claim_name(pool) if pool.spec.tiers.lustre else None
    parts = (
        plan_storage(pool, _with_instance(pool), checks, _EPOCH),
        plan_nodes(pool, Observed(), checks),
        plan_serving(pool, Observed(), checks, SharedTier(claim), nodes_usable=True),
    )
    return [_without_owner(manifest) for part in parts for manifest in part.applies]


def _with_instance(pool: KVCachePool) -> Observed:
    """As if the instance existed. What only the Lustre API tells about an existing one is left open."""
    lustre, name = pool.spec.tiers.lustre, instance_name(pool, Observed())
    if lustre is None or name is None or lustre.address:
        return Observed()
    instance = Instance(
        name=name,
        state="ACTIVE",
        capacity=lustre.size,
        throughput=lustre.throughput_per_tib or 0,
        filesystem=filesystem(pool) if lustre.provisioner == "API" else lustre.filesystem or "FILESYSTEM",
        network=lustre.network or "",
        address="ADDRESS",
        labels=identity_labels(pool),
        kms_key=lustre.kms_key or "",
    )
    return Observed(Facts(lustre=LustreFacts(instance)))


def _without_owner(manifest: Manifest) -> Manifest:
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "ownerReferences"}
    return {**manifest, "metadata": metadata}


@dataclass(frozen=True)
class Printed:
    """Manifests in the order in which they are made, and sentences about what is left out."""

    manifests: tuple[Manifest, ...]
    left_out: tuple[str, ...]


def printed(pool: KVCachePool) -> Printed:
    """The objects of a pool, without those whose content only the Lustre API knows."""
    unknown = _unknown(pool.spec.tiers.lustre)
    known = tuple(one for one in manifests(pool) if one["kind"] not in unknown)
    return Printed(known, (*_sentences(pool, unknown), *_unread(pool)))


def _unknown(lustre: LustreTier | None) -> tuple[str, ...]:
    """Kinds of what cannot be known of an instance before the Lustre API tells about it."""
    if lustre is None or lustre.provisioner == "CSI" or lustre.address:
        return ()
    return (
        ("PersistentVolume",)
        if lustre.provisioner == "API"
        else ("PersistentVolume", "PersistentVolumeClaim")
    )


def _unread(pool: KVCachePool) -> Iterator[str]:
    for model in pool.spec.models:
        if model_document(model, ConfigMaps()).unread and model.blocks_per_chunk is None:
            yield (
                f"model {model.name}: its ConfigMap is not read here, so blocks_per_chunk, and with it the cache "
                "directory, may be another one in the cluster"
            )


def _sentences(pool: KVCachePool, unknown: tuple[str, ...]) -> Iterator[str]:
    lustre, instance = pool.spec.tiers.lustre, identity.instance(pool)
    if lustre is None or not unknown:
        return
    if lustre.provisioner == "API":
        yield f"kvtier asks the Lustre API for instance {instance} of {lustre.capacity}; that is no manifest"
        yield f"PersistentVolume {volume_name(pool)} is left out: the instance's address is known once it is made"
        return
    yield (
        f"PersistentVolume {volume_name(pool)} and its claim are left out: address, file system and capacity of "
        f"{instance} are read through the Lustre API, unless address, filesystem and capacity are given by hand"
    )
