"""A simulation of GKE's node auto-provisioning for compute classes."""

import logging
import threading
from itertools import count
from typing import Any

import requests

from testbed.gke import ZONE, compute_class
from testbed.gke.machines import MACHINES
from testbed.gke.nodes import (
    COMPUTE_CLASS_LABEL,
    LUSTRE_ZONE_LABEL,
    ZONE_LABEL,
    NodeSpec,
    add_node,
)
from testbed.kube import ApiError, Kube, Object

_log = logging.getLogger(__name__)

PERIOD_SECONDS = 0.3
NODES_PER_CLASS = 16
_ZONE_KEYS = (ZONE_LABEL, LUSTRE_ZONE_LABEL)
# The scheduler's word for a Pod that does not fit on any node.
_WAITS_FOR_CLAIM = "unbound immediate PersistentVolumeClaims"
_DONE = ("Succeeded", "Failed")


class AutoProvisioner:
    """Creates a node for a Pod of a ComputeClass that fits on no node, and deletes the nodes of a deleted class.

    It creates one node per class and round, and none while a node of the class is empty. So the scheduler makes
    progress, and the number of nodes is limited if a Pod does not fit on any.
    """

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._serial = count()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="autoprovisioner", daemon=True)

    def start(self) -> None:
        """Start a thread that watches Pods."""
        self._thread.start()

    def stop(self) -> None:
        """Return when the last round is over."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(PERIOD_SECONDS):
            try:
                self.reconcile()
            except (ApiError, requests.RequestException) as error:
                _log.info("auto-provisioner: %s", error)

    def reconcile(self) -> None:
        """One round."""
        unscheduled = self._kube.list("v1", "Pod", fieldSelector="spec.nodeName=")
        nodes = self._kube.list("v1", "Node", labelSelector=COMPUTE_CLASS_LABEL)
        waiting = {_class_of(pod): pod for pod in unscheduled if _is_unschedulable(pod)}
        if not waiting and not nodes:
            return
        classes = {
            one["metadata"]["name"]: one
            for one in self._kube.list(compute_class.API_VERSION, compute_class.KIND)
        }
        doubtful = [
            node for node in nodes if _is_ours(node) and (_label(node) not in classes or _cordoned(node))
        ]
        if not waiting and not doubtful:
            return
        used = self._used_nodes()
        self._remove_orphans(doubtful, classes, used)
        for name, pod in waiting.items():
            if name in classes:
                self._provision(classes[name], pod, [node for node in nodes if _label(node) == name], used)

    def _used_nodes(self) -> set[str]:
        """The nodes of Pods that have not ended."""
        pods = self._kube.list("v1", "Pod")
        return {pod["spec"].get("nodeName", "") for pod in pods if pod["status"].get("phase") not in _DONE}

    def _remove_orphans(self, nodes: list[Object], classes: dict[str, Object], used: set[str]) -> None:
        """Cordon a node, read its Pods again, and then delete it: the scheduler may just bind a Pod to it."""
        for node in nodes:
            name = node["metadata"]["name"]
            orphaned = _label(node) not in classes and name not in used
            if orphaned and _cordoned(node):
                self._kube.delete("v1", "Node", name)
            elif orphaned != _cordoned(node):
                self._kube.patch("v1", "Node", name, {"spec": {"unschedulable": orphaned}})

    def _provision(self, wanted: Object, pod: Object, existing: list[Object], used: set[str]) -> None:
        empty = [node for node in existing if node["metadata"]["name"] not in used]
        enabled = wanted["spec"].get("nodePoolAutoCreation", {}).get("enabled", False)
        if enabled and not empty and len(existing) < NODES_PER_CLASS:
            for spec in _node_specs(wanted, pod, next(self._serial))[:1]:
                add_node(self._kube, spec)


def _node_specs(wanted: Object, pod: Object, serial: int) -> list[NodeSpec]:
    """Nodes of the priorities of the class, in order. Unknown machine types are not available."""
    name = wanted["metadata"]["name"]
    config = wanted["spec"].get("nodePoolConfig", {})
    labels = {"testbed.kvtier.dev/autoprovisioned": "true"} | config.get("nodeLabels", {})
    return [
        NodeSpec(
            name=f"gke-testbed-nap-{name[:30].strip('-')}-{serial}",
            machine=priority["machineType"],
            zone=_zone(wanted, priority, pod),
            nodepool=f"nap-{name}",
            os=config.get("imageType", "cos_containerd").partition("_")[0],
            local_ssds=priority.get("storage", {}).get("localSSDCount", 0),
            gpu_type=priority.get("gpu", {}).get("type"),
            gpus=priority.get("gpu", {}).get("count"),
            compute_class=name,
            labels=labels | priority.get("nodeLabels", {}),
        )
        for priority in wanted["spec"]["priorities"]
        if priority.get("machineType") in MACHINES
    ]


def _zone(wanted: Object, priority: Object, pod: Object) -> str:
    """A zone that the class allows and, if the Pod selects zones, the Pod too."""
    defaults = wanted["spec"].get("priorityDefaults", {})
    location: Object = priority.get("location") or defaults.get("location") or {}
    allowed: list[str] = location.get("zones", [])
    asked = _zones_of(pod)
    both = [zone for zone in asked if zone in allowed or not allowed]
    return (both or allowed or [ZONE])[0]


def _zones_of(pod: Object) -> list[str]:
    selector = pod["spec"].get("nodeSelector", {})
    zones = [selector[key] for key in _ZONE_KEYS if key in selector]
    affinity: dict[str, Any] = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    for term in required.get("nodeSelectorTerms", []):
        for rule in term.get("matchExpressions", []):
            if rule["key"] in _ZONE_KEYS and rule["operator"] == "In":
                zones += rule["values"]
    return zones


def _class_of(pod: Object) -> str:
    return str(pod["spec"].get("nodeSelector", {}).get(COMPUTE_CLASS_LABEL, ""))


def _is_unschedulable(pod: Object) -> bool:
    if not _class_of(pod) or pod["spec"].get("nodeName") or "deletionTimestamp" in pod["metadata"]:
        return False
    return any(
        one["type"] == "PodScheduled"
        and one.get("reason") == "Unschedulable"
        and _WAITS_FOR_CLAIM not in one["message"]
        for one in pod["status"].get("conditions", [])
    )


def _label(node: Object) -> str:
    return str(node["metadata"]["labels"].get(COMPUTE_CLASS_LABEL, ""))


def _is_ours(node: Object) -> bool:
    return "testbed.kvtier.dev/autoprovisioned" in node["metadata"]["labels"]


def _cordoned(node: Object) -> bool:
    return bool(node["spec"].get("unschedulable", False))
