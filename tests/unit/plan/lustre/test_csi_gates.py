"""What keeps the shared tier from being written."""

from typing import Any

import pytest

from unit.builders import claim, live, observed, pool
from unit.plan.lustre.csi import CLASS, POOL, of_size, planned
from unit.tables import table

IMMUTABLE: dict[str, dict[str, Any]] = {
    "provisioner": {"provisioner": "other.example"},
    "parameters": {"parameters": {"perUnitStorageThroughput": "250"}},
    "reclaimPolicy": {"reclaimPolicy": "Delete"},
    "volumeBindingMode": {"volumeBindingMode": "WaitForFirstConsumer"},
}


@pytest.mark.parametrize("field", IMMUTABLE)
def test_a_class_that_differs_in_what_cannot_change_stops_every_write(field: str) -> None:
    part = planned(POOL, observed(live(CLASS, **IMMUTABLE[field]), claim(POOL)))
    assert part.applies == ()
    assert part.conditions[0].reason == "StorageClassImmutable"
    assert (
        f"differs in {field}, which Kubernetes does not let change: delete the class"
        in part.conditions[0].message
    )
    assert part.tiers[0].phase == "Failed"


def test_a_class_that_differs_in_what_can_change_is_written() -> None:
    part = planned(POOL, observed(live(CLASS, allowVolumeExpansion=None), claim(POOL)))
    assert [one["kind"] for one in part.applies] == ["StorageClass", "PersistentVolumeClaim"]


@table(
    "statuses, strict, message",
    {
        "a prerequisite that does not hold": (
            {"LustreDriverEnabled": "False"},
            False,
            "nothing is created while LustreDriverEnabled is False",
        ),
        "a prerequisite that a strict pool cannot see": (
            {"NetworkMatched": "Unknown"},
            True,
            "nothing is created while NetworkMatched is Unknown",
        ),
        "several are all named": (
            {"ZoneMatched": "False", "CapacityValid": "False"},
            False,
            "ZoneMatched is False, CapacityValid is False",
        ),
    },
)
def test_no_storage_is_made_with(statuses: dict[str, str], strict: bool, message: str) -> None:
    part = planned(pool(strict=strict), observed(), **statuses)
    assert part.applies == ()
    assert (part.conditions[0].status, part.conditions[0].reason) == ("False", "PrerequisitesNotMet")
    assert message in part.conditions[0].message
    assert part.tiers[0].phase == "Waiting"


@table(
    "statuses",
    {
        "what cannot be seen": {"NetworkMatched": "Unknown"},
        "the node image, which is the engines' matter": {"NodeImageSupported": "False"},
        "a missing token, which is the engines' matter": {"CredentialsPresent": "False"},
    },
)
def test_storage_is_made_in_spite_of(statuses: dict[str, str]) -> None:
    assert len(planned(POOL, observed(), **statuses).applies) == 2


def test_a_claim_that_exists_is_not_touched_while_a_prerequisite_does_not_hold_but_told_as_it_is() -> None:
    part = planned(of_size("9000Gi"), observed(CLASS, claim(POOL)), CapacityValid="False")
    assert part.applies == ()
    assert part.conditions[0].reason == "Bound"
    assert part.tiers[0].capacity == "18000Gi"
