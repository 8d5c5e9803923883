"""The directories below the shared tier's root in which a pool's models keep their blocks, and what describes them."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from kvtier.api import names
from kvtier.api.conditions import TIER_WRITABLE, Condition, false, true
from kvtier.api.kinds import Object
from kvtier.api.reasons import Reason
from kvtier.api.times import elapsed
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.engines.fingerprint import descriptor, directory, pool_directory
from kvtier.engines.native import LUSTRE_ROOT
from kvtier.facts.model import Facts, Observed
from kvtier.plan.children import child, claim_name, owner
from kvtier.plan.engine_pods import literal, placed
from kvtier.plan.gates import ENGINES_ON_LUSTRE, blockers
from kvtier.plan.lustre import claims
from kvtier.plan.lustre.csi_errors import mount_hint
from kvtier.plan.model import Checks, Manifest, Part, Ref, to_delete
from kvtier.plan.model_sizes import blocks_per_chunk
from kvtier.plan.pod_events import hindrance


@dataclass(frozen=True)
class Cache:
    """`directory` is below the root of the tier, `document` is the text of its kvtier.json."""

    directory: str
    document: str


def caches(pool: KVCachePool, facts: Facts) -> tuple[Cache, ...]:
    """One for each directory, however many models share it."""
    numbers = [(model, blocks_per_chunk(pool, model, facts)) for model in pool.spec.models]
    found = {directory(pool, *one): descriptor(pool, *one) for one in numbers}
    return tuple(Cache(*item) for item in sorted(found.items()))


EXIT_CODES = (5, 13, 28, 30)
"""What `templates/probe.sh` ends with where the file system has answered: EIO, EACCES, ENOSPC, EROFS."""

DEADLINE_SECONDS = 1800
"""For all of it: a node that GKE makes first, a large image to pull, a mount."""

_LONGEST_DOCUMENT = 16 << 10
"""Bytes. Linux takes 128 KiB as one argument, etcd 1.5 MiB as an object: better no document than no Job."""

_RESOURCES = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "128Mi"}}


def series(pool: KVCachePool, claim: Object, caches: Sequence[Cache]) -> str:
    """Names what is to be proven and described: this claim, for this pool's caches, with or without root's help."""
    lustre = pool.spec.tiers.lustre
    as_root = str(lustre is not None and lustre.prepare_as_root)
    directories = (cache.directory for cache in caches)
    return names.digest(pool.uid, claim["metadata"].get("uid", ""), as_root, *directories)


def is_probe(job: Object) -> bool:
    """Whether a Job tries the shared tier out."""
    return names.LABEL_PROBE in _pod_labels(job)


def belongs(job: Object, to: str) -> bool:
    """Whether a Job is of a series."""
    return _pod_labels(job).get(names.LABEL_PROBE) == to


def _pod_labels(job: Object) -> Mapping[str, str]:
    labels: Mapping[str, str] = job["spec"]["template"].get("metadata", {}).get("labels", {})
    return labels


def probe(pool: KVCachePool, claim: Object, caches: Sequence[Cache], after: str) -> Manifest:
    """The next Job of a series; `after` is the uid of the one that failed before, empty for the first.

    A Job's template cannot change, so whatever is in it is in the name.
    """
    values = _values(pool, claim, caches)
    made_of = json.dumps(values, sort_keys=True)
    name = names.derive(pool.name, "probe", names.digest(pool.uid, made_of, after))
    return child("job", pool, name, owner=owner(pool), **values)


def _values(pool: KVCachePool, claim: Object, caches: Sequence[Cache]) -> dict[str, Any]:
    lustre = pool.spec.tiers.lustre
    return {
        **placed(pool, pool.spec.models[0]),
        "pod_labels": {
            names.LABEL_POOL: names.label_value(pool.name),
            names.LABEL_PROBE: series(pool, claim, caches),
        },
        "deadline": DEADLINE_SECONDS,
        "exit_codes": list(EXIT_CODES),
        # It has /bin/sh, and the nodes pull it anyway.
        "image": pool.spec.models[0].engine.image,
        "script": literal(script()),
        "root": LUSTRE_ROOT,
        "arguments": ["write", LUSTRE_ROOT, pool_directory(pool), *_documents(caches)],
        "resources": _RESOURCES,
        "as_root": lustre is not None and lustre.prepare_as_root,
        "claim": claim["metadata"]["name"],
    }


def _documents(caches: Sequence[Cache]) -> Iterator[str]:
    """A directory and the document that shall stand in it, for each of them."""
    for one in caches:
        if len(one.document.encode()) <= _LONGEST_DOCUMENT:
            yield from (one.directory, literal(one.document))


@cache
def script() -> str:
    """The shell script, which gets its paths as arguments."""
    return files("kvtier.plan").joinpath("templates/probe.sh").read_text(encoding="utf-8")


_PODLESS_SECONDS = 30.0
_ENDED = {"Complete": True, "SuccessCriteriaMet": True, "Failed": False, "FailureTarget": False}
# pkg/controller/job/pod_failure_policy.go of Kubernetes 1.36
_EXIT = re.compile(r"Container (?P<container>\S+) for pod \S+ failed with exit code (?P<code>\d+)")


@dataclass(frozen=True)
class Outcome:
    """`container` and `code` are of what failed, empty and 0 where the Job does not name it."""

    succeeded: bool
    at: str
    reason: str = ""
    message: str = ""
    container: str = ""
    code: int = 0


def outcome(job: Object) -> Outcome | None:
    """How a Job ended, None while it has not.

    Its verdict stands before its last Pod is gone, and a Pod that hangs on a dead mount may stay for ever.
    """
    conditions = job.get("status", {}).get("conditions") or []
    ended = next((c for c in conditions if c["type"] in _ENDED and c["status"] == "True"), None)
    if ended is None:
        return None
    message = ended.get("message", "")
    exited = _EXIT.search(message)
    return Outcome(
        succeeded=_ENDED[ended["type"]],
        at=ended.get("lastTransitionTime") or job["metadata"]["creationTimestamp"],
        reason=ended.get("reason", ""),
        message=message,
        container=exited["container"] if exited else "",
        code=int(exited["code"]) if exited else 0,
    )


def podless(job: Object, now: str) -> bool:
    """Whether no Pod of a started Job could be made: the Job controller tells that in Events alone."""
    status = job.get("status", {})
    started = status.get("startTime")
    pods = any(status.get(count) for count in ("active", "terminating", "succeeded", "failed"))
    return bool(started) and not pods and elapsed(started, now) > _PODLESS_SECONDS


RETRY_SECONDS = 300.0


def _verdict(pool: KVCachePool, job: Object, found: Outcome, hindered: str | None = None) -> Condition:
    """The outcome for people; `hindered` is what keeps the Pods of the next try from starting."""
    if found.succeeded:
        return true(
            TIER_WRITABLE, Reason.WRITTEN, "a Pod wrote to the shared tier as engines do, and read it back"
        )
    reason, text = _told(pool, found)
    more = f"Now {hindered}. " if hindered else ""
    again = f"kvtier tries again every {RETRY_SECONDS / 60:.0f} minutes"
    return false(TIER_WRITABLE, reason, f"{text}. {more}Seen by Job {job['metadata']['name']}; {again}")


def _progress(pool: KVCachePool, job: Object, observed: Observed, now: str) -> Condition:
    """What there is to say of a Job that has not ended. A Pod that waits for a node is no fault."""
    name = job["metadata"]["name"]
    mount, hindered = mount_hint(observed, name), hindrance(observed, name)
    look = f"kubectl -n {pool.namespace} describe job {name}"
    if podless(job, now):
        return false(
            TIER_WRITABLE, Reason.JOB_REFUSED, f"Job {name} can make no Pod: {_refusal(pool)}. See: {look}"
        )
    if mount:
        return false(TIER_WRITABLE, Reason.PROBE_STUCK, f"{mount}. Seen by Job {name}: {look}")
    text = f"Job {name} tries whether the shared tier can be written to"
    slow = f"; so far {hindered}" if hindered else ""
    return false(TIER_WRITABLE, Reason.PROBING, f"{text}{slow}. Progress: {look}")


def _refusal(pool: KVCachePool) -> str:
    lustre = pool.spec.tiers.lustre
    if lustre and lustre.prepare_as_root:
        return (
            "tiers.lustre.prepareAsRoot needs a namespace whose pod-security.kubernetes.io/enforce is no stricter than "
            "baseline; also see its quota"
        )
    return "a quota or an admission policy of the namespace refuses it"


def _told(pool: KVCachePool, found: Outcome) -> tuple[Reason, str]:
    if found.code == 13:
        return Reason.NOT_WRITABLE, _not_writable(pool, found)
    if found.code in _ANSWERS:
        return _ANSWERS[found.code]
    if found.reason == "DeadlineExceeded":
        return (
            Reason.PROBE_STUCK,
            f"writing to the shared tier did not end within {DEADLINE_SECONDS // 60} minutes: its Pod could not be "
            "made, got no node, no image or no mount, or the file system hangs",
        )
    return (
        Reason.PROBE_FAILED,
        f"writing to the shared tier failed ({found.reason or 'Failed'}: {found.message or 'no message'}): see the "
        f"logs of its Pods",
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
        return Part((), (_verdict(pool, last, found),), deletes=_all_but(observed, last))
    wanted = probe(pool, volume, of, last["metadata"]["uid"] if last else "")
    running = observed.child("Job", wanted["metadata"]["name"])
    held = None if running else _held(pool, checks, nodes_usable)
    wait = RETRY_SECONDS - elapsed(found.at, now) if found else 0.0
    due = not running and not held and wait <= 0
    if last and found and not (running and podless(running, now)):
        told = _verdict(pool, last, found, hindrance(observed, wanted["metadata"]["name"]))
    else:
        told = held or _progress(pool, running or wanted, observed, now)
    again = _LOOK_SECONDS if running else wait if wait > 0 else None
    return Part((wanted,) if due else (), (told,), deletes=_all_but(observed, last, running), again=again)


def _held(pool: KVCachePool, checks: Checks, nodes_usable: bool) -> Condition | None:
    """Why no Job is made: it would ask for a node that engines cannot use either."""
    refused = blockers(checks, ENGINES_ON_LUSTRE, pool.spec.strict)
    if refused:
        reasons = ", ".join(f"{one.type} is {one.status}" for one in refused)
        return false(
            TIER_WRITABLE, Reason.PREREQUISITES_NOT_MET, f"the shared tier is not tried out while {reasons}"
        )
    if not nodes_usable:
        return false(
            TIER_WRITABLE,
            Reason.WAITING,
            "the shared tier is not tried out while there are no nodes to run on",
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
