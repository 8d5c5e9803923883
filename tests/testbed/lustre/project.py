"""The calls of the simulated Managed Lustre API in one project, and its lists: filters and pages."""

import re
from typing import Any

from testbed.google_api import Object
from testbed.lustre import rules
from testbed.lustre.documents import TYPES, RefusedError, camel, invalid
from testbed.lustre.inventory import Inventory, Query, Record
from testbed.lustre.operations import Effect, Transfer

_EMPTY = {"@type": "type.googleapis.com/google.protobuf.Empty"}
_TERM = re.compile(r'\s*([A-Za-z_][\w.-]*)\s*(=|:)\s*("[^"]*"|\S+)\s*')
_PAGE = 500


class Project(Inventory):
    """The calls. Those that start an operation return it, not done yet; the same request again returns the same one."""

    def get(self, name: str) -> Object:
        return self.record(name).shown()

    def list_instances(self, location: str, query: Query) -> Object:
        """A page of the instances of a location, or of all (``-``)."""
        found = [one.shown() for _, one in sorted(self.records.items()) if location in ("-", one.location)]
        unreachable = [f"projects/{self.name}/locations/{one}" for one in self.settings.get("unreachable")]
        return page(found, query, "instances") | {"unreachable": unreachable}

    def list_operations(self, location: str, query: Query) -> Object:
        """A page of the operations of a location, the oldest first."""
        chosen = [one for one in self.operations.values() if location in ("-", one.location)]
        return page([one.document() for one in chosen], query, "operations")

    def create(self, location: str, query: Query, body: Object) -> Object:
        """Start the creation of an instance. If it fails, the instance does not exist."""
        instance_id = query.get("instanceId", "")
        name = f"projects/{self.name}/locations/{location}/instances/{instance_id}"
        if earlier := self.earlier("create", name, query):
            return earlier
        rules.check_new(location, instance_id, body)
        if name in self.records:
            raise RefusedError("ALREADY_EXISTS", f"Resource '{name}' already exists")
        self.check_quota(location, int(body["capacityGib"]))
        record = self.add(name, body)
        effect = Effect(lambda: self.activate(record), lambda: self.drop(record))
        return self.start("create", record, query, effect)

    def update(self, name: str, query: Query, body: Object) -> Object:
        """Start an update of the fields in the mask, or of those in the body if there is no mask."""
        if earlier := self.earlier("update", name, query):
            return earlier
        record = self.record(name)
        changes = _changes(record, query, body)
        self.check_free(record)
        if "capacityGib" in changes:
            changes["capacityGib"] = self._grown(record, changes["capacityGib"])
        if version := changes.get("targetVersion"):
            changes["effectiveVersion"] = version
        record.change(state="UPGRADING" if version else "UPDATING")
        return self.start("update", record, query, _change(record, changes))

    def delete(self, name: str, query: Query) -> Object:
        """Start the deletion of an instance in any state."""
        if earlier := self.earlier("delete", name, query):
            return earlier
        record = self.record(name)
        self.check_idle(record)
        _check_ours(record)
        before = record.document["state"]
        record.change(state="DELETING")
        record.forced.clear()

        def apply() -> Object:
            del self.records[name]
            return _EMPTY

        effect = Effect(apply, lambda: record.change(state=before))
        return self.start("delete", record, query, effect)

    def transfer(self, name: str, body: Object, imports: bool) -> Object:
        """Start an import or export."""
        verb, query = "import" if imports else "export", {"requestId": body.get("requestId", "")}
        if earlier := self.earlier(verb, name, query):
            return earlier
        record, setting = self.record(name), self.setting(self.record(name))
        paths = self._paths(record, body, imports)
        self.check_free(record)
        moved = {key: setting(key) for key in ("objects", "object_bytes", "skipped", "failures")}
        done = {"@type": f"{TYPES}{verb.title()}DataResponse"}
        effect = Effect(lambda: done, lambda: None)
        return self.start(verb, record, query, effect, Transfer(paths, imports, **moved))

    def _grown(self, record: Record, wanted: object) -> str:
        gib = rules.check_growth(record.document, record.created_gib, wanted)
        if gib != record.gib:
            _check_ours(record)
        self.check_quota(record.location, gib - record.gib)
        return str(gib)

    def _paths(self, record: Record, body: Object, imports: bool) -> Object:
        uri = (body.get("gcsPath") or {}).get("uri", "")
        path = (body.get("lustrePath") or {}).get("path") or "/"
        rules.check_bucket(uri)
        if not path.startswith("/"):
            raise invalid(f"invalid lustre_path.path {path!r}: must start with /")
        exists = (path.rstrip("/") or "/") in record.directories
        if imports and not exists and not self.setting(record)("any_directory"):
            raise invalid(f"invalid lustre_path.path {path!r}: the directory does not exist")
        return {"gcsPath": {"uri": uri}, "lustrePath": {"path": path}}


def _change(record: Record, changes: Object) -> Effect:
    def apply() -> Object:
        record.change(state="ACTIVE", **changes)
        return record.response()

    return Effect(apply, lambda: record.change(state="ACTIVE"))


def _check_ours(record: Record) -> None:
    if record.csi:
        message = "the test bed deletes and resizes instances of the CSI driver only by their PVCs"
        raise RefusedError("UNIMPLEMENTED", message)


def _changes(record: Record, query: Query, body: Object) -> Object:
    mask = [camel(one.strip()) for one in query.get("updateMask", "").split(",") if one.strip()]
    fields = mask or [name for name in body if name not in rules.OUTPUT]
    changes = {name: body.get(name) for name in fields}
    for name in changes.keys() - rules.MUTABLE:
        if mask or changes[name] != record.document.get(name):
            raise invalid(f"invalid update_mask: {name} cannot be changed")
        del changes[name]
    rules.check_mutable(changes)
    return changes


def matches(text: str, document: Object) -> bool:
    """Whether a filter, terms such as ``metadata.verb="create"`` joined by AND, matches a document."""
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
    """One page of the items that match the filter. A token is the number of the first item."""
    found = [one for one in found if matches(query.get("filter", ""), one)]
    size, token = int(query.get("pageSize") or _PAGE), query.get("pageToken") or "0"
    if not token.isdigit():
        raise invalid(f"invalid page_token {token!r}")
    end = int(token) + size
    shown: Object = {key: found[int(token) : end]}
    return shown | ({"nextPageToken": str(end)} if end < len(found) else {})
