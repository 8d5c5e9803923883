"""The instances of the CSI driver, which in reality are the same service's."""

import uuid
from dataclasses import dataclass

import requests

from testbed.google_faults import Object
from testbed.lustre_csi import LustreService, State
from testbed.lustre_service.inventory import Inventory, Record

_OWNER = "kubernetes_io_created-for_pvc_namespace"


@dataclass(frozen=True)
class CSIDriver:
    """The driver's steering port, and the one project in which the driver makes all instances."""

    url: str
    project: str

    def state(self) -> State | None:
        """What the driver has; None while it restarts, in which the service stays as it is."""
        try:
            return LustreService(self.url).state()
        except requests.RequestException:
            return None


def adopt(inventory: Inventory, state: State) -> None:
    """Bring the driver's instances up to date.

    What has changed through the API, such as a description, stays until the driver changes it, too.
    """
    known = {record.id: record for record in inventory.records.values() if record.csi}
    for name in known.keys() - state.instances.keys():
        inventory.drop(known[name])
    for name, one in state.instances.items():
        record = known.get(name) or _new(inventory, one)
        shown = _document(one, state)
        news = {key: value for key, value in shown.items() if record.csi.get(key) != value}
        if news:
            record.change(**news)
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
