"""What controllers would do for the children of pools, done by hand: an API server alone is enough for many tests."""

from testbed.gke import LUSTRE_DRIVER
from testbed.kube import Kube, Object
from testbed.namespaces import OWNER_LABEL

CLAIM = ("v1", "PersistentVolumeClaim")
DEPLOYMENT = ("apps/v1", "Deployment")
_OURS = "app.kubernetes.io/managed-by=kvtier"


def settle(kube: Kube) -> None:
    """Bind every claim, let deleted ones go, and have all engines ready: one round over what is there now."""
    for claim in kube.list(*CLAIM, labelSelector=_OURS):
        _settle_claim(kube, claim)
    for deployment in kube.list(*DEPLOYMENT, labelSelector=_OURS):
        _settle_deployment(kube, deployment)


def _settle_claim(kube: Kube, claim: Object) -> None:
    metadata, asked = claim["metadata"], claim["spec"]["resources"]["requests"]
    if "deletionTimestamp" in metadata:
        kube.patch(*CLAIM, metadata["name"], {"metadata": {"finalizers": None}}, metadata["namespace"])
    elif claim["status"].get("capacity") != asked:
        if not claim["spec"].get("volumeName"):
            _give_volume(kube, claim)
        _patch_status(kube, claim, {"phase": "Bound", "capacity": asked})


def _give_volume(kube: Kube, claim: Object) -> None:
    metadata, spec = claim["metadata"], claim["spec"]
    name = f"pvc-{metadata['uid']}"
    volume = {
        "capacity": spec["resources"]["requests"],
        "accessModes": spec["accessModes"],
        "storageClassName": spec["storageClassName"],
        "persistentVolumeReclaimPolicy": "Retain",
        "csi": {"driver": LUSTRE_DRIVER, "volumeHandle": f"project/zone/{name}"},
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


def _settle_deployment(kube: Kube, deployment: Object) -> None:
    generation, replicas = deployment["metadata"]["generation"], deployment["spec"]["replicas"]
    wanted = {"observedGeneration": generation, "replicas": replicas, "readyReplicas": replicas}
    if {key: deployment["status"].get(key, 0) for key in wanted} != wanted:
        _patch_status(kube, deployment, wanted)


def _patch_status(kube: Kube, obj: Object, status: Object) -> None:
    metadata = obj["metadata"]
    api_version, kind, name = obj["apiVersion"], obj["kind"], metadata["name"]
    kube.patch(api_version, kind, name, {"status": status}, metadata["namespace"], subresource="status")
