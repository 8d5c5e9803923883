"""What the sample pools take for granted of Google Cloud."""

from pathlib import Path

from testbed.commands import PROJECT
from testbed.kube import Kube, Object
from testbed.lustre_client import LustreAPIClient
from testbed.lustre_documents import instance, refusal

SAMPLES = sorted((Path(__file__).parents[2] / "manifests" / "samples").glob("*.yaml"))


def furnish(kube: Kube, namespace: str) -> None:
    """The Secrets, ConfigMap and service account of a namespace that they name."""
    for name, data in _SECRETS.items():
        kube.create(_named("Secret", name, namespace) | {"stringData": data})
    registry = {
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": '{"auths": {}}'},
    }
    kube.create(_named("Secret", "registry", namespace) | registry)
    kube.create(_named("ConfigMap", "serving", namespace) | {"data": {"log-level": "INFO"}})
    kube.create(_named("ServiceAccount", "engines", namespace))


_SECRETS = {
    "hf-token": {"token": "hf_x"},
    "kv-blocks": {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"},
    "serving": {"api-key": "x"},
}


def _named(kind: str, name: str, namespace: str) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}}


def prepare(api: LustreAPIClient) -> None:
    """The instances that they name, and the project that hides its own.

    Nobody runs the engines' Jobs here, so nobody makes the directory that an import goes to.
    """
    api.project("my-project").put("shared-cache", instance(36000))
    api.project("their-project").fail(refusal("PERMISSION_DENIED"), times=-1)
    api.project(PROJECT).configure(any_directory=True)
