"""Worlds in which Events tell something."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Event, Instance, LustreFacts, Observed
from unit.builders import NOW, claim, live, manifest, observed

PREFIX = 'failed to provision volume with StorageClass "a-class": '


def said(reason: str, message: str = "", **changes: Any) -> Event:
    """An Event about a claim, seen just now."""
    fields = {"type": "Normal", "first": NOW, "last": NOW, **changes}
    return Event("PersistentVolumeClaim", "chat-lustre", reason, message, **fields)


def refused(code: str, words: str = "why", **changes: Any) -> Event:
    """What the external-provisioner says when the driver answers with a code."""
    message = f"{PREFIX}rpc error: code = {code} desc = {words}"
    return said("ProvisioningFailed", message, type="Warning", **changes)


def ago(minutes: float) -> str:
    """A time before NOW."""
    return (datetime.fromisoformat(NOW) - timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")


def pending(of: KVCachePool, minutes: float = 1, **changes: Any) -> Any:
    """The pool's claim, which waits for that long."""
    made = claim(of, "Pending", metadata={"creationTimestamp": ago(minutes)})
    return live(made, **changes)


def hearing(of: KVCachePool, found: Any, *news: Event, lustre: LustreFacts | None = None) -> Observed:
    """A pool's class and claim, and what Events and the Lustre API say. The newest comes first."""
    world = observed(live(manifest(of, "StorageClass")), found)
    return replace(world, claim_events=news, facts=replace(world.facts, lustre=lustre))


def instance(state: str = "ACTIVE") -> LustreFacts:
    """What the Lustre API says of an instance that is there."""
    name = "projects/p/locations/us-central1-a/instances/pvc-uid"
    return LustreFacts(Instance(name, state, 18000 * 2**30, 1000, "kv", "net"))
