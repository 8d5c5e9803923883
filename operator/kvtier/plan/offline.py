"""The manifests of a pool without a cluster: as if every prerequisite held and the claim were bound."""

from kvtier.api.conditions import true
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks import run
from kvtier.facts.model import Facts, Observed
from kvtier.plan.children import claim_name
from kvtier.plan.model import Manifest
from kvtier.plan.nodes import plan_nodes
from kvtier.plan.serving import plan_serving
from kvtier.plan.storage import plan_storage


def manifests(pool: KVCachePool) -> list[Manifest]:
    """All objects that kvtier would end up with, in the order in which it makes them.

    ownerReferences are left out: they need the uid of a pool that exists.
    """
    checks = {type_: true(type_, "Assumed") for type_ in run(pool, Facts())}
    claim = claim_name(pool) if pool.spec.tiers.lustre else None
    parts = (
        plan_storage(pool, Observed(), checks),
        plan_nodes(pool, Observed(), checks),
        plan_serving(pool, Observed(), checks, claim, nodes_usable=True),
    )
    return [_without_owner(manifest) for part in parts for manifest in part.applies]


def _without_owner(manifest: Manifest) -> Manifest:
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "ownerReferences"}
    return {**manifest, "metadata": metadata}
