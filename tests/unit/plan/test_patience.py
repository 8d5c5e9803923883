"""How long a teardown is tried for."""

from dataclasses import replace
from typing import Any

from kvtier.api.v1alpha1 import OperationStatus
from kvtier.facts.model import Event, Observed
from kvtier.plan.plan import plan
from unit.builders import deleted, facts, live, manifest, observed, pool
from unit.instances import api, instance
from unit.tables import table

NEVER = observed(live(manifest(pool(), "ComputeClass")))
CREATING = replace(NEVER, facts=replace(facts(), lustre=instance(state="CREATING")))


def _operation(kind: str, progress: str, **fields: Any) -> OperationStatus:
    known = {"kind": kind, "subject": "s", "state": "Running", "request_id": "r", "start_time": progress}
    return OperationStatus(**{**known, "progress_time": progress, **fields})


def _heard(last: str) -> Observed:
    news = Event("PersistentVolumeClaim", "claim", "ProvisioningFailed", "CREATING", last=last)
    return replace(NEVER, claim_events=(news,))


@table(
    "operations, seen, now, over_",
    {
        "half an hour is waited": ([], NEVER, "12:30:00", False),
        "and no more": ([], NEVER, "12:30:01", True),
        "from the last progress of an export": (
            [_operation("Export", "2026-11-29T14:00:00Z")],
            NEVER,
            "14:30:00",
            False,
        ),
        "from when an instance came to be": (
            [_operation("Create", "2026-11-29T12:50:00Z", state="Succeeded")],
            NEVER,
            "13:20:00",
            False,
        ),
        "a deletion that is tried again is no progress": (
            [_operation("Delete", "2026-11-29T12:30:00Z", state="Failed")],
            NEVER,
            "12:31:00",
            True,
        ),
        "an instance that is being made is": ([], CREATING, "14:29:00", False),
        "but not for ever": ([], CREATING, "14:30:01", True),
        "so is what the driver says of it": ([], _heard("2026-11-29T13:00:00Z"), "13:29:00", False),
        "as long as it says something": ([], _heard("2026-11-29T13:00:00Z"), "13:31:00", True),
    },
)
def test_patience(operations: list[OperationStatus], seen: Observed, now: str, over_: bool) -> None:
    began = {"type": "Deleting", "status": "True", "reason": "TeardownStarted"}
    status = {"conditions": [began | {"lastTransitionTime": "2026-11-29T12:00:00Z"}]}
    of = deleted(status=status, **api())
    of = of.model_copy(update={"status": of.status.model_copy(update={"operations": operations})})
    assert plan(of, seen, f"2026-11-29T{now}Z").finalizer is not over_


def test_a_teardown_that_has_not_begun_is_not_over() -> None:
    assert plan(deleted(), NEVER, "2030-01-01T00:00:00Z").finalizer
