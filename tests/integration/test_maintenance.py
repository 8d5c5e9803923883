"""Maintenance of the instance, as the Lustre API announces it: what is told, and who leaves the shared tier."""

from datetime import UTC, datetime, timedelta

import pytest

from integration.instances import DEPLOYMENT, until, until_condition
from testbed.google_api import Object
from testbed.lustre.client import LustreProject
from testbed.lustre.documents import refusal
from testbed.pools import Pools

pytestmark = [pytest.mark.usefixtures("operator"), pytest.mark.timeout(240)]


def _in(minutes: int) -> str:
    return (datetime.now(UTC) + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _maintenance(pools: Pools, status: str, reason: str) -> Object:
    return until_condition(pools, "kept", status, reason, "MaintenanceScheduled")


def _bypassed(pools: Pools) -> None:
    """The status may say so a moment before the Deployment is written."""
    _maintenance(pools, "True", "Bypassed")
    until(pools, "kept", lambda: not _mounted(pools), "engines leave the tier")


def _mounted(pools: Pools) -> bool:
    volumes = pools.child(*DEPLOYMENT)["spec"]["template"]["spec"].get("volumes", [])
    return any(volume["name"] == "lustre" for volume in volumes)


def _generation(pools: Pools) -> int:
    return int(pools.child(*DEPLOYMENT)["metadata"]["generation"])


@pytest.fixture
def instance(pools: Pools, lustre_project: LustreProject) -> str:
    """An instance of the test's own project."""
    return lustre_project.put("kept")


def _create(pools: Pools, instance: str, maintenance: str) -> None:
    pools.create(
        "kept",
        mode="Opportunistic",
        tiers__lustre={"provisioner": "Existing", "instance": instance, "maintenance": maintenance},
    )
    until(pools, "kept", lambda: pools.children(*DEPLOYMENT) and _mounted(pools), "engines mount the tier")
    pools.wait("kept", "Ready", "True", "AllReady")


def test_an_announcement_is_told_and_who_rides_stays(
    pools: Pools, lustre_project: LustreProject, instance: str
) -> None:
    _create(pools, instance, "Ride")
    _maintenance(pools, "False", "NoneScheduled")
    generation = _generation(pools)
    lustre_project.schedule_maintenance(instance, _in(10), _in(70))
    told = _maintenance(pools, "True", "Scheduled")
    assert "reads and writes hang for 2 to 25 minutes and go on by themselves" in told["message"]
    lustre_project.set_state(instance, "UPGRADING")
    _maintenance(pools, "True", "InProgress")
    assert (_mounted(pools), _generation(pools)) == (True, generation)
    lustre_project.set_state(instance, "")
    lustre_project.schedule_maintenance(instance, "", "")
    _maintenance(pools, "False", "NoneScheduled")
    assert len(pools.events("kept", "MaintenanceScheduled")) == 1


def test_who_bypasses_leaves_before_the_window_and_comes_back_once(
    pools: Pools, lustre_project: LustreProject, instance: str
) -> None:
    _create(pools, instance, "Bypass")
    generation = _generation(pools)
    lustre_project.schedule_maintenance(instance, _in(120), _in(180))
    told = _maintenance(pools, "True", "Scheduled")
    assert "to run without the shared tier, and back after it" in told["message"]
    assert _mounted(pools)
    lustre_project.schedule_maintenance(instance, _in(10), _in(70))
    _bypassed(pools)
    pools.wait("kept", "Ready", "True", "WithoutSharedTier")
    lustre_project.set_state(instance, "UPGRADING")
    lustre_project.schedule_maintenance(instance, "", "")
    until(pools, "kept", lambda: _saying(pools, "which is UPGRADING"), "the state is told")
    assert not _mounted(pools)
    lustre_project.set_state(instance, "")
    _maintenance(pools, "False", "NoneScheduled")
    until(pools, "kept", lambda: _mounted(pools), "engines mount the tier again")
    pools.wait("kept", "Ready", "True", "AllReady")
    assert _generation(pools) == generation + 2
    for reason in ("TierBypassed", "TierResumed"):
        assert len(pools.events("kept", reason)) == 1


def test_an_outage_of_the_api_rolls_nobody(
    pools: Pools, lustre_project: LustreProject, instance: str
) -> None:
    _create(pools, instance, "Bypass")
    lustre_project.schedule_maintenance(instance, _in(10), _in(70))
    _bypassed(pools)
    generation = _generation(pools)
    lustre_project.fail(refusal("PERMISSION_DENIED"), "get", times=-1)
    until(pools, "kept", lambda: _saying(pools, "cannot be told"), "the outage is told")
    assert (_mounted(pools), _generation(pools)) == (False, generation)
    lustre_project.heal()
    lustre_project.schedule_maintenance(instance, "", "")
    _maintenance(pools, "False", "NoneScheduled")
    until(pools, "kept", lambda: _mounted(pools), "engines mount the tier")


def _saying(pools: Pools, text: str) -> bool:
    return text in pools.condition("kept", "MaintenanceScheduled").get("message", "")
