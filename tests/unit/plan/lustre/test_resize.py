"""The growth of a bound claim: whatever becomes of it, StorageReady stays True."""

from typing import Any

from kvtier.facts.model import Event
from unit.builders import claim, requesting
from unit.plan.lustre.claims import POOL, ago, event, look, of_size, planned, request
from unit.tables import table
from unit.verdicts import assert_verdict

LARGER, LARGEST = of_size("27000Gi"), of_size("36000Gi")


def _growing(**status: Any) -> Any:
    """A claim of 18000Gi that asks for 27000Gi."""
    return claim(POOL, spec=requesting("27000Gi"), status=status)


def _allocated(size: str) -> dict[str, Any]:
    """The driver was asked for another size before."""
    return {"allocatedResources": {"storage": size}}


def _error(code: str, words: str) -> str:
    return f'resize volume "pvc-1" by resizer "lustre" failed: rpc error: code = {code} desc = {words}'


def _failed(code: str, words: str = "x", **changes: Any) -> Event:
    return event("VolumeResizeFailed", _error(code, words), type="Warning", **changes)


def _marked(code: str, words: str = "x", minutes: float = 0, **status: Any) -> Any:
    """A claim of which the external-resizer says why it does not grow."""
    error = {"message": _error(code, words), "lastTransitionTime": ago(minutes)}
    conditions = [
        {"type": "Resizing", "status": "True", "lastTransitionTime": ago(0)},
        {"type": "ControllerResizeError", "status": "True", **error},
    ]
    return _growing(conditions=conditions, **status)


RESIZING = _growing(conditions=[{"type": "Resizing", "status": "True"}])
BEGUN = _growing(allocatedResourceStatuses={"storage": "ControllerResizeInProgress"})
WAITS = event("ExternalExpanding", "waiting for an external controller", first=ago(3))
QUOTA = _failed("ResourceExhausted", "Quota exceeded")
INVALID = _marked(
    "InvalidArgument",
    "capacity is invalid",
    allocatedResourceStatuses={"storage": "ControllerResizeInfeasible"},
)
SILENT = {"conditions": [{"type": "ControllerResizeError", "status": "True"}]}


@table(
    "found, events",
    {
        "has begun": (RESIZING, [WAITS]),
        "has begun, as the claim's status says": (BEGUN, [WAITS]),
        "has begun, as an Event says": (_growing(), [event("Resizing"), WAITS]),
        "takes longer than the driver waits": (
            RESIZING,
            [_failed("DeadlineExceeded", "already in progress")],
        ),
        "goes on after a failure": (
            _marked("Internal", minutes=5),
            [_failed("DeadlineExceeded", last=ago(1))],
        ),
        "keeps the instance busy": (_marked("FailedPrecondition", "Instance a is in UPDATING state"), []),
        "was refused for an earlier size, of which the claim is free again": (
            RESIZING,
            [_failed("InvalidArgument")],
        ),
        "was refused for an earlier size that the claim is not free of yet": (
            _marked("Internal", **_allocated("36000Gi")),
            [_failed("Internal")],
        ),
        "was not picked up at once": (_growing(), [event("ExternalExpanding", first=ago(1))]),
    },
)
def test_is_under_way_if_it(found: Any, events: list[Event]) -> None:
    (condition,) = planned(look(LARGER, found, *events)).conditions
    words = "is bound to 18000Gi and grows to 27000Gi, which may take 90 minutes; Pods go on"
    assert_verdict(condition, "StorageReady", "True", "Resizing", words)


def test_a_growth_that_nobody_picks_up_is_reported() -> None:
    (condition,) = planned(look(LARGER, _growing(), WAITS)).conditions
    words = "the Lustre CSI driver has not picked it up"
    assert_verdict(condition, "StorageReady", "True", "Resizing", words)


@table(
    "found, events, words",
    {
        "that the driver refuses": (
            INVALID,
            [],
            "does not grow to 27000Gi: the driver answers InvalidArgument: capacity is invalid; Correct the field",
        ),
        "with the way back": (
            INVALID,
            [],
            "Pods go on with 18000Gi; to give the growth up, set capacity to 18000Gi, or to another size above",
        ),
        "that the quota does not allow, which leaves no mark on the claim": (
            RESIZING,
            [QUOTA],
            "Request more Managed Lustre quota",
        ),
        "of another size that does not reach the driver, because it is still asked for the first": (
            _growing(**_allocated("36000Gi")),
            [QUOTA],
            "The driver is still asked for 36000Gi; to have it asked for 27000Gi: kubectl -n team-a patch pvc",
        ),
        "of an instance that has to be something else first": (
            _marked("FailedPrecondition", "Instance pvc-1 is in STOPPED state"),
            [],
            "is in STOPPED state",
        ),
        "after progress": (
            _marked("Internal", minutes=1),
            [_failed("DeadlineExceeded", last=ago(5))],
            "the driver answers Internal: x",
        ),
        "with a mark that says nothing": (_growing(**SILENT), [], "the driver answers an error"),
    },
)
def test_a_failed_growth_is_reported(found: Any, events: list[Event], words: str) -> None:
    (condition,) = planned(look(LARGER, found, *events)).conditions
    assert_verdict(condition, "StorageReady", "True", "ResizeFailed", words)


def test_a_growth_that_was_given_up_has_not_failed() -> None:
    (condition,) = planned(look(POOL, INVALID)).conditions
    assert_verdict(condition, "StorageReady", "True", "GrowthAbandoned", "it still asks for 27000Gi")


def test_another_size_replaces_the_one_that_failed() -> None:
    part = planned(look(LARGEST, INVALID))
    assert request(part) == "36000Gi"
    assert_verdict(part.conditions[0], "StorageReady", "True", "Resizing", "grows to 36000Gi")


def test_a_growth_is_looked_at_again() -> None:
    assert planned(look(LARGER, RESIZING)).again == 60
