"""An operator with an older CRD, as after an upgrade of the image alone."""

from collections.abc import Iterator
from copy import deepcopy

import pytest
import yaml

from testbed import operator_process
from testbed.fault_injection import FaultyCluster
from testbed.kube import install_crds

LEASE = "kvtier-operator"


@pytest.fixture
def older(faulty: FaultyCluster) -> Iterator[FaultyCluster]:
    """A cluster whose CRD has no `status.modelsReady`. The CRD is that of this version again after the test."""
    text = (operator_process.ROOT / "crds" / "kvtier.dev_kvcachepools.yaml").read_text()
    definition = deepcopy(yaml.safe_load(text))
    (version,) = definition["spec"]["versions"]
    del version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["modelsReady"]
    install_crds(faulty.kube, [definition])
    yield faulty
    operator_process.install_crd(faulty.kube)


def test_a_crd_that_lacks_a_field_is_reported_and_pools_are_reconciled(older: FaultyCluster) -> None:
    pools = older.pools()
    with older.operator("--resync-seconds", "1") as process:
        operator_process.await_log(process, "is older than kvtier")
        older.until(lambda: older.kube.events(operator_process.NAMESPACE, LEASE, "OlderCRD"))
        event, *_ = older.kube.events(operator_process.NAMESPACE, LEASE, "OlderCRD")
        assert "It lacks status.modelsReady. Pools lose" in event["message"]
        pools.create("pool")
        older.until_ready(pools, "pool")
        assert "modelsReady" not in pools.get("pool")["status"]
        operator_process.install_crd(older.kube)
        older.until(lambda: pools.get("pool")["status"].get("modelsReady") == "1/1", "the field is written")
