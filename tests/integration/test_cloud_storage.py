"""Copies between the Lustre tier and Cloud Storage, with the Lustre API: import, exports, export before deletion."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from integration.instances import until_ready, until_status
from testbed import operator_process
from testbed.control_plane.cluster import Cluster
from testbed.fault_injection import FaultyCluster
from testbed.google_api import Object
from testbed.lustre.client import Failure, LustreProject, google_client
from testbed.lustre.operations import HELD
from testbed.pools import API, Pools
from testbed.waiting import eventually

pytestmark = [pytest.mark.usefixtures("operator"), pytest.mark.timeout(240)]

DEPLOYMENT = ("apps/v1", "Deployment")
URI = "gs://my-bucket/cache/"


@pytest.fixture
def cached(pools: Pools, lustre_project: LustreProject) -> Pools:
    """The pools of the test. Their instances are created in its own project through the Lustre API."""
    lustre_project.configure(any_directory=True, objects=100)
    return pools


def _create(pools: Pools, project: LustreProject, mode: str = "Required", **storage: Any) -> None:
    pools.create(
        "cached",
        mode=mode,
        deletionPolicy="Delete",
        cluster={"project": project.name, "location": "us-central1", "name": "none"},
        tiers__lustre__provisioner="API",
        tiers__lustre__network=f"projects/{project.name}/global/networks/default",
        tiers__cloudStorage={"uri": URI, **storage},
    )


def _synced(pools: Pools, status: str, reason: str, words: str = "") -> tuple[str, list[Object]]:
    """Wait for CloudStorageSynced; its message, and the operations of the same status."""
    condition, known = until_status(pools, "cached", status, reason, "CloudStorageSynced", words=words)
    return condition["message"], known.get("operations", [])


def _only(operations: list[Object], kind: str) -> Object:
    (found,) = (one for one in operations if one["kind"] == kind)
    return found


def _running(project: LustreProject, verb: str) -> Object:
    """The only operation of a verb, once it exists: kvtier sends the request after it wrote the status."""

    def found() -> list[Object]:
        type_ = f"{verb.title()}DataMetadata"
        return [one for one in project.operations() if one["metadata"]["@type"].endswith(type_)]

    (running,) = eventually(found, 30.0, f"the {verb} runs")
    return running


def test_engines_start_when_the_import_is_done(cached: Pools, lustre_project: LustreProject) -> None:
    lustre_project.configure(import_seconds=HELD)
    _create(cached, lustre_project)
    _synced(cached, "False", "Importing")
    running = _running(lustre_project, "import")
    moved = running["metadata"]["operationMetadata"]
    assert moved["sourceGcsPath"] == {"uri": URI}
    assert moved["destinationLustrePath"] == {"path": f"/{cached.namespace}/cached/"}
    lustre_project.advance(running["name"], 0.5)

    def counted() -> bool:
        _, operations = _synced(cached, "False", "Importing")
        return bool(_only(operations, "Import").get("transfer", {}).get("objectsCopied") == 50)

    eventually(counted, 60.0, "half of the objects are copied")
    assert cached.children(*DEPLOYMENT) == []
    assert (
        "the import from Cloud Storage is in progress" in cached.condition("cached", "ModelsReady")["message"]
    )
    lustre_project.finish(running["name"])
    _synced(cached, "True", "Imported", "100 objects")
    cached.wait("cached")
    assert cached.children(*DEPLOYMENT)
    assert len(lustre_project.calls("import")) == 1


def test_an_import_with_failed_objects_is_reported_and_retried(
    cached: Pools, lustre_project: LustreProject
) -> None:
    lustre_project.cannot_move(Failure(count=7))
    _create(cached, lustre_project, mode="Opportunistic")
    message, operations = _synced(cached, "False", "ImportFailed", "7 of 100 objects were not copied")
    assert "service-PROJECT_NUMBER@gcp-sa-lustre.iam.gserviceaccount.com" in message
    assert _only(operations, "Import")["code"] == "ObjectsFailed"
    cached.wait("cached", "Ready", "True", "WithoutSharedTier")
    lustre_project.cannot_move()
    _synced(cached, "True", "Imported")
    assert len(lustre_project.calls("import")) > 1
    assert len(cached.events("cached", "ImportFailed")) == 1


def test_the_import_waits_for_a_copy_that_others_started(
    cached: Pools, lustre_project: LustreProject, control_plane: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    lustre_project.configure(export_seconds=HELD)
    name = lustre_project.put("shared")
    theirs = google_client(control_plane.lustre_api.url).export_data(
        {"name": name, "gcs_path": {"uri": "gs://theirs/"}, "lustre_path": {"path": "/"}}
    )
    cached.create(
        "cached",
        tiers__lustre={"provisioner": "Existing", "instance": name},
        tiers__cloudStorage={"uri": URI},
    )

    _, operations = _synced(
        cached, "False", "Waiting", "another copy or update of the instance is in progress"
    )
    assert _only(operations, "Import")["code"] == "Aborted"
    assert cached.children(*DEPLOYMENT) == []
    lustre_project.finish(theirs.operation.name)
    _synced(cached, "True", "Imported")


def _make_usable_for_long(pools: Pools) -> None:
    """Make the tier usable since an hour ago. A schedule starts then, so that at least one time has passed."""
    known = pools.get("cached")["status"]["conditions"]
    earlier = (datetime.now(UTC) - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    conditions = {"conditions": [one | {"lastTransitionTime": earlier} for one in known]}
    pools.kube.patch(*API, "cached", {"status": conditions}, pools.namespace, subresource="status")


def test_exports_follow_the_schedule(cached: Pools, lustre_project: LustreProject) -> None:
    lustre_project.configure(export_seconds=HELD)
    _create(cached, lustre_project, importOnCreate=False, exportSchedule="* * * * *")
    cached.wait("cached", "TierWritable")
    _make_usable_for_long(cached)
    _synced(cached, "False", "Exporting")
    running = _running(lustre_project, "export")
    lustre_project.configure(export_seconds=0.0)
    lustre_project.finish(running["name"])
    _, operations = _synced(cached, "True", "Exported", "100 objects")
    assert _only(operations, "Export")["state"] == "Succeeded"


def test_the_data_is_exported_before_the_instance_is_deleted(
    cached: Pools, lustre_project: LustreProject
) -> None:
    lustre_project.configure(export_seconds=HELD)
    _create(cached, lustre_project, importOnCreate=False)
    until_ready(cached, "cached")
    cached.delete("cached")
    running = _running(lustre_project, "export")
    assert len(lustre_project.instances()) == 1
    assert cached.children("v1", "PersistentVolumeClaim")
    lustre_project.finish(running["name"])
    eventually(lambda: not lustre_project.instances(), 60.0, "the instance was deleted")
    cached.wait_gone("cached")
    assert [one.kind for one in lustre_project.calls("export", "delete")] == ["export", "delete"]


def test_a_deletion_waits_while_the_export_fails(cached: Pools, lustre_project: LustreProject) -> None:
    lustre_project.cannot_move(Failure(count=7))
    _create(cached, lustre_project, importOnCreate=False)
    until_ready(cached, "cached")
    cached.delete("cached")
    message, _ = _synced(cached, "False", "ExportFailed", "7 of 100 objects were not copied")
    assert message.endswith(" kvtier retries.")
    assert len(lustre_project.instances()) == 1
    lustre_project.cannot_move()
    eventually(lambda: not lustre_project.instances(), 60.0, "the instance was deleted")


def test_a_restarted_operator_follows_the_import_to_its_end(faulty: FaultyCluster) -> None:
    pools = faulty.pools()
    project = faulty.plane.lustre_api.project(f"faulty-{pools.namespace}")
    project.configure(any_directory=True, import_seconds=HELD)
    lustre = {"provisioner": "Existing", "instance": project.put("kept")}
    with faulty.operator("--google-seconds=1") as first:
        pools.create("cached", tiers__lustre=lustre, tiers__cloudStorage={"uri": URI})

        def running() -> bool:
            found = pools.get("cached").get("status", {}).get("operations", [])
            return bool(found and found[0].get("name"))

        faulty.until(running, "the import is known to run")
        operator_process.stop(first, force=True)
    project.finish(_running(project, "import")["name"])
    faulty.drop_lease()
    with faulty.operator("--google-seconds=1"):
        faulty.until(lambda: pools.condition("cached", "CloudStorageSynced").get("reason") == "Imported")
        faulty.until_ready(pools, "cached")
    assert len(project.calls("import")) == 1
