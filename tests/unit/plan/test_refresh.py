"""When facts that nobody watches are read again."""

from dataclasses import replace

from kvtier.api.v1alpha1 import OperationStatus, PoolStatus
from kvtier.facts.model import LustreFacts
from kvtier.plan.status import refresh_after
from unit.builders import NOW, checks, facts, pool, with_status
from unit.plan.lustre.story import INSTANCE
from unit.tables import table

NAMED = {"cluster": {"project": "p1", "location": "us-central1", "name": "c1"}}


@table(
    "changes, statuses, wanted",
    {
        "a pool that asks nobody waits for events": ({}, {}, None),
        "a missing Secret is looked for soon": ({}, {"CredentialsPresent": "False"}, 10.0),
        "a missing Secret comes before the GKE API": (NAMED, {"CredentialsPresent": "False"}, 10.0),
        "a missing ConfigMap is looked for soon": ({}, {"ModelConfigValid": "False"}, 10.0),
        "one that cannot be read is not waited for": ({}, {"ModelConfigValid": "Unknown"}, None),
        "the GKE API is asked every few minutes": (NAMED, {}, 300.0),
        "it is asked sooner while it has no answer": (NAMED, {"NetworkMatched": "Unknown"}, 60.0),
        "it is asked sooner while the answer is no": (NAMED, {"NetworkMatched": "False"}, 60.0),
        "a Secret that cannot be read is not waited for": ({}, {"CredentialsPresent": "Unknown"}, None),
    },
)
def test_refresh(changes: dict[str, object], statuses: dict[str, str], wanted: float | None) -> None:
    assert refresh_after(pool(**changes), checks(**statuses), facts()) == wanted


@table(
    "lustre, running, wanted",
    {
        "an instance that is well is looked at every few minutes": (LustreFacts(INSTANCE), False, 300.0),
        "one that moves is looked at sooner": (
            LustreFacts(replace(INSTANCE, state="UPGRADING")),
            False,
            60.0,
        ),
        "one that is not there yet is looked for": (LustreFacts(), False, 60.0),
        "an operation is followed": (LustreFacts(INSTANCE), True, 15.0),
        "an API that does not tell is asked again": (LustreFacts(None, "no answer"), False, 300.0),
        "an instance that nobody knows is not looked for": (None, True, None),
    },
)
def test_the_lustre_api_is_asked_about(
    lustre: LustreFacts | None, running: bool, wanted: float | None
) -> None:
    operation = OperationStatus(kind="Export", subject="x", state="Running", request_id="r", start_time=NOW)
    status = PoolStatus(operations=[operation] if running else [])
    assert refresh_after(with_status(pool(), status), checks(), replace(facts(), lustre=lustre)) == wanted


def test_a_pool_without_lustre_looks_for_no_instance() -> None:
    seen = replace(facts(), lustre=LustreFacts(INSTANCE))
    assert refresh_after(pool(tiers={"lustre": None}), checks(), seen) is None
