"""TierWritable on a real control plane: the result of a Job decides what engines mount."""

from typing import Any

import pytest

from testbed.control_plane.cluster import Cluster
from testbed.gke.pod_failures import set_pod_failure
from testbed.kube import Kube
from testbed.pools import Pools
from testbed.waiting import eventually

pytestmark = pytest.mark.usefixtures("operator")

DEPLOYMENT = ("apps/v1", "Deployment")
JOB = ("batch/v1", "Job")
CLAIM = ("v1", "PersistentVolumeClaim")


def test_a_directory_of_root_is_reported_and_blocks_the_pool(pools: Pools, kube: Kube) -> None:
    set_pod_failure(kube, pools.namespace, "exit-13")
    pools.create("denied")
    found = pools.wait("denied", "TierWritable", "False", "NotWritable")
    assert "prepareAsRoot to true" in found["message"]
    assert "chgrp 1000" in found["message"]
    assert pools.condition("denied", "Ready")["reason"] == "NotWritable"
    assert pools.get("denied")["status"]["phase"] == "Blocked"
    assert pools.children(*DEPLOYMENT) == []
    set_pod_failure(kube, pools.namespace, None)
    pools.patch("denied", {"tiers": {"lustre": {"prepareAsRoot": True}}})
    pools.wait("denied")
    (prepare,) = _pod(pools.child(*JOB))["initContainers"]
    assert prepare["securityContext"]["runAsUser"] == 0


@pytest.mark.parametrize(
    ("failure", "reason"), [("exit-28", "NoSpace"), ("exit-30", "ReadOnly"), ("exit-5", "InputOutput")]
)
def test_the_condition_of_the_job_has_the_error_of_the_file_system(
    pools: Pools, kube: Kube, failure: str, reason: str
) -> None:
    set_pod_failure(kube, pools.namespace, failure)
    pools.create("told")
    pools.wait("told", "TierWritable", "False", reason)
    (failed,) = [one for one in pools.child(*JOB)["status"]["conditions"] if one["type"] == "Failed"]
    assert failed["reason"] == "PodFailurePolicy", "one Pod is enough"


def test_an_opportunistic_pool_serves_without_the_tier_until_the_probe_succeeds(
    pools: Pools, kube: Kube
) -> None:
    set_pod_failure(kube, pools.namespace, "exit-13")
    pools.create("eager", mode="Opportunistic")
    pools.wait("eager", "TierWritable", "False", "NotWritable")
    pools.wait("eager", reason="WithoutSharedTier")
    assert not _mounts(pools)
    before = pools.child(*DEPLOYMENT)["metadata"]["generation"]
    set_pod_failure(kube, pools.namespace, None)
    pools.wait("eager", "TierWritable", "True", "Written")
    pools.wait("eager", reason="AllReady")
    eventually(lambda: _mounts(pools), what="engines mount the Lustre tier")
    assert pools.child(*DEPLOYMENT)["metadata"]["generation"] == before + 1, "one rollout"


def test_a_job_is_created_once_and_again_after_it_was_deleted(
    control_plane: Cluster, pools: Pools, kube: Kube
) -> None:
    pools.create("once")
    pools.wait("once")
    job, generation = _uid(pools), pools.child(*DEPLOYMENT)["metadata"]["generation"]
    model = pools.get("once")["spec"]["models"][0]
    image = {"image": "mirror.example/vllm:v0.33.0", "version": "0.33"}
    pools.patch("once", {"models": [model | {"engine": image}]})
    eventually(lambda: pools.child(*DEPLOYMENT)["metadata"]["generation"] == generation + 1)
    pools.wait("once")
    assert _uid(pools) == job, "a changed image needs no new probe"
    kube.delete(*JOB, pools.child(*JOB)["metadata"]["name"], pools.namespace)
    eventually(lambda: [one for one in pools.children(*JOB) if one["metadata"]["uid"] != job])
    pools.wait("once", "TierWritable", "True", "Written")
    pools.wait("once")
    assert _mounts(pools), "engines keep their mount"


def test_a_namespace_with_the_restricted_profile_accepts_the_job_and_refuses_root(
    pools: Pools, kube: Kube
) -> None:
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    kube.patch("v1", "Namespace", pools.namespace, label)
    pools.create("restricted")
    pools.wait("restricted")
    pools.patch("restricted", {"tiers": {"lustre": {"prepareAsRoot": True}}})
    pools.wait("restricted", "TierWritable", "False", "Probing")
    eventually(lambda: any("violates PodSecurity" in text for text in _refusals(pools)))
    assert _mounts(pools), "engines keep their mount"


def test_a_corrected_image_replaces_a_job_that_cannot_pull_its_image(pools: Pools, kube: Kube) -> None:
    set_pod_failure(kube, pools.namespace, "image-missing")
    pools.create("typo")
    pools.wait("typo", "TierWritable", "False", "Probing")
    eventually(lambda: pools.children(*JOB))
    stuck = _uid(pools)
    set_pod_failure(kube, pools.namespace, None)
    model = pools.get("typo")["spec"]["models"][0]
    image = {"image": "mirror.example/vllm:v0.33.0", "version": "0.33"}
    pools.patch("typo", {"models": [model | {"engine": image}]})
    pools.wait("typo")
    assert _uid(pools) != stuck


@pytest.mark.parametrize("policy", ["Retain", "Delete"])
def test_the_finished_pod_of_a_job_does_not_protect_the_pvc(pools: Pools, kube: Kube, policy: str) -> None:
    pools.create("going", deletionPolicy=policy)
    pools.wait("going")
    pools.delete("going")
    pools.wait_gone("going")
    assert pools.children(*JOB) == []
    kept = [one["metadata"]["name"] for one in pools.children(*CLAIM)]
    assert len(kept) == (policy == "Retain")
    for name in kept:
        kube.delete(*CLAIM, name, pools.namespace)
        kube.wait_gone(*CLAIM, name, pools.namespace)


def test_the_job_does_not_protect_a_pvc_that_others_delete(pools: Pools, kube: Kube) -> None:
    pools.create("deleted", models__0__replicas=0)
    pools.wait("deleted")
    old = pools.child(*CLAIM)["metadata"]
    kube.delete(*CLAIM, old["name"], pools.namespace)
    eventually(lambda: [one for one in pools.children(*CLAIM) if one["metadata"]["uid"] != old["uid"]])
    pools.wait("deleted")


def _refusals(pools: Pools) -> list[str]:
    """Why the Job controller could not create Pods."""
    jobs = [one["metadata"]["name"] for one in pools.children(*JOB)]
    events = [event for name in jobs for event in pools.kube.events(pools.namespace, name, "FailedCreate")]
    return [event["message"] for event in events]


def _uid(pools: Pools) -> str:
    return str(pools.child(*JOB)["metadata"]["uid"])


def _pod(workload: Any) -> Any:
    return workload["spec"]["template"]["spec"]


def _mounts(pools: Pools) -> bool:
    return any(volume["name"] == "lustre" for volume in _pod(pools.child(*DEPLOYMENT))["volumes"])
