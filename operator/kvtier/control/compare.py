"""Whether a live object already is what is wanted, so that nothing is written."""

from collections.abc import Mapping
from typing import Any

_KEYS = ("name", "mountPath", "type", "key")


def satisfied(live: Any, wanted: Any) -> bool:
    """Whether every wanted field stands in `live`. What others added to maps and keyed lists is theirs.

    Sizes must be spelled as the API server spells them (`quantities.canonical`). A field that is no
    longer wanted shows in the digest annotation, which is itself a wanted field.
    """
    if isinstance(wanted, Mapping):
        return isinstance(live, Mapping) and all(
            k in live and satisfied(live[k], v) for k, v in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(live, list) and _list_satisfied(live, wanted)
    return bool(live == wanted)


def _list_satisfied(live: list[Any], wanted: list[Any]) -> bool:
    key = _key(wanted)
    if key is None:
        return len(live) == len(wanted) and all(map(satisfied, live, wanted))
    by_key = {item.get(key): item for item in live if isinstance(item, Mapping)}
    return all(satisfied(by_key.get(item[key]), item) for item in wanted)


def _key(items: list[Any]) -> str | None:
    """The field that tells the items of a list of objects apart, or None for a list that counts as one value."""
    if not items or not all(isinstance(item, Mapping) for item in items):
        return None
    return next((key for key in _KEYS if all(key in item for item in items)), None)
