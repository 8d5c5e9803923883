"""An existing instance: read from the Lustre API, described by hand, or neither."""

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


def test_address_and_size_come_from_the_lustre_api() -> None:
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
        "are used without the API": (None, 18_000),
        "are used if the API does not respond": (UNSEEN, 18_000),
        "give way to the size that the API reports": (instance(27_000), 27_000),
    },
)
def test_values_in_the_spec(api: LustreFacts | None, gib: int) -> None:
    view = _view(by_hand(), api)
    assert (view.problem, view.part.again) == (None, DEFAULT.settled)
    assert view.source is not None
    assert (view.source.address, view.source.filesystem) == ("10.0.0.4", "given")
    assert view.source.capacity == gib * GIB


@table("api", {"the API was not read": None, "the API does not respond": UNSEEN})
def test_an_unknown_instance_is_reported_with_both_remedies(api: LustreFacts | None) -> None:
    view = _view(named(), api)
    found = _problem(view)
    assert (view.source, found.status, found.reason) == (None, "False", "InstanceUnknown")
    for words in ("roles/lustre.viewer", "address, filesystem and capacity"):
        assert words in found.message


CONTRADICTED, NOT_FOUND = (
    "InstanceContradicted",
    ("InstanceNotFound", "the correct spec.tiers.lustre.instance"),
)


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
        "an instance that does not exist": (named(), LustreFacts(), *NOT_FOUND),
        "an instance that does not exist, with values in the spec": (by_hand(), LustreFacts(), *NOT_FOUND),
        "an instance without an address": (named(), instance(address=""), "Provisioning", "no address yet"),
    },
)
def test_no_source_for(changes: dict[str, Any], api: LustreFacts, reason: str, words: str) -> None:
    view = _view(changes, api)
    found = _problem(view)
    assert (view.source, found.status, found.reason) == (None, "False", reason)
    assert words in found.message


def test_an_unusable_instance_is_reported_and_keeps_its_source() -> None:
    view = _view(named(), instance(state="STOPPED"))
    assert view.source is not None
    assert _problem(view).reason == "InstanceStopped"


def test_the_api_is_read_more_often_while_the_state_changes() -> None:
    waits = [_view(named(), instance(state=state)).part.again for state in ("ACTIVE", "UPGRADING")]
    assert waits == [DEFAULT.settled, DEFAULT.moving]
