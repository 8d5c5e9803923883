"""An existing instance: described by the Lustre API, by hand, or by neither."""

from dataclasses import replace
from typing import Any

from kvtier.api.conditions import Condition
from kvtier.facts.model import LustreFacts
from kvtier.pace import DEFAULT
from kvtier.plan.lustre.existing import existing
from kvtier.plan.lustre.instance import InstanceView
from unit.builders import context, facts, pool
from unit.instances import NAME, UNSEEN, by_hand, instance
from unit.instances import existing as named
from unit.tables import table

GIB = 1 << 30


def _view(changes: dict[str, Any], api: LustreFacts | None) -> InstanceView:
    look = context(pool(**changes), facts=replace(facts(), lustre=api))
    assert look.lustre.spec is not None
    return existing(look.lustre.spec, look.lustre, DEFAULT)


def _problem(view: InstanceView) -> Condition:
    assert view.problem is not None
    return view.problem.condition


def test_the_lustre_api_says_where_it_is_and_how_big() -> None:
    found = _view(named(), instance(27_000)).source
    assert found is not None
    assert (found.instance, found.address, found.filesystem) == (NAME, "10.0.0.4", "given")
    assert (found.capacity, found.handle, found.zone) == (
        27_000 * GIB,
        "my-project/us-central1-a/shared",
        "us-central1-a",
    )


@table(
    "api, gib",
    {
        "needs no API": (None, 18_000),
        "needs none that answers": (UNSEEN, 18_000),
        "grows with the instance where the API says so": (instance(27_000), 27_000),
    },
)
def test_what_is_given_by_hand(api: LustreFacts | None, gib: int) -> None:
    view = _view(by_hand(), api)
    assert (view.problem, view.part.again) == (None, DEFAULT.settled)
    assert view.source is not None
    assert (view.source.address, view.source.filesystem) == ("10.0.0.4", "given")
    assert view.source.capacity == gib * GIB


@table("api", {"the API was not asked": None, "the API does not answer": UNSEEN})
def test_neither_is_reported_with_both_ways_out(api: LustreFacts | None) -> None:
    view = _view(named(), api)
    found = _problem(view)
    assert (view.source, found.status, found.reason) == (None, "False", "InstanceUnknown")
    for words in ("roles/lustre.viewer", "address, filesystem and capacity"):
        assert words in found.message


CONTRADICTED, NOT_FOUND = "InstanceContradicted", ("InstanceNotFound", "correct lustre.instance")


@table(
    "changes, api, reason, words",
    {
        "another address": (
            by_hand(),
            instance(address="10.9.9.9"),
            CONTRADICTED,
            "10.9.9.9, not 10.0.0.4",
        ),
        "another file system": (by_hand(), instance(filesystem="other"), CONTRADICTED, "other, not given"),
        "less capacity": (by_hand(), instance(9_000), CONTRADICTED, "9000Gi, not 18000Gi"),
        "what the API does not know": (named(), LustreFacts(), *NOT_FOUND),
        "what it does not know, though it was given by hand": (by_hand(), LustreFacts(), *NOT_FOUND),
        "an instance without an address": (named(), instance(address=""), "Provisioning", "no address yet"),
    },
)
def test_nothing_is_built_on(changes: dict[str, Any], api: LustreFacts, reason: str, words: str) -> None:
    view = _view(changes, api)
    found = _problem(view)
    assert (view.source, found.status, found.reason) == (None, "False", reason)
    assert words in found.message


def test_an_instance_that_cannot_be_used_is_reported_and_still_known() -> None:
    view = _view(named(), instance(state="STOPPED"))
    assert view.source is not None
    assert _problem(view).reason == "InstanceStopped"


def test_the_api_is_asked_again_sooner_while_something_moves() -> None:
    waits = [_view(named(), instance(state=state)).part.again for state in ("ACTIVE", "UPGRADING")]
    assert waits == [DEFAULT.settled, DEFAULT.moving]
