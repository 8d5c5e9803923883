"""What changes of an instance that exists: its size, who may act as root, when it is maintained."""

from kvtier.api.conditions import CAPACITY_VALID, STORAGE_READY, Condition, true
from kvtier.api.quantities import gib
from kvtier.api.v1alpha1 import KVCachePool, LustreTier
from kvtier.facts.model import Instance
from kvtier.plan.lustre.advice import advice
from kvtier.plan.lustre.instance.body import digest, growth_body, settings_body
from kvtier.plan.lustre.operations import Followed, Wish
from kvtier.plan.model import Checks

_CHANGEABLE = ("ACTIVE", "UPDATING")


def change(pool: KVCachePool, lustre: LustreTier, instance: Instance, checks: Checks) -> Wish | None:
    """The next change, None if the instance is as the spec wants it, or cannot be changed now.

    Settings go first: a growth that fails for want of room does not hold them up.
    """
    if instance.state not in _CHANGEABLE:
        return None
    if settings := settings_body(pool, lustre, instance):
        return Wish("Update", _of(instance, f"settings {digest(settings)}"), instance.name, settings)
    if lustre.size <= instance.capacity or checks[CAPACITY_VALID].status == "False":
        return None
    growth = f"{gib(instance.capacity)} to {lustre.capacity}"
    return Wish("Update", _of(instance, growth), instance.name, growth_body(lustre.size))


def changing(pool: KVCachePool, instance: Instance, wish: Wish, update: Followed) -> Condition:
    """StorageReady while a change is under way or has failed. It stays True: a change holds up no Pod."""
    has, status = f"instance {instance.name} has {gib(instance.capacity)}", update.status
    if status and status.state == "Failed" and status.subject == wish.subject:
        reason, what = advice(status.code or "", status.message or "")
        said = f"{has} and was not changed: {status.code}: {status.message or 'no details'}; {what}"
        return true(STORAGE_READY, f"Update{reason}", f"{said}. Pods go on using it as it is")
    lustre = pool.spec.tiers.lustre
    if lustre and lustre.size > instance.capacity:
        grows = f"{has} and grows to {lustre.capacity}, which may take 90 minutes"
        return true(STORAGE_READY, "Resizing", f"{grows}; Pods go on using it meanwhile")
    return true(
        STORAGE_READY, "Updating", f"{has}, and its settings are changed; Pods go on using it meanwhile"
    )


def _of(instance: Instance, what: str) -> str:
    """A namesake that is made later is changed anew."""
    return f"{what} of {instance.created}" if instance.created else what
