"""An instance that somebody else created: read from the Lustre API, or described by hand in the spec."""

from kvtier.api.conditions import STORAGE_READY, false
from kvtier.api.quantities import gib
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.api.v1alpha1 import LustreTier
from kvtier.context import LustreView
from kvtier.facts.model import Instance
from kvtier.pace import Pace
from kvtier.plan.lustre.instance import InstanceView, Source, StorageState, problem, source
from kvtier.plan.model import Part


def existing(spec: LustreTier, lustre: LustreView, pace: Pace) -> InstanceView:
    """The instance that the spec names, or why it cannot be used.

    Case 1: the Lustre API has not returned anything yet -> wait for it.
    Case 2: the API returned the instance -> use it; values in the spec must agree with it.
    Case 3: the API reports that the instance does not exist -> report it.
    Case 4: the API could not be read -> use the values in the spec.
    Case 5: the API could not be read, and the spec has no values -> report what to do.
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
    text = sentences(
        lustre.unseen,
        "Let kvtier read the instance (roles/lustre.viewer), or recreate the pool with address, filesystem and "
        "capacity set by hand",
    )
    unknown = false(STORAGE_READY, Reason.INSTANCE_UNKNOWN, text)
    return InstanceView(problem=StorageState(unknown, "Waiting"), part=Part(again=pace.moving))


def pending(lustre: LustreView) -> StorageState:
    """The state until the Lustre API has returned something for the first time."""
    return StorageState(false(STORAGE_READY, Reason.WAITING, lustre.unseen or ""), "Waiting")


def _described(spec: LustreTier, instance: Instance, pace: Pace) -> InstanceView:
    again = Part(again=pace.settled if instance.state == "ACTIVE" else pace.moving)
    if differing := _contradictions(spec, instance):
        text = sentences(
            f"The spec differs from Lustre instance {instance.name}: {', '.join(differing)}",
            "Recreate the pool with correct values, or omit them",
        )
        wrong = false(STORAGE_READY, Reason.INSTANCE_CONTRADICTED, text)
        return InstanceView(problem=StorageState(wrong, "Failed"), part=again)
    found, state = source(instance), problem(instance)
    if found is None and state is None:
        text = f"Lustre instance {instance.name} has no address yet. kvtier waits for it."
        state = StorageState(false(STORAGE_READY, Reason.PROVISIONING, text), "Provisioning")
    return InstanceView(found, state, part=again)


def _not_found(spec: LustreTier, pace: Pace) -> InstanceView:
    text = sentences(
        f"Lustre instance {spec.instance} does not exist",
        "Recreate the pool with the correct spec.tiers.lustre.instance",
    )
    missing = false(STORAGE_READY, Reason.INSTANCE_NOT_FOUND, text)
    return InstanceView(problem=StorageState(missing, "Failed"), part=Part(again=pace.waiting))


def _contradictions(spec: LustreTier, instance: Instance) -> list[str]:
    """Values in the spec that differ from the instance. A capacity larger than in the spec is not a difference."""
    differing = []
    if spec.address and instance.address and spec.address != instance.address:
        differing.append(f"address is {instance.address}, not {spec.address}")
    if spec.filesystem and spec.filesystem != instance.filesystem:
        differing.append(f"filesystem is {instance.filesystem}, not {spec.filesystem}")
    if spec.size > instance.capacity:
        differing.append(f"capacity is {gib(instance.capacity)}, not {spec.capacity}")
    return differing
