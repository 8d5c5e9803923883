"""The Managed Lustre API on a loopback port; ``lustre_client`` steers it, and says what it can do.

It speaks the REST wire format, so that the real google-cloud-lustre client (transport ``rest``) is what
gets tested. ``python -m testbed.lustre_api --port PORT`` is the server of a control plane.

The instances of the CSI driver are served, too: in the driver's one project, under the names of their
PersistentVolumes. They take part in transfers and show what a test sets; but they are created, deleted and
grown by their claims only (501), the operations of that are not listed, and the driver knows nothing of the
transfers that are running.
"""

import argparse
import json
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from testbed.google_faults import Fault, Reply, json_reply
from testbed.google_http import Due, Request, Server
from testbed.lustre_client import LustreAPIClient
from testbed.lustre_documents import RefusedError, refusal
from testbed.lustre_service.csi import CSIDriver, adopt
from testbed.lustre_service.routes import Call, carry_out, parse
from testbed.lustre_service.steering import Steered

_STEERING = re.compile(r"/testbed/(?P<project>[^/]+)/(?P<action>\w+)")


class Service:
    """All projects, behind one lock that no request holds while it waits."""

    def __init__(self, csi: CSIDriver | None) -> None:
        self._csi = csi
        self._asking, self._lock = threading.Lock(), threading.Lock()
        self._projects: dict[str, Steered] = {}

    def respond(self, request: Request) -> tuple[Fault | None, Due]:
        """For the server: what goes wrong with a request, and its answer."""
        if steering := _STEERING.fullmatch(request.path):
            return None, lambda: self._steer(request, **steering.groupdict())
        call = parse(request)
        with self._up_to_date(call.project):
            fault, at_once = self._project(call.project).take(call)
            if at_once:
                reply = self._answer(call)
        return fault, lambda: reply if at_once else self._answer_late(call)

    def heal(self) -> None:
        """Let all held requests go."""
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
        """Under the lock, with everything done in the project that is due."""
        if self._csi and self._csi.project == name:
            self._ask(self._csi)
        with self._lock:
            self._project(name).project.settle()
            yield

    def _ask(self, driver: CSIDriver) -> None:
        """One at a time: what the driver has said before never overtakes what it says now."""
        with self._asking:
            state = driver.state()
            with self._lock:
                if state:
                    adopt(self._project(driver.project).project, state)

    def _project(self, name: str) -> Steered:
        return self._projects.setdefault(name, Steered(name))


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
        prog="python -m testbed.lustre_api", description="The Managed Lustre API"
    )
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--csi-url", help="the steering port of the CSI driver")
    parser.add_argument("--csi-project", help="the project in which the driver makes its instances")
    options = parser.parse_args()
    csi = CSIDriver(options.csi_url, options.csi_project) if options.csi_url else None
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with LustreAPI(options.port, csi):
        signal.pause()


if __name__ == "__main__":
    main()
