"""TierWritable: a Job that writes to the shared tier as the engines would, once per claim."""

from kvtier.api.conditions import TIER_WRITABLE, Condition, false
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Observed
from kvtier.facts.objects import Object
from kvtier.plan.children import claim_name
from kvtier.plan.gates import ENGINES_ON_LUSTRE, blockers
from kvtier.plan.lustre.claim import claims
from kvtier.plan.lustre.operations import elapsed
from kvtier.plan.lustre.probe.caches import caches
from kvtier.plan.lustre.probe.job import belongs, is_probe, probe, series
from kvtier.plan.lustre.probe.outcome import outcome, podless
from kvtier.plan.lustre.probe.report import RETRY_SECONDS, condition, progress
from kvtier.plan.model import Checks, Part, Ref, to_delete
from kvtier.plan.starting import hindrance

_LOOK_SECONDS = 30.0
"""While a Job runs: what keeps its Pod from starting is told by Events, which nobody watches."""


def plan_writable(  # noqa: PLR0913, PLR0917 - it depends on what every other concern has come to
    pool: KVCachePool, observed: Observed, checks: Checks, claim: str | None, nodes_usable: bool, now: str
) -> Part:
    """The Job that is due, the ones that are done with, and what they have found.

    Case 1: no shared tier, or its claim is being deleted -> no Jobs: their Pods, finished or not, keep a claim.
    Case 2: the claim is not bound -> nothing to say, and nothing to do.
    Case 3: a Job has succeeded -> it stays as the record.
    Case 4: the last one has failed -> its finding stands until another, after a while, has ended.
    Case 5: none has ended -> one runs, or is made once engines could run.
    """
    volume = observed.child("PersistentVolumeClaim", claim_name(pool))
    if pool.spec.tiers.lustre is None or (volume and claims.going(volume)):
        return Part(deletes=_all_but(observed))
    if claim is None or volume is None:
        return Part()
    of = caches(pool, observed.facts)
    last = _last_ended(observed, series(pool, volume, of))
    found = outcome(last) if last else None
    if last and found and found.succeeded:
        return Part((), (condition(pool, last, found),), deletes=_all_but(observed, last))
    wanted = probe(pool, volume, of, last["metadata"]["uid"] if last else "")
    running = observed.child("Job", wanted["metadata"]["name"])
    held = None if running else _held(pool, checks, nodes_usable)
    wait = RETRY_SECONDS - elapsed(found.at, now) if found else 0.0
    due = not running and not held and wait <= 0
    if last and found and not (running and podless(running, now)):
        told = condition(pool, last, found, hindrance(observed, wanted["metadata"]["name"]))
    else:
        told = held or progress(pool, running or wanted, observed, now)
    again = _LOOK_SECONDS if running else wait if wait > 0 else None
    return Part((wanted,) if due else (), (told,), deletes=_all_but(observed, last, running), again=again)


def _held(pool: KVCachePool, checks: Checks, nodes_usable: bool) -> Condition | None:
    """Why no Job is made: it would ask for a node that engines cannot use either."""
    refused = blockers(checks, ENGINES_ON_LUSTRE, pool.spec.strict)
    if refused:
        reasons = ", ".join(f"{one.type} is {one.status}" for one in refused)
        return false(
            TIER_WRITABLE, "PrerequisitesNotMet", f"the shared tier is not tried out while {reasons}"
        )
    if not nodes_usable:
        return false(
            TIER_WRITABLE, "Waiting", "the shared tier is not tried out while there are no nodes to run on"
        )
    return None


def _last_ended(observed: Observed, of: str) -> Object | None:
    ended = [job for job in _jobs(observed) if belongs(job, of) and outcome(job)]
    return ended[-1] if ended else None


def _jobs(observed: Observed) -> list[Object]:
    """All Jobs that try the shared tier out, the oldest first."""
    found = [obj for (kind, _), obj in observed.children.items() if kind == "Job" and is_probe(obj)]
    return sorted(
        found, key=lambda job: (job["metadata"].get("creationTimestamp", ""), job["metadata"]["name"])
    )


def _all_but(observed: Observed, *kept: Object | None) -> tuple[Ref, ...]:
    names = {job["metadata"]["name"] for job in kept if job}
    gone = {("Job", job["metadata"]["name"]): job for job in _jobs(observed)}
    return to_delete({key: job for key, job in gone.items() if key[1] not in names})
