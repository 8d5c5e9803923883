"""The paths of the simulated Managed Lustre API, and the call of each path."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from testbed.google_api import Object, Request
from testbed.lustre.documents import RefusedError
from testbed.lustre.project import Project

_LOCATION = r"/v1/projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)"
_INSTANCE = _LOCATION + r"/instances/(?P<instance>[^/:]+)"
_OPERATION = _LOCATION + r"/operations/(?P<operation>[^/:]+)"
_ROUTES = [
    (kind, method, re.compile(path))
    for kind, method, path in (
        ("create", "POST", _LOCATION + "/instances"),
        ("list", "GET", _LOCATION + "/instances"),
        ("get", "GET", _INSTANCE),
        ("update", "PATCH", _INSTANCE),
        ("delete", "DELETE", _INSTANCE),
        ("import", "POST", _INSTANCE + ":importData"),
        ("export", "POST", _INSTANCE + ":exportData"),
        ("list_operations", "GET", _LOCATION + "/operations"),
        ("get_operation", "GET", _OPERATION),
        ("cancel_operation", "POST", _OPERATION + ":cancel"),
    )
]
KINDS = [kind for kind, _, _ in _ROUTES]


@dataclass(frozen=True)
class Call:
    """A request as received. ``kind`` is one of ``KINDS``, empty if the path is not served. ``instance`` is an id,
    empty if the call names none.
    """

    kind: str
    method: str
    path: str
    query: dict[str, str]
    body: Object
    project: str = ""
    location: str = ""
    instance: str = ""
    operation: str = ""

    @property
    def name(self) -> str:
        """The full name of the resource that the path names."""
        return self.path.removeprefix("/v1/").partition(":")[0]


def parse(request: Request) -> Call:
    """The call of a request. A body that is not JSON counts as empty."""
    parts = urlsplit(request.path)
    path, query = unquote(parts.path), dict(parse_qsl(parts.query))
    try:
        body = json.loads(request.body or b"{}")
    except ValueError:
        body = {}
    for kind, method, pattern in _ROUTES:
        if method == request.method and (match := pattern.fullmatch(path)):
            names = {"instance": query.get("instanceId", "")} | match.groupdict()
            return Call(kind, method, path, query, body, **names)
    return Call("", request.method, path, query, body)


def carry_out(project: Project, call: Call) -> Object:
    """Perform a call and return the response. Raises ``RefusedError``."""
    if call.kind not in _ACTIONS:
        raise RefusedError("UNIMPLEMENTED", f"the test bed does not serve {call.method} {call.path}")
    return _ACTIONS[call.kind](project, call)


def _cancel(project: Project, call: Call) -> Object:
    project.operation(call.name).cancel()
    return {}


_ACTIONS: dict[str, Callable[[Project, Call], Object]] = {
    "create": lambda project, call: project.create(call.location, call.query, call.body),
    "list": lambda project, call: project.list_instances(call.location, call.query),
    "get": lambda project, call: project.get(call.name),
    "update": lambda project, call: project.update(call.name, call.query, call.body),
    "delete": lambda project, call: project.delete(call.name, call.query),
    "import": lambda project, call: project.transfer(call.name, call.body, imports=True),
    "export": lambda project, call: project.transfer(call.name, call.body, imports=False),
    "list_operations": lambda project, call: project.list_operations(call.location, call.query),
    "get_operation": lambda project, call: project.operation(call.name).document(),
    "cancel_operation": _cancel,
}
