"""Steers the simulated Managed Lustre API. Each test has its own project, with its own settings."""

import base64
from dataclasses import asdict, dataclass
from typing import Any, Unpack

import requests

from testbed.gke import ZONE
from testbed.google_api import Drop, Fault, Hold, Object
from testbed.lustre.documents import instance as body_of
from testbed.lustre.routes import Call
from testbed.lustre.settings import Values

_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True)
class Failure:
    """Objects that a transfer fails to copy: ``count`` of them, with ``code``, the name of a gRPC code."""

    code: str = "PERMISSION_DENIED"
    count: int = 1
    details: tuple[str, ...] = ("Permission 'storage.objects.get' denied on resource (or it may not exist).",)


class LustreAPIClient:
    """The server at ``url``, which is also the endpoint of Google's client."""

    def __init__(self, url: str) -> None:
        self.url = url

    def project(self, name: str) -> "LustreProject":
        """A project, independent of others. It exists as soon as it is named."""
        return LustreProject(self.url, name)


class LustreProject:
    """One project. Instances are named by id or by full name, operations by full name.

    Raises ``ValueError`` with what the server does not support.
    """

    def __init__(self, url: str, name: str) -> None:
        self._url, self.name = url, name

    def configure(self, instance: str = "", **values: Unpack[Values]) -> None:
        """Change settings, of all instances or of one."""
        self.act("configure", values=values, instance=_id(instance))

    def cannot_move(self, *failures: Failure, instance: str = "") -> None:
        """Set which objects the next transfers fail to copy. They still succeed, unless ``end_operations`` plans an
        error.
        """
        self.configure(instance, failures=[asdict(one) for one in failures])

    def fail(
        self, fault: Fault, *on: str, times: int = 1, instance: str = "", carried_out: bool = False
    ) -> "InjectedFault":
        """Make the next requests fail; ``times=-1`` is always.

        ``on`` are ``routes.KINDS``, such as ``create``; none selects all. With ``carried_out`` a request takes effect,
        and only its response is replaced. Otherwise, a held request takes effect when it is released. Release it with
        the returned object, because the ``Hold`` in the arguments only describes the fault.
        """
        values = {"on": list(on), "times": times, "instance": _id(instance), "carried_out": carried_out}
        return InjectedFault(self, self.act("fail", fault=_wire(fault), **values))

    def heal(self) -> None:
        """Remove all faults and release held requests."""
        self.act("heal")

    def end_operations(
        self, verb: str, code: str, message: str, *, times: int = 1, location: str = "", instance: str = ""
    ) -> None:
        """The next operations of a verb (create, update, delete, import, export) end with an error.

        ``code`` is a gRPC code by name. A failed creation leaves no instance; a failed update or deletion
        leaves it as it was.
        """
        values = {"times": times, "location": location, "instance": _id(instance)}
        self.act("plan", verb=verb, code=code, message=message, **values)

    def stockout(self, location: str = "", times: int = -1) -> None:
        """The creation of an instance in a zone, or anywhere, ends with RESOURCE_EXHAUSTED."""
        message = f"The zone {location or 'asked for'} does not have enough resources available."
        self.end_operations("create", "RESOURCE_EXHAUSTED", message, times=times, location=location)

    def put(self, instance: str, document: Object | None = None, location: str = ZONE) -> str:
        """Create an ACTIVE instance without checks; its full name. ``documents.instance`` returns documents."""
        self.act("put", location=location, instance=instance, document=document or body_of())
        return f"projects/{self.name}/locations/{location}/instances/{instance}"

    def remove(self, instance: str) -> None:
        """Delete an instance at once. Its running operation ends with an error."""
        self.act("remove", instance=instance)

    def set_state(self, instance: str, state: str, reason: str = "") -> None:
        """Show a state, such as SUSPENDED, until it is set again; ``""`` shows the real one."""
        self.act("show", instance=instance, fields={"state": state or None, "stateReason": reason or None})

    def schedule_maintenance(self, instance: str, start: str, end: str) -> None:
        """Announce maintenance at UTC times such as 2026-12-06T02:00:00Z. Empty times cancel it."""
        schedule = {"startTime": start, "endTime": end} if start else None
        self.act("show", instance=instance, fields={"upcomingMaintenanceSchedule": schedule})

    def mkdir(self, instance: str, *paths: str) -> None:
        """Create directories on the file system."""
        self.act("mkdir", instance=instance, paths=list(paths))

    def finish(self, operation: str, code: str = "", message: str = "") -> None:
        """End an operation now: with this error, else with the error of ``end_operations``, else with success."""
        self.act("finish", operation=operation, code=code, message=message)

    def advance(self, operation: str, progress: float) -> None:
        """Set the progress of a held transfer, between 0 and 1."""
        self.act("advance", operation=operation, progress=progress)

    def instances(self) -> dict[str, Object]:
        """The instances by full name, as the API shows them, with their ``directories``."""
        return {one["name"]: one for one in self.act("state")["instances"]}

    def operations(self, instance: str = "") -> list[Object]:
        """The operations as the API shows them, the oldest first, of one instance or of all."""
        suffix = f"/{_id(instance)}" if instance else ""
        found: list[Object] = self.act("state")["operations"]
        return [one for one in found if one["metadata"]["target"].endswith(suffix)]

    def calls(self, *kinds: str, instance: str = "") -> list[Call]:
        """The requests so far, the oldest first. The kinds are those of ``fail``."""
        found = [Call(**one) for one in self.act("state")["calls"]]
        return [
            one for one in found if one.kind in (kinds or (one.kind,)) and _id(instance) in ("", one.instance)
        ]

    def reset(self) -> None:
        """Remove settings, planned errors, faults and calls. Instances and operations are kept."""
        self.act("reset")

    def act(self, action: str, **values: Any) -> Any:
        """Run one of ``steering.ACTIONS``."""
        with requests.Session() as session:
            session.trust_env = False
            url = f"{self._url}/testbed/{self.name}/{action}"
            response = session.post(url, json=values, timeout=_TIMEOUT_SECONDS)
        if not response.ok:
            raise ValueError(f"{action}: {response.json()['error']['message']}")
        return response.json()["result"]


