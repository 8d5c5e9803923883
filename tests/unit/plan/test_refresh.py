"""When facts that nobody watches are read again."""

from kvtier.plan.refresh import refresh_after
from unit.builders import checks, pool
from unit.tables import table

NAMED = {"cluster": {"project": "p1", "location": "us-central1", "name": "c1"}}


@table(
    "changes, statuses, wanted",
    {
        "a pool that asks nobody waits for events": ({}, {}, None),
        "a missing Secret is looked for soon": ({}, {"CredentialsPresent": "False"}, 10.0),
        "a missing Secret comes before the GKE API": (NAMED, {"CredentialsPresent": "False"}, 10.0),
        "the GKE API is asked every few minutes": (NAMED, {}, 300.0),
        "it is asked sooner while it has no answer": (NAMED, {"NetworkMatched": "Unknown"}, 60.0),
        "it is asked sooner while the answer is no": (NAMED, {"NetworkMatched": "False"}, 60.0),
        "a Secret that cannot be read is not waited for": ({}, {"CredentialsPresent": "Unknown"}, None),
    },
)
def test_refresh(changes: dict[str, object], statuses: dict[str, str], wanted: float | None) -> None:
    assert refresh_after(pool(**changes), checks(**statuses)) == wanted
