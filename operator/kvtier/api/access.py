"""What a pool asks kvtier to use with kvtier's own identity, as far as its spec says.

The rest of a spec gives a user nothing that he could not do with Deployments in the namespace: images, service
accounts, Secrets, host paths, and the bucket of tiers.objectStorage, which engines reach with their own credentials.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from kvtier.api.policy import Kind
from kvtier.api.v1alpha1 import KVCachePool, LustreTier


@dataclass(frozen=True)
class Demand:
    """A value in the spec that needs a grant. `kind` is the list of a grant that may have the value."""

    kind: Kind
    field: str
    value: str

    @property
    def text(self) -> str:
        """Value and field for use in a sentence."""
        return f"{self.value} ({self.field})"


def demands(pool: KVCachePool) -> tuple[Demand, ...]:
    """Everything that needs a grant, in the order of the spec."""
    return tuple(_demands(pool))


def project_of(name: str) -> str:
    """The project in a full name projects/PROJECT/..., empty if there is none."""
    head, _, rest = name.partition("/")
    return rest.partition("/")[0] if head == "projects" else ""


def _demands(pool: KVCachePool) -> Iterator[Demand]:
    cluster, tiers = pool.spec.cluster, pool.spec.tiers
    if cluster:
        yield Demand("projects", "spec.cluster.project", cluster.project)
    if tiers.lustre:
        yield from _of_lustre(tiers.lustre)
    if tiers.cloud_storage:
        yield Demand("buckets", "spec.tiers.cloudStorage.uri", tiers.cloud_storage.uri)


def _of_lustre(tier: LustreTier) -> Iterator[Demand]:
    where = "spec.tiers.lustre"
    if tier.network:
        yield Demand("networks", f"{where}.network", tier.network)
    if tier.instance:
        yield Demand("instances", f"{where}.instance", tier.instance)
    if tier.address:
        yield Demand("addresses", f"{where}.address", tier.address)
    if tier.kms_key:
        yield Demand("kmsKeys", f"{where}.kmsKey", tier.kms_key)
    if tier.placement_policy:
        yield Demand("projects", f"{where}.placementPolicy", project_of(tier.placement_policy))
