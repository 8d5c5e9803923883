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
    if not _keyed(wanted):
        return len(live) == len(wanted) and all(map(satisfied, live, wanted))
    # Some, not the: others may mount the same volume once more, under the same name.
    return all(any(satisfied(one, item) for one in live) for item in wanted)


def _keyed(items: list[Any]) -> bool:
    """Whether a field tells the items of a list of objects apart; else the list counts as one value."""
    if not items or not all(isinstance(item, Mapping) for item in items):
        return False
    return any(all(key in item for item in items) for key in _KEYS)
