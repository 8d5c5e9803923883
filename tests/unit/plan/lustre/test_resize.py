"""The resize of a bound PVC: StorageReady stays True in every case."""

from typing import Any

from kvtier.facts.model import Event
from unit.builders import claim, requesting
from unit.plan.lustre.claims import POOL, ago, event, look, of_size, planned, request
from unit.tables import table
from unit.verdicts import assert_verdict

LARGER, LARGEST = of_size("27000Gi"), of_size("36000Gi")


def _growing(**status: Any) -> Any:
    """A PVC of 18000Gi that requests 27000Gi."""
    return claim(POOL, spec=requesting("27000Gi"), status=status)


def _allocated(size: str) -> dict[str, Any]:
    """The size that the driver was asked for earlier."""
    return {"allocatedResources": {"storage": size}}


def _error(code: str, words: str) -> str:
    return f'resize volume "pvc-1" by resizer "lustre" failed: rpc error: code = {code} desc = {words}'


def _failed(code: str, words: str = "x", **changes: Any) -> Event:
    return event("VolumeResizeFailed", _error(code, words), type="Warning", **changes)


def _marked(code: str, words: str = "x", minutes: float = 0, **status: Any) -> Any:
    """A PVC with an error of the external-resizer in its status."""
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
        "has started": (RESIZING, [WAITS]),
        "has started according to the status of the PVC": (BEGUN, [WAITS]),
        "has started according to an Event": (_growing(), [event("Resizing"), WAITS]),
        "takes longer than the timeout of the driver": (
            RESIZING,
            [_failed("DeadlineExceeded", "already in progress")],
        ),
        "continues after a failure": (
            _marked("Internal", minutes=5),
            [_failed("DeadlineExceeded", last=ago(1))],
        ),
        "keeps the instance busy": (_marked("FailedPrecondition", "Instance a is in UPDATING state"), []),
        "was refused for an earlier size that the PVC no longer requests": (
            RESIZING,
            [_failed("InvalidArgument")],
        ),
        "was refused for an earlier size that the driver still retries": (
            _marked("Internal", **_allocated("36000Gi")),
            [_failed("Internal")],
        ),
        "is not processed immediately": (_growing(), [event("ExternalExpanding", first=ago(1))]),
    },
)
def test_a_resize_is_in_progress_if_it(found: Any, events: list[Event]) -> None:
    (condition,) = planned(look(LARGER, found, *events)).conditions
    words = "is being resized from 18000Gi to 27000Gi, which may take 90 minutes. Pods keep using it."
    assert_verdict(condition, "StorageReady", "True", "Resizing", words)


def test_a_resize_that_the_driver_does_not_process_is_reported() -> None:
    (condition,) = planned(look(LARGER, _growing(), WAITS)).conditions
    words = "The Lustre CSI driver is not processing the resize"
    assert_verdict(condition, "StorageReady", "True", "Resizing", words)


@table(
    "found, events, words",
    {
        "refused by the driver": (
            INVALID,
            [],
            "could not be resized to 27000Gi, and Pods keep using 18000Gi. "
            "The driver reports InvalidArgument: capacity is invalid. Correct the field",
        ),
        "with the way to cancel it": (
            INVALID,
            [],
            "set spec.tiers.lustre.capacity to 18000Gi again, or to a larger valid size.",
        ),
        "above the quota, which leaves no error in the status of the PVC": (
            RESIZING,
            [QUOTA],
            "Request more Managed Lustre quota for this performance tier and region. To cancel",
        ),
        "to a new size while the external-resizer still retries the first size": (
            _growing(**_allocated("36000Gi")),
            [QUOTA],
            "The driver still retries 36000Gi, and has not started the new request of 27000Gi. "
            "To make it use the new request: kubectl -n team-a patch pvc",
        ),
        "because the instance is stopped": (
            _marked("FailedPrecondition", "Instance pvc-1 is in STOPPED state"),
            [],
            "is in STOPPED state. Check that the instance is ACTIVE. To cancel",
        ),
        "after earlier progress": (
            _marked("Internal", minutes=1),
            [_failed("DeadlineExceeded", last=ago(5))],
            "The driver reports Internal: x.",
        ),
        "with an error without text": (_growing(**SILENT), [], "The driver reports an error: no details."),
    },
)
def test_a_failed_resize_is_reported(found: Any, events: list[Event], words: str) -> None:
    (condition,) = planned(look(LARGER, found, *events)).conditions
    assert_verdict(condition, "StorageReady", "True", "ResizeFailed", words)


def test_a_cancelled_resize_is_not_a_failure() -> None:
    (condition,) = planned(look(POOL, INVALID)).conditions
    assert_verdict(condition, "StorageReady", "True", "GrowthAbandoned", "the PVC still requests 27000Gi")


def test_a_new_size_replaces_the_one_that_failed() -> None:
    part = planned(look(LARGEST, INVALID))
    assert request(part) == "36000Gi"
    assert_verdict(
        part.conditions[0], "StorageReady", "True", "Resizing", "is being resized from 18000Gi to 36000Gi"
    )


def test_a_resize_is_reconciled_again_after_a_minute() -> None:
    assert planned(look(LARGER, RESIZING)).again == 60
