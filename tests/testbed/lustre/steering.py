"""The server's side of ``lustre.client``: what a test can change in a project of the simulated Managed Lustre API."""

import base64
from dataclasses import asdict, dataclass, replace
from typing import Any

from testbed.google_api import Drop, Fault, Hold, Object, Reply, Rule, Rules
from testbed.lustre.documents import CODES, STATES
from testbed.lustre.operations import VERBS
from testbed.lustre.project import Project
from testbed.lustre.routes import KINDS, Call

ACTIONS = frozenset(
    [
        "advance",
        "configure",
        "fail",
        "finish",
        "heal",
        "hits",
        "mkdir",
        "plan",
        "put",
        "release",
        "remove",
        "reset",
        "show",
        "state",
    ]
)


@dataclass(eq=False)
class _Given:
    """A fault as requested, and how many calls have failed with it."""

    rule: Rule
    carried_out: bool
    hits: int = 0


class SteeredProject:
    """A project with its faults and the calls so far. The methods named in ``ACTIONS`` take JSON values."""

    def __init__(self, name: str) -> None:
        self.project = Project(name)
        self._rules = Rules()
        self._given: list[_Given] = []
        self._calls: list[Call] = []

    def act(self, action: str, values: Object) -> Any:
        """Run an action for a test. Raises ValueError, KeyError, TypeError or a refusal if it is invalid."""
        if action not in ACTIONS:
            raise ValueError(f"no such action: {action}")
        return getattr(self, action)(**values)

    def take(self, call: Call) -> tuple[Fault | None, bool]:
        """Record a call. Return its fault, and whether it takes effect at once."""
        if call.name in self.project.operations:
            call = replace(call, instance=self.project.operations[call.name].target.rpartition("/")[2])
        self._calls.append(call)
        rule = self._rules.take(call)
        given = next((one for one in self._given if one.rule is rule), None)
        if given is None:
            return None, True
        given.hits += 1
        return given.rule.fault, given.carried_out

    def configure(self, values: Object, instance: str) -> None:
        self.project.settings.change(values, instance)

    def plan(self, verb: str, code: str, **plan: Any) -> None:
        if verb not in VERBS:
            raise ValueError(f"no such verb: {verb}")
        self.project.plans.add(plan | {"verb": verb, "code": CODES[code]})

    def fail(self, fault: Object, on: list[str], times: int, instance: str, carried_out: bool) -> int:
        """Add a fault, and return the number by which it can be read and removed."""
        if unknown := set(on).difference(KINDS):
            raise ValueError(f"no such kinds of requests: {sorted(unknown)}")

        def matches(call: Call) -> bool:
            return call.kind in (on or KINDS) and instance in ("", call.instance)

        given = _Given(Rule(_fault(**fault), times, matches), carried_out)
        self._rules.add(given.rule)
        self._given.append(given)
        return len(self._given) - 1

    def hits(self, fault: int) -> int:
        return self._given[fault].hits

    def release(self, fault: int) -> None:
        self._rules.remove(self._given[fault].rule)

    def heal(self) -> None:
        self._rules.clear()

    def put(self, location: str, instance: str, document: Object) -> None:
        name = f"projects/{self.project.name}/locations/{location}/instances/{instance}"
        self.project.activate(self.project.add(name, document))

    def remove(self, instance: str) -> None:
        self.project.drop(self.project.record(instance))

    def show(self, instance: str, fields: Object) -> None:
        """Show these fields instead of the real ones. None shows the real one again."""
        if fields.get("state") not in (None, *STATES):
            raise ValueError(f"no such state: {fields['state']}")
        record = self.project.record(instance)
        record.forced = {key: one for key, one in (record.forced | fields).items() if one is not None}

    def mkdir(self, instance: str, paths: list[str]) -> None:
        self.project.record(instance).directories |= {path.rstrip("/") or "/" for path in paths}

    def finish(self, operation: str, code: str, message: str) -> None:
        found = self.project.operation(operation)
        if found.done:
            raise ValueError(f"{operation} is done")
        found.finish({"code": CODES[code], "message": message} if code else None)

    def advance(self, operation: str, progress: float) -> None:
        self.project.operation(operation).advance(progress)

    def state(self) -> Object:
        records = self.project.records.values()
        return {
            "instances": [one.shown() | {"directories": sorted(one.directories)} for one in records],
            "operations": [one.document() for one in self.project.operations.values()],
            "calls": [asdict(call) for call in self._calls],
        }

    def reset(self) -> None:
        self.heal()
        self.project.settings.clear()
        self.project.plans.clear()
        self._calls.clear()


def _fault(kind: str, **values: Any) -> Fault:
    if kind == "drop":
        return Drop()
    if kind == "hold":
        return Hold(**values)
    return Reply(**values | {"body": base64.b64decode(values["body"])})