class InjectedFault:
    """A fault that was added."""

    def __init__(self, project: LustreProject, number: int) -> None:
        self._project, self._number = project, number

    def hits(self) -> int:
        """How many requests have failed with it so far."""
        return int(self._project.act("hits", fault=self._number))

    def release(self) -> None:
        """Remove the fault, and release the requests that it holds."""
        self._project.act("release", fault=self._number)


def _id(instance: str) -> str:
    return instance.rpartition("/")[2]


def _wire(fault: Fault) -> Object:
    if isinstance(fault, Hold):
        return {"kind": "hold", "trickle": fault.trickle}
    if isinstance(fault, Drop):
        return {"kind": "drop"}
    return {"kind": "reply"} | asdict(fault) | {"body": base64.b64encode(fault.body).decode()}


def google_client(url: str) -> Any:
    """A `lustre_v1.LustreClient` for a loopback endpoint, without credentials."""
    from google.api_core.client_options import ClientOptions
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import lustre_v1

    options = ClientOptions(api_endpoint=url)
    return lustre_v1.LustreClient(
        transport="rest", credentials=AnonymousCredentials(), client_options=options
    )


def google_instance(capacity_gib: int = 9000, **fields: Any) -> Any:
    """A `lustre_v1.Instance` that the API accepts. ``fields``, by their Python names, replace or add fields."""
    from google.cloud import lustre_v1

    known = {
        "capacity_gib": capacity_gib,
        "per_unit_storage_throughput": 1000,
        "filesystem": "kvcache",
        "network": "projects/p/global/networks/default",
    }
    return lustre_v1.Instance(**(known | fields))


def google_refusal(error: Any) -> tuple[int, str]:
    """The HTTP status and the name of the gRPC code of a `GoogleAPICallError`."""
    return int(error.code), str(error.response.json()["error"]["status"])
