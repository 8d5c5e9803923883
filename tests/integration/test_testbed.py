"""The test bed behaves like a GKE cluster in everything that the operator depends on."""

import base64
import json

import pytest

from testbed.control_plane.cluster import Cluster
from testbed.gke import LUSTRE_DRIVER
from testbed.gke.nodes import COMPUTE_CLASS_LABEL, LUSTRE_ZONE_LABEL
from testbed.gke.pod_failures import set_pod_failure
from testbed.kube import ApiError, Kube, Object
from testbed.lustre.csi_driver import LustreService
from testbed.pools import OWNER_LABEL
from testbed.waiting import eventually

pytestmark = pytest.mark.timeout(120)

CLAIM = ("v1", "PersistentVolumeClaim")


def lustre_class(kube: Kube, namespace: str, throughput: str = "1000") -> str:
    """A StorageClass of the Lustre driver in one zone."""
    key = {"key": LUSTRE_ZONE_LABEL, "values": ["us-central1-a"]}
    made = kube.create(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": f"lustre-{namespace}", "labels": {OWNER_LABEL: namespace}},
            "provisioner": LUSTRE_DRIVER,
            "parameters": {"perUnitStorageThroughput": throughput},
            "allowVolumeExpansion": True,
            "allowedTopologies": [{"matchLabelExpressions": [key]}],
        }
    )
    return str(made["metadata"]["name"])


def claim(kube: Kube, namespace: str, size: str = "9000Gi") -> str:
    """A PVC with ReadWriteMany and a new Lustre class."""
    spec = {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": lustre_class(kube, namespace),
        "resources": {"requests": {"storage": size}},
    }
    metadata = {"name": "cache", "namespace": namespace}
    kube.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})
    return "cache"


def wait_bound(kube: Kube, namespace: str, name: str = "cache") -> Object:
    eventually(
        lambda: kube.get(*CLAIM, name, namespace)["status"]["phase"] == "Bound", what="the PVC is bound"
    )
    return kube.get(*CLAIM, name, namespace)


def wait_failed(kube: Kube, namespace: str, code: str, name: str = "cache") -> str:
    """The message of a ProvisioningFailed event with that gRPC code."""

    def messages() -> list[str]:
        events = kube.events(namespace, name, "ProvisioningFailed")
        return [event["message"] for event in events if f"code = {code}" in event["message"]]

    return eventually(messages, what=f"provisioning fails with {code}")[-1]


def test_a_lustre_pvc_of_9000gi_is_bound(kube: Kube, namespace: str, lustre: LustreService) -> None:
    claim(kube, namespace)
    volume = kube.get("v1", "PersistentVolume", wait_bound(kube, namespace)["spec"]["volumeName"])
    instance = lustre.state().instances[volume["metadata"]["name"]]
    assert instance["capacityGib"] == 9000
    assert volume["spec"]["csi"]["volumeAttributes"]["ip"] == instance["ip"]


def test_a_capacity_the_tier_does_not_have_fails_with_invalid_argument(kube: Kube, namespace: str) -> None:
    claim(kube, namespace, "9216Gi")
    assert "must be a multiple of 9000" in wait_failed(kube, namespace, "InvalidArgument")


def test_a_pvc_beyond_the_quota_fails_with_resource_exhausted(
    kube: Kube, namespace: str, lustre: LustreService
) -> None:
    lustre.configure(quota_gib=8999)
    claim(kube, namespace)
    wait_failed(kube, namespace, "ResourceExhausted")


def test_a_slow_creation_reports_creating_and_then_binds(
    kube: Kube, namespace: str, lustre: LustreService
) -> None:
    lustre.configure(create_seconds=4)
    claim(kube, namespace)
    assert (
        "not ready, current state: CREATING"
        in eventually(
            lambda: [
                message
                for event in kube.events(namespace, "cache", "ProvisioningFailed")
                if "CREATING" in (message := event["message"])
            ],
            what="the Events of the PVC report that the instance is being created",
        )[0]
    )
    wait_bound(kube, namespace)


def test_a_failed_creation_is_final_for_its_pvc_and_a_new_pvc_is_bound(
    kube: Kube, namespace: str, lustre: LustreService
) -> None:
    lustre.fail("CreateInstance", "Unavailable", "no capacity in this zone")
    name = claim(kube, namespace)
    eventually(lambda: len(lustre.state().calls) >= 3, what="the provisioner has retried")
    assert {call["message"] for call in lustre.state().calls} == {"no capacity in this zone"}
    old = kube.get(*CLAIM, name, namespace)
    kube.delete(*CLAIM, name, namespace)
    kube.wait_gone(*CLAIM, name, namespace)
    kube.create(
        {key: old[key] for key in ("apiVersion", "kind")} | {"metadata": _name(old), "spec": old["spec"]}
    )
    wait_bound(kube, namespace)


def test_a_resized_pvc_reaches_its_new_capacity(kube: Kube, namespace: str, lustre: LustreService) -> None:
    name = claim(kube, namespace)
    wait_bound(kube, namespace)
    lustre.configure(resize_seconds=3)
    kube.patch(*CLAIM, name, {"spec": {"resources": {"requests": {"storage": "18000Gi"}}}}, namespace)
    eventually(
        lambda: _conditions(kube.get(*CLAIM, name, namespace)) == {"Resizing"}, what="the PVC is resizing"
    )
    eventually(lambda: kube.get(*CLAIM, name, namespace)["status"]["capacity"]["storage"] == "18000Gi")


