"""Whether an instance that exists under the pool's name is the one that the pool would make."""

import re

from kvtier.api.conditions import STORAGE_READY, Condition, false
from kvtier.api.v1alpha1 import KVCachePool, LustreTier
from kvtier.facts.model import Instance
from kvtier.plan.lustre.identity import filesystem
from kvtier.plan.lustre.instance.body import identity_labels, ours


def mismatch(pool: KVCachePool, lustre: LustreTier, instance: Instance) -> Condition | None:
    """Why an instance is not taken over, or None. What can be changed later does not count."""
    if not ours(pool, instance):
        return _stranger(pool, instance)
    wanted = {
        "filesystem": (filesystem(pool), instance.filesystem),
        "network": (lustre.network, instance.network),
        "throughputPerTiB": (_tier(lustre.throughput_per_tib or 0), _tier(instance.throughput)),
        "kmsKey": (lustre.kms_key or "none", instance.kms_key.partition("/cryptoKeyVersions/")[0] or "none"),
    }
    differing = [
        f"{field} is {has}, not {want}"
        for field, (want, has) in wanted.items()
        if (not _same_network(str(want), has) if field == "network" else want != has)
    ]
    if not differing:
        return None
    return false(
        STORAGE_READY,
        "InstanceMismatch",
        f"instance {instance.name} exists, and cannot become what the spec describes: {', '.join(differing)}; make "
        "the pool anew as the instance is, or delete the instance if its data may go",
    )


def _stranger(pool: KVCachePool, instance: Instance) -> Condition:
    labels = ",".join(f"{key}={value}" for key, value in identity_labels(pool).items())
    _, project, _, zone, _, name = instance.name.split("/")
    return false(
        STORAGE_READY,
        "InstanceNotOurs",
        f"instance {instance.name} exists, and its labels do not say that it is this pool's: delete it, or hand it "
        f"over with gcloud lustre instances update {name} --project={project} --location={zone} "
        f"--update-labels={labels}",
    )


def _tier(throughput: int) -> str:
    return str(throughput) if throughput else "the Dynamic tier"


def _same_network(wanted: str, has: str) -> bool:
    """A project may be told by its id or its number, which cannot be compared."""
    mine, theirs = wanted.split("/"), has.split("/")
    if len(theirs) < 5 or mine[-1] != theirs[-1]:
        return False
    projects = {mine[1], theirs[-4]}
    return len(projects) == 1 or any(re.fullmatch(r"[0-9]+", one) for one in projects)
