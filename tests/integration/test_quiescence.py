"""Without changes there are no writes, and no request needs a permission that RBAC does not grant."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed import operator_process
from testbed.fault_injection import FaultyCluster
from testbed.gke.nodes import NodeSpec, add_node
from testbed.kube import Object
from testbed.operator_process import ROOT, USER
from testbed.pools import API, SAMPLES, Pools, create_dependencies, create_instances
from testbed.process import Component
from testbed.waiting import eventually

CLAIM = ("v1", "PersistentVolumeClaim")
RESYNCS = 2
# Used after the finalizer of a pool was removed by force: test_replicas.
SWEEP = ("kvcachepools", "get")
# PersistentVolumes that kvtier created are deleted with their pool: test_lustre_teardown.
OWN_VOLUMES = ("persistentvolumes", "delete")
# The audit log shows a server-side apply that creates as patch, and a watch only when it ends.
UNSEEN = ("create", "watch")


ODD: Object = {
    "affinity": {"podAffinity": {}},
    "dnsConfig": {},
    "hostAliases": [],
    "securityContext": {"supplementalGroups": [], "sysctls": None},
    "ports": [{"containerPort": 9000}],
    "lifecycle": {"postStart": {"httpGet": {"port": "http"}}},
    "stdin": False,
    "workingDir": "",
    "volumes": [{"name": "empty", "emptyDir": {}}, {"name": "host", "hostPath": {"path": "/a", "type": ""}}],
    "volumeMounts": [{"name": "tmp", "mountPath": "/scratch", "readOnly": False, "subPath": ""}],
    "containers": [
        {
            "name": "logs",
            "image": "example/logs",
            "args": [],
            "command": None,
            "stdin": False,
            "env": [{"name": "A", "value": ""}],
            "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": {"memory": 2147483648}},
        }
    ],
}
"""Additions to Pods that the API server stores in another form, or drops."""


@pytest.fixture
def samples(faulty: FaultyCluster) -> Iterator[Pools]:
    """All samples, applied unchanged."""
    create_instances(faulty.plane.lustre_api)
    pools = faulty.pools()
    create_dependencies(faulty.kube, pools.namespace)
    add_node(faulty.kube, NodeSpec("existing", "a3-highgpu-8g"))
    for path in SAMPLES:
        pool: Any = yaml.safe_load(path.read_text())
        faulty.kube.create(pool | {"metadata": pool["metadata"] | {"namespace": pools.namespace}})
    yield pools
    faulty.kube.delete("v1", "Node", "existing")
    faulty.kube.delete("storage.k8s.io/v1", "CSINode", "existing")  # no controller follows owners here


def test_steady_state_and_restarts_write_nothing(faulty: FaultyCluster, samples: Pools) -> None:
    with faulty.operator("--resync-seconds", "1") as process:
        for path in SAMPLES:
            faulty.until_ready(samples, path.stem)
        mark = _await_quiet(faulty, process)
    with faulty.operator("--resync-seconds", "1") as process:
        operator_process.await_log(process, "Verified all pools")
        _await_resyncs(process)
        assert faulty.plane.audit.writes(mark, USER) == []


def test_values_that_the_api_server_stores_in_another_form_are_not_written_repeatedly(
    faulty: FaultyCluster,
) -> None:
    pools = faulty.pools()
    pools.create("pool", tiers__lustre=None, models__0__podTemplate=ODD)
    for _ in range(2):
        with faulty.operator("--resync-seconds", "1") as process:
            faulty.until_ready(pools, "pool")
            _await_quiet(faulty, process)
            assert pools.child("apps/v1", "Deployment")["metadata"]["generation"] == 1


def test_every_permission_is_used_and_no_request_is_forbidden(faulty: FaultyCluster, samples: Pools) -> None:
    mark = faulty.plane.audit.mark()
    with faulty.operator("--resync-seconds", "1") as process:
        for path in SAMPLES:
            faulty.until_ready(samples, path.stem)
        _live_through_everything(faulty, mark)
        _await_resyncs(process)
    requests = faulty.plane.audit.requests(mark, USER)
    assert [one for one in requests if one.code == 403] == []
    asked = {("/".join(filter(None, (one.resource, one.subresource))), one.verb) for one in requests}
    assert {grant for grant in _granted() - asked if grant[1] not in UNSEEN} == {SWEEP, OWN_VOLUMES}


def _live_through_everything(faulty: FaultyCluster, mark: int) -> None:
    """A pool lacks a Secret, is edited, loses its PVC and its Lustre tier, and is deleted."""
    pools = faulty.pools()
    pools.create("pool", models__0__tokenSecretRef={"name": "absent"})
    eventually(lambda: _lists(faulty, "events", mark), 30.0, "Events of the PVC are read while it waits")
    faulty.until(lambda: pools.condition("pool", "CredentialsPresent").get("status") == "False")
    models = [{"name": "chat", "model": "example/model"}]
    pools.patch("pool", {"models": models, "deletionPolicy": "Delete"})
    faulty.until_ready(pools, "pool")
    claim = pools.child(*CLAIM)["metadata"]
    faulty.kube.delete(*CLAIM, claim["name"], pools.namespace)
    eventually(lambda: _lists(faulty, "pods", mark), 30.0, "Pods that keep a deleted PVC are read")
    faulty.until(lambda: [c["metadata"]["uid"] for c in pools.children(*CLAIM)] not in ([], [claim["uid"]]))
    faulty.until_ready(pools, "pool")
    pools.patch("pool", {"tiers": {"lustre": None}})
    faulty.until(lambda: not pools.children("storage.k8s.io/v1", "StorageClass"))
    pools.delete("pool")
    faulty.until(lambda: faulty.kube.find(*API, "pool", pools.namespace) is None)


def _await_quiet(faulty: FaultyCluster, process: Component) -> int:
    """Wait for resyncs without writes. Return the position in the audit log where they start."""
    _await_resyncs(process)
    mark = faulty.plane.audit.mark()
    _await_resyncs(process)
    assert faulty.plane.audit.writes(mark, USER) == []
    return mark


def _await_resyncs(process: Component) -> None:
    listed = operator_process.logged(process).count("Listed ")
    operator_process.await_log(process, "Listed ", listed + RESYNCS)


def _lists(faulty: FaultyCluster, resource: str, mark: int) -> bool:
    requests = faulty.plane.audit.requests(mark, USER)
    return any((one.resource, one.verb) == (resource, "list") for one in requests)


def _granted() -> set[tuple[str, str]]:
    documents = yaml.safe_load_all(Path(ROOT / "manifests" / "install.yaml").read_text())
    rules = [rule for one in documents if one["kind"] in ("ClusterRole", "Role") for rule in one["rules"]]
    return {(resource, verb) for rule in rules for resource in rule["resources"] for verb in rule["verbs"]}
