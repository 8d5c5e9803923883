"""Every object that an API accepts has a value: decoding and storing it never fail."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtier.api.kinds import Object
from kvtier.api.names import PoolKey
from kvtier.control.store import Store
from kvtier.facts import gke
from kvtier.facts.children import view
from kvtier.facts.cluster import ClusterParts
from kvtier.facts.events import newest_first, parsed
from kvtier.facts.lustre_api import instance_from, operation_from
from kvtier.facts.volumes import any_volume
from kvtier.gcp.errors import GoogleError, translating
from testbed.lustre.documents import TYPES
from unit.builders import NOW, document
from unit.corpus.changes import changed
from unit.corpus.documents import CHILDREN, CSI_NODE, EVENT, NODE, VOLUME, WATCHED


@given(st.sampled_from(CHILDREN).flatmap(changed))
def test_every_child_has_a_value(obj: Any) -> None:
    assert view(obj["kind"], obj).name == obj["metadata"]["name"]


@given(changed(VOLUME))
def test_every_persistent_volume_has_a_value(obj: Any) -> None:
    found = any_volume(obj)
    assert (found.name, found.capacity >= -(2**63), isinstance(found.instance, str)) == ("pv-1", True, True)


@given(st.sampled_from([NODE, CSI_NODE]).flatmap(changed))
def test_every_node_has_a_value(obj: Any) -> None:
    parts = ClusterParts()
    parts.put(obj["kind"], obj)
    assert all(one.version or one.zone or one.name for one in parts.cluster().nodes)


@given(st.lists(changed(EVENT), max_size=4))
def test_every_event_has_a_value_and_a_place_in_the_order(events: Any) -> None:
    assert len(newest_first(map(parsed, events))) <= len(events)


class _Strict(Store):
    """A store that passes on what it would log."""

    def _safely(self, change: Callable[[str, Object], set[PoolKey]], kind: str, obj: Object) -> set[PoolKey]:
        return change(kind, obj)


@given(st.lists(st.sampled_from(WATCHED).flatmap(changed), max_size=4))
def test_every_object_can_be_stored_and_removed_again(objects: Any) -> None:
    store = _Strict()
    for obj in (document(metadata={"resourceVersion": "1"}), *objects):
        store.put(obj["kind"], obj)
    for key in store.all_keys():
        assert store.children(key) is not None
    assert (store.cluster(), store.volumes()) is not None
    for kind in sorted({obj["kind"] for obj in objects}):
        store.list_begins(kind)
        store.replace(kind, [])
    assert store.volumes().by_name == {}


_INSTANCE: dict[str, Any] = {
    "name": "projects/p/locations/z/instances/i",
    "state": "ACTIVE",
    "stateReason": "why",
    "capacityGib": "18000",
    "perUnitStorageThroughput": "1000",
    "filesystem": "lfs",
    "network": "projects/p/global/networks/n",
    "mountPoint": "10.0.0.4@tcp:/lfs",
    "createTime": NOW,
    "labels": {"a": "b"},
    "gkeSupportEnabled": True,
    "kmsKey": "k",
    "dynamicTierOptions": {"mode": "DEFAULT_CACHE"},
    "upcomingMaintenanceSchedule": {"startTime": NOW, "endTime": NOW},
}
_OPERATION: dict[str, Any] = {
    "name": "projects/p/locations/z/operations/o",
    "done": True,
    "error": {"code": 8, "message": "quota"},
    "metadata": {
        "@type": f"{TYPES}ImportDataMetadata",
        "operationMetadata": {
            "createTime": NOW,
            "counters": {"foundObjectsCount": "3", "bytesCopiedCount": "9"},
            "errorSummaries": [
                {
                    "errorCode": "PERMISSION_DENIED",
                    "errorCount": "2",
                    "errorLogEntries": [{"uri": "gs://b/o", "errorDetails": ["denied"]}],
                }
            ],
        },
    },
}


def _read(message: Any, answer: Any) -> Any:
    """The answer as Google's clients read it; None for one that they refuse."""
    from google.protobuf.json_format import ParseDict

    try:
        return translating(lambda: ParseDict(answer, message, ignore_unknown_fields=True))
    except GoogleError:
        return None


@given(changed(_INSTANCE))
def test_every_instance_of_the_lustre_api_has_a_value(answer: Any) -> None:
    from google.cloud.lustre_v1 import Instance

    raw = _read(Instance.pb(Instance()), answer)
    if raw is not None:
        assert instance_from(Instance.wrap(raw), "n").name == "n"


@given(changed(_OPERATION))
def test_every_operation_of_the_lustre_api_has_a_value(answer: Any) -> None:
    from google.cloud import lustre_v1  # noqa: F401 - registers the types of the metadata
    from google.longrunning.operations_pb2 import Operation

    raw = _read(Operation(), answer)
    if raw is not None:
        assert operation_from(raw, "n").name == "n"


_CLUSTER = {
    "networkConfig": {"network": "projects/p/global/networks/n"},
    "currentMasterVersion": "1.35.6-gke.1049000",
    "addonsConfig": {"lustreCsiDriverConfig": {"enabled": True, "enableLegacyLustrePort": True}},
}


@given(changed(_CLUSTER))
@pytest.mark.filterwarnings("ignore")
def test_every_cluster_of_the_gke_api_has_a_value(answer: Any) -> None:
    from google.cloud.container_v1 import Cluster

    raw = _read(Cluster.pb(Cluster()), answer)
    if raw is not None:
        assert gke.facts_of(Cluster.wrap(raw)).error is None
