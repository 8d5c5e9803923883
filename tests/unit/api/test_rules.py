"""What is refused offline, and with which message. tests/integration/test_rules.py tests the API server."""

from typing import Any

from pydantic import BaseModel

from kvtier.api.rules import ApiModel, Rule
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.cli.common import LoadError, load
from kvtier.cli.yaml_text import dumped
from unit.api.examples import ACCEPTED, REFUSED, Changes, Refused, written
from unit.tables import table


def _problems(changes: Changes) -> list[str]:
    """What `kvtier render` would print, one line per problem."""
    try:
        load(dumped([written(changes, "default")]), "default")
    except LoadError as error:
        return str(error).splitlines()
    return []


@table("example", REFUSED)
def test_is_refused_offline(example: Refused) -> None:
    problems = _problems(example.changes)
    assert [one for one in problems if example.offline in one], problems


@table("changes", ACCEPTED)
def test_is_accepted_offline(changes: Changes) -> None:
    assert _problems(changes) == []


def test_all_missing_fields_are_reported_together() -> None:
    (problem,) = _problems({"tiers": {"lustre": {"capacity": None, "zone": None}}})
    assert "capacity is required with provisioner CSI or API; zone is required" in problem


def _offline_rules(of: type[BaseModel], seen: set[type[BaseModel]]) -> list[Rule]:
    """All rules with a Python predicate, of a model and of the models in its fields."""
    if of in seen:
        return []
    seen.add(of)
    nested = [inner for field in of.model_fields.values() for inner in _models(field.annotation)]
    own = [rule for rule in getattr(of, "rules", ()) if rule.holds is not None]
    return own + [rule for inner in nested for rule in _offline_rules(inner, seen)]


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, ApiModel):
        return [annotation]
    return [found for part in getattr(annotation, "__args__", ()) for found in _models(part)]


def test_every_rule_has_an_example() -> None:
    rules = _offline_rules(KVCachePool, set())
    assert len(rules) > 30
    shown = tuple(example.words for example in REFUSED.values() if len(example.words) > 20)
    assert [rule.message for rule in rules if not rule.message.startswith(shown)] == []
