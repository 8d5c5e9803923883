"""The Managed Lustre API of the control plane, which shares its instances with the CSI driver."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from google.api_core.exceptions import NotFound
from google.cloud import lustre_v1

from integration.test_testbed import CLAIM, claim, wait_bound
from testbed.control_plane.cluster import Cluster
from testbed.control_plane.components import PACKAGES
from testbed.gke import PROJECT
from testbed.google_api import Hold
from testbed.kube import Kube
from testbed.lustre.client import LustreAPIClient, LustreProject, google_client
from testbed.lustre.csi_driver import LustreService
from testbed.lustre.operations import HELD
from testbed.process import free_ports
from testbed.waiting import eventually

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def client(control_plane: Cluster, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Google's client for the API of the control plane."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return google_client(control_plane.lustre_api.url)


@pytest.fixture
def drivers(control_plane: Cluster) -> LustreProject:
    """The project of all instances of the CSI driver. Change only single instances in it."""
    return control_plane.lustre_api.project(PROJECT)


@pytest.fixture
def name(kube: Kube, namespace: str) -> str:
    """The full name of the instance of a bound PVC of 9000Gi."""
    claim(kube, namespace)
    volume = kube.get("v1", "PersistentVolume", wait_bound(kube, namespace)["spec"]["volumeName"])
    project, zone, instance = volume["spec"]["csi"]["volumeHandle"].split("/")
    return f"projects/{project}/locations/{zone}/instances/{instance}"


def test_the_instance_of_a_pvc_has_the_name_in_its_volume_handle(
    client: Any, kube: Kube, namespace: str, name: str
) -> None:
    found = client.get_instance(name=name)
    volume = kube.get("v1", "PersistentVolume", name.rpartition("/")[2])
    assert (found.state.name, found.capacity_gib, found.per_unit_storage_throughput) == ("ACTIVE", 9000, 1000)
    assert found.network == f"projects/{PROJECT}/global/networks/default"
    assert found.labels["kubernetes_io_created-for_pvc_namespace"] == namespace
    attributes = volume["spec"]["csi"]["volumeAttributes"]
    assert found.filesystem == attributes["filesystem"]
    assert found.mount_point == "{ip}@tcp:/{filesystem}".format(**attributes)
    assert name in [one.name for one in client.list_instances(parent=name.partition("/instances/")[0])]


def test_an_instance_of_the_driver_is_shown_while_it_is_created_and_resized(
    client: Any, kube: Kube, namespace: str, lustre: LustreService
) -> None:
    def shown() -> Any:
        (instance,) = lustre.state().instances.values()
        parent = f"projects/{PROJECT}/locations/{instance['location']}"
        return client.get_instance(name=f"{parent}/instances/{instance['name']}")

    lustre.configure(create_seconds=2, resize_seconds=2, resize_state="UPDATING")
    claim(kube, namespace)
    eventually(lambda: lustre.state().instances, what="an instance")
    assert (shown().state.name, shown().mount_point) == ("CREATING", "")
    wait_bound(kube, namespace)
    kube.patch(*CLAIM, "cache", {"spec": {"resources": {"requests": {"storage": "18000Gi"}}}}, namespace)
    eventually(lambda: shown().state.name == "UPDATING")
    eventually(lambda: (shown().state.name, shown().capacity_gib) == ("ACTIVE", 18000))


def test_an_instance_of_the_driver_can_import_and_export(
    client: Any, drivers: LustreProject, name: str
) -> None:
    drivers.configure(name, export_seconds=HELD, objects=100)
    paths = {"gcs_path": {"uri": "gs://caches/"}, "lustre_path": {"path": "/"}}
    request = lustre_v1.ExportDataRequest(name=name, **paths)
    operation = client.export_data(request)
    drivers.advance(operation.operation.name, 0.5)
    (told,) = drivers.operations(name)
    assert told["metadata"]["operationMetadata"]["counters"]["objectsCopiedCount"] == "50"
    drivers.finish(operation.operation.name)
    assert operation.result(timeout=5) == lustre_v1.ExportDataResponse()


def test_an_instance_of_the_driver_shows_what_a_test_sets(
    client: Any, drivers: LustreProject, name: str
) -> None:
    drivers.set_state(name, "SUSPENDED", "the KMS key is disabled")
    drivers.schedule_maintenance(name, "2026-12-06T02:00:00Z", "2026-12-06T03:00:00Z")
    drivers.mkdir(name, "/kv")
    found = client.get_instance(name=name)
    assert (found.state.name, found.state_reason) == ("SUSPENDED", "the KMS key is disabled")
    assert found.upcoming_maintenance_schedule.start_time.hour == 2
    drivers.set_state(name, "")
    wanted = lustre_v1.Instance(name=name, description="a cache")
    client.update_instance(instance=wanted, update_mask={"paths": ["description"]}).result(timeout=5)
    assert client.get_instance(name=name).description == "a cache"
    assert drivers.instances()[name]["directories"] == ["/", "/kv"]


def test_only_the_deletion_of_the_pvc_deletes_the_instance_of_the_driver(
    client: Any, kube: Kube, namespace: str, name: str
) -> None:
    with pytest.raises(Exception, match="only by their PVCs"):
        client.delete_instance(name=name)
    kube.delete(*CLAIM, "cache", namespace)

    def gone() -> bool:
        with pytest.raises(NotFound):
            client.get_instance(name=name)
        return True

    eventually(lambda: not kube.find("v1", "PersistentVolume", name.rpartition("/")[2]))
    assert gone()


def test_the_server_ends_at_once_while_requests_are_held() -> None:
    (port,) = free_ports(1)
    api = LustreAPIClient(f"http://127.0.0.1:{port}")
    command = [sys.executable, "-m", "testbed.lustre.server", f"--port={port}"]
    environment = os.environ | {"PYTHONPATH": str(PACKAGES)}
    with subprocess.Popen(command, env=environment) as server, ThreadPoolExecutor() as threads:
        try:
            eventually(lambda: _listens(api), what="the server listens")
            held = api.project("p").fail(Hold(), "get")
            threads.submit(google_client(api.url).get_instance, name="projects/p/locations/z/instances/i")
            eventually(lambda: held.hits() == 1)
        finally:
            server.send_signal(signal.SIGTERM)
        assert server.wait(10) == 0


def _listens(api: LustreAPIClient) -> bool:
    try:
        api.project("p").put("cache")
    except OSError:
        return False
    return True
