"""What a Job that tries the shared tier out means for people: what it has found, and what to do about it."""

from kvtier.api.conditions import TIER_WRITABLE, Condition, false, true
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.engines.fingerprint import pool_directory
from kvtier.engines.native import LUSTRE_ROOT
from kvtier.facts.model import Observed
from kvtier.facts.objects import Object
from kvtier.plan.lustre.probe.job import DEADLINE_SECONDS
from kvtier.plan.lustre.probe.mount_hints import mount_hint
from kvtier.plan.lustre.probe.outcome import Outcome, podless
from kvtier.plan.starting import hindrance

RETRY_SECONDS = 300.0


def condition(pool: KVCachePool, job: Object, found: Outcome, hindered: str | None = None) -> Condition:
    """The outcome for people; `hindered` is what keeps the Pods of the next try from starting."""
    if found.succeeded:
        return true(
            TIER_WRITABLE, "Written", "a Pod wrote to the shared tier as engines do, and read it back"
        )
    reason, text = _told(pool, found)
    more = f"Now {hindered}. " if hindered else ""
    again = f"kvtier tries again every {RETRY_SECONDS / 60:.0f} minutes"
    return false(TIER_WRITABLE, reason, f"{text}. {more}Seen by Job {job['metadata']['name']}; {again}")


def progress(pool: KVCachePool, job: Object, observed: Observed, now: str) -> Condition:
    """What there is to say of a Job that has not ended. A Pod that waits for a node is no fault."""
    name = job["metadata"]["name"]
    mount, hindered = mount_hint(observed, name), hindrance(observed, name)
    look = f"kubectl -n {pool.namespace} describe job {name}"
    if podless(job, now):
        return false(
            TIER_WRITABLE, "JobRefused", f"Job {name} can make no Pod: {_refusal(pool)}. See: {look}"
        )
    if mount:
        return false(TIER_WRITABLE, "ProbeStuck", f"{mount}. Seen by Job {name}: {look}")
    text = f"Job {name} tries whether the shared tier can be written to"
    slow = f"; so far {hindered}" if hindered else ""
    return false(TIER_WRITABLE, "Probing", f"{text}{slow}. Progress: {look}")


def _refusal(pool: KVCachePool) -> str:
    lustre = pool.spec.tiers.lustre
    if lustre and lustre.prepare_as_root:
        return (
            "tiers.lustre.prepareAsRoot needs a namespace whose pod-security.kubernetes.io/enforce is no stricter than "
            "baseline; also see its quota"
        )
    return "a quota or an admission policy of the namespace refuses it"


def _told(pool: KVCachePool, found: Outcome) -> tuple[str, str]:
    if found.code == 13:
        return "NotWritable", _not_writable(pool, found)
    if found.code in _ANSWERS:
        return _ANSWERS[found.code]
    if found.reason == "DeadlineExceeded":
        return (
            "ProbeStuck",
            f"writing to the shared tier did not end within {DEADLINE_SECONDS // 60} minutes: its Pod could not be "
            "made, got no node, no image or no mount, or the file system hangs",
        )
    return (
        "ProbeFailed",
        f"writing to the shared tier failed ({found.reason or 'Failed'}: {found.message or 'no message'}): see the "
        f"logs of its Pods",
    )


_ANSWERS = {
    5: (
        "InputOutput",
        "the file system gave an I/O error or no answer within 2 minutes: see that the instance is ACTIVE, has no "
        "maintenance, and that the firewall lets TCP 988 and 6988 through between it and the nodes",
    ),
    28: (
        "NoSpace",
        "the file system has no space or quota left: grow tiers.lustre.capacity, or delete caches that are no longer "
        "used",
    ),
    30: (
        "ReadOnly",
        "the file system is read-only: see that neither the volume nor its mountOptions say ro, and that the instance "
        "is ACTIVE",
    ),
}


def _not_writable(pool: KVCachePool, found: Outcome) -> str:
    """Who refused whom decides what helps."""
    by_hand = "by hand, where root is not squashed: chgrp 1000 DIRECTORY; chmod g+rwxs DIRECTORY"
    lustre = pool.spec.tiers.lustre
    if found.container == "prepare":
        return (
            "root may not hand the top directory of the file system to group 1000, as where accessRules squash root: "
            f"make an exception for these nodes, or do it {by_hand}"
        )
    where = f"/{pool_directory(pool)} of the file system"
    refused = f"user 1000 in group 1000, as which engines run, may not write to {where}"
    if lustre and lustre.prepare_as_root:
        return f"{refused}, although the top directory was handed over: do the same below it, {by_hand}"
    return (
        f"{refused} ({LUSTRE_ROOT} in Pods): set tiers.lustre.prepareAsRoot: true, or hand over its top directory "
        f"{by_hand}"
    )
