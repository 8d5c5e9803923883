"""Ready and the phase, from everything else."""

from kvtier.api.conditions import Condition, false, true
from kvtier.api.reasons import Reason
from kvtier.plan.status import phase, ready
from unit.builders import checks
from unit.tables import table

Parts = dict[str, Condition]


def _parts(*changes: Condition) -> Parts:
    fine = {type_: true(type_, Reason.ASSUMED) for type_ in ("StorageReady", "NodePoolReady", "ModelsReady")}
    return fine | {condition.type: condition for condition in changes}


CREATING = false("StorageReady", Reason.CREATING, "the claim is being made")
PROVISIONING = false("StorageReady", Reason.PROVISIONING, "tens of minutes")
HELD = false("StorageReady", Reason.PREREQUISITES_NOT_MET, "nothing is created")
LOST = false("StorageReady", Reason.VOLUME_LOST, "restore it")
STARTING = false("ModelsReady", Reason.STARTING, "0/1")
WAITING = false("ModelsReady", Reason.WAITING, "engines are not started")
STUCK = false("ModelsReady", Reason.NOT_PROGRESSING, "exceeded quota")
NO_NODE = false("NodePoolReady", Reason.NO_MATCHING_NODE, "no node has it")


@table(
    "statuses, parts, strict, opportunistic, verdict",
    {
        "nothing is missing": ({}, _parts(), False, False, ("True", "AllReady", "")),
        "a prerequisite comes before what it keeps from being made": (
            {"ZoneMatched": "False"},
            _parts(HELD, WAITING),
            False,
            False,
            ("False", "ZoneMatchedReason", "ZoneMatched: why"),
        ),
        "the first of several prerequisites is named": (
            {"CapacityValid": "False", "GKEVersionSupported": "False"},
            _parts(HELD),
            False,
            False,
            ("False", "GKEVersionSupportedReason", ""),
        ),
        "a prerequisite that fails later is told though all runs": (
            {"CapacityValid": "False"},
            _parts(),
            False,
            False,
            ("False", "CapacityValidReason", ""),
        ),
        "what cannot be seen is not missed": (
            {"NetworkMatched": "Unknown"},
            _parts(),
            False,
            False,
            ("True", "A", ""),
        ),
        "a strict pool misses it": (
            {"NetworkMatched": "Unknown"},
            _parts(),
            True,
            False,
            ("False", "NetworkMatchedReason", ""),
        ),
        "storage comes before nodes and models": (
            {},
            _parts(STARTING, NO_NODE, PROVISIONING),
            False,
            False,
            ("False", "Provisioning", "StorageReady: tens of minutes"),
        ),
        "nodes come before models": (
            {},
            _parts(STARTING, NO_NODE),
            False,
            False,
            ("False", "NoMatchingNode", "NodePoolReady: no node has it"),
        ),
        "an Opportunistic pool is ready without its shared tier, and says so": (
            {},
            _parts(PROVISIONING),
            False,
            True,
            ("True", "WithoutSharedTier", "engines serve without the shared tier"),
        ),
        "even if a prerequisite of that tier fails": (
            {"LustreDriverEnabled": "False"},
            _parts(HELD),
            False,
            True,
            ("True", "WithoutSharedTier", ""),
        ),
        "an Opportunistic pool with its shared tier is ready like any other": (
            {},
            _parts(),
            False,
            True,
            ("True", "AllReady", ""),
        ),
        "an Opportunistic pool needs its models": (
            {},
            _parts(PROVISIONING, STARTING),
            False,
            True,
            ("False", "Starting", "ModelsReady: 0/1"),
        ),
    },
)
def test_ready(
    statuses: dict[str, str], parts: Parts, strict: bool, opportunistic: bool, verdict: tuple[str, str, str]
) -> None:
    condition = ready(checks(**statuses), parts, strict, opportunistic)
    assert (condition.type, condition.status) == ("Ready", verdict[0])
    assert condition.reason.startswith(verdict[1])
    assert verdict[2] in condition.message


def test_a_pool_without_storage_needs_none() -> None:
    parts = {type_: condition for type_, condition in _parts().items() if type_ != "StorageReady"}
    assert ready(checks(), parts, strict=False, opportunistic=True).reason == "AllReady"
    overall = ready(checks(), parts | {"ModelsReady": STARTING}, strict=False, opportunistic=False)
    assert phase(checks(), parts | {"ModelsReady": STARTING}, overall, False, False) == "Starting"


@table(
    "statuses, parts, strict, was_ready, expected",
    {
        "nothing is missing": ({}, _parts(), False, False, "Ready"),
        "the claim is being made": ({}, _parts(CREATING, WAITING), False, False, "Provisioning"),
        "the instance is being made": ({}, _parts(PROVISIONING, WAITING), False, False, "Provisioning"),
        "engines are starting": ({}, _parts(STARTING), False, False, "Starting"),
        "engines are starting again": ({}, _parts(STARTING), False, True, "Starting"),
        "a prerequisite does not hold": (
            {"ZoneMatched": "False"},
            _parts(HELD, WAITING),
            False,
            False,
            "Blocked",
        ),
        "a prerequisite of a pool that served does not hold": (
            {"ZoneMatched": "False"},
            _parts(),
            False,
            True,
            "Degraded",
        ),
        "a prerequisite of a strict pool cannot be seen": (
            {"NetworkMatched": "Unknown"},
            _parts(HELD, WAITING),
            True,
            False,
            "Blocked",
        ),
        "something is wrong that waiting does not mend": ({}, _parts(LOST), False, False, "Blocked"),
        "no node is there": ({}, _parts(NO_NODE, WAITING), False, False, "Blocked"),
        "engines do not get on": ({}, _parts(STUCK), False, False, "Blocked"),
        "engines of a pool that served do not get on": ({}, _parts(STUCK), False, True, "Degraded"),
    },
)
def test_phase(statuses: dict[str, str], parts: Parts, strict: bool, was_ready: bool, expected: str) -> None:
    found = checks(**statuses)
    overall = ready(found, parts, strict, opportunistic=False)
    assert phase(found, parts, overall, was_ready, strict) == expected
