"""The real API server stores every field and item of the status that kvtier writes."""

from typing import Any

import pytest

from kvtier.api.kinds import POOL
from kvtier.api.v1alpha1 import (
    KVCachePool,
    ModelStatus,
    OperationStatus,
    PoolStatus,
    TierStatus,
    TransferStatus,
)
from kvtier.kube.aio import AioClient, connect
from testbed.control_plane.cluster import Cluster
from testbed.fault_injection import FaultyCluster
from testbed.pools import Pools

NOW = "2026-11-29T12:00:00Z"
IMPORT = OperationStatus(
    kind="Import",
    subject="gs://bucket/chat/",
    state="Running",
    attempt=2,
    request_id="3f0c1a52-0000-4000-8000-000000000001",
    name="projects/p/locations/us-central1-a/operations/op",
    start_time=NOW,
    progress_time=NOW,
    transfer=TransferStatus(objects_found=10, objects_copied=4, bytes_found=1 << 50, bytes_copied=1 << 40),
)
CREATE = OperationStatus(
    kind="Create",
    subject="18000Gi",
    state="Failed",
    request_id="3f0c1a52-0000-4000-8000-000000000002",
    start_time=NOW,
    code="ResourceExhausted",
    message="no room in us-central1-a",
)
FULL = PoolStatus(
    observed_generation=1,
    phase="Provisioning",
    models_ready="0/1",
    tiers=[
        TierStatus(name="cpu", phase="Configured", capacity="100Gi", tokens=1 << 60),
        TierStatus(
            name="lustre",
            phase="Importing",
            capacity="18000Gi",
            used="1Ti",
            instance="projects/p/locations/us-central1-a/instances/i",
            throughput="17.6 GBps",
            attempts=3,
        ),
        TierStatus(name="cloudStorage", phase="Importing"),
    ],
    operations=[CREATE, IMPORT],
    models=[
        ModelStatus(
            name="chat",
            replicas=1,
            fingerprint="0123456789abcdef",
            blocks_per_chunk=64,
            chunk="chunks of 1024 tokens in files of 24Mi",
            bytes_per_token=49152,
            suggestion="maxNumSeqs may rise",
        )
    ],
)


async def _written(cluster: Cluster, pools: Pools, status: PoolStatus) -> dict[str, Any]:
    """The status that the API server returns after kvtier's client wrote it."""
    api = await connect(str(cluster.kubeconfig), None)
    document = status.model_dump(by_alias=True, exclude_none=True)
    identity = {"apiVersion": POOL.api_version, "kind": POOL.kind}
    metadata = {"name": "chat", "namespace": pools.namespace}
    try:
        await AioClient(api).patch_status(POOL, {**identity, "metadata": metadata, "status": document})
    finally:
        await api.close()
    found: dict[str, Any] = pools.get("chat")["status"]
    assert PoolStatus.model_validate(found) == status, "otherwise every reconciliation would write it again"
    return found


@pytest.mark.parametrize("left", [[IMPORT], [CREATE], []], ids=["the later", "the earlier", "none"])
async def test_a_status_is_stored_completely_and_operations_are_added_and_removed(
    faulty: FaultyCluster, left: list[OperationStatus]
) -> None:
    control_plane, pools = faulty.plane, faulty.pools()  # no operator writes there
    pools.create("chat", strict=True, cluster={"project": "none", "location": "none", "name": "none"})
    found = await _written(control_plane, pools, FULL)
    assert KVCachePool.model_validate(pools.get("chat")).status == FULL
    assert found["operations"][1]["transfer"]["bytesFound"] == 1 << 50
    done = IMPORT.model_copy(update={"state": "Succeeded", "attempt": 3})
    for operations in ([CREATE, done], left):
        await _written(control_plane, pools, FULL.model_copy(update={"operations": operations}))


async def test_a_status_can_become_empty(faulty: FaultyCluster) -> None:
    control_plane, pools = faulty.plane, faulty.pools()
    pools.create("chat", strict=True, cluster={"project": "none", "location": "none", "name": "none"})
    await _written(control_plane, pools, FULL)
    await _written(control_plane, pools, PoolStatus(phase="Ready"))
