"""Whether engines can write to the Lustre tier: a Job writes as they would, and creates the directories of caches.

TierWritable reports the result of the last Job. A new Job runs after a failure, for another PVC, and for other caches.
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
from kvtier.api.sentences import sentences
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
    """The changes to the Jobs, and TierWritable. `proven`: a Job wrote to the PVC, and read its data back."""

    part: Part = field(default_factory=Part)
    proven: bool = False


def plan_write_probe(context: Context, checks: Checks, claim: Claim | None, nodes_usable: bool) -> WriteProbe:
    """The Job that is due, the Jobs to delete, and TierWritable.

    `claim`: the PVC that engines mount, None until it is bound. `nodes_usable`: nodes for engines exist or can be
    created.

    Case 1: no Lustre tier, or its PVC is being deleted -> delete all Jobs: their Pods, even finished ones, protect the
            PVC from deletion.
    Case 2: the PVC is not bound -> report nothing, do nothing.
    Case 3: a Job succeeded -> keep it as the record.
    Case 4: the last Job failed -> report its result until the next Job, after a delay, has ended.
    Case 5: no Job has ended -> one runs, or is created when engines can run.
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
    held = None if running else _held(blockers(checks, ENGINES_ON_LUSTRE, pool.spec), nodes_usable)
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
    """The Jobs of the write probe, the oldest first."""
    return sorted((job for job in jobs if job.probe), key=lambda job: (job.created, job.name))


def _last_ended(jobs: Sequence[Job], of_series: str) -> _Ended | None:
    ended = [_Ended(job, job.end) for job in jobs if job.probe == of_series and job.end]
    return ended[-1] if ended else None


def _all_but(jobs: Sequence[Job], *kept: Job | None) -> tuple[Ref, ...]:
    return references(job for job in jobs if job not in kept)


_PODLESS_SECONDS = 30.0
"""How long a started Job may have no Pod. The Job controller reports only in Events why it cannot create one."""


def _podless(job: Job, now: str) -> bool:
    """Whether the Job controller could not create a Pod for a Job."""
    return bool(job.started) and not job.has_pods and elapsed(job.started, now) > _PODLESS_SECONDS


# The Job.

EXIT_CODES = (5, 13, 28, 30)
"""Exit codes of `templates/probe.sh` for errors of the file system: EIO, EACCES, ENOSPC, EROFS."""

DEADLINE_SECONDS = 1800
"""activeDeadlineSeconds of the Job: GKE may create a node, the kubelet pulls a large image and mounts the PVC."""

_LONGEST_DOCUMENT = 16 << 10
"""Bytes; longer documents are left out. Linux allows 128 KiB for an argument, etcd 1.5 MiB for an object."""

_RESOURCES = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "128Mi"}}


@dataclass(frozen=True)
class Cache:
    """A directory below the root of the tier, and the text of its kvtier.json (`document`)."""

    directory: str
    document: str


class ProbeJob(NamedTuple):
    name: str
    manifest: Manifest


def caches(pool: KVCachePool, models: Sequence[ModelView]) -> tuple[Cache, ...]:
    """The directories in which the models store their blocks, each once, even if several models share it."""
    found = {directory(pool, model.cache): descriptor(pool, model.cache) for model in models}
    return tuple(Cache(*item) for item in sorted(found.items()))


def series(pool: KVCachePool, claim: Claim, tried: Sequence[Cache]) -> str:
    """A digest of what a Job proves: equal for the same PVC, directories and prepareAsRoot."""
    return names.digest(pool.uid, claim.uid, str(_as_root(pool)), *(one.directory for one in tried))


