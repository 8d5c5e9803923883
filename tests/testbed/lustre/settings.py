"""Settings of a project of the simulated Managed Lustre API, or of one of its instances."""

from collections import ChainMap
from typing import Any, TypedDict

from testbed.google_api import Object
from testbed.lustre.operations import HELD, Seconds


class Values(TypedDict, total=False):
    """Settings by name.

    The seconds are the duration of operations. The quota is for all instances of the project; 0 is no quota. Lists
    report the ``unreachable`` locations as such. For transfers see ``operations.Transfer``; with ``any_directory``,
    imports to missing directories are accepted.
    """

    create_seconds: Seconds
    update_seconds: Seconds
    delete_seconds: Seconds
    import_seconds: Seconds
    export_seconds: Seconds
    quota_gib: int
    unreachable: list[str]
    objects: int
    object_bytes: int
    skipped: int
    failures: list[Object]
    any_directory: bool


DEFAULTS = Values(
    create_seconds=0.0,
    update_seconds=0.0,
    delete_seconds=0.0,
    import_seconds=0.0,
    export_seconds=0.0,
    quota_gib=0,
    unreachable=[],
    objects=1000,
    object_bytes=1 << 20,
    skipped=0,
    failures=[],
    any_directory=False,
)


class Settings:
    """Settings of an instance override those of its project."""

    def __init__(self) -> None:
        self._by_instance: dict[str, Object] = {}

    def change(self, values: Object, instance: str = "") -> None:
        """Change settings. Raises ``ValueError`` for unknown ones."""
        if unknown := values.keys() - DEFAULTS.keys():
            raise ValueError(f"no such settings: {sorted(unknown)}")
        for key, value in values.items():
            if key.endswith("_seconds") and value != HELD and not isinstance(value, (int, float)):
                raise ValueError(f"{key} is not a number of seconds: {value!r}")
        self._by_instance.setdefault(instance, {}).update(values)

    def get(self, key: str, instance: str = "") -> Any:
        """The value that applies."""
        known = ChainMap(self._by_instance.get(instance, {}), self._by_instance.get("", {}), dict(DEFAULTS))
        return known[key]

    def clear(self) -> None:
        self._by_instance.clear()


class Plans:
    """Errors with which the next operations will end."""

    def __init__(self) -> None:
        self._plans: list[Object] = []

    def add(self, plan: Object) -> None:
        """``plan`` is {verb, code (a number), message, times (-1: for good), location, instance}; "" is any."""
        self._plans.append(plan)

    def take(self, verb: str, location: str, instance: str) -> Object | None:
        """The error {code, message} of an operation that starts, if one is planned; counts it."""
        for plan in self._plans:
            wanted = (plan["verb"], plan["location"] or location, plan["instance"] or instance)
            if plan["times"] != 0 and wanted == (verb, location, instance):
                plan["times"] -= 1
                return {"code": plan["code"], "message": plan["message"]}
        return None

    def clear(self) -> None:
        self._plans.clear()
