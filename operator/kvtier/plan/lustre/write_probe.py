"""Whether engines can write to the shared tier: a Job tries it as they would, and describes the directories of caches.

TierWritable says what the last Job has found. It runs again after a failure, for another claim and for other caches.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from kvtier.api import names
from kvtier.api.conditions import TIER_WRITABLE, Condition, false, true
from kvtier.api.reasons import Reason
from kvtier.api.times import elapsed
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks import ENGINES_ON_LUSTRE, Checks, blockers
from kvtier.context import Context, ModelView
from kvtier.engines.fingerprint import descriptor, directory, pool_directory
from kvtier.engines.native import LUSTRE_ROOT
from kvtier.facts.children import Claim, Job, JobEnd
from kvtier.facts.model import Event
from kvtier.plan.children import child, owner
from kvtier.plan.engine_pods import literal, placed
from kvtier.plan.lustre.csi_errors import mount_hint
from kvtier.plan.model import Manifest, Part, Ref, references
from kvtier.plan.pod_events import hindrance


@dataclass(frozen=True)
class WriteProbe:
    """What to do about the Jobs, and TierWritable. `proven`: one has written to the claim, and read it back."""

    part: Part = field(default_factory=Part)
    proven: bool = False


def plan_write_probe(context: Context, checks: Checks, claim: Claim | None, nodes_usable: bool) -> WriteProbe:
    """The Job that is due, those that are no longer needed, and what they have found.

    `claim` is the one that engines are to mount, None before it is bound. `nodes_usable`: engines may be placed.

    Case 1: no shared tier, or its claim is being deleted -> no Jobs: their Pods, finished or not, keep a claim.
    Case 2: the claim is not bound -> nothing to say, and nothing to do.
    Case 3: a Job has succeeded -> it stays as the record.
    Case 4: the last one has failed -> its finding stands until another, after a while, has ended.
    Case 5: none has ended -> one runs, or is made once engines could run.
    """
    pool, lustre, jobs = context.pool, context.lustre, _probes(context.children.jobs)
    if lustre.spec is None or (lustre.claim and lustre.claim.deleting):
        return WriteProbe(Part(deletes=references(jobs)))
    if claim is None:
        return WriteProbe()
    tried = caches(pool, context.models)
    last = _last_ended(jobs, series(pool, claim, tried))
    if last and last.end.succeeded:
        return WriteProbe(Part(conditions=(_written(),), deletes=_all_but(jobs, last.job)), proven=True)
    due = probe_job(pool, claim, tried, after=last.job.uid if last else "")
    running = context.children.job(due.name)
    held = None if running else _held(blockers(checks, ENGINES_ON_LUSTRE, pool.spec.strict), nodes_usable)
    wait = context.pace.probe_retry - elapsed(last.end.at, context.now) if last else 0.0
    return WriteProbe(
        Part(
            applies=(due.manifest,) if not running and not held and wait <= 0 else (),
            conditions=(_unproven(context, due.name, last, running, held),),
            deletes=_all_but(jobs, last.job if last else None, running),
            again=context.pace.probe if running else wait if wait > 0 else None,
        )
    )


class _Ended(NamedTuple):
    job: Job
    end: JobEnd


def _probes(jobs: Sequence[Job]) -> list[Job]:
    """The Jobs that try the shared tier out, the oldest first."""
    return sorted((job for job in jobs if job.probe), key=lambda job: (job.created, job.name))


def _last_ended(jobs: Sequence[Job], of_series: str) -> _Ended | None:
    ended = [_Ended(job, job.end) for job in jobs if job.probe == of_series and job.end]
    return ended[-1] if ended else None


def _all_but(jobs: Sequence[Job], *kept: Job | None) -> tuple[Ref, ...]:
    return references(job for job in jobs if job not in kept)


_PODLESS_SECONDS = 30.0
"""How long a started Job may have no Pod: why none can be made, the Job controller says in Events alone."""


def _podless(job: Job, now: str) -> bool:
    """Whether no Pod of a Job could be made."""
    return bool(job.started) and not job.has_pods and elapsed(job.started, now) > _PODLESS_SECONDS


# The Job.

EXIT_CODES = (5, 13, 28, 30)
"""What `templates/probe.sh` ends with where the file system has answered: EIO, EACCES, ENOSPC, EROFS."""

DEADLINE_SECONDS = 1800
"""For all of it: a node that GKE makes first, a large image to pull, a mount."""

_LONGEST_DOCUMENT = 16 << 10
"""Bytes. Linux takes 128 KiB as one argument, etcd 1.5 MiB as an object: better no document than no Job."""

_RESOURCES = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "128Mi"}}


@dataclass(frozen=True)
class Cache:
    """`directory` is below the root of the tier, `document` is the text of its kvtier.json."""

    directory: str
    document: str


class ProbeJob(NamedTuple):
    name: str
    manifest: Manifest


def caches(pool: KVCachePool, models: Sequence[ModelView]) -> tuple[Cache, ...]:
    """One for each directory in which the models keep their blocks, however many of them share it."""
    identities = [(pool, model.spec, model.blocks_per_chunk) for model in models]
    found = {directory(*one): descriptor(*one) for one in identities}
    return tuple(Cache(*item) for item in sorted(found.items()))


def series(pool: KVCachePool, claim: Claim, tried: Sequence[Cache]) -> str:
    """What the Jobs have in common that prove the same: the claim, the directories, with or without root's help."""
    return names.digest(pool.uid, claim.uid, str(_as_root(pool)), *(one.directory for one in tried))


