"""What the state of an instance means."""

import pytest

from kvtier.plan.lustre.instance import verdict
from unit.builders import pool
from unit.instances import api
from unit.plan.lustre.tiers import made
from unit.tables import table

POOL = pool(**api())


@pytest.mark.parametrize("state", ["ACTIVE", "UPDATING"])
def test_an_instance_that_works_needs_no_word(state: str) -> None:
    assert verdict(made(POOL, state=state)) is None


@table(
    "state, status, reason, words",
    {
        "one that is made": ("CREATING", "False", "Provisioning", "an hour"),
        "one under maintenance": ("UPGRADING", "False", "InstanceUpgrading", "go on by themselves"),
        "one that is repaired": ("REPAIRING", "False", "InstanceRepairing", "ask Google's support"),
        "one that is stopped": ("STOPPED", "False", "InstanceStopped", "Cloud Console"),
        "one whose key is gone": ("SUSPENDED", "False", "InstanceSuspended", "enable the key"),
        "one that goes": ("DELETING", "False", "InstanceDeleting", "delete the pool's claim"),
        "a state that is newer than kvtier holds up nothing": (
            "9",
            "Unknown",
            "InstanceStateUnknown",
            "state 9",
        ),
    },
)
def test_verdict(state: str, status: str, reason: str, words: str) -> None:
    found = verdict(made(POOL, state=state))
    assert found is not None
    assert (found.type, found.status, found.reason) == ("StorageReady", status, reason)
    assert words in found.message


def test_the_reason_that_google_gives_is_told() -> None:
    found = verdict(made(POOL, state="SUSPENDED", reason="key version destroyed"))
    assert found is not None
    assert "(key version destroyed)" in found.message
