"""TierWritable: when a Job is made, tried again and kept, what it has found, and what that means for engines."""

from typing import Any

import pytest

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.context import Context
from kvtier.engines import fingerprint
from kvtier.facts.model import Event
from kvtier.plan.lustre import write_probe
from kvtier.plan.lustre.write_probe import WriteProbe, caches, plan_write_probe
from kvtier.plan.model import Plan
from kvtier.plan.plan import plan
from unit.builders import (
    NOW,
    checks,
    claim,
    context,
    deployment,
    facts,
    job,
    live,
    manifest,
    model,
    node,
    observed,
    pool,
)
from unit.tables import table
from unit.verdicts import assert_verdict

POOL = pool()
AS_ROOT = pool(tiers={"lustre": {"prepareAsRoot": True}})
WITHOUT = pool(tiers={"lustre": None})
OTHER_IMAGE = pool(models=[model(engine={"image": "mirror/vllm-openai:v0.33.0"})])
STARTED = "2026-11-29T11:59:00Z"
SOON, LATER = "2026-11-29T12:04:59Z", "2026-11-29T12:05:00Z"
RUNNING: dict[str, Any] = {"status": {"conditions": None}}
FIRST, DONE = job(POOL, **RUNNING), job(POOL)
FAILED = job(POOL, "FailureTarget", "Failed")
SUCCEEDS, FAILS = job(POOL, "SuccessCriteriaMet"), job(POOL, "FailureTarget")
AFTER: dict[str, Any] = {"after": FAILED["metadata"]["uid"], "metadata": {"creationTimestamp": LATER}}
NEXT = job(POOL, **AFTER, **RUNNING)
NEXT_DONE, NEXT_FAILED = job(POOL, **AFTER), job(POOL, "Failed", **AFTER)
NO_DRIVER: dict[str, Any] = {"LustreDriverEnabled": "False"}
NO_TOKEN: dict[str, Any] = {"CredentialsPresent": "False"}
MGS = "MountVolume.MountDevice failed: rpc error: code = Internal desc = exit status 5. Is the MGS running?"


def _plan(of: KVCachePool, *live: Any, nodes: bool = True, now: str = NOW, **statuses: Any) -> WriteProbe:
    return _look(context(of, *live, now=now), nodes, **statuses)


def _look(look: Context, nodes: bool = True, **statuses: Any) -> WriteProbe:
    return plan_write_probe(look, checks(**statuses), look.lustre.bound_claim, nodes)


def _name(of: Any) -> str:
    return str(of["metadata"]["name"])


def _made(found: WriteProbe) -> list[str]:
    return [_name(one) for one in found.part.applies]


def _reason(found: WriteProbe) -> str:
    return found.part.conditions[0].reason if found.part.conditions else ""


def _deleted(found: WriteProbe) -> set[str]:
    assert {ref.kind for ref in found.part.deletes} <= {"Job"}
    return {ref.name for ref in found.part.deletes}


def _said(found: WriteProbe, status: str, reason: str, words: str) -> str:
    (condition,) = found.part.conditions
    assert_verdict(condition, "TierWritable", status, reason, words)
    return condition.message


@table(
    "live, made, kept, reason",
    {
        "a bound claim is tried out": ([], [FIRST], [], "Probing"),
        "a Job that runs is waited for": ([FIRST], [], [FIRST], "Probing"),
        "a Job that has succeeded is the record": ([DONE], [], [DONE], "Written"),
        "its verdict counts before its Pods are gone": ([SUCCEEDS], [], [DONE], "Written"),
        "and if its Pod hangs for ever": ([FAILS], [NEXT], [FAILED], "ProbeFailed"),
        "a failed Job is tried again": ([FAILED], [NEXT], [FAILED], "ProbeFailed"),
        "its finding stands meanwhile": ([NEXT, FAILED], [], [FAILED, NEXT], "ProbeFailed"),
        "until the next one fails, too": ([NEXT_FAILED, FAILED], [], [NEXT], "ProbeFailed"),
        "or succeeds": ([FAILED, NEXT_DONE], [], [NEXT], "Written"),
    },
)
def test_jobs(live: list[Any], made: list[Any], kept: list[Any], reason: str) -> None:
    found = _plan(POOL, claim(POOL), *live, now=LATER)
    assert _made(found) == list(map(_name, made))
    assert {_name(one) for one in live} - _deleted(found) == set(map(_name, kept))
    assert (_reason(found), found.proven) == (reason, reason == "Written")


def test_a_failed_job_is_left_alone_for_a_while() -> None:
    found = _plan(POOL, claim(POOL), FAILED, now=SOON)
    assert (_made(found), _deleted(found), _reason(found)) == ([], set(), "ProbeFailed")


@table(
    "of, live, made",
    {
        "a Job that succeeded outlives a change of the image": (OTHER_IMAGE, DONE, []),
        "one that runs is replaced": (OTHER_IMAGE, FIRST, [job(OTHER_IMAGE)]),
        "root's help is tried at once": (AS_ROOT, FAILED, [job(AS_ROOT)]),
    },
)
def test_after_an_edit(of: KVCachePool, live: Any, made: list[Any]) -> None:
    found = _plan(of, claim(of), live)
    assert _made(found) == list(map(_name, made))
    assert _deleted(found) == ({_name(live)} if made else set())


