"""The instances and operations of a project of the simulated Managed Lustre API, and their checks."""

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
    """An instance. ``forced`` are fields that a test shows instead of the real ones.

    ``csi`` is the last report of the CSI driver, {} if the instance is not of the driver. ``busy`` is true while an
    operation of the driver runs.
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
        """The instance as the API shows it."""
        return self.document | self.forced

    def response(self) -> Object:
        """The instance in the response of a finished operation."""
        return {"@type": f"{TYPES}Instance"} | self.shown()

    def change(self, **fields: object) -> None:
        """Set fields, and the update time."""
        self.document |= fields | {"updateTime": now()}


class Inventory:
    """Instances and operations of a project. Raises ``RefusedError``. The caller holds the lock."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.settings, self.plans = Settings(), Plans()
        self.records: dict[str, Record] = {}
        self.operations: dict[str, Operation] = {}

    def settle(self) -> None:
        """Finish the operations that are due."""
        for operation in self.operations.values():
            if operation.due:
                operation.finish()

    def record(self, name: str) -> Record:
        """The record of a full name, or of an id that is unique in the project."""
        for full, record in self.records.items():
            if name in (full, record.id):
                return record
        raise not_found(name)

    def operation(self, name: str) -> Operation:
        if name not in self.operations:
            raise not_found(name)
        return self.operations[name]

    def add(self, name: str, body: Object) -> Record:
        """Add an instance in the state CREATING."""
        made = {key: value for key, value in body.items() if key not in rules.OUTPUT}
        output = {"name": name, "uid": str(uuid.uuid4()), "createTime": now(), "effectiveVersion": VERSION}
        record = Record(made | output, int(made["capacityGib"]))
        record.change(state="CREATING", mountPoint="", capacityGib=str(record.created_gib))
        self.records[name] = record
        return record

    def activate(self, record: Record) -> Object:
        """Make an instance ACTIVE, so that it can be mounted."""
        record.change(state="ACTIVE", mountPoint=_mount_point(record))
        return record.response()

    def drop(self, record: Record) -> None:
        """Remove an instance. Its running operation ends with an error."""
        self.records.pop(record.name, None)
        for operation in self._running(record):
            operation.finish({"code": CODES["ABORTED"], "message": f"Resource '{record.name}' was deleted"})

    def start(
        self, verb: str, record: Record, query: Query, effect: Effect, transfer: Transfer | None = None
    ) -> Object:
        """Start an operation, and return it as the API shows it."""
        duration = self.setting(record)(f"{verb}_seconds")
        planned = self.plans.take(verb, record.location, record.id)
        request_id = query.get("requestId", "")
        operation = Operation(record.name, verb, request_id, duration, effect, transfer, planned)
        self.operations[operation.name] = operation
        return operation.document()

    def setting(self, record: Record) -> Callable[[str], Any]:
        """The value of a setting for an instance."""
        return lambda key: self.settings.get(key, record.id)

    def earlier(self, verb: str, target: str, query: Query) -> Object:
        """The operation that an earlier request with the same id has started, {} if there is none."""
        request_id = query.get("requestId", "")
        rules.check_request_id(request_id)
        for one in self.operations.values():
            if request_id and one.request_id == request_id:
                if (one.verb, one.target) != (verb, target):
                    raise invalid(f"request_id {request_id} was used for another request")
                return one.document()
        return {}

    def check_idle(self, record: Record) -> None:
        """Refuse a second operation of an instance at the same time."""
        if record.busy or self._running(record):
            raise RefusedError("ABORTED", "unable to queue the operation")

    def check_free(self, record: Record) -> None:
        """Refuse a change or a transfer of an instance that is not ACTIVE and idle."""
        self.check_idle(record)
        if (state := record.shown()["state"]) != "ACTIVE":
            raise RefusedError("FAILED_PRECONDITION", f"Resource '{record.name}' is in {state} state")

    def check_quota(self, location: str, extra_gib: int) -> None:
        """Refuse a capacity beyond the quota for all instances of the project."""
        quota = int(self.settings.get("quota_gib"))
        if quota and sum(one.gib for one in self.records.values()) + extra_gib > quota:
            limit = f"Quota limit 'LustreCapacityGib' has been exceeded. Limit: {quota} in {location}."
            raise RefusedError("RESOURCE_EXHAUSTED", limit)

    def _running(self, record: Record) -> list[Operation]:
        return [one for one in self.operations.values() if one.target == record.name and not one.done]


def _mount_point(record: Record) -> str:
    """A mount point that depends only on the instance."""
    digest = hashlib.sha256(record.document["uid"].encode()).digest()
    return f"10.{100 + digest[0] % 50}.{digest[1]}.{2 + digest[2] % 250}@tcp:/{record.document['filesystem']}"
