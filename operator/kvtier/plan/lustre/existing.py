"""An instance that somebody else made: described by the Lustre API, or by hand in the spec."""

from kvtier.api.conditions import STORAGE_READY, false
from kvtier.api.quantities import gib
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import LustreTier
from kvtier.context import LustreView
from kvtier.facts.model import Instance
from kvtier.pace import Pace
from kvtier.plan.lustre.instance import InstanceView, Source, StorageState, problem, source
from kvtier.plan.model import Part


def existing(spec: LustreTier, lustre: LustreView, pace: Pace) -> InstanceView:
    """What is known of the instance that the spec names.

    Case 1: the Lustre API has not answered yet -> that is waited for.
    Case 2: it describes the instance -> so it is, and what was given by hand must agree.
    Case 3: it knows no such instance -> nothing can be made from it.
    Case 4: it says nothing -> what was given by hand stands.
    Case 5: nothing was given either -> both ways out.
    """
    if lustre.pending:
        return InstanceView(problem=pending(lustre), part=Part(again=pace.moving))
    if lustre.instance:
        return _described(spec, lustre.instance, pace)
    if lustre.unseen is None:
        return _not_found(spec, pace)
    if spec.address and spec.filesystem:
        by_hand = Source(spec.instance or "", spec.address, spec.filesystem, spec.size)
        return InstanceView(by_hand, part=Part(again=pace.settled))
    ways = (
        "either let kvtier read the instance (roles/lustre.viewer), or make the pool anew with address, filesystem "
        "and capacity given by hand"
    )
    unknown = false(STORAGE_READY, Reason.INSTANCE_UNKNOWN, f"{lustre.unseen}; {ways}")
    return InstanceView(problem=StorageState(unknown, "Waiting"), part=Part(again=pace.moving))


def pending(lustre: LustreView) -> StorageState:
    """Before the first answer of the Lustre API."""
    return StorageState(false(STORAGE_READY, Reason.WAITING, lustre.unseen or ""), "Waiting")


def _described(spec: LustreTier, instance: Instance, pace: Pace) -> InstanceView:
    again = Part(again=pace.settled if instance.state == "ACTIVE" else pace.moving)
    if differing := _contradictions(spec, instance):
        said = f"the Lustre API contradicts the spec about {instance.name}: {', '.join(differing)}"
        remedy = "make the pool anew with what is right, or without"
        wrong = false(STORAGE_READY, Reason.INSTANCE_CONTRADICTED, f"{said}; {remedy}")
        return InstanceView(problem=StorageState(wrong, "Failed"), part=again)
    found, state = source(instance), problem(instance)
    if found is None and state is None:
        said = f"instance {instance.name} has no address yet"
        state = StorageState(false(STORAGE_READY, Reason.PROVISIONING, said), "Provisioning")
    return InstanceView(found, state, part=again)


def _not_found(spec: LustreTier, pace: Pace) -> InstanceView:
    said = (
        f"the Lustre API knows no instance {spec.instance}: correct lustre.instance, which needs a new pool"
    )
    missing = false(STORAGE_READY, Reason.INSTANCE_NOT_FOUND, said)
    return InstanceView(problem=StorageState(missing, "Failed"), part=Part(again=pace.waiting))


def _contradictions(spec: LustreTier, instance: Instance) -> list[str]:
    """What was given by hand and is wrong. An instance that has grown since does not contradict."""
    differing = []
    if spec.address and instance.address and spec.address != instance.address:
        differing.append(f"address is {instance.address}, not {spec.address}")
    if spec.filesystem and spec.filesystem != instance.filesystem:
        differing.append(f"filesystem is {instance.filesystem}, not {spec.filesystem}")
    if spec.size > instance.capacity:
        differing.append(f"capacity is {gib(instance.capacity)}, not {spec.capacity}")
    return differing