@table(
    "of, uid",
    {
        "another claim": (POOL, "new"),
        "a pool that has the name now": (pool(metadata={"uid": "heir"}), "heir"),
    },
)
def test_what_a_job_has_proven_does_not_count_for(of: KVCachePool, uid: str) -> None:
    found = _plan(of, claim(of, metadata={"uid": uid}), DONE)
    assert _deleted(found) == {_name(DONE)}
    assert _made(found) not in ([], [_name(DONE)])


@table(
    "nodes, statuses, reason, words",
    {
        "there are no nodes": (False, {}, "Waiting", "no nodes to run on"),
        "engines could not mount it": (
            True,
            NO_DRIVER,
            "PrerequisitesNotMet",
            "LustreDriverEnabled is False",
        ),
        "engines could not start, for it may make a node": (
            True,
            NO_TOKEN,
            "PrerequisitesNotMet",
            "CredentialsPresent is False",
        ),
    },
)
def test_no_job_is_made_while(nodes: bool, statuses: dict[str, Any], reason: str, words: str) -> None:
    found = _plan(POOL, claim(POOL), nodes=nodes, **statuses)
    assert _made(found) == []
    _said(found, "False", reason, words)


@pytest.mark.parametrize("live", [DONE, FAILED, FIRST])
def test_a_job_that_exists_is_not_judged_by_prerequisites(live: Any) -> None:
    fine = _plan(POOL, claim(POOL), live)
    assert _plan(POOL, claim(POOL), live, nodes=False, **NO_DRIVER) == fine


def test_a_failed_job_is_not_repeated_while_engines_could_not_start() -> None:
    found = _plan(POOL, claim(POOL), FAILED, now=LATER, **NO_TOKEN)
    assert (_made(found), _reason(found)) == ([], "ProbeFailed")


@table(
    "of, live",
    {
        "a tier that left the spec": (WITHOUT, [claim(POOL)]),
        "a claim that is being deleted": (POOL, [claim(POOL, metadata={"deletionTimestamp": NOW})]),
    },
)
def test_the_pods_of_jobs_do_not_keep(of: KVCachePool, live: list[Any]) -> None:
    found = _plan(of, *live, DONE, NEXT)
    assert _deleted(found) == {_name(DONE), _name(NEXT)}
    assert (found.part.conditions, found.proven) == ((), False)


@pytest.mark.parametrize("live", [[DONE], [claim(POOL, "Pending"), DONE]])
def test_jobs_stay_while_no_claim_is_bound(live: list[Any]) -> None:
    assert _plan(POOL, *live) == WriteProbe()


def test_jobs_of_another_purpose_are_left_alone() -> None:
    foreign = job(POOL, spec={"template": {"metadata": {"labels": {"kvtier.dev/probe": None}}}})
    assert _plan(WITHOUT, foreign) == WriteProbe()


@table(
    "live, now, again",
    {
        "a Job that runs": ([FIRST], NOW, 30.0),
        "a failure waits for the next try": ([FAILED], "2026-11-29T12:01:00Z", 240.0),
        "a success for nothing": ([DONE], NOW, None),
        "a Job that is made, for its own event": ([], NOW, None),
    },
)
def test_when_to_look_again(live: list[Any], now: str, again: float | None) -> None:
    assert _plan(POOL, claim(POOL), *live, now=now).part.again == again


def test_the_world_is_only_read_and_the_answer_is_always_the_same() -> None:
    live = [claim(POOL), FAILED, deployment(POOL)]
    before = repr(live)
    assert _plan(POOL, *live, now=LATER) == _plan(POOL, *reversed(live), now=LATER)
    assert repr(live) == before


def _exited(code: int, container: str = "probe") -> dict[str, str]:
    text = f"Container {container} for pod team-a/chat-probe-x failed with exit code {code} matching FailJob rule"
    return {"reason": "PodFailurePolicy", "message": f"{text} at index 1"}


def _failed(of: KVCachePool, why: dict[str, str]) -> Any:
    condition = {"type": "Failed", "status": "True", "lastTransitionTime": NOW, **why}
    return job(of, status={"conditions": [condition]})


@table(
    "of, why, reason, words",
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
            {"reason": "Other", "message": "it broke"},
            "ProbeFailed",
            "(Other: it broke)",
        ),
        "a code that nobody has thought of": (POOL, _exited(77), "ProbeFailed", "exit code 77"),
        "a Job that says nothing": (POOL, {}, "ProbeFailed", "(Failed: no message)"),
        "too long": (POOL, {"reason": "DeadlineExceeded"}, "ProbeStuck", "did not end within 30 minutes"),
    },
)
def test_a_failure(of: KVCachePool, why: dict[str, str], reason: str, words: str) -> None:
    failed = _failed(of, why)
    message = _said(_plan(of, claim(of), failed), "False", reason, words)
    assert message.endswith(f"Seen by Job {_name(failed)}; kvtier tries again every 5 minutes")


