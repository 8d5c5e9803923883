"""Nodes that only the pools of one test select."""

from typing import Any

from testbed.gke.nodes import NodeSpec, add_node
from testbed.kube import Kube


class Nodes:
    """Nodes that only the pools of this test select."""

    def __init__(self, kube: Kube, namespace: str) -> None:
        self.kube = kube
        self.namespace = namespace
        self.labels = {"kvtier.dev/pool-namespace": namespace}

    def add(self, name: str, **changes: Any) -> str:
        full = f"{self.namespace}-{name}"
        settings = {"machine": "a3-highgpu-8g", "labels": self.labels} | changes
        add_node(self.kube, NodeSpec(full, **settings))
        return full

    def remove(self, name: str) -> None:
        self.kube.delete("v1", "Node", name)

    def pool(self) -> dict[str, Any]:
        """Changes that make a pool use these nodes."""
        return {"nodePool__provisioner": "Existing", "nodePool__nodeSelector": self.labels}
