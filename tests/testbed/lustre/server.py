"""The Managed Lustre API on a loopback port; ``lustre.client`` steers it, and documents its features.

It uses the REST wire format, so that tests use the real google-cloud-lustre client (transport ``rest``). ``python -m
testbed.lustre.server --port PORT`` is the server of a control plane.

The instances of the CSI driver are served, too: in the project of the driver, under the names of their
PersistentVolumes. Transfers and settings of tests work for them. But only their PVCs create, delete and resize them
(the API responds with 501), the operations of the driver are not listed, and the driver does not know the transfers
that are running.
"""

import argparse
import json
import re
import signal
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import requests

from testbed.google_api import Due, Fault, Object, Reply, Request, Server, json_reply
from testbed.lustre.client import LustreAPIClient
from testbed.lustre.csi_driver import LustreService, State
from testbed.lustre.documents import RefusedError, refusal
from testbed.lustre.inventory import Inventory, Record
from testbed.lustre.routes import Call, carry_out, parse
from testbed.lustre.steering import SteeredProject

_OWNER = "kubernetes_io_created-for_pvc_namespace"
_STEERING = re.compile(r"/testbed/(?P<project>[^/]+)/(?P<action>\w+)")


@dataclass(frozen=True)
class CSIDriver:
    """The driver's steering port, and the project in which the driver creates all instances."""

    url: str
    project: str

    def state(self) -> State | None:
        """The state of the driver. None while it restarts; then the service keeps its last state."""
        try:
            return LustreService(self.url).state()
        except requests.RequestException:
            return None


def adopt(inventory: Inventory, state: State) -> None:
    """Update the driver's instances.

    A change through the API, for example of a description, stays until the driver changes the same field.
    """
    known = {record.id: record for record in inventory.records.values() if record.csi}
    for name in known.keys() - state.instances.keys():
        inventory.drop(known[name])
    for name, one in state.instances.items():
        record = known.get(name) or _new(inventory, one)
        shown = _document(one, state)
        changed = {key: value for key, value in shown.items() if record.csi.get(key) != value}
        if changed:
            record.change(**changed)
        record.csi, record.busy = shown, one["state"] != "ACTIVE"


def _new(inventory: Inventory, one: Object) -> Record:
    name = f"projects/{inventory.name}/locations/{one['location']}/instances/{one['name']}"
    record = inventory.add(name, {"capacityGib": one["createdGib"]})
    record.change(uid=str(uuid.uuid5(uuid.NAMESPACE_URL, name)))
    return record


def _document(one: Object, state: State) -> Object:
    labels = one.get("labels") or {}
    settings = state.scoped.get(labels.get(_OWNER, ""), state.config)
    return {
        "state": settings["resizeState"] if one["state"] == "UPDATING" else one["state"],
        "capacityGib": str(one["capacityGib"]),
        "perUnitStorageThroughput": str(one["perUnitStorageThroughput"]),
        "filesystem": one["filesystem"],
        "network": one["network"],
        "mountPoint": f"{one['ip']}@tcp:/{one['filesystem']}" if one.get("ip") else "",
        "labels": labels,
        "description": one.get("description", ""),
    }


class Service:
    """All projects, with one lock. No request holds the lock while it waits."""

    def __init__(self, csi: CSIDriver | None) -> None:
        self._csi = csi
        self._asking, self._lock = threading.Lock(), threading.Lock()
        self._projects: dict[str, SteeredProject] = {}

    def respond(self, request: Request) -> tuple[Fault | None, Due]:
        """For the server: the fault of a request, and its response."""
        if steering := _STEERING.fullmatch(request.path):
            return None, lambda: self._steer(request, **steering.groupdict())
        call = parse(request)
        with self._up_to_date(call.project):
            fault, at_once = self._project(call.project).take(call)
            if at_once:
                reply = self._answer(call)
        return fault, lambda: reply if at_once else self._answer_late(call)

    def heal(self) -> None:
        """Release all held requests."""
        with self._lock:
            for steered in self._projects.values():
                steered.heal()

    def _answer(self, call: Call) -> Reply:
        try:
            return json_reply(carry_out(self._project(call.project).project, call))
        except RefusedError as error:
            return error.reply()

    def _answer_late(self, call: Call) -> Reply:
        with self._up_to_date(call.project):
            return self._answer(call)

    def _steer(self, request: Request, project: str, action: str) -> Reply:
        with self._up_to_date(project):
            try:
                result = self._project(project).act(action, json.loads(request.body))
            except (RefusedError, LookupError, ValueError, TypeError) as error:
                return refusal("INVALID_ARGUMENT", f"{type(error).__name__}: {error}")
            return json_reply({"result": result})

    @contextmanager
    def _up_to_date(self, name: str) -> Iterator[None]:
        """Hold the lock, and finish the operations of the project that are due."""
        if self._csi and self._csi.project == name:
            self._ask(self._csi)
        with self._lock:
            self._project(name).project.settle()
            yield

    def _ask(self, driver: CSIDriver) -> None:
        """Read the state of the driver, one request at a time, so that an older state never replaces a newer one."""
        with self._asking:
            state = driver.state()
            with self._lock:
                if state:
                    adopt(self._project(driver.project).project, state)

    def _project(self, name: str) -> SteeredProject:
        return self._projects.setdefault(name, SteeredProject(name))


class LustreAPI(LustreAPIClient):
    """A context manager around a server in this process; its methods may be called from any thread."""

    def __init__(self, port: int = 0, csi: CSIDriver | None = None) -> None:
        self._service = Service(csi)
        self._server = Server(self._service.respond, "lustre-api-server", port)
        super().__init__(self._server.url)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop(self._service.heal)


def main() -> None:
    """Serve until SIGTERM."""
    parser = argparse.ArgumentParser(
        prog="python -m testbed.lustre.server", description="The Managed Lustre API"
    )
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--csi-url", help="the steering port of the CSI driver")
    parser.add_argument("--csi-project", help="the project in which the driver creates its instances")
    options = parser.parse_args()
    csi = CSIDriver(options.csi_url, options.csi_project) if options.csi_url else None
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with LustreAPI(options.port, csi):
        while True:
            time.sleep(0.5)  # not pause: a signal just before it would be lost


if __name__ == "__main__":
    main()
