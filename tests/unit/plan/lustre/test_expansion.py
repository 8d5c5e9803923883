"""How the growth of a bound claim is told: whatever becomes of it, StorageReady stays True."""

from dataclasses import replace
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Event
from kvtier.plan.lustre.storage import plan_storage
from kvtier.plan.model import Part
from unit.builders import NOW, checks, claim, pool, requesting
from unit.plan.lustre.hearing import ago, hearing, said
from unit.tables import table
from unit.verdicts import assert_verdict

POOL = pool()
LARGER = pool(tiers={"lustre": {"capacity": "27000Gi"}})
ASKED = requesting("27000Gi")


def _marked(message: str, since: str = NOW, **status: Any) -> Any:
    """A claim of which the external-resizer says why it does not grow."""
    conditions = [
        {"type": "Resizing", "status": "True", "lastTransitionTime": NOW},
        {
            "type": "ControllerResizeError",
            "status": "True",
            "message": message,
            "lastTransitionTime": since,
        },
    ]
    return claim(POOL, spec=ASKED, status={"conditions": conditions, **status})


def _error(code: str, words: str) -> str:
    return f'resize volume "pvc-1" by resizer "lustre" failed: rpc error: code = {code} desc = {words}'


def _failed(code: str, words: str, **changes: Any) -> Event:
    return said("VolumeResizeFailed", _error(code, words), type="Warning", **changes)


GROWING = claim(POOL, spec=ASKED)
RESIZING = claim(POOL, spec=ASKED, status={"conditions": [{"type": "Resizing", "status": "True"}]})
INVALID = _marked(
    _error("InvalidArgument", "capacity is invalid"),
    allocatedResourceStatuses={"storage": "ControllerResizeInfeasible"},
)
WAITS = said("ExternalExpanding", "waiting for an external controller", first=ago(3))


@table(
    "of, found, news, reason, words",
    {
        "a claim that has what is wanted": (POOL, claim(POOL), [], "Bound", "is bound to 18000Gi"),
        "a growth that is under way": (LARGER, RESIZING, [], "Resizing", "which may take 90 minutes"),
        "a growth that takes longer than the driver waits": (
            LARGER,
            RESIZING,
            [_failed("DeadlineExceeded", "Expansion for volume is already in progress")],
            "Resizing",
            "which may take 90 minutes",
        ),
        "a growth that the driver refuses": (
            LARGER,
            INVALID,
            [],
            "ResizeFailed",
            "does not grow to 27000Gi: the driver answers InvalidArgument: capacity is invalid; correct the field",
        ),
        "a growth that the quota does not allow, which leaves no mark on the claim": (
            LARGER,
            RESIZING,
            [_failed("ResourceExhausted", "Quota exceeded")],
            "ResizeFailed",
            "ask for more Managed Lustre quota",
        ),
        "the way back is told": (
            LARGER,
            INVALID,
            [],
            "ResizeFailed",
            "Pods go on with 18000Gi; to give the growth up, set capacity to 18000Gi, or to another size above",
        ),
        "another size that does not reach the driver, because it is still asked for the first": (
            LARGER,
            claim(POOL, spec=ASKED, status={"allocatedResources": {"storage": "36000Gi"}}),
            [_failed("ResourceExhausted", "Quota exceeded")],
            "ResizeFailed",
            "The driver is still asked for 36000Gi; to have it asked for 27000Gi: kubectl -n team-a patch pvc",
        ),
        "an instance that is busy with that very growth": (
            LARGER,
            _marked(_error("FailedPrecondition", "Instance pvc-1 is in UPDATING state")),
            [],
            "Resizing",
            "grows to 27000Gi",
        ),
        "an instance that has to be something else first": (
            LARGER,
            _marked(_error("FailedPrecondition", "Instance pvc-1 is in STOPPED state")),
            [],
            "ResizeFailed",
            "is in STOPPED state",
        ),
        "progress after a failure": (
            LARGER,
            _marked(_error("Internal", "x"), since=ago(5)),
            [_failed("DeadlineExceeded", "x", last=ago(1))],
            "Resizing",
            "grows to 27000Gi",
        ),
        "a failure after progress": (
            LARGER,
            _marked(_error("Internal", "x"), since=ago(1)),
            [_failed("DeadlineExceeded", "x", last=ago(5))],
            "ResizeFailed",
            "the driver answers Internal: x",
        ),
        "a refusal of an earlier size, of which the claim is free again": (
            LARGER,
            RESIZING,
            [_failed("InvalidArgument", "x")],
            "Resizing",
            "grows to 27000Gi",
        ),
        "a refusal of a size that is not asked for any more": (
            pool(tiers={"lustre": {"capacity": "36000Gi"}}),
            INVALID,
            [],
            "Resizing",
            "grows to 36000Gi",
        ),
        "a refusal of an earlier size that the claim is not free of yet": (
            LARGER,
            _marked(_error("Internal", "x"), allocatedResources={"storage": "36000Gi"}),
            [_failed("Internal", "x")],
            "Resizing",
            "grows to 27000Gi",
        ),
        "a mark that says nothing": (
            LARGER,
            claim(
                POOL,
                spec=ASKED,
                status={"conditions": [{"type": "ControllerResizeError", "status": "True"}]},
            ),
            [],
            "ResizeFailed",
            "the driver answers an error",
        ),
        "a resizer that does nothing": (LARGER, GROWING, [WAITS], "Resizing", "has not picked it up"),
        "though not at once": (LARGER, GROWING, [replace(WAITS, first=ago(1))], "Resizing", "90 minutes"),
        "one that has begun has not": (LARGER, RESIZING, [WAITS], "Resizing", "90 minutes"),
        "a growth that was given up": (POOL, INVALID, [], "GrowthAbandoned", "it still asks for 27000Gi"),
        "a shrink is none": (
            pool(tiers={"lustre": {"capacity": "9000Gi"}}),
            claim(POOL),
            [],
            "Bound",
            "is bound to 18000Gi",
        ),
    },
)
def test_growth(of: KVCachePool, found: Any, news: list[Event], reason: str, words: str) -> None:
    (condition,) = _plan(of, found, *news).conditions
    assert_verdict(condition, "StorageReady", "True", reason, words)


def _plan(of: KVCachePool, found: Any, *news: Event) -> Part:
    return plan_storage(of, hearing(POOL, found, *news), checks(), NOW)


def test_a_growth_is_looked_at_again_and_a_claim_that_has_its_size_is_not() -> None:
    assert _plan(LARGER, RESIZING).again == 60
    assert _plan(POOL, claim(POOL)).again is None


def test_another_size_replaces_the_one_that_failed() -> None:
    part = _plan(pool(tiers={"lustre": {"capacity": "36000Gi"}}), INVALID)
    assert part.applies[1]["spec"]["resources"]["requests"]["storage"] == "36000Gi"