def probe_job(pool: KVCachePool, claim: Claim, tried: Sequence[Cache], after: str) -> ProbeJob:
    """The next Job of a series; `after` is the uid of the one that failed before, empty for the first.

    A Job's template cannot change, so whatever is in it is in the name.
    """
    values = _values(pool, claim, tried)
    content = json.dumps(values, sort_keys=True)
    name = names.derive(pool.name, "probe", names.digest(pool.uid, content, after))
    return ProbeJob(name, child("job", pool, name, owner=owner(pool), **values))


def _values(pool: KVCachePool, claim: Claim, tried: Sequence[Cache]) -> dict[str, Any]:
    return {
        **placed(pool, pool.spec.models[0]),
        "pod_labels": {
            names.LABEL_POOL: names.label_value(pool.name),
            names.LABEL_PROBE: series(pool, claim, tried),
        },
        "deadline": DEADLINE_SECONDS,
        "exit_codes": list(EXIT_CODES),
        # It has /bin/sh, and the nodes pull it anyway.
        "image": pool.spec.models[0].engine.image,
        "script": literal(script()),
        "root": LUSTRE_ROOT,
        "arguments": ["write", LUSTRE_ROOT, pool_directory(pool), *_documents(tried)],
        "resources": _RESOURCES,
        "as_root": _as_root(pool),
        "claim": claim.name,
    }


def _as_root(pool: KVCachePool) -> bool:
    return pool.spec.tiers.lustre is not None and pool.spec.tiers.lustre.prepare_as_root


def _documents(tried: Sequence[Cache]) -> Iterator[str]:
    """A directory and the document that shall stand in it, for each of them."""
    for one in tried:
        if len(one.document.encode()) <= _LONGEST_DOCUMENT:
            yield from (one.directory, literal(one.document))


@cache
def script() -> str:
    """The shell script, which gets its paths as arguments."""
    return files("kvtier.plan").joinpath("templates/probe.sh").read_text(encoding="utf-8")


# TierWritable.


def _written() -> Condition:
    return true(
        TIER_WRITABLE, Reason.WRITTEN, "a Pod wrote to the shared tier as engines do, and read it back"
    )


def _unproven(
    context: Context, due: str, last: _Ended | None, running: Job | None, held: Condition | None
) -> Condition:
    """What the last Job has found, until the one that is `due` has ended; else how far that one is.

    `held` says why that one is not made.
    """
    pool, events = context.pool, context.pod_events
    refused = running is not None and _podless(running, context.now)
    if last is None or refused:
        return held or _progress(due, pool.namespace, _as_root(pool), refused, events)
    found = _finding(last.end, _as_root(pool), pool_directory(pool))
    return _failed(last.job.name, found, hindrance(events, due), context.pace.probe_retry)


def _held(refused: Sequence[Condition], nodes_usable: bool) -> Condition | None:
    """Why no Job is made: it would ask for a node that engines cannot use either."""
    waits = "the shared tier is not tried out while"
    if refused:
        reasons = ", ".join(one.clause for one in refused)
        return false(TIER_WRITABLE, Reason.PREREQUISITES_NOT_MET, f"{waits} {reasons}")
    if not nodes_usable:
        return false(TIER_WRITABLE, Reason.WAITING, f"{waits} there are no nodes to run on")
    return None


