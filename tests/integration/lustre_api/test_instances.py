"""Instances behave for Google's own client as in the real service."""

import uuid
from typing import Any

import pytest
from google.api_core.exceptions import NotFound, ResourceExhausted

from integration.lustre_api.calls import NAME, PARENT, ZONE, create, done, get, refused, update
from testbed.lustre import documents
from testbed.lustre.client import LustreProject, google_instance
from testbed.lustre.operations import HELD
from testbed.waiting import eventually


def test_a_created_instance_has_everything_that_a_mount_needs(client: Any, project: LustreProject) -> None:
    project.configure(create_seconds=HELD)
    operation = create(client, google_instance(labels={"team": "search"}, description="KV cache"))
    assert not operation.operation.done
    assert (operation.metadata.verb, operation.metadata.target) == ("create", NAME)
    creating = get(client)
    assert (creating.state.name, creating.mount_point) == ("CREATING", "")
    project.finish(operation.operation.name)
    assert done(operation) == get(client)
    made = get(client)
    assert (made.state.name, made.capacity_gib, made.per_unit_storage_throughput) == ("ACTIVE", 9000, 1000)
    assert made.mount_point.endswith("@tcp:/kvcache")
    assert (dict(made.labels), made.description) == ({"team": "search"}, "KV cache")
    assert made.uid
    assert made.effective_version == documents.VERSION
    assert made.create_time <= made.update_time


def test_a_request_never_returns_a_finished_operation(client: Any, project: LustreProject) -> None:
    operation = create(client)
    assert not operation.operation.done
    found = client.get_operation({"name": operation.operation.name})
    assert found.done
    assert project.instances()[NAME]["state"] == "ACTIVE"


def test_an_operation_takes_as_long_as_configured(client: Any, project: LustreProject) -> None:
    project.configure(create_seconds=0.5)
    operation = create(client)
    assert get(client).state.name == "CREATING"
    eventually(lambda: client.get_operation({"name": operation.operation.name}).done)


def test_a_repeated_request_returns_the_same_operation_before_and_after_its_end(
    client: Any, project: LustreProject
) -> None:
    project.configure(create_seconds=HELD)
    ids = [str(uuid.uuid4()) for _ in range(3)]
    first = create(client, request_id=ids[0])
    assert create(client, request_id=ids[0]).operation.name == first.operation.name
    project.finish(first.operation.name)
    again = create(client, request_id=ids[0])
    assert (again.operation.name, again.operation.done) == (first.operation.name, True)
    grown = update(client, capacity_gib=18000, request_id=ids[1])
    done(grown)
    done(update(client, capacity_gib=27000))
    assert update(client, capacity_gib=18000, request_id=ids[1]).operation.name == grown.operation.name
    assert get(client).capacity_gib == 27000
    deleted = client.delete_instance({"name": NAME, "request_id": ids[2]})
    done(deleted)
    assert (
        client.delete_instance({"name": NAME, "request_id": ids[2]}).operation.name == deleted.operation.name
    )
    assert create(client, request_id=ids[0]).operation.done
    assert project.instances() == {}


def test_a_request_id_that_is_not_a_uuid_or_is_already_used_is_refused(
    client: Any, project: LustreProject
) -> None:
    assert refused(lambda: create(client, request_id="one"))[:2] == (400, "INVALID_ARGUMENT")
    assert refused(lambda: create(client, request_id=str(uuid.UUID(int=0))))[0] == 400
    known = str(uuid.uuid4())
    done(create(client, request_id=known))
    assert "was used" in refused(lambda: update(client, description="x", request_id=known))[2]


def test_an_existing_instance_is_not_created_again(client: Any, project: LustreProject) -> None:
    done(create(client))
    assert refused(lambda: create(client))[:2] == (409, "ALREADY_EXISTS")


