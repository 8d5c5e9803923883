"""The table of child kinds, and everything that must agree with it."""

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from kvtier.api.conditions import false
from kvtier.api.kinds import CHILD_KINDS, ChildKind
from kvtier.api.reasons import Reason
from kvtier.cli.common import load
from kvtier.plan.model import Failure, key
from kvtier.plan.status import Verdicts, ready, with_failures
from unit.builders import NOW, checks, pool
from unit.simulation import Simulation, in_use
from unit.verdicts import assert_verdict

ROOT = Path(__file__).parents[2]
SAMPLES = {path.stem: path for path in sorted((ROOT / "manifests" / "samples").glob("*.yaml"))}
PARTS = {"pod", "cache_server", "adapters"}
"""Templates that other templates include."""

of_each_kind = pytest.mark.parametrize("child", CHILD_KINDS, ids=lambda child: child.kind)
of_each_sample = pytest.mark.parametrize("sample", SAMPLES)


def _running(sample: str) -> Simulation:
    """A sample pool with all its children created."""
    (of,) = load(SAMPLES[sample].read_text(), "default")
    return in_use(of)


def test_every_template_renders_the_kind_in_the_table() -> None:
    names = {
        path.name.removesuffix(".yaml.j2"): path
        for path in files("kvtier.plan").joinpath("templates").iterdir()
    }
    templates = {name: path.read_text() for name, path in names.items() if path.name.endswith(".j2")}
    rendered = {
        name: re.findall(r"^kind: (\w+)$", text, re.MULTILINE)
        for name, text in templates.items()
        if name not in PARTS
    }
    assert rendered == {child.template: [child.kind] for child in CHILD_KINDS}


def test_every_kind_is_created_for_some_sample() -> None:
    made = {kind for sample in SAMPLES for kind in _running(sample).kinds()}
    assert made == {child.kind for child in CHILD_KINDS}


@of_each_sample
def test_no_applied_object_is_deleted(sample: str) -> None:
    simulation = _running(sample)
    settled = simulation.at(NOW)
    assert simulation.pool.status.phase == "Ready"
    assert set(map(key, settled.applies)) <= set(simulation.objects)
    assert settled.deletes == ()


@of_each_kind
def test_a_pool_is_not_ready_while_the_concern_of_a_kind_is_false(child: ChildKind) -> None:
    failed = false(child.concern, Reason.FAILED, "it failed")
    overall = ready(Verdicts(checks(), {child.concern: failed}, pool().spec), opportunistic=False)
    assert_verdict(overall, "Ready", "False", "Failed", f"{child.concern}: it failed")


@of_each_kind
def test_a_refused_write_is_reported_in_the_status(child: ChildKind) -> None:
    running = _running("cloud-storage")
    before = running.pool.status
    after = with_failures(before, [Failure(child.kind, "x", "Forbidden", "no quota")], before, NOW)
    assert after.phase == "Degraded"
    assert [one.type for one in after.conditions if one.reason == "Forbidden"] == ["Ready", child.concern]


@of_each_kind
def test_only_namespaced_children_that_are_not_data_have_an_owner(child: ChildKind) -> None:
    """An ownerReference does not work for a cluster-scoped object, and must not delete data."""
    assert child.owned == (child.resource.namespaced and child.stage != "data")
    assert child.resource.namespaced or child.stage in ("data", "cluster")


@of_each_kind
def test_data_is_never_pruned(child: ChildKind) -> None:
    assert not (child.pruned and child.stage == "data")


VERBS = {"get", "list", "watch", "create", "patch", "delete"}
"""Verbs to read a child, to apply it (server-side apply may create it) and to delete it."""


def _granted(role: Any, child: ChildKind) -> set[str]:
    return {
        verb
        for rule in role["rules"]
        if child.resource.group in rule["apiGroups"] and child.resource.plural in rule["resources"]
        for verb in rule["verbs"]
    }


@of_each_kind
def test_the_operator_has_the_permissions_that_a_child_needs(child: ChildKind) -> None:
    documents = yaml.safe_load_all((ROOT / "manifests" / "install.yaml").read_text())
    (role,) = [one for one in documents if one["kind"] == "ClusterRole"]
    assert _granted(role, child) == VERBS