def probe_job(pool: KVCachePool, claim: Claim, tried: Sequence[Cache], after: str) -> ProbeJob:
    """The next Job of a series. `after`: the uid of the Job that failed before, empty for the first.

    A Job's template is immutable, so the name has a digest of its content.
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
        # The image has /bin/sh, and the nodes pull it for engines in any case.
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
    """The arguments for the script: each directory, followed by its document."""
    for one in tried:
        if len(one.document.encode()) <= _LONGEST_DOCUMENT:
            yield from (one.directory, literal(one.document))


@cache
def script() -> str:
    """The shell script of the Job. Its paths are arguments."""
    return files("kvtier.plan").joinpath("templates/probe.sh").read_text(encoding="utf-8")


# TierWritable.


def _written() -> Condition:
    text = "A Pod wrote to the Lustre tier as engines do, and read the data back."
    return true(TIER_WRITABLE, Reason.WRITTEN, text)


def _unproven(
    context: Context, due: str, last: _Ended | None, running: Job | None, held: Condition | None
) -> Condition:
    """The result of the last failed Job, else the progress of the Job that is `due`.

    `held`: why kvtier does not create that Job.
    """
    pool, events = context.pool, context.pod_events
    refused = running is not None and _podless(running, context.now)
    if last is None or refused:
        return held or _progress(due, pool.namespace, _as_root(pool), refused, events)
    found = _finding(last.end, _as_root(pool), pool_directory(pool))
    return _failed(last.job.name, found, hindrance(events, due), context.pace.probe_retry)


def _held(refused: Sequence[Condition], nodes_usable: bool) -> Condition | None:
    """Why kvtier does not create the Job: its Pod would need a node that engines cannot use."""
    if refused:
        reasons = ", ".join(one.clause for one in refused)
        text = f"The write probe is waiting for prerequisites: {reasons}."
        return false(TIER_WRITABLE, Reason.PREREQUISITES_NOT_MET, text)
    if not nodes_usable:
        return false(TIER_WRITABLE, Reason.WAITING, "The write probe is waiting for nodes.")
    return None


def _progress(
    name: str, namespace: str, as_root: bool, refused: bool, pod_events: tuple[Event, ...]
) -> Condition:
    """The state of a Job that has not ended. A Pod that waits for a node is not a failure.

    `refused`: the Job controller could not create its Pod.
    """
    details = f"Details: kubectl -n {namespace} describe job {name}"
    if refused:
        text = sentences(f"Job {name} cannot create a Pod", _refusal(as_root), details)
        return false(TIER_WRITABLE, Reason.JOB_REFUSED, text)
    if mount := mount_hint(pod_events, name):
        text = sentences(f"A Pod of Job {name} cannot mount the Lustre tier", mount, details)
        return false(TIER_WRITABLE, Reason.PROBE_STUCK, text)
    started = f"Job {name} checks whether engines can write to the Lustre tier"
    text = sentences(started, hindrance(pod_events, name) or "", details)
    return false(TIER_WRITABLE, Reason.PROBING, text)


def _refusal(as_root: bool) -> str:
    """What to do if the Job controller cannot create a Pod."""
    if as_root:
        return (
            "tiers.lustre.prepareAsRoot needs a namespace whose pod-security.kubernetes.io/enforce label is not "
            "stricter than baseline. Check this label, and the quota of the namespace."
        )
    return "Check the quota and the admission policies of the namespace."


def _failed(name: str, finding: tuple[Reason, str], hindered: str | None, retry: float) -> Condition:
    """A failed Job. `hindered`: why the Pods of the next Job do not start. `retry`: in seconds."""
    reason, text = finding
    again = f"Job {name} reported this. kvtier retries every {retry / 60:.0f} minutes"
    stuck = sentences("The Pod of the current attempt does not start", hindered) if hindered else ""
    return false(TIER_WRITABLE, reason, sentences(text, stuck, again))


def _finding(end: JobEnd, as_root: bool, of_pool: str) -> tuple[Reason, str]:
    """What a failure means, and what to do. `of_pool`: the pool's directory on the file system."""
    if end.code == 13:
        return Reason.NOT_WRITABLE, _not_writable(end.container, as_root, of_pool)
    if end.code in _ANSWERS:
        return _ANSWERS[end.code]
    if end.reason == "DeadlineExceeded":
        return (
            Reason.PROBE_STUCK,
            f"The write probe did not finish within {DEADLINE_SECONDS // 60} minutes. Its Pod did not start (no node, "
            "image or mount), or the file system does not respond. Check the Events of the Job and its Pods.",
        )
    found = f"The write probe failed: {end.reason or 'Failed'}: {end.message or 'no message'}"
    return Reason.PROBE_FAILED, sentences(found, "Check the logs of its Pods")


_ANSWERS = {
    5: (
        Reason.INPUT_OUTPUT,
        "The file system returned an I/O error, or did not respond within 2 minutes. Check that the instance is ACTIVE "
        "and not in maintenance, and that the firewall allows TCP 988 and 6988 between the instance and the nodes.",
    ),
    28: (
        Reason.NO_SPACE,
        "The file system has no space or quota left. Increase tiers.lustre.capacity, or delete caches that are no "
        "longer used.",
    ),
    30: (
        Reason.READ_ONLY,
        "The file system is read-only. Check that the PersistentVolume is not read-only, that its mountOptions do not "
        "contain ro, and that the instance is ACTIVE.",
    ),
}


def _not_writable(container: str, as_root: bool, of_pool: str) -> str:
    """What was refused, and what to do. `container`: the one that failed."""
    manually = (
        'on a machine where root is not squashed, run "chgrp 1000 DIRECTORY; chmod g+rwxs DIRECTORY" for'
    )
    if container == "prepare":
        return (
            "Root cannot change the group of the root directory of the file system to 1000, for example because "
            "accessRules squash root. Add an exception for these nodes to accessRules. Alternatively, "
            f"{manually} the root directory."
        )
    denied = f"User 1000 and group 1000 of the engines cannot write to /{of_pool} of the file system"
    if as_root:
        return (
            f"{denied}. kvtier prepared only the root directory. For the others, {manually} each directory of "
            f"/{of_pool}."
        )
    return (
        f"{denied} ({LUSTRE_ROOT} in Pods). Set tiers.lustre.prepareAsRoot to true. Alternatively, {manually} the root "
        "directory."
    )
