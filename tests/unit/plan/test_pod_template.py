"""What a user adds to the engines' Pods."""

from typing import Any

import pytest

from kvtier.api import names
from unit.builders import manifest, model, pool
from unit.tables import table

SPREAD = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
SIDECAR = {"name": "logs", "image": "example/logs", "args": ["$(HOME)", "$$", "üñ🦙\n{}"], "resources": {}}
MODELS = {"name": "models", "persistentVolumeClaim": {"claimName": "models", "readOnly": True}}
MOUNT = {"name": "models", "mountPath": "/models", "readOnly": False}
OWN = {"kvtier.dev/pool": "chat", "kvtier.dev/model": "llama"}


def _template(**additions: Any) -> dict[str, Any]:
    made = manifest(pool(models=[model(podTemplate=additions)]), "Deployment")
    return dict(made["spec"]["template"])


PLAIN = dict(manifest(pool(), "Deployment")["spec"]["template"])


@table(
    "field, value",
    {
        "a priority": ("priorityClassName", "high"),
        "a runtime": ("runtimeClassName", "gvisor"),
        "a scheduler": ("schedulerName", "other"),
        "time to end": ("terminationGracePeriodSeconds", 300),
    },
)
def test_is_set(field: str, value: Any) -> None:
    assert _template(**{field: value}) == {**PLAIN, "spec": {**PLAIN["spec"], field: value}}


@table(
    "field, item",
    {
        "a toleration": ("tolerations", {"key": "team", "operator": "Exists"}),
        "a toleration of everything": ("tolerations", {"operator": "Exists"}),
        "a volume": ("volumes", MODELS),
        "a container beside the engine": ("containers", SIDECAR),
        "a container before it": ("initContainers", SIDECAR),
        "a constraint with labels of its own": (
            "topologySpreadConstraints",
            {**SPREAD, "labelSelector": {"matchLabels": {"app": "x"}}},
        ),
    },
)
def test_is_added_as_it_was_written_behind_what_is_there(field: str, item: dict[str, Any]) -> None:
    made = _template(**{field: [item]})["spec"]
    assert made[field] == [*PLAIN["spec"].get(field, []), item]
    assert {**made, field: None} == {**PLAIN["spec"], field: None}


def test_mounts_are_the_engine_s_alone() -> None:
    made = _template(volumes=[MODELS], volumeMounts=[MOUNT], containers=[SIDECAR])["spec"]
    engine, sidecar = made["containers"]
    assert engine["volumeMounts"] == [*PLAIN["spec"]["containers"][0]["volumeMounts"], MOUNT]
    assert sidecar == SIDECAR


def test_pods_spread_among_those_of_their_model() -> None:
    (constraint,) = _template(topologySpreadConstraints=[SPREAD])["spec"]["topologySpreadConstraints"]
    assert constraint == {**SPREAD, "labelSelector": {"matchLabels": OWN}}


def test_labels_and_annotations_stand_beside_those_by_which_pods_are_found() -> None:
    made = _template(labels={"team": "a"}, annotations={"note": "yes"})
    assert made["metadata"] == {"labels": {"team": "a", **OWN}, "annotations": {"note": "yes"}}
    assert made["spec"] == PLAIN["spec"]


def test_the_selector_of_the_deployment_never_changes() -> None:
    made = manifest(pool(models=[model(podTemplate={"labels": {"team": "a"}})]), "Deployment")
    assert made["spec"]["selector"]["matchLabels"] == OWN


@pytest.mark.parametrize("nothing", [{}, {"labels": {}, "containers": []}], ids=str)
def test_additions_of_nothing_change_nothing(nothing: dict[str, Any]) -> None:
    of = pool(models=[model(podTemplate=nothing)])
    assert manifest(of, "Deployment") == manifest(pool(), "Deployment")


def test_what_is_added_is_part_of_what_was_applied() -> None:
    """Else a label that is taken away again would stay."""
    digests = {
        manifest(of, "Deployment")["metadata"]["annotations"][names.ANNOTATION_APPLIED]
        for of in (pool(), pool(models=[model(podTemplate={"labels": {"team": "a"}})]))
    }
    assert len(digests) == 2
