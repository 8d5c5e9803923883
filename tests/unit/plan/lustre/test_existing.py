"""An existing instance: told by the Lustre API, given by hand, or neither."""

from typing import Any

import pytest

from kvtier.facts.model import Facts, LustreFacts
from kvtier.pace import DEFAULT
from kvtier.plan.lustre.existing import existing
from kvtier.plan.lustre.instance import InstanceView
from unit.builders import context, pool
from unit.instances import NAME, UNSEEN, by_hand, instance
from unit.instances import existing as told_of
from unit.tables import table

GIB = 1 << 30


def _existing(changes: dict[str, Any], facts: LustreFacts | None) -> InstanceView:
    look = context(pool(**changes), facts=Facts(lustre=facts))
    assert look.lustre.spec is not None
    return existing(look.lustre.spec, look.lustre, DEFAULT)


def test_the_lustre_api_tells_where_it_is_and_how_big() -> None:
    found = _existing(told_of(), instance(27_000)).source
    assert found is not None
    assert (found.instance, found.address, found.filesystem) == (NAME, "10.0.0.4", "given")
    assert found.capacity == 27_000 * GIB
    assert (found.handle, found.zone) == ("my-project/us-central1-a/shared", "us-central1-a")


@pytest.mark.parametrize("facts", [None, UNSEEN])
def test_what_is_given_by_hand_needs_no_api(facts: LustreFacts | None) -> None:
    known = _existing(by_hand(), facts)
    assert known.problem is None
    assert known.source is not None
    assert (known.source.address, known.source.filesystem) == ("10.0.0.4", "given")
    assert known.source.capacity == 18_000 * GIB


def test_what_is_given_by_hand_grows_with_the_instance_where_the_api_tells() -> None:
    source = _existing(by_hand(), instance(27_000)).source
    assert source is not None
    assert source.capacity == 27_000 * GIB


@pytest.mark.parametrize("facts", [None, UNSEEN])
def test_neither_is_told_with_both_ways_out(facts: LustreFacts | None) -> None:
    known = _existing(told_of(), facts)
    assert known.source is None
    assert known.problem is not None
    assert (known.problem.condition.status, known.problem.condition.reason) == ("False", "InstanceUnknown")
    assert "roles/lustre.viewer" in known.problem.condition.message
    assert "address, filesystem and capacity" in known.problem.condition.message


@table(
    "changes, has, words",
    {
        "address": ({}, {"address": "10.9.9.9"}, "address is 10.9.9.9, not 10.0.0.4"),
        "filesystem": ({}, {"filesystem": "other"}, "filesystem is other, not given"),
        "capacity": ({}, {"gib": 9_000}, "capacity is 9000Gi, not 18000Gi"),
    },
)
def test_nothing_is_built_on_what_the_api_contradicts(
    changes: dict[str, Any], has: dict[str, Any], words: str
) -> None:
    known = _existing(by_hand(**changes), instance(**has))
    assert known.source is None
    assert known.problem is not None
    assert known.problem.condition.reason == "InstanceContradicted"
    assert words in known.problem.condition.message


@pytest.mark.parametrize("changes", [told_of(), by_hand()])
def test_an_instance_that_the_api_does_not_know_is_not_built_on(changes: dict[str, Any]) -> None:
    known = _existing(changes, LustreFacts())
    assert known.source is None
    assert known.problem is not None
    assert known.problem.condition.reason == "InstanceNotFound"


def test_an_instance_that_is_not_well_is_told_of_and_still_known() -> None:
    known = _existing(told_of(), instance(state="STOPPED"))
    assert known.source is not None
    assert known.problem is not None
    assert known.problem.condition.reason == "InstanceStopped"


def test_an_instance_without_an_address_is_waited_for() -> None:
    known = _existing(told_of(), instance(address=""))
    assert known.source is None
    assert known.problem is not None
    assert known.problem.condition.reason == "Provisioning"


def test_the_api_is_asked_again_sooner_while_something_moves() -> None:
    settled, moving = (
        _existing(told_of(), instance(state=state)).part.again for state in ("ACTIVE", "UPGRADING")
    )
    assert settled is not None
    assert moving is not None
    assert moving < settled
