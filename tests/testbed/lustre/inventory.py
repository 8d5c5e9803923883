"""The instances and operations of a project of the simulated Managed Lustre API, and what they allow."""

import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from testbed.google_api import Object
from testbed.lustre import rules
from testbed.lustre.documents import CODES, TYPES, VERSION, RefusedError, invalid, not_found, now
from testbed.lustre.operations import Effect, Operation, Transfer
from testbed.lustre.settings import Plans, Settings

Query = dict[str, str]


@dataclass
class Record:
    """An instance.

    ``forced`` are fields that a test shows instead. ``csi`` is what the CSI driver has said of it last, {} if
    it is none of the driver's; ``busy`` says that the driver is at it.
    """

    document: Object
    created_gib: int
    directories: set[str] = field(default_factory=lambda: {"/"})
    forced: Object = field(default_factory=dict)
    csi: Object = field(default_factory=dict)
    busy: bool = False

    @property
    def name(self) -> str:
        """The full name, ``projects/P/locations/L/instances/I``."""
        return str(self.document["name"])

    @property
    def location(self) -> str:
        return self.name.split("/")[3]

    @property
    def id(self) -> str:
        return self.name.rpartition("/")[2]

    @property
    def gib(self) -> int:
        return int(self.document["capacityGib"])

    def shown(self) -> Object:
        """As the API shows it."""
        return self.document | self.forced

    def response(self) -> Object:
        """As a finished operation shows it."""
        return {"@type": f"{TYPES}Instance"} | self.shown()

    def change(self, **fields: object) -> None:
        """Set fields, and the time of the update."""
        self.document |= fields | {"updateTime": now()}


class Inventory:
    """Refusals are raised as ``RefusedError``. Whoever calls sees to the locking."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.settings, self.plans = Settings(), Plans()
        self.records: dict[str, Record] = {}
        self.operations: dict[str, Operation] = {}

    def settle(self) -> None:
        """Finish the operations whose time has come."""
        for operation in self.operations.values():
            if operation.due:
                operation.finish()

    def record(self, name: str) -> Record:
        """By full name, or by an id that is unique in the project."""
        for full, record in self.records.items():
            if name in (full, record.id):
                return record
        raise not_found(name)

    def operation(self, name: str) -> Operation:
        if name not in self.operations:
            raise not_found(name)
        return self.operations[name]

    def add(self, name: str, body: Object) -> Record:
        """A new instance that is CREATING."""
        made = {key: value for key, value in body.items() if key not in rules.OUTPUT}
        output = {"name": name, "uid": str(uuid.uuid4()), "createTime": now(), "effectiveVersion": VERSION}
        record = Record(made | output, int(made["capacityGib"]))
        record.change(state="CREATING", mountPoint="", capacityGib=str(record.created_gib))
        self.records[name] = record
        return record

    def activate(self, record: Record) -> Object:
        """The instance can be mounted."""
        record.change(state="ACTIVE", mountPoint=_mount_point(record))
        return record.response()

    def drop(self, record: Record) -> None:
        """The instance is gone, and with it what was running."""
        self.records.pop(record.name, None)
        for operation in self._running(record):
            operation.finish({"code": CODES["ABORTED"], "message": f"Resource '{record.name}' was deleted"})

    def start(
        self, verb: str, record: Record, query: Query, effect: Effect, transfer: Transfer | None = None
    ) -> Object:
        """A new operation, as the API shows it."""
        duration = self.setting(record)(f"{verb}_seconds")
        planned = self.plans.take(verb, record.location, record.id)
        request_id = query.get("requestId", "")
        operation = Operation(record.name, verb, request_id, duration, effect, transfer, planned)
        self.operations[operation.name] = operation
        return operation.document()

    def setting(self, record: Record) -> Callable[[str], Any]:
        """The settings in force for an instance."""
        return lambda key: self.settings.get(key, record.id)

    def earlier(self, verb: str, target: str, query: Query) -> Object:
        """The operation that the same request has started before, {} if there is none."""
        request_id = query.get("requestId", "")
        rules.check_request_id(request_id)
        for one in self.operations.values():
            if request_id and one.request_id == request_id:
                if (one.verb, one.target) != (verb, target):
                    raise invalid(f"request_id {request_id} was used for another request")
                return one.document()
        return {}

    def check_idle(self, record: Record) -> None:
        """An instance takes part in one operation at a time."""
        if record.busy or self._running(record):
            raise RefusedError("ABORTED", "unable to queue the operation")

    def check_free(self, record: Record) -> None:
        """Only an idle instance that is ACTIVE can be changed, or take part in a transfer."""
        self.check_idle(record)
        if (state := record.shown()["state"]) != "ACTIVE":
            raise RefusedError("FAILED_PRECONDITION", f"Resource '{record.name}' is in {state} state")

    def check_quota(self, location: str, extra_gib: int) -> None:
        """The quota is one for all instances of the project."""
        quota = int(self.settings.get("quota_gib"))
        if quota and sum(one.gib for one in self.records.values()) + extra_gib > quota:
            limit = f"Quota limit 'LustreCapacityGib' has been exceeded. Limit: {quota} in {location}."
            raise RefusedError("RESOURCE_EXHAUSTED", limit)

    def _running(self, record: Record) -> list[Operation]:
        return [one for one in self.operations.values() if one.target == record.name and not one.done]


def _mount_point(record: Record) -> str:
    """An address that depends on the instance alone."""
    digest = hashlib.sha256(record.document["uid"].encode()).digest()
    return f"10.{100 + digest[0] % 50}.{digest[1]}.{2 + digest[2] % 250}@tcp:/{record.document['filesystem']}"
