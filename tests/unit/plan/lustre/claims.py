"""PVCs of the CSI driver, and Events of its sidecars about them."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.context import Context
from kvtier.facts.model import Event, Instance, LustreFacts
from kvtier.facts.volumes import Volume, Volumes
from kvtier.plan.lustre.csi import plan_csi
from kvtier.plan.model import Part
from unit.builders import NOW, checks, claim, context, facts, live, manifest, pool

POOL = pool()
CLASS = live(manifest(POOL, "StorageClass"))
CLASS_NAME, NAME = CLASS["metadata"]["name"], manifest(POOL, "PersistentVolumeClaim")["metadata"]["name"]
BOTH = ["StorageClass", "PersistentVolumeClaim"]
GOING: dict[str, Any] = {"metadata": {"deletionTimestamp": NOW}}


def of_size(capacity: str) -> KVCachePool:
    return pool(tiers={"lustre": {"capacity": capacity}})


def ago(minutes: float) -> str:
    """A time before NOW."""
    return (datetime.fromisoformat(NOW) - timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")


def pending(minutes: float = 1, **changes: Any) -> Any:
    """A PVC that has waited for this time."""
    return live(claim(POOL, "Pending", metadata={"creationTimestamp": ago(minutes)}), **changes)


def event(reason: str, message: str = "", **changes: Any) -> Event:
    """An Event about the PVC, seen just now."""
    return Event("PersistentVolumeClaim", NAME, reason, message, **{"first": NOW, "last": NOW, **changes})


def refused(code: str, words: str = "why", **changes: Any) -> Event:
    """The Event of the external-provisioner when the driver reports an error with this code."""
    text = f'failed to provision volume with StorageClass "a": rpc error: code = {code} desc = {words}'
    return event("ProvisioningFailed", text, type="Warning", **changes)


STOCKOUT = refused("ResourceExhausted", "The zone does not have enough resources available")


def instance(state: str = "ACTIVE") -> LustreFacts:
    """The response of the Lustre API about an instance that exists."""
    name = "projects/p/locations/us-central1-a/instances/pvc-uid"
    return LustreFacts(Instance(name, state, 18000 * 2**30, 1000, "kv", "net"))


def look(
    of: KVCachePool,
    found: Any,
    *events: Event,
    lustre: LustreFacts | None = None,
    volumes: tuple[Volume, ...] = (),
    **seen: Any,
) -> Context:
    """The context of a pool with its StorageClass and a PVC (or None). The newest Event is first."""
    known = replace(facts(), lustre=lustre, volumes=Volumes({one.name: one for one in volumes}))
    children = [seen.pop("class_", CLASS), *([found] if found else [])]
    return context(of, *children, facts=known, claim_events=events, **seen)


def planned(at: Context, **statuses: str) -> Part:
    """The plan while prerequisites have these statuses."""
    assert at.lustre.spec is not None
    return plan_csi(at, at.lustre.spec, checks(**statuses))


def kinds(part: Part) -> list[str]:
    """The kinds of the written objects."""
    return [one["kind"] for one in part.applies]


def wanted_claim(part: Part) -> Any:
    """The spec of the written PVC, or None."""
    return next((one["spec"] for one in part.applies if one["kind"] == "PersistentVolumeClaim"), None)


def request(part: Part) -> str | None:
    """The size that the written PVC requests, or None."""
    spec = wanted_claim(part)
    return spec["resources"]["requests"]["storage"] if spec else None
