"""What a CSI driver answers, as sidecars and kubelets quote it in Events and in conditions of a claim."""

import re
from typing import NamedTuple

_LONGEST = 300
_ANSWER = re.compile(r"rpc error: code = (?P<code>\w+) desc = (?P<words>.*)", re.DOTALL)
_SPELLINGS = {"Canceled": "Cancelled", "OK": ""}
_FLEETING = (
    r"\n\s*Details:.*",
    r"[,;]?\s*\(?\b(?:Help Token|[Rr]equest[ _-]?[Ii][Dd]|Trace ID|traceId)\b\s*[:=]\s*\"?[\w./+=-]+\"?\)?",
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?",
    r"kube-api-access-\w+ ?",
    r"0x[0-9a-f]{6,}",
)
"""What differs from one try to the next, or from one Pod to its neighbour."""


class DriverError(NamedTuple):
    """`code` is the canonical code in CamelCase, empty where none is given; `words` are the driver's own."""

    code: str
    words: str


def parse(message: str) -> DriverError:
    """The outermost answer in a message. The same failure gives the same words each time."""
    found = _ANSWER.search(message)
    if found is None:
        return DriverError("", _steady(message))
    code = found["code"]
    return DriverError(_SPELLINGS.get(code, code), _steady(found["words"]))


def _steady(text: str) -> str:
    for pattern in _FLEETING:
        text = re.sub(pattern, "", text, flags=re.DOTALL)
    words = " ".join(text.split()).rstrip(" .,;:")
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."