@pytest.mark.parametrize(
    ("wanted", "word"),
    [
        ({"filesystem": "too-long9"}, "filesystem"),
        ({"filesystem": ""}, "filesystem"),
        ({"network": "default"}, "network"),
        ({"network": "https://www.googleapis.com/compute/v1/projects/p/global/networks/n"}, "network"),
        ({"per_unit_storage_throughput": 300}, "per_unit_storage_throughput"),
        ({"per_unit_storage_throughput": 0}, "per_unit_storage_throughput"),
        ({"labels": {"Team": "x"}}, "label key"),
        ({"labels": {"team": "A"}}, "value of label team"),
        ({"dynamic_tier_options": {"mode": "DEFAULT_CACHE"}}, "Dynamic tier"),
        ({"kms_key": "projects/p/locations/europe-west4/keyRings/r/cryptoKeys/k"}, "region"),
        ({"placement_policy": "close-by"}, "placement_policy"),
        ({"target_version": "2.15"}, "target_version"),
        ({"maintenance_policy": {"weekly_maintenance_windows": [{}, {}]}}, "maintenance_policy"),
        ({"access_rules_options": {"default_squash_mode": "NO_SQUASH", "default_squash_uid": 9}}, "squash"),
    ],
)
def test_an_invalid_field_is_refused_by_name(
    client: Any, project: LustreProject, wanted: dict[str, Any], word: str
) -> None:
    status, code, message = refused(lambda: create(client, google_instance(**wanted)))
    assert (status, code) == (400, "INVALID_ARGUMENT")
    assert word in message


@pytest.mark.parametrize(
    ("throughput", "accepted", "refused_"),
    [
        (1000, [9_000, 1_530_000, 1_584_000, 10_008_000], [0, 9_216, 1_539_000, 10_080_000]),
        (500, [18_000, 3_060_000, 3_168_000, 20_016_000], [9_000, 3_078_000, 20_160_000]),
        (250, [36_000, 6_120_000, 6_336_000, 40_032_000], [18_000, 6_156_000, 40_320_000]),
        (125, [72_000, 12_240_000], [36_000, 12_312_000]),
        (0, [472_000, 84_016_000], [9_000, 500_000, 84_488_000]),
    ],
)
def test_each_tier_has_its_capacities(
    client: Any, project: LustreProject, throughput: int, accepted: list[int], refused_: list[int]
) -> None:
    tier: dict[str, Any] = {"per_unit_storage_throughput": throughput}
    if not throughput:
        tier |= {"dynamic_tier_options": {"mode": "DEFAULT_CACHE"}}
    for gib in refused_:
        assert "capacity_gib" in refused(lambda gib=gib: create(client, google_instance(gib, **tier)))[2]  # type: ignore[misc]
    for gib in accepted:
        assert (
            done(create(client, google_instance(gib, **tier), name=f"{PARENT}/instances/c{gib}")).capacity_gib
            == gib
        )


@pytest.mark.parametrize(
    "name", [f"{PARENT}/instances/Cache", "projects/p/locations/us-central1/instances/c"]
)
def test_an_instance_has_a_valid_id_and_is_in_a_zone(client: Any, project: LustreProject, name: str) -> None:
    assert refused(lambda: create(client, name=name))[:2] == (400, "INVALID_ARGUMENT")


def test_an_update_changes_the_fields_of_its_mask_in_either_spelling(
    client: Any, project: LustreProject
) -> None:
    done(create(client, google_instance(description="old", labels={"a": "b"})))
    project.configure(update_seconds=HELD)
    operation = update(client, "capacity_gib", capacity_gib=18000, description="not in the mask")
    assert (get(client).state.name, get(client).capacity_gib) == ("UPDATING", 9000)
    project.finish(operation.operation.name)
    changed = done(operation)
    assert (changed.state.name, changed.capacity_gib, changed.description) == ("ACTIVE", 18000, "old")
    assert changed.update_time > changed.create_time
    (call,) = project.calls("update")
    assert call.query["updateMask"] == "capacityGib"


def test_without_a_mask_the_fields_of_the_body_change(client: Any, project: LustreProject) -> None:
    done(create(client, google_instance(description="old")))
    wanted = google_instance(18000, name=NAME)
    assert done(client.update_instance({"instance": wanted})).capacity_gib == 18000
    assert get(client).description == "old"


