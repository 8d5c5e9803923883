"""A control plane starts, survives outages, and leaves no process and no file."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.control_plane.plane import ControlPlane
from testbed.gke import LUSTRE_DRIVER
from testbed.gke.nodes import LUSTRE_ZONE_LABEL
from testbed.kube import Object
from testbed.process import ComponentError
from testbed.waiting import eventually

pytestmark = [pytest.mark.timeout(120), pytest.mark.usefixtures("programs")]

SMALLEST = """
import json, signal, time
from testbed.control_plane.plane import ControlPlane
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in background jobs
with ControlPlane(controllers=False, nodes=False, csi=False) as plane:
    print(json.dumps({"pids": list(plane.pids().values()), "directory": str(plane.directory)}), flush=True)
    while True:
        time.sleep(0.1)  # not pause: a signal just before it would be lost
"""


@pytest.fixture(scope="module")
def api_only() -> Iterator[ControlPlane]:
    """An API server for these tests."""
    with ControlPlane(controllers=False, nodes=False, csi=False, version="v1.36.3-gke.1500000") as plane:
        yield plane


def test_data_survives_an_outage_of_the_api_server(api_only: ControlPlane) -> None:
    api_only.kube.create(config_map("kept"))
    api_only.restart_apiserver()
    assert api_only.kube.get("v1", "ConfigMap", "kept", "default")["data"] == {"key": "value"}


def test_the_api_server_reports_the_chosen_gke_version(api_only: ControlPlane) -> None:
    assert api_only.kube.request("GET", "/version")["gitVersion"] == "v1.36.3-gke.1500000"


def test_a_component_that_fails_to_start_is_named_with_its_log() -> None:
    plane = ControlPlane(controllers=False, nodes=False, csi=False, version="v1.2.3-gke.1")
    with pytest.raises(ComponentError, match=r"(?s)kube-apiserver ended with status 1.*version"):
        plane.start()
    assert not plane.directory.exists()
    assert not plane.pids()


def test_volumes_survive_a_restart_of_the_csi_driver() -> None:
    with ControlPlane(nodes=False) as plane:
        plane.kube.create(storage_class())
        plane.kube.create(claim("before"))
        wait_bound(plane, "before")
        plane.restart_csi()
        assert len(plane.lustre.state().instances) == 1
        plane.kube.create(claim("after"))
        wait_bound(plane, "after")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_process_survives_its_killed_or_interrupted_parent(number: signal.Signals) -> None:
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, "-c", SMALLEST]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env
    ) as parent:
        try:
            assert parent.stdout
            known = json.loads(parent.stdout.readline())
            parent.send_signal(number)
            parent.wait(30)
        finally:
            parent.kill()
    eventually(lambda: not any(map(is_running, known["pids"])), what="its processes have ended")
    shutil.rmtree(known["directory"], ignore_errors=True)  # only a killed parent leaves the directory


def is_running(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def wait_bound(plane: ControlPlane, name: str) -> None:
    def phase() -> str:
        found = plane.kube.get("v1", "PersistentVolumeClaim", name, "default")
        return str(found["status"]["phase"])

    eventually(lambda: phase() == "Bound", what=f"{name} is bound")


def config_map(name: str) -> Object:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"key": "value"}}


def storage_class() -> Object:
    zone = {"key": LUSTRE_ZONE_LABEL, "values": ["us-central1-a"]}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "lustre"},
        "provisioner": LUSTRE_DRIVER,
        "parameters": {"perUnitStorageThroughput": "1000"},
        "allowedTopologies": [{"matchLabelExpressions": [zone]}],
    }


def claim(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "lustre",
            "resources": {"requests": {"storage": "9000Gi"}},
        },
    }