@pytest.mark.parametrize("container", ["probe", "prepare"])
def test_prepare_as_root_is_not_advised_where_it_is_set(container: str) -> None:
    found = _plan(AS_ROOT, claim(AS_ROOT), _failed(AS_ROOT, _exited(13, container)))
    assert "prepareAsRoot" not in _said(found, "False", "NotWritable", "")


ACTIVE, PODLESS = {"startTime": STARTED, "active": 1}, {"startTime": STARTED}
NO_NODE, NO_MOUNT = ("FailedScheduling", "0/4 nodes are available."), ("FailedMount", MGS)


@table(
    "of, status, event, reason, words",
    {
        "a Job that was just made": (POOL, {}, None, "Probing", "kubectl -n team-a describe job chat-probe"),
        "a Job whose Pod runs": (POOL, ACTIVE, None, "Probing", "Progress"),
        "a Job between two Pods": (POOL, {"startTime": STARTED, "failed": 1}, None, "Probing", "Progress"),
        "a Job whose Pod is about to be made": (POOL, {"startTime": NOW}, None, "Probing", "Progress"),
        "a Job whose Pod is refused": (POOL, PODLESS, None, "JobRefused", "a quota or an adm"),
        "a Job whose Pod is refused for root": (
            AS_ROOT,
            PODLESS,
            None,
            "JobRefused",
            "no stricter than baseline",
        ),
        "a Pod that waits for its node": (POOL, ACTIVE, NO_NODE, "Probing", "so far 0/4 nodes are available"),
        "a Pod that cannot mount": (POOL, ACTIVE, NO_MOUNT, "ProbeStuck", "does not reach the instance"),
    },
)
def test_a_job_that_has_not_ended(
    of: KVCachePool, status: dict[str, Any], event: tuple[str, str] | None, reason: str, words: str
) -> None:
    running = job(of, status={"conditions": None, **status})
    events = (Event("Pod", f"{_name(running)}-x7k2p", *event, "Warning"),) if event else ()
    _said(_look(context(of, claim(of), running, pod_events=events)), "False", reason, words)


def test_a_failure_says_what_keeps_the_next_try_from_starting() -> None:
    events = (Event("Pod", f"{_name(NEXT)}-x7k2p", *NO_MOUNT, "Warning"),)
    failed = _failed(POOL, {"reason": "DeadlineExceeded"})
    found = _look(context(POOL, claim(POOL), failed, NEXT, pod_events=events))
    _said(found, "False", "ProbeStuck", "Now the node does not reach")


def test_a_pod_that_is_refused_says_more_than_what_came_before() -> None:
    refused = job(POOL, **AFTER, status={"conditions": None, "startTime": STARTED})
    found = _plan(POOL, claim(POOL), _failed(POOL, {"reason": "DeadlineExceeded"}), refused)
    assert _reason(found) == "JobRefused"


SMALL = {"model": "openai/gpt-oss-20b", "tensorParallelSize": 1}
SIXTEEN_BITS, EIGHT_BITS = pool(models=[model(**SMALL)]), pool(models=[model(kvCacheDtype="fp8", **SMALL)])


def _planned(of: KVCachePool, done: Any, *more: Any) -> Plan:
    """What is planned for a pool while the engines of another spec of it run."""
    there = (claim(SIXTEEN_BITS), done, deployment(SIXTEEN_BITS), *more)
    return plan(of, observed(*there, facts=facts(node(SIXTEEN_BITS))), NOW)


def _status(found: Plan, type_: str) -> str:
    assert found.status is not None
    return next(one.status for one in found.status.conditions if one.type == type_)


def test_a_new_directory_is_tried_out_and_described_while_engines_keep_their_mount() -> None:
    kinds = ("StorageClass", "ComputeClass", "Service")
    there = [live(manifest(SIXTEEN_BITS, kind)) for kind in kinds]
    found = _planned(EIGHT_BITS, job(SIXTEEN_BITS), *there)
    engine, probe = (
        next(one["spec"]["template"]["spec"] for one in found.applies if one["kind"] == kind)
        for kind in ("Deployment", "Job")
    )
    (cache,) = caches(EIGHT_BITS, context(EIGHT_BITS).models)
    assert "lustre" in [volume["name"] for volume in engine["volumes"]]
    assert cache.directory in probe["containers"][0]["args"]
    assert any(cache.directory in one for one in engine["containers"][0]["args"])
    assert (_status(found, "TierWritable"), _status(found, "ModelsReady")) == ("False", "True")


def test_a_kvtier_with_another_script_and_other_documents_tries_nothing_out_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = job(SIXTEEN_BITS)
    monkeypatch.setattr(write_probe, "script", lambda: "# another one")
    monkeypatch.setattr(fingerprint, "_FORMAT", 2)
    assert _name(job(SIXTEEN_BITS)) != _name(done)
    found = _planned(SIXTEEN_BITS, done)
    assert "Job" not in {one["kind"] for one in found.applies} | {one.kind for one in found.deletes}
    assert _status(found, "TierWritable") == "True"
