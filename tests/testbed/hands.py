"""What controllers would do for the children of pools, done by hand: an API server alone is enough for many tests."""

from contextlib import suppress

from testbed.commands import PROJECT
from testbed.gke import LUSTRE_DRIVER
from testbed.kube import Kube, NotFoundError, Object
from testbed.lustre_client import ZONE, LustreAPIClient
from testbed.lustre_documents import instance
from testbed.namespaces import OWNER_LABEL

CLAIM = ("v1", "PersistentVolumeClaim")
DEPLOYMENT = ("apps/v1", "Deployment")
JOB = ("batch/v1", "Job")
_OURS = "app.kubernetes.io/managed-by=kvtier"


def settle(kube: Kube, lustre: LustreAPIClient) -> None:
    """Bind every claim, let deleted ones go, have all Jobs succeed and all engines ready.

    One round over what is there now.
    """
    for claim in kube.list(*CLAIM, labelSelector=_OURS):
        _settle_claim(kube, lustre, claim)
    for job in kube.list(*JOB, labelSelector=_OURS):
        _settle_job(kube, job)
    for deployment in kube.list(*DEPLOYMENT, labelSelector=_OURS):
        _settle_deployment(kube, deployment)


def _settle_claim(kube: Kube, lustre: LustreAPIClient, claim: Object) -> None:
    metadata, asked = claim["metadata"], claim["spec"]["resources"]["requests"]
    if "deletionTimestamp" in metadata:
        kube.patch(*CLAIM, metadata["name"], {"metadata": {"finalizers": None}}, metadata["namespace"])
    elif claim["status"].get("capacity") != asked:
        if not claim["spec"].get("volumeName"):
            _give_volume(kube, lustre, claim)
        _patch_status(kube, claim, {"phase": "Bound", "capacity": asked})


def _give_volume(kube: Kube, lustre: LustreAPIClient, claim: Object) -> None:
    metadata, spec = claim["metadata"], claim["spec"]
    name = f"pvc-{metadata['uid']}"
    lustre.project(PROJECT).put(
        name, instance(int(spec["resources"]["requests"]["storage"].removesuffix("Gi")))
    )
    volume = {
        "capacity": spec["resources"]["requests"],
        "accessModes": spec["accessModes"],
        "storageClassName": spec["storageClassName"],
        "persistentVolumeReclaimPolicy": "Retain",
        "csi": {"driver": LUSTRE_DRIVER, "volumeHandle": f"{PROJECT}/{ZONE}/{name}"},
    }
    labels = {OWNER_LABEL: metadata["namespace"]}
    kube.apply(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "labels": labels},
            "spec": volume,
        }
    )
    kube.patch(*CLAIM, metadata["name"], {"spec": {"volumeName": name}}, metadata["namespace"])


def _settle_job(kube: Kube, job: Object) -> None:
    if job["status"].get("conditions"):
        return
    at = job["metadata"]["creationTimestamp"]
    conditions = [{"type": type_, "status": "True"} for type_ in ("SuccessCriteriaMet", "Complete")]
    with suppress(NotFoundError):  # the operator may replace it meanwhile
        _patch_status(
            kube, job, {"startTime": at, "completionTime": at, "succeeded": 1, "conditions": conditions}
        )


def _settle_deployment(kube: Kube, deployment: Object) -> None:
    generation, replicas = deployment["metadata"]["generation"], deployment["spec"]["replicas"]
    wanted = {"observedGeneration": generation, "replicas": replicas, "readyReplicas": replicas}
    if {key: deployment["status"].get(key, 0) for key in wanted} != wanted:
        _patch_status(kube, deployment, wanted)


def _patch_status(kube: Kube, obj: Object, status: Object) -> None:
    metadata = obj["metadata"]
    api_version, kind, name = obj["apiVersion"], obj["kind"], metadata["name"]
    kube.patch(api_version, kind, name, {"status": status}, metadata["namespace"], subresource="status")
