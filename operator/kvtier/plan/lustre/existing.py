"""Where the shared tier is mounted from, of an instance that exists: told by the Lustre API, or by hand."""

from dataclasses import dataclass, field

from kvtier.api.conditions import STORAGE_READY, Condition, false
from kvtier.api.quantities import gib
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import LustreTier
from kvtier.facts.model import Instance, LustreFacts
from kvtier.plan.lustre.instance import verdict
from kvtier.plan.model import Part


@dataclass(frozen=True)
class Source:
    """An instance by its full name, its address, its file system, and its capacity in bytes."""

    instance: str
    address: str
    filesystem: str
    capacity: int

    @property
    def handle(self) -> str:
        """PROJECT/ZONE/INSTANCE, as the driver writes it."""
        return "/".join(self.instance.split("/")[1::2])

    @property
    def zone(self) -> str:
        return self.instance.split("/")[3]


@dataclass(frozen=True)
class Known:
    """What is known of the instance.

    `source` is what volume and claim may be made from. `condition` is StorageReady where something is wrong
    or not there yet. `unseen` says why the Lustre API tells nothing, which concerns only who needs it.
    `growth` is StorageReady of a tier in use that grows, or does not manage to. `part` has calls, operations
    and when to look again.
    """

    source: Source | None = None
    condition: Condition | None = None
    unseen: str = ""
    growth: Condition | None = None
    part: Part = field(default_factory=Part)


PENDING = "pending"
"""`unseen` before the first answer of the Lustre API."""

SETTLED_SECONDS, MOVING_SECONDS = 300.0, 15.0
"""How often the Lustre API is asked again, whose changes no watch tells."""


def existing(lustre: LustreTier, facts: LustreFacts | None) -> Known:
    """An instance that somebody else made.

    Case 1: the API tells of it -> it is asked, and what was given by hand must agree.
    Case 2: the API has not answered yet -> that is waited for.
    Case 3: the API knows no such instance -> nothing can be made from it.
    Case 4: the API does not tell -> what was given by hand stands.
    Case 5: nothing was given either -> both ways out.
    """
    name = lustre.instance or ""
    if facts and facts.pending:
        return pending(facts)
    if facts and facts.instance:
        return _told(lustre, facts.instance)
    if facts and not facts.error:
        said = f"the Lustre API knows no instance {name}: correct lustre.instance, which needs a new pool"
        return Known(condition=false(STORAGE_READY, Reason.INSTANCE_NOT_FOUND, said), part=Part(again=60.0))
    if lustre.address and lustre.filesystem:
        by_hand = Source(name, lustre.address, lustre.filesystem, lustre.size)
        return Known(by_hand, part=Part(again=SETTLED_SECONDS))
    error = facts.error if facts and facts.error else f"the Lustre API was not asked about {name}"
    ways = (
        "either let kvtier read the instance (roles/lustre.viewer), or make the pool anew with address, filesystem "
        "and capacity given by hand"
    )
    condition = false(STORAGE_READY, Reason.INSTANCE_UNKNOWN, f"{error}; {ways}")
    return Known(condition=condition, unseen=error, part=Part(again=MOVING_SECONDS))


def pending(facts: LustreFacts) -> Known:
    """Before the first answer of the Lustre API."""
    waiting = false(STORAGE_READY, Reason.WAITING, facts.error or "")
    return Known(condition=waiting, unseen=PENDING, part=Part(again=MOVING_SECONDS))


def of(instance: Instance) -> Source | None:
    """None while the instance has no address yet."""
    if not instance.address:
        return None
    return Source(instance.name, instance.address, instance.filesystem, instance.capacity)


def _told(lustre: LustreTier, instance: Instance) -> Known:
    again = Part(again=SETTLED_SECONDS if instance.state == "ACTIVE" else MOVING_SECONDS)
    if differing := _contradictions(lustre, instance):
        said = f"the Lustre API contradicts the spec about {instance.name}: {', '.join(differing)}"
        remedy = "make the pool anew with what is right, or without"
        return Known(
            condition=false(STORAGE_READY, Reason.INSTANCE_CONTRADICTED, f"{said}; {remedy}"), part=again
        )
    source, condition = of(instance), verdict(instance)
    if source is None and condition is None:
        condition = false(STORAGE_READY, Reason.PROVISIONING, f"instance {instance.name} has no address yet")
    return Known(source, condition, part=again)


def _contradictions(lustre: LustreTier, instance: Instance) -> list[str]:
    """What was given by hand and is wrong. An instance that has grown since does not contradict."""
    differing = []
    if lustre.address and instance.address and lustre.address != instance.address:
        differing.append(f"address is {instance.address}, not {lustre.address}")
    if lustre.filesystem and lustre.filesystem != instance.filesystem:
        differing.append(f"filesystem is {instance.filesystem}, not {lustre.filesystem}")
    if lustre.size > instance.capacity:
        differing.append(f"capacity is {gib(instance.capacity)}, not {lustre.capacity}")
    return differing
