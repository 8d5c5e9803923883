"""What TierWritable says: what a Job has found, in which words, and what to do about it."""

from typing import Any

from kvtier.api.conditions import Condition
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Event, Observed
from kvtier.plan.children import claim_name
from kvtier.plan.lustre.write_probe import plan_writable
from unit.builders import NOW, checks, claim, job, observed, pool
from unit.tables import table

POOL = pool()
AS_ROOT = pool(tiers={"lustre": {"prepareAsRoot": True}})
STARTED = "2026-11-29T11:59:00Z"
MGS = "MountVolume.MountDevice failed: rpc error: code = Internal desc = exit status 5. Is the MGS running?"


def _exited(code: int, container: str = "probe") -> dict[str, str]:
    text = f"Container {container} for pod team-a/chat-probe-x failed with exit code {code} matching FailJob rule"
    return {"reason": "PodFailurePolicy", "message": f"{text} at index 1"}


def _failed(of: KVCachePool, told: dict[str, str]) -> Any:
    condition = {"type": "Failed", "status": "True", "lastTransitionTime": NOW, **told}
    return job(of, status={"conditions": [condition]})


def _condition(of: KVCachePool, world: Observed) -> Condition:
    (told,) = plan_writable(of, world, checks(), claim_name(of), True, NOW).conditions
    return told


@table(
    "of, told, reason, says",
    {
        "denied": (POOL, _exited(13), "NotWritable", "set tiers.lustre.prepareAsRoot: true"),
        "denied, and by hand": (POOL, _exited(13), "NotWritable", "chgrp 1000 DIRECTORY; chmod g+rwxs"),
        "denied, with the place": (POOL, _exited(13), "NotWritable", "may not write to /team-a/chat of the"),
        "denied to root itself": (AS_ROOT, _exited(13, "prepare"), "NotWritable", "accessRules squash root"),
        "denied below what root has prepared": (AS_ROOT, _exited(13), "NotWritable", "the same below it"),
        "full": (POOL, _exited(28), "NoSpace", "grow tiers.lustre.capacity"),
        "read-only": (POOL, _exited(30), "ReadOnly", "mountOptions"),
        "broken or silent": (POOL, _exited(5), "InputOutput", "TCP 988 and 6988"),
        "something else": (
            POOL,
            {"reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"},
            "ProbeFailed",
            "BackoffLimitExceeded: Job has reached",
        ),
        "a code that nobody has thought of": (POOL, _exited(77), "ProbeFailed", "exit code 77"),
        "a Job that says nothing": (POOL, {}, "ProbeFailed", "(Failed: no message)"),
        "too long": (POOL, {"reason": "DeadlineExceeded"}, "ProbeStuck", "did not end within 30 minutes"),
    },
)
def test_a_failure(of: KVCachePool, told: dict[str, str], reason: str, says: str) -> None:
    failed = _failed(of, told)
    found = _condition(of, observed(claim(of), failed))
    assert (found.status, found.reason) == ("False", reason)
    assert says in found.message
    assert found.message.endswith(
        f"Seen by Job {failed['metadata']['name']}; kvtier tries again every 5 minutes"
    )


def test_prepare_as_root_is_not_advised_where_it_is_set() -> None:
    for container in ("probe", "prepare"):
        failed = _failed(AS_ROOT, _exited(13, container))
        assert "prepareAsRoot" not in _condition(AS_ROOT, observed(claim(AS_ROOT), failed)).message


@table(
    "of, status, news, reason, says",
    {
        "a Job that was just made": (POOL, {}, (), "Probing", "kubectl -n team-a describe job chat-probe"),
        "a Job whose Pod runs": (POOL, {"startTime": STARTED, "active": 1}, (), "Probing", "Progress"),
        "a Job that somebody has suspended": (POOL, {}, (), "Probing", "Progress"),
        "a Job between two Pods": (POOL, {"startTime": STARTED, "failed": 1}, (), "Probing", "Progress"),
        "a Job whose Pod is about to be made": (POOL, {"startTime": NOW}, (), "Probing", "Progress"),
        "a Job whose Pod is refused": (POOL, {"startTime": STARTED}, (), "JobRefused", "a quota or an adm"),
        "a Job whose Pod is refused for root": (
            AS_ROOT,
            {"startTime": STARTED},
            (),
            "JobRefused",
            "no stricter than baseline",
        ),
        "a Pod that waits for its node": (
            POOL,
            {"startTime": STARTED, "active": 1},
            (("FailedScheduling", "0/4 nodes are available."),),
            "Probing",
            "so far 0/4 nodes are available",
        ),
        "a Pod that cannot mount": (
            POOL,
            {"startTime": STARTED, "active": 1},
            (("FailedMount", MGS),),
            "ProbeStuck",
            "the node does not reach the instance",
        ),
    },
)
def test_a_job_that_has_not_ended(
    of: KVCachePool, status: dict[str, Any], news: tuple[tuple[str, str], ...], reason: str, says: str
) -> None:
    running = job(of, status={"conditions": None, **status})
    name = f"{running['metadata']['name']}-x7k2p"
    heard = tuple(Event("Pod", name, why, message, "Warning") for why, message in news)
    world = Observed(observed().facts, observed(claim(of), running).children, pod_events=heard)
    found = _condition(of, world)
    assert (found.status, found.reason) == ("False", reason)
    assert says in found.message


def test_a_failure_tells_what_keeps_the_next_try_from_starting() -> None:
    failed = _failed(POOL, {"reason": "DeadlineExceeded"})
    following = job(POOL, after=failed["metadata"]["uid"], status={"conditions": None})
    news = Event("Pod", f"{following['metadata']['name']}-x7k2p", "FailedMount", MGS, "Warning")
    children = observed(claim(POOL), failed, following).children
    found = _condition(POOL, Observed(observed().facts, children, pod_events=(news,)))
    assert found.reason == "ProbeStuck"
    assert "Now the node does not reach the instance" in found.message


def test_a_pod_that_is_refused_says_more_than_what_came_before() -> None:
    failed = _failed(POOL, {"reason": "DeadlineExceeded"})
    refused = job(POOL, after=failed["metadata"]["uid"], status={"conditions": None, "startTime": STARTED})
    assert _condition(POOL, observed(claim(POOL), failed, refused)).reason == "JobRefused"


def test_a_proven_tier_says_so() -> None:
    found = _condition(POOL, observed(claim(POOL), job(POOL)))
    assert (found.status, found.reason) == ("True", "Written")
