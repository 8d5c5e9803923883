"""Nothing is written when nothing changes, and nothing is asked for that RBAC does not grant."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed import operator_process
from testbed.fault_injection import FaultyCluster, faulty_cluster
from testbed.gke.nodes import NodeSpec, add_node
from testbed.operator_process import ROOT, USER
from testbed.pools import API, SAMPLES, Pools, create_dependencies, create_instances
from testbed.waiting import eventually

CLAIM = ("v1", "PersistentVolumeClaim")
RESYNCS = 2
# Used when a pool was released by force: test_replicas.
SWEEP = ("kvcachepools", "get")
# kvtier's own volumes, of instances that the driver did not make, go with their pool: test_lustre_teardown.
OWN_VOLUMES = ("persistentvolumes", "delete")
# A server-side apply that creates is logged as patch, a watch only when it ends.
UNSEEN = ("create", "watch")


@pytest.fixture(scope="module")
def quiet() -> Iterator[FaultyCluster]:
    with faulty_cluster() as made:
        yield made


@pytest.fixture(scope="module")
def samples(quiet: FaultyCluster) -> Pools:
    """All samples, applied as they are."""
    create_instances(quiet.plane.lustre_api)
    pools = quiet.pools()
    create_dependencies(quiet.kube, pools.namespace)
    add_node(quiet.kube, NodeSpec("existing", "a3-highgpu-8g"))
    for path in SAMPLES:
        pool: Any = yaml.safe_load(path.read_text())
        quiet.kube.create(pool | {"metadata": pool["metadata"] | {"namespace": pools.namespace}})
    return pools


def test_steady_state_and_restarts_write_nothing(quiet: FaultyCluster, samples: Pools) -> None:
    with quiet.operator("--resync-seconds", "1") as process:
        for path in SAMPLES:
            quiet.until_ready(samples, path.stem)
        _await_resyncs(process)
        mark = quiet.plane.audit.mark()
        _await_resyncs(process)
        assert quiet.plane.audit.writes(mark, USER) == []
    with quiet.operator("--resync-seconds", "1") as process:
        operator_process.await_log(process, "verified all pools")
        _await_resyncs(process)
        assert quiet.plane.audit.writes(mark, USER) == []


def test_every_permission_is_used_and_no_other_is_asked_for(quiet: FaultyCluster) -> None:
    pools = quiet.pools()
    with quiet.operator("--resync-seconds", "1") as process:
        pools.create("pool", models__0__tokenSecretRef={"name": "absent"})
        eventually(lambda: _lists(quiet, "events"), 30.0, "news of the claim are read while it waits")
        quiet.until(lambda: pools.condition("pool", "CredentialsPresent").get("status") == "False")
        pools.patch(
            "pool", {"models": [{"name": "chat", "model": "example/model"}], "deletionPolicy": "Delete"}
        )
        quiet.until_ready(pools, "pool")
        claim = pools.child(*CLAIM)["metadata"]
        quiet.kube.delete(*CLAIM, claim["name"], pools.namespace)
        eventually(lambda: _lists(quiet, "pods"), 30.0, "who keeps a deleted claim is read")
        quiet.until(
            lambda: [one["metadata"]["uid"] for one in pools.children(*CLAIM)] not in ([], [claim["uid"]])
        )
        quiet.until_ready(pools, "pool")
        pools.patch("pool", {"tiers": {"lustre": None}})
        quiet.until(lambda: not pools.children("storage.k8s.io/v1", "StorageClass"))
        pools.delete("pool")
        quiet.until(lambda: quiet.kube.find(*API, "pool", pools.namespace) is None)
        _await_resyncs(process)
    requests = quiet.plane.audit.requests(user=USER)
    assert [one for one in requests if one.code == 403] == []
    asked = {("/".join(filter(None, (one.resource, one.subresource))), one.verb) for one in requests}
    assert {grant for grant in _granted() - asked if grant[1] not in UNSEEN} == {SWEEP, OWN_VOLUMES}


def _await_resyncs(process: Any) -> None:
    listed = operator_process.logged(process).count("listed ")
    operator_process.await_log(process, "listed ", listed + RESYNCS)


def _lists(quiet: FaultyCluster, resource: str) -> bool:
    requests = quiet.plane.audit.requests(user=USER)
    return any((one.resource, one.verb) == (resource, "list") for one in requests)


def _granted() -> set[tuple[str, str]]:
    documents = yaml.safe_load_all(Path(ROOT / "manifests" / "install.yaml").read_text())
    rules = [rule for one in documents if one["kind"] in ("ClusterRole", "Role") for rule in one["rules"]]
    return {(resource, verb) for rule in rules for resource in rule["resources"] for verb in rule["verbs"]}