@pytest.mark.parametrize(
    "change",
    [
        {"filesystem": "other"},
        {"network": "projects/p/global/networks/n"},
        {"per_unit_storage_throughput": 500},
        {"dynamic_tier_options": {"mode": "DEFAULT_CACHE"}},
        {"capacity_gib": 9000},
        {"capacity_gib": 18001},
        {"capacity_gib": 1_602_000},
    ],
)
def test_an_update_of_an_immutable_field_is_refused(
    client: Any, project: LustreProject, change: dict[str, Any]
) -> None:
    done(create(client, google_instance(18000)))
    assert refused(lambda: update(client, **change))[:2] == (400, "INVALID_ARGUMENT")


def test_an_instance_created_above_the_threshold_is_resized_in_large_steps(
    client: Any, project: LustreProject
) -> None:
    done(create(client, google_instance(1_584_000)))
    assert done(update(client, capacity_gib=1_656_000)).capacity_gib == 1_656_000


def test_an_upgrade_shows_its_state_and_then_its_version(client: Any, project: LustreProject) -> None:
    done(create(client))
    project.configure(update_seconds=HELD)
    operation = update(client, target_version="Lustre_20261201.02_p01")
    assert get(client).state.name == "UPGRADING"
    project.finish(operation.operation.name)
    assert done(operation).effective_version == "Lustre_20261201.02_p01"


def test_a_deleted_instance_is_deleting_and_then_not_found(client: Any, project: LustreProject) -> None:
    done(create(client))
    project.configure(delete_seconds=HELD)
    operation = client.delete_instance(name=NAME)
    assert get(client).state.name == "DELETING"
    project.finish(operation.operation.name)
    done(operation)
    with pytest.raises(NotFound, match=NAME):
        get(client)


def test_a_second_operation_at_the_same_time_is_aborted(client: Any, project: LustreProject) -> None:
    project.configure(create_seconds=HELD)
    running = create(client)
    for call in (lambda: update(client, description="x"), lambda: client.delete_instance(name=NAME)):
        status, code, message = refused(call)
        assert (status, code) == (409, "ABORTED")
        assert "unable to queue the operation" in message
    project.finish(running.operation.name)
    done(update(client, description="x"))


@pytest.mark.parametrize("state", ["UPGRADING", "REPAIRING", "STOPPED", "SUSPENDED"])
def test_a_state_that_a_test_sets_is_shown_and_refuses_changes(
    client: Any, project: LustreProject, state: str
) -> None:
    done(create(client))
    project.set_state("cache", state, "the KMS key is disabled")
    assert (get(client).state.name, get(client).state_reason) == (state, "the KMS key is disabled")
    assert refused(lambda: update(client, capacity_gib=18000))[:2] == (400, "FAILED_PRECONDITION")
    project.set_state("cache", "")
    assert (get(client).state.name, get(client).state_reason) == ("ACTIVE", "")
    done(update(client, capacity_gib=18000))


def test_maintenance_is_announced_and_cancelled(client: Any, project: LustreProject) -> None:
    project.put("cache")
    project.schedule_maintenance("cache", "2026-12-06T02:00:00Z", "2026-12-06T03:00:00Z")
    schedule = get(client).upcoming_maintenance_schedule
    assert (schedule.end_time - schedule.start_time).total_seconds() == 3600
    project.schedule_maintenance("cache", "", "")
    assert not get(client).upcoming_maintenance_schedule


def test_creation_and_resize_beyond_the_quota_are_refused_at_once(
    client: Any, project: LustreProject
) -> None:
    project.configure(quota_gib=18000)
    assert refused(lambda: create(client, google_instance(27000)))[:2] == (429, "RESOURCE_EXHAUSTED")
    done(create(client))
    assert refused(lambda: update(client, capacity_gib=27000))[:2] == (429, "RESOURCE_EXHAUSTED")
    done(update(client, capacity_gib=18000))


def test_in_a_stockout_the_operation_fails_and_leaves_no_instance(
    client: Any, project: LustreProject
) -> None:
    project.stockout(ZONE)
    operation = create(client)
    with pytest.raises(ResourceExhausted, match="us-central1-a does not have enough resources"):
        done(operation)
    found = client.get_operation({"name": operation.operation.name})
    assert (found.done, found.error.code) == (True, 8)
    with pytest.raises(NotFound):
        get(client)
    done(create(client, name=NAME.replace(ZONE, "us-central1-b")))
