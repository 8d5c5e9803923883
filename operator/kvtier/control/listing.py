"""What comes and goes while a LIST is under way, of which the LIST may tell the opposite."""

from collections.abc import Iterable

from kvtier.facts.objects import Object


class Listing:
    """One LIST of one kind, from its request to its answer.

    Its answer is as old as the request, and with several pages that is seconds. An object that came meanwhile
    is missing in it, and one that went meanwhile may still be in it.
    """

    def __init__(self, known: Iterable[Object] | None = None) -> None:
        """`known` is what was known at the request; None while no LIST is under way."""
        self._before = None if known is None else {_uid(obj) for obj in known}
        self._gone: set[str] = set()

    def came(self, obj: Object) -> None:
        self._gone.discard(_uid(obj))

    def went(self, obj: Object) -> None:
        if self._before is not None:
            self._gone.add(_uid(obj))

    def missed(self, obj: Object) -> bool:
        """Whether an object that is known, but not listed, is gone."""
        return self._before is None or _uid(obj) in self._before

    def current(self, listed: Iterable[Object]) -> list[Object]:
        """What is listed and not gone since."""
        return [obj for obj in listed if _uid(obj) not in self._gone]


def _uid(obj: Object) -> str:
    return str(obj["metadata"]["uid"])
