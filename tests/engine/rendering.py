"""Pools, and the Deployments that the planner makes of them."""

from pathlib import Path
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.cli.common import load
from kvtier.plan.offline import manifests
from kvtier.plan.plan import plan
from unit import builders

Manifest = dict[str, Any]
SAMPLES = Path(__file__).parents[2] / "manifests" / "samples"


def samples() -> dict[str, KVCachePool]:
    """The sample pools by name of their file."""
    return {path.stem: load(path.read_text(), "default")[0] for path in sorted(SAMPLES.glob("*.yaml"))}


def deployments(pool: KVCachePool) -> list[tuple[ServedModel, Manifest]]:
    """The Deployment of each model, with every tier that the pool wants."""
    return _by_model(pool, manifests(pool))


def deployments_without_lustre(pool: KVCachePool) -> list[tuple[ServedModel, Manifest]]:
    """What an Opportunistic pool starts with: a cluster that lacks nothing, where the claim is not bound yet."""
    facts = builders.facts(builders.node(pool))
    return _by_model(pool, plan(pool, builders.observed(facts=facts), builders.NOW).applies)


def _by_model(pool: KVCachePool, made: Any) -> list[tuple[ServedModel, Manifest]]:
    found = [one for one in made if one["kind"] == "Deployment"]
    return list(zip(pool.spec.models, found, strict=True))
