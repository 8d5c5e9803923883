"""What `kvtier render` prints: manifests that can be applied as they are, and in words what is not among them."""

from collections.abc import Iterator
from dataclasses import dataclass

from kvtier.api import identity
from kvtier.api.v1alpha1 import KVCachePool, LustreTier
from kvtier.facts.model import ConfigMaps
from kvtier.plan.lustre.identity import volume_name
from kvtier.plan.model import Manifest
from kvtier.plan.offline import manifests
from kvtier.sizing.documents import model_document


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
