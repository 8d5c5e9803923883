"""Immutable fields of the Lustre tier: a change, a removal and an addition are all refused."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from testbed.control_plane.cluster import Cluster
from testbed.kube import ApiError
from testbed.pools import Pools, create_namespace, empty_namespace
from unit.builders import document, joined
from unit.instances import CLUSTER, KEY, NAME, POLICY, api, by_hand, dynamic, existing
from unit.tables import table

WINDOW = {"day": "Sunday", "hour": 3}


def _lustre(**changes: Any) -> dict[str, Any]:
    return {"tiers": {"lustre": changes}}


@pytest.fixture(scope="module")
def pools(control_plane: Cluster) -> Iterator[Pools]:
    """A namespace for all tests of this file. Each test has its own pool, for which no child is created."""
    namespace = create_namespace(control_plane.kube, "immutable")
    yield Pools(control_plane.kube, namespace)
    empty_namespace(control_plane.kube, namespace)


@pytest.fixture
def made(pools: Pools) -> Callable[[dict[str, Any]], str]:
    """Creates a pool that is blocked because its prerequisites are unknown. Returns its name."""

    def make(changes: dict[str, Any]) -> str:
        metadata = {"name": None, "generateName": "fixed-", "namespace": pools.namespace}
        unset = {"uid": None, "generation": None}
        pool = document(**joined(changes, {"strict": True}), metadata=metadata | unset)
        return str(pools.kube.create(pool)["metadata"]["name"])

    return make


@table(
    "before, field, value",
    {
        "the provisioner API": (api(), "provisioner", "CSI"),
        "the provisioner CSI": ({}, "provisioner", "API"),
        "the throughput": (api(), "throughputPerTiB", 500),
        "the Dynamic tier": (dynamic(), "dynamicTier", None),
        "the zone": (api(), "zone", "us-central1-b"),
        "the network": (api(), "network", "projects/other/global/networks/default"),
        "a file system name": (api(filesystem="mine"), "filesystem", "yours"),
        "a file system name that is removed": (api(filesystem="mine"), "filesystem", None),
        "a file system name that is added": (api(), "filesystem", "mine"),
        "the existing instance": (existing(), "instance", NAME.replace("shared", "other")),
        "an address": (by_hand(), "address", "10.0.0.5"),
        "a key": (api(kmsKey=KEY), "kmsKey", f"{KEY}2"),
        "a key that is removed": (api(kmsKey=KEY), "kmsKey", None),
        "a key that is added": (api(), "kmsKey", KEY),
        "a placement policy": (api(placementPolicy=POLICY), "placementPolicy", f"{POLICY}2"),
        "a placement policy that is added": (api(), "placementPolicy", POLICY),
    },
)
def test_is_immutable(pools: Pools, made: Any, before: dict[str, Any], field: str, value: Any) -> None:
    name = made(before)
    with pytest.raises(ApiError, match=f"{field} is immutable: create a new pool instead"):
        pools.patch(name, _lustre(**{field: value}))


def test_the_address_of_an_existing_instance_cannot_be_removed(pools: Pools, made: Any) -> None:
    name = made(by_hand())
    with pytest.raises(ApiError, match="address is immutable"):
        pools.patch(name, _lustre(address=None, filesystem=None, capacity=None))


@pytest.mark.parametrize("field", CLUSTER)
def test_the_cluster_is_immutable_with_provisioner_api(pools: Pools, made: Any, field: str) -> None:
    name = made(api())
    with pytest.raises(ApiError, match="cluster is immutable with lustre"):
        pools.patch(name, {"cluster": {field: "other"}})


@table(
    "before, change",
    {
        "the cluster with provisioner CSI": ({"cluster": CLUSTER}, {"cluster": {"name": "other"}}),
        "a capacity that increases": (api(), _lustre(capacity="27000Gi")),
        "a capacity of an existing instance that decreases": (by_hand(), _lustre(capacity="9000Gi")),
        "access rules": (api(), _lustre(accessRules={"defaultSquash": "NoSquash"})),
        "a maintenance window": (api(maintenanceWindow=WINDOW), _lustre(maintenanceWindow={"hour": 4})),
        "a maintenance window that is removed": (
            api(maintenanceWindow=WINDOW),
            _lustre(maintenanceWindow=None),
        ),
        "the URI of cloudStorage": (
            joined(api(), {"tiers": {"cloudStorage": {"uri": "gs://bucket/a/"}}}),
            {"tiers": {"cloudStorage": {"uri": "gs://bucket/b/"}}},
        ),
    },
)
def test_can_change(pools: Pools, made: Any, before: dict[str, Any], change: dict[str, Any]) -> None:
    pools.patch(made(before), change)
