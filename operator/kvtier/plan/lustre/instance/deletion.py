"""The deletion of an instance that kvtier made."""

from dataclasses import dataclass, field

from kvtier.api.names import ANNOTATION_PROVISIONER
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Instance, LustreFacts, Observed
from kvtier.plan.lustre.advice import advice
from kvtier.plan.lustre.identity import instance_name, volume_name
from kvtier.plan.lustre.instance.body import ours
from kvtier.plan.lustre.operations import UNANSWERED, Followed, Kind, Wish, elapsed, follow, last
from kvtier.plan.model import Part

_BOTH: tuple[Kind, ...] = ("Create", "Delete")
_IN_FLIGHT_SECONDS = 60.0
"""How long a request may take to be carried out after nobody waits for its answer any more."""


@dataclass(frozen=True)
class Removal:
    """A step of taking the shared tier away.

    `waits` names what has to go before the next one, empty when all is gone; `keeps` what was not kvtier's to
    delete, with the reason.
    """

    part: Part = field(default_factory=Part)
    waits: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()


def made_here(pool: KVCachePool, observed: Observed) -> bool:
    """Whether kvtier made the instance. Of a tier that is not in the spec any more, its volume tells, or the status."""
    lustre = pool.spec.tiers.lustre
    if lustre is not None:
        return lustre.provisioner == "API"
    volume = observed.child("PersistentVolume", volume_name(pool))
    if volume is not None:
        return bool(volume["metadata"].get("annotations", {}).get(ANNOTATION_PROVISIONER) == "API")
    return last(pool, "Create") is not None


def may_exist(pool: KVCachePool, observed: Observed, now: str) -> str | None:
    """Name of an instance that kvtier made, unless the Lustre API says that there is none and there will be none."""
    name, facts = instance_name(pool, observed), observed.facts.lustre
    gone = facts is not None and facts.error is None and facts.instance is None
    if name is None or not made_here(pool, observed) or (gone and not _making(pool, observed, now)):
        return None
    return name


def remove_instance(pool: KVCachePool, observed: Observed, now: str) -> Removal:
    """The deletion, until the Lustre API knows the instance no more.

    Case 1: it is not kvtier's -> it stays: an existing one, or the driver's, which goes with its volume.
    Case 2: the API does not tell -> it is waited for.
    Case 3: the creation may still be carried out -> it is waited for.
    Case 4: there is none -> done.
    Case 5: there is one, but another's by its labels -> it stays, and is told of.
    Case 6: else -> its deletion is asked for. The API refuses that while it is at something else.
    """
    name, facts = instance_name(pool, observed), observed.facts.lustre
    if name is None or not made_here(pool, observed):
        return Removal()
    create = follow(pool, observed.facts, "Create", None, now)
    if facts is None or facts.error:
        error = facts.error if facts and facts.error else "the Lustre API was not asked"
        return Removal(_part(create), (f"instance {name} ({error})",))
    if facts.instance is None:
        waits = (f"the creation of instance {name}",) if _making(pool, observed, now) else ()
        return Removal(_part(create, follow(pool, observed.facts, "Delete", None, now)), waits)
    if not ours(pool, facts.instance):
        return Removal(_part(create), keeps=(f"instance {name}, which is not this pool's by its labels",))
    delete = follow(pool, observed.facts, "Delete", _wish(facts.instance), now)
    return Removal(_part(create, delete), (f"instance {name}{_trouble(delete)}",))


def _wish(instance: Instance) -> Wish:
    """For this very instance: a namesake that is made later is deleted anew."""
    made = f" of {instance.created}" if instance.created else ""
    return Wish("Delete", f"deletion{made}", instance.name)


def _making(pool: KVCachePool, observed: Observed, now: str) -> bool:
    """Whether an instance may yet appear.

    Case 1: the status tells of no creation -> only if it could not be written since one was asked for.
    Case 2: the creation has ended with an answer -> no.
    Case 3: nobody has its answer -> it may be carried out for another minute.
    Case 4: it runs -> yes, unless the instance was deleted meanwhile.
    """
    create, delete = (follow(pool, observed.facts, kind, None, now).status for kind in _BOTH)
    create, asked = create or last(pool, "Create"), (observed.facts.lustre or LustreFacts()).operations
    if create is None:
        told = {one.request_id for one in pool.status.operations}
        return any(not one.done for request, one in asked.items() if request not in told)
    if create.state != "Running" and (create.name or create.code not in UNANSWERED):
        return False
    if create.state != "Running" or not (create.name or create.request_id in asked):
        return elapsed(create.progress_time or create.start_time, now) < _IN_FLIGHT_SECONDS
    if delete is None or delete.state != "Succeeded":
        return True
    return elapsed(create.start_time, delete.progress_time or now) < 0


def _trouble(delete: Followed) -> str:
    status = delete.status
    if status is None or status.state != "Failed":
        return ""
    _, what = advice(status.code or "", status.message or "")
    return f" ({status.code}: {status.message or 'no details'}; {what})"


def _part(*followed: Followed) -> Part:
    return Part(
        calls=tuple(call for one in followed for call in one.calls),
        operations=tuple(operation for one in followed for operation in one.operations),
    )
