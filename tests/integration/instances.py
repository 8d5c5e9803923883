"""Pools whose instance is not created by the CSI driver: their specs, and waiting for the operator."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from testbed.gke import ZONE
from testbed.google_api import Object
from testbed.kube import NotFoundError
from testbed.lustre.client import LustreProject
from testbed.pools import API, Pools
from testbed.waiting import T, eventually

CLAIM, VOLUME = ("v1", "PersistentVolumeClaim"), ("v1", "PersistentVolume")
DEPLOYMENT = ("apps/v1", "Deployment")
_LOOK_SECONDS = 0.5
_NOT_MADE = dict.fromkeys(
    [f"tiers__lustre__{name}" for name in ("capacity", "throughputPerTiB", "zone", "network")]
)


def through_api(project: LustreProject, **changes: Any) -> Object:
    """Changes for an instance that kvtier creates through the Lustre API, in the project of the test."""
    return {
        "cluster": {"project": project.name, "location": "us-central1", "name": "none"},
        "tiers__lustre__provisioner": "API",
        "tiers__lustre__network": f"projects/{project.name}/global/networks/default",
        **changes,
    }


def existing(project: LustreProject, instance: str = "shared", **changes: Any) -> Object:
    """Changes for an existing instance in the project of the test."""
    name = f"projects/{project.name}/locations/{ZONE}/instances/{instance}"
    return {
        **_NOT_MADE,
        "tiers__lustre__provisioner": "Existing",
        "tiers__lustre__instance": name,
        **changes,
    }


def until(pools: Pools, name: str, condition: Callable[[], T], what: str = "", timeout: float = 60.0) -> T:
    """Wait, and trigger reconciliations of the pool from time to time, because the Lustre API has no watch."""
    due = 0.0

    def looked() -> T:
        nonlocal due
        if time.monotonic() >= due:
            annotation = {"metadata": {"annotations": {"look": str(time.monotonic())}}}
            with suppress(NotFoundError):
                pools.kube.patch(*API, name, annotation, pools.namespace)
            due = time.monotonic() + _LOOK_SECONDS
        return condition()

    return eventually(looked, timeout, what)


def until_status(
    pools: Pools,
    name: str,
    status: str,
    reason: str,
    type_: str = "StorageReady",
    *,
    words: str = "",
) -> tuple[Object, Object]:
    """Wait for a condition of a pool with words in its message. Return the condition and its status."""

    def holds() -> tuple[Object, Object]:
        known: Object = pools.get(name).get("status", {})
        found: Object = next((one for one in known.get("conditions", []) if one["type"] == type_), {})
        assert (found.get("status"), found.get("reason")) == (status, reason), found
        assert words in found["message"], found
        return found, known

    return until(pools, name, holds, f"{type_} of {name} is {status} {reason}")


def until_condition(pools: Pools, name: str, status: str, reason: str, type_: str = "StorageReady") -> Object:
    """Wait for a condition of a pool."""
    return until_status(pools, name, status, reason, type_)[0]


def until_ready(pools: Pools, name: str) -> Object:
    """Wait until a pool is ready, and return its status."""
    return until_status(pools, name, "True", "AllReady", "Ready")[1]


def until_gone(pools: Pools, name: str) -> None:
    """Wait until a deleted pool does not exist."""
    until(pools, name, lambda: not pools.kube.find(*API, name, pools.namespace), f"{name} does not exist")


def tier(pools: Pools, name: str) -> Object:
    """The Lustre tier in the status."""
    tiers = pools.get(name).get("status", {}).get("tiers", [])
    return next((one for one in tiers if one["name"] == "lustre"), {})


def recreate(pools: Pools) -> None:
    """Delete the namespace of the test and create it again, empty."""
    kube = pools.kube
    kube.delete("v1", "Namespace", pools.namespace)
    kube.wait_gone("v1", "Namespace", pools.namespace, timeout=60.0)
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": pools.namespace}})
    eventually(lambda: kube.find("v1", "ServiceAccount", "default", pools.namespace))
