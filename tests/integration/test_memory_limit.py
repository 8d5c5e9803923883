"""Twenty pools as large as the API server accepts them fit into the memory limit of the operator."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed import operator_process
from testbed.fault_injection import FaultyCluster
from testbed.pools import Pools
from testbed.process import Component
from testbed.waiting import eventually

pytestmark = pytest.mark.timeout(400)

POOLS, MODELS = 20, 2
_NAMES = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}


def test_twenty_large_pools_fit_into_the_memory_limit(faulty: FaultyCluster) -> None:
    pools = faulty.pools()
    for number in range(POOLS):
        pools.create(f"p{number}", tiers__lustre=None, models=[_large(index) for index in range(MODELS)])
    assert len(json.dumps(pools.get("p0")["spec"])) > 1_000_000
    with operator_process.operator(faulty.plane, "--pace=1") as process:
        eventually(lambda: _services(pools) == POOLS * MODELS, 300.0, "every engine is created", 2.0)
        process.require_alive()

        assert _peak_mebibytes(process) < _limit_mebibytes()


def _services(pools: Pools) -> int:
    """The number of Services. A model's is applied after its Deployment."""
    path = pools.kube.path("v1", "Service", pools.namespace)
    return len(pools.kube.request("GET", path, headers=_NAMES)["items"] or ())


def _large(index: int) -> dict[str, Any]:
    """A model with long values, with containers that have many small ones, and with a document of many small ones."""
    small = [{"name": f"V{number}", "value": "x"} for number in range(64)]
    return {
        "name": f"m{index}",
        "model": "example/model",
        "tensorParallelSize": 8,
        "env": [{"name": f"V{number}", "value": "x" * 7000} for number in range(64)],
        "modelConfigFrom": {"inline": json.dumps({"x": [{}] * 16_000})},
        "podTemplate": {
            kind: [{"name": f"{kind.lower()}{number}", "image": "x", "env": small} for number in range(8)]
            for kind in ("containers", "initContainers")
        },
    }


def _peak_mebibytes(process: Component) -> int:
    """The largest resident size that the process ever had."""
    found = re.search(r"^VmHWM:\s+(\d+) kB$", Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) >> 10


def _limit_mebibytes() -> int:
    text = (operator_process.ROOT / "manifests" / "install.yaml").read_text()
    (manifest,) = [one for one in yaml.safe_load_all(text) if one["kind"] == "Deployment"]
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    return int(container["resources"]["limits"]["memory"].removesuffix("Mi"))
