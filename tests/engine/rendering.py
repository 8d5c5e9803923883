"""Pools, and the Deployments that the planner renders for them."""

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
    """The sample pools by file name."""
    return {path.stem: load(path.read_text(), "default")[0] for path in sorted(SAMPLES.glob("*.yaml"))}


def deployments(pool: KVCachePool) -> list[tuple[ServedModel, Manifest]]:
    """The Deployment of each model, with every tier of the pool."""
    return _by_model(pool, manifests(pool))


def deployments_without_lustre(pool: KVCachePool) -> list[tuple[ServedModel, Manifest]]:
    """The first Deployment of an Opportunistic pool: all prerequisites are met, but the PVC is not bound yet."""
    facts = builders.facts(builders.node(pool))
    return _by_model(pool, plan(pool, builders.observed(facts=facts), builders.NOW).applies)


def _by_model(pool: KVCachePool, made: Any) -> list[tuple[ServedModel, Manifest]]:
    found = [one for one in made if one["kind"] == "Deployment"]
    return list(zip(pool.spec.models, found, strict=True))
