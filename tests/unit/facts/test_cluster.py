"""The facts of the cluster, and which changes of objects change them."""

from dataclasses import replace
from typing import Any

import pytest

from kvtier.api.names import LUSTRE_DRIVER
from kvtier.facts.cluster import ClusterParts, node
from kvtier.facts.model import Node, node_names
from unit.builders import merged
from unit.tables import table

NODE: dict[str, Any] = {
    "metadata": {"name": "gpu-1", "labels": {"topology.kubernetes.io/zone": "us-central1-a"}},
    "status": {
        "nodeInfo": {
            "kubeletVersion": "v1.35.6-gke.1049000",
            "osImage": "Container-Optimized OS from Google",
            "architecture": "amd64",
        },
        "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}],
    },
}
REGISTERED = {
    "metadata": {"name": "gpu-1"},
    "spec": {"drivers": [{"name": "other"}, {"name": LUSTRE_DRIVER}]},
}
UNREGISTERED = {"metadata": {"name": "gpu-1"}, "spec": {"drivers": None}}
DRIVER = {"metadata": {"name": LUSTRE_DRIVER}}


def test_a_node_is_reduced_to_the_facts_for_checks() -> None:
    labels = {"topology.kubernetes.io/zone": "us-central1-a"}
    version, image = "v1.35.6-gke.1049000", "Container-Optimized OS from Google"
    assert node(NODE) == Node("gpu-1", labels, version, image, "amd64", ready=True)
    assert node(NODE).zone == "us-central1-a"


def test_a_node_without_status_is_not_ready() -> None:
    assert node({"metadata": {"name": "new"}}) == Node("new", {}, "", "", "", ready=False)


@table(
    "quantity, size",
    {
        "in bytes": ("5642136341201", 5_642_136_341_201),
        "with a unit": ("1915814236Ki", 1_961_793_777_664),
        "missing": (None, 0),
        "with an exponent": ("5.6e12", 5_600_000_000_000),
        "in thousandths": ("5642136341201500m", 5_642_136_341_202),
        "not a quantity": ("much", 0),
    },
)
def test_the_allocatable_size_of_a_node(quantity: str | None, size: int) -> None:
    has = node(merged(NODE, {"status": {"allocatable": {"ephemeral-storage": quantity, "memory": quantity}}}))
    assert has.ephemeral_storage == has.memory == size


@table(
    "labels, confidential",
    {
        "none": ({}, False),
        "a label with the technology": (
            {"cloud.google.com/gke-confidential-nodes-instance-type": "TDX"},
            True,
        ),
        "a label without the technology": ({"cloud.google.com/gke-confidential-nodes": "true"}, True),
    },
)
def test_a_node_is_confidential_by_its_labels(labels: dict[str, str], confidential: bool) -> None:
    assert node(merged(NODE, {"metadata": {"labels": labels}})).confidential is confidential


@pytest.mark.parametrize(("status", "ready"), [("True", True), ("False", False), ("Unknown", False)])
def test_a_node_is_ready_if_its_condition_is_true(status: str, ready: bool) -> None:
    conditions = [{"type": "Ready", "status": status}]
    assert node(merged(NODE, {"status": {"conditions": conditions}})).ready is ready


@table(
    "change, changed",
    {
        "a heartbeat is no change": ({"status": {"images": [{"sizeBytes": 1}]}}, False),
        "another label is a change": ({"metadata": {"labels": {"team": "search"}}}, True),
        "readiness is a change": ({"status": {"conditions": []}}, True),
        "an upgrade is a change": ({"status": {"nodeInfo": {"kubeletVersion": "v1.36.0-gke.1"}}}, True),
    },
)
def test_a_fact_of_a_node_has_changed(change: dict[str, Any], changed: bool) -> None:
    parts = ClusterParts()
    assert parts.put("Node", NODE)
    assert parts.put("Node", merged(NODE, change)) is changed


def test_a_node_is_registered_while_its_csi_node_names_the_driver() -> None:
    parts = ClusterParts()
    assert not parts.put("CSINode", UNREGISTERED)
    assert parts.put("CSINode", REGISTERED)
    assert not parts.put("CSINode", REGISTERED)
    assert parts.cluster().lustre_nodes == {"gpu-1"}
    assert parts.put("CSINode", UNREGISTERED)
    assert parts.cluster().lustre_nodes == frozenset()


def test_the_driver_exists_while_its_csi_driver_object_exists() -> None:
    parts = ClusterParts()
    assert not parts.put("CSIDriver", {"metadata": {"name": "pd.csi.storage.gke.io"}})
    assert not parts.cluster().lustre_driver
    assert parts.put("CSIDriver", DRIVER)
    assert parts.cluster().lustre_driver
    assert parts.remove("CSIDriver", DRIVER)
    assert not parts.cluster().lustre_driver
    assert not parts.remove("CSIDriver", DRIVER)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, ""), (1, "n0"), (3, "n0, n1, n2"), (4, "n0, n1, n2 and 1 more"), (500, "n0, n1, n2 and 497 more")],
)
def test_a_list_of_node_names_is_short(count: int, text: str) -> None:
    assert node_names([replace(node(NODE), name=f"n{i}") for i in range(count)]) == text


def test_nodes_are_ordered_by_name_and_can_be_removed() -> None:
    parts = ClusterParts()
    parts.put("Node", NODE)
    parts.put("Node", merged(NODE, {"metadata": {"name": "gpu-0"}}))
    assert [one.name for one in parts.cluster().nodes] == ["gpu-0", "gpu-1"]
    assert parts.names("Node") == {"gpu-0", "gpu-1"}
    assert parts.remove("Node", {"metadata": {"name": "gpu-0"}})
    assert [one.name for one in parts.cluster().nodes] == ["gpu-1"]
    assert not parts.remove("Node", {"metadata": {"name": "gpu-0"}})


def test_the_facts_are_the_same_value_until_a_change() -> None:
    parts = ClusterParts()
    parts.put("Node", NODE)
    before = parts.cluster()
    parts.put("Node", NODE)
    assert parts.cluster() is before
    assert parts.set_version("v1.35.6-gke.1049000")
    assert not parts.set_version("v1.35.6-gke.1049000")
    assert parts.cluster().version == "v1.35.6-gke.1049000"


def test_a_compute_class_that_is_no_longer_served_changes_the_facts_at_once() -> None:
    parts = ClusterParts()
    assert parts.cluster().compute_class_served
    parts.compute_class_served = False
    assert not parts.cluster().compute_class_served
