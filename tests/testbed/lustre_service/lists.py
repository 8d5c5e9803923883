"""Lists of the simulated Managed Lustre API: filters and pages."""

import re
from typing import Any

from testbed.google_faults import Object
from testbed.lustre_documents import camel, invalid

_TERM = re.compile(r'\s*([A-Za-z_][\w.-]*)\s*(=|:)\s*("[^"]*"|\S+)\s*')
_PAGE = 500


def matches(text: str, document: Object) -> bool:
    """Whether a filter, terms such as ``metadata.verb="create"`` joined by AND, holds for a document."""
    return all(_holds(term, document) for term in re.split(r"\s+AND\s+", text) if term.strip())


def _holds(term: str, document: Object) -> bool:
    match = _TERM.fullmatch(term)
    if not match:
        raise invalid(f"invalid filter {term!r}")
    wanted = match[3].strip('"')
    found: Any = document
    for key in match[1].split("."):
        found = found.get(key, found.get(camel(key))) if isinstance(found, dict) else None
    text = str(found).lower() if isinstance(found, bool) else str(found)
    return found is not None and (wanted in text if match[2] == ":" else wanted == text)


def page(found: list[Object], query: dict[str, str], key: str) -> Object:
    """One page of what the filter leaves; a token is the number of the first item."""
    found = [one for one in found if matches(query.get("filter", ""), one)]
    size, token = int(query.get("pageSize") or _PAGE), query.get("pageToken") or "0"
    if not token.isdigit():
        raise invalid(f"invalid page_token {token!r}")
    end = int(token) + size
    shown: Object = {key: found[int(token) : end]}
    return shown | ({"nextPageToken": str(end)} if end < len(found) else {})