def _progress(
    name: str, namespace: str, as_root: bool, refused: bool, pod_events: tuple[Event, ...]
) -> Condition:
    """What there is to say of a Job that has not ended. A Pod that waits for a node is no fault.

    `refused`: no Pod of it can be made.
    """
    look = f"kubectl -n {namespace} describe job {name}"
    if refused:
        text = f"Job {name} can make no Pod: {_refusal(as_root)}. See: {look}"
        return false(TIER_WRITABLE, Reason.JOB_REFUSED, text)
    if mount := mount_hint(pod_events, name):
        return false(TIER_WRITABLE, Reason.PROBE_STUCK, f"{mount}. Seen by Job {name}: {look}")
    hindered = hindrance(pod_events, name)
    slow = f"; so far {hindered}" if hindered else ""
    text = f"Job {name} tries whether the shared tier can be written to{slow}. Progress: {look}"
    return false(TIER_WRITABLE, Reason.PROBING, text)


def _refusal(as_root: bool) -> str:
    if as_root:
        return (
            "tiers.lustre.prepareAsRoot needs a namespace whose pod-security.kubernetes.io/enforce is no stricter than "
            "baseline; also see its quota"
        )
    return "a quota or an admission policy of the namespace refuses it"


def _failed(name: str, finding: tuple[Reason, str], hindered: str | None, retry: float) -> Condition:
    """A Job that failed; `hindered` is what keeps the Pods of the next try from starting, `retry` is in seconds."""
    reason, text = finding
    more = f"Now {hindered}. " if hindered else ""
    again = f"kvtier tries again every {retry / 60:.0f} minutes"
    return false(TIER_WRITABLE, reason, f"{text}. {more}Seen by Job {name}; {again}")


def _finding(end: JobEnd, as_root: bool, of_pool: str) -> tuple[Reason, str]:
    """What a failure means, and what to do about it; `of_pool` is the pool's directory on the file system."""
    if end.code == 13:
        return Reason.NOT_WRITABLE, _not_writable(end.container, as_root, of_pool)
    if end.code in _ANSWERS:
        return _ANSWERS[end.code]
    if end.reason == "DeadlineExceeded":
        return (
            Reason.PROBE_STUCK,
            f"writing to the shared tier did not end within {DEADLINE_SECONDS // 60} minutes: its Pod could not be "
            "made, got no node, no image or no mount, or the file system hangs",
        )
    return (
        Reason.PROBE_FAILED,
        f"writing to the shared tier failed ({end.reason or 'Failed'}: {end.message or 'no message'}): see the logs of "
        "its Pods",
    )


_ANSWERS = {
    5: (
        Reason.INPUT_OUTPUT,
        "the file system gave an I/O error or no answer within 2 minutes: see that the instance is ACTIVE, has no "
        "maintenance, and that the firewall lets TCP 988 and 6988 through between it and the nodes",
    ),
    28: (
        Reason.NO_SPACE,
        "the file system has no space or quota left: grow tiers.lustre.capacity, or delete caches that are no longer "
        "used",
    ),
    30: (
        Reason.READ_ONLY,
        "the file system is read-only: see that neither the volume nor its mountOptions say ro, and that the instance "
        "is ACTIVE",
    ),
}


def _not_writable(container: str, as_root: bool, of_pool: str) -> str:
    """Which container was refused decides what helps."""
    by_hand = "by hand, where root is not squashed: chgrp 1000 DIRECTORY; chmod g+rwxs DIRECTORY"
    if container == "prepare":
        return (
            "root may not hand the top directory of the file system to group 1000, as where accessRules squash root: "
            f"make an exception for these nodes, or do it {by_hand}"
        )
    denied = f"user 1000 in group 1000, as which engines run, may not write to /{of_pool} of the file system"
    if as_root:
        return f"{denied}, although the top directory was handed over: do the same below it, {by_hand}"
    return (
        f"{denied} ({LUSTRE_ROOT} in Pods): set tiers.lustre.prepareAsRoot: true, or hand over its top directory "
        f"{by_hand}"
    )
