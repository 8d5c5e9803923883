"""Maintenance of the instance, as the Lustre API reports it, and when engines leave the Lustre tier."""

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
    """Wait until engines bypass the tier. kvtier may write the status before the Deployment."""
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


def test_maintenance_is_reported_and_with_ride_engines_stay(
    pools: Pools, lustre_project: LustreProject, instance: str
) -> None:
    _create(pools, instance, "Ride")
    _maintenance(pools, "False", "NoneScheduled")
    generation = _generation(pools)
    lustre_project.schedule_maintenance(instance, _in(10), _in(70))
    found = _maintenance(pools, "True", "Scheduled")
    assert "Reads and writes hang for 2 to 25 minutes, and then continue automatically." in found["message"]
    lustre_project.set_state(instance, "UPGRADING")
    _maintenance(pools, "True", "InProgress")
    assert (_mounted(pools), _generation(pools)) == (True, generation)
    lustre_project.set_state(instance, "")
    lustre_project.schedule_maintenance(instance, "", "")
    _maintenance(pools, "False", "NoneScheduled")
    assert len(pools.events("kept", "MaintenanceScheduled")) == 1


def test_with_bypass_engines_leave_before_the_window_and_return_once(
    pools: Pools, lustre_project: LustreProject, instance: str
) -> None:
    _create(pools, instance, "Bypass")
    generation = _generation(pools)
    lustre_project.schedule_maintenance(instance, _in(120), _in(180))
    found = _maintenance(pools, "True", "Scheduled")
    assert "Engines run without the Lustre tier from " in found["message"]
    assert found["message"].endswith(" until the maintenance is over.")
    assert _mounted(pools)
    lustre_project.schedule_maintenance(instance, _in(10), _in(70))
    _bypassed(pools)
    pools.wait("kept", "Ready", "True", "WithoutSharedTier")
    lustre_project.set_state(instance, "UPGRADING")
    lustre_project.schedule_maintenance(instance, "", "")
    until(pools, "kept", lambda: _reports(pools, "It is UPGRADING."), "the state is reported")
    assert not _mounted(pools)
    lustre_project.set_state(instance, "")
    _maintenance(pools, "False", "NoneScheduled")
    until(pools, "kept", lambda: _mounted(pools), "engines mount the tier again")
    pools.wait("kept", "Ready", "True", "AllReady")
    assert _generation(pools) == generation + 2
    for reason in ("TierBypassed", "TierResumed"):
        assert len(pools.events("kept", reason)) == 1


def test_an_outage_of_the_api_causes_no_rollout(
    pools: Pools, lustre_project: LustreProject, instance: str
) -> None:
    _create(pools, instance, "Bypass")
    lustre_project.schedule_maintenance(instance, _in(10), _in(70))
    _bypassed(pools)
    generation = _generation(pools)
    lustre_project.fail(refusal("PERMISSION_DENIED"), "get", times=-1)
    until(pools, "kept", lambda: _reports(pools, "is unknown. "), "the outage is reported")
    assert (_mounted(pools), _generation(pools)) == (False, generation)
    lustre_project.heal()
    lustre_project.schedule_maintenance(instance, "", "")
    _maintenance(pools, "False", "NoneScheduled")
    until(pools, "kept", lambda: _mounted(pools), "engines mount the tier")


def _reports(pools: Pools, text: str) -> bool:
    return text in pools.condition("kept", "MaintenanceScheduled").get("message", "")