def test_a_deployment_that_asks_for_a_compute_class_gets_a_node(kube: Kube, namespace: str) -> None:
    name = f"h100-{namespace}"
    kube.create(compute_class(name, namespace))
    kube.create(gpu_deployment(name, namespace))
    eventually(
        lambda: kube.get("apps/v1", "Deployment", "serve", namespace)["status"].get("availableReplicas") == 2,
        what="both replicas are available",
    )
    selector = f"{COMPUTE_CLASS_LABEL}={name}"
    assert [node["status"]["allocatable"]["nvidia.com/gpu"] for node in nodes(kube, selector)] == ["8", "8"]
    kube.delete("apps/v1", "Deployment", "serve", namespace)
    kube.delete("cloud.google.com/v1", "ComputeClass", name)
    eventually(lambda: not nodes(kube, selector), what="the nodes of the deleted class were deleted")


@pytest.mark.parametrize(
    ("failure", "sign"),
    [
        ("crash-loop", "CrashLoopBackOff"),
        ("image-missing", "ImagePullBackOff"),
        ("mount-hangs", "ContainerCreating"),
    ],
)
def test_pods_fail_as_the_test_sets_for_their_namespace(
    kube: Kube, namespace: str, failure: str, sign: str
) -> None:
    set_pod_failure(kube, namespace, failure)
    spec = {"containers": [{"name": "main", "image": "any"}]}
    kube.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": namespace}, "spec": spec}
    )
    eventually(lambda: sign in json.dumps(kube.get("v1", "Pod", "p", namespace)["status"]))


def test_only_pods_of_jobs_exit_with_the_code_that_the_test_sets(kube: Kube, namespace: str) -> None:
    set_pod_failure(kube, namespace, "exit-28")
    spec = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "any"}]}
    job = {"backoffLimit": 0, "template": {"spec": spec}}
    metadata = {"name": "one", "namespace": namespace}
    kube.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": job})
    kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    eventually(lambda: kube.get("batch/v1", "Job", "one", namespace)["status"].get("failed") == 1)
    (failed,) = kube.list("v1", "Pod", namespace, labelSelector="batch.kubernetes.io/job-name=one")
    assert failed["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 28
    eventually(lambda: kube.get("v1", "Pod", "one", namespace)["status"]["phase"] == "Running")


def test_the_audit_log_counts_the_writes_of_a_user(
    control_plane: Cluster, kube: Kube, namespace: str
) -> None:
    mark = control_plane.audit.mark()
    secret = {"name": "s", "namespace": namespace}
    kube.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": secret,
            "data": {"k": base64.b64encode(b"v").decode()},
        }
    )
    kube.get("v1", "Secret", "s", namespace)

    def writes() -> list[tuple[str, str, str]]:
        found = control_plane.audit.writes(mark, user="admin")
        return [(one.verb, one.resource, one.name) for one in found if one.namespace == namespace]

    assert eventually(writes) == [("create", "secrets", "s")]


def test_a_service_account_may_do_only_what_rbac_grants(control_plane: Cluster, namespace: str) -> None:
    kubeconfig = control_plane.service_account_kubeconfig(namespace, "default")
    flags = ("--kubeconfig", str(kubeconfig), "get", "pods")
    grant = ("create", "rolebinding", "viewer", "-n", namespace, "--clusterrole=view")
    refused = control_plane.kubectl(*flags, check=False).stderr
    assert f'User "system:serviceaccount:{namespace}:default" cannot list resource "pods"' in refused
    control_plane.kubectl(*grant, f"--serviceaccount={namespace}:default")
    eventually(
        lambda: control_plane.kubectl(*flags, check=False).returncode == 0, what="the grant takes effect"
    )


def test_a_refused_request_carries_the_message_of_the_api_server(kube: Kube, namespace: str) -> None:
    with pytest.raises(ApiError, match=r'configmaps "-" is invalid|Invalid value: "-"'):
        kube.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "-", "namespace": namespace}}
        )


def nodes(kube: Kube, selector: str) -> list[Object]:
    return kube.list("v1", "Node", labelSelector=selector)


def compute_class(name: str, namespace: str) -> Object:
    priority = {
        "machineType": "a3-highgpu-8g",
        "gpu": {"type": "nvidia-h100-80gb", "count": 8},
        "location": {"zones": ["us-central1-a"]},
    }
    return {
        "apiVersion": "cloud.google.com/v1",
        "kind": "ComputeClass",
        "metadata": {"name": name, "labels": {OWNER_LABEL: namespace}},
        "spec": {"nodePoolAutoCreation": {"enabled": True}, "priorities": [priority]},
    }


def gpu_deployment(compute_class_name: str, namespace: str) -> Object:
    container = {"name": "vllm", "image": "vllm", "resources": {"limits": {"nvidia.com/gpu": "8"}}}
    labels = {"app": "serve"}
    pod = {
        "nodeSelector": {COMPUTE_CLASS_LABEL: compute_class_name},
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "serve", "namespace": namespace},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def _conditions(one: Object) -> set[str]:
    return {condition["type"] for condition in one["status"].get("conditions", [])}


def _name(one: Object) -> dict[str, str]:
    return {key: one["metadata"][key] for key in ("name", "namespace")}
