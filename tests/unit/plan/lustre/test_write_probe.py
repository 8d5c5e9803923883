"""TierWritable: when a Job is created, retried and kept, its result, and the effect on engines."""

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
        "a bound PVC gets a Job": ([], [FIRST], [], "Probing"),
        "a running Job is kept": ([FIRST], [], [FIRST], "Probing"),
        "a succeeded Job is kept as the record": ([DONE], [], [DONE], "Written"),
        "its result counts before its Pods are deleted": ([SUCCEEDS], [], [DONE], "Written"),
        "also if its Pod hangs": ([FAILS], [NEXT], [FAILED], "ProbeFailed"),
        "a failed Job is retried": ([FAILED], [NEXT], [FAILED], "ProbeFailed"),
        "its result is reported meanwhile": ([NEXT, FAILED], [], [FAILED, NEXT], "ProbeFailed"),
        "until the next Job fails too": ([NEXT_FAILED, FAILED], [], [NEXT], "ProbeFailed"),
        "or until it succeeds": ([FAILED, NEXT_DONE], [], [NEXT], "Written"),
    },
)
def test_jobs(live: list[Any], made: list[Any], kept: list[Any], reason: str) -> None:
    found = _plan(POOL, claim(POOL), *live, now=LATER)
    assert _made(found) == list(map(_name, made))
    assert {_name(one) for one in live} - _deleted(found) == set(map(_name, kept))
    assert (_reason(found), found.proven) == (reason, reason == "Written")


def test_a_failed_job_is_not_retried_at_once() -> None:
    found = _plan(POOL, claim(POOL), FAILED, now=SOON)
    assert (_made(found), _deleted(found), _reason(found)) == ([], set(), "ProbeFailed")


@table(
    "of, live, made",
    {
        "a succeeded Job is kept after a change of the image": (OTHER_IMAGE, DONE, []),
        "a running Job is replaced": (OTHER_IMAGE, FIRST, [job(OTHER_IMAGE)]),
        "prepareAsRoot is tried at once": (AS_ROOT, FAILED, [job(AS_ROOT)]),
    },
)
def test_after_an_edit(of: KVCachePool, live: Any, made: list[Any]) -> None:
    found = _plan(of, claim(of), live)
    assert _made(found) == list(map(_name, made))
    assert _deleted(found) == ({_name(live)} if made else set())


@table(
    "of, uid",
    {
        "another PVC": (POOL, "new"),
        "a new pool of the same name": (pool(metadata={"uid": "heir"}), "heir"),
    },
)
def test_the_result_of_a_job_does_not_count_for(of: KVCachePool, uid: str) -> None:
    found = _plan(of, claim(of, metadata={"uid": uid}), DONE)
    assert _deleted(found) == {_name(DONE)}
    assert _made(found) not in ([], [_name(DONE)])


@table(
    "nodes, statuses, reason, words",
    {
        "there are no nodes": (False, {}, "Waiting", "The write probe is waiting for nodes."),
        "engines could not mount the tier": (
            True,
            NO_DRIVER,
            "PrerequisitesNotMet",
            "waiting for prerequisites: LustreDriverEnabled is False.",
        ),
        "engines could not start, because a Job may create a node": (
            True,
            NO_TOKEN,
            "PrerequisitesNotMet",
            "CredentialsPresent is False",
        ),
    },
)
def test_no_job_is_created_while(nodes: bool, statuses: dict[str, Any], reason: str, words: str) -> None:
    found = _plan(POOL, claim(POOL), nodes=nodes, **statuses)
    assert _made(found) == []
    _said(found, "False", reason, words)


@pytest.mark.parametrize("live", [DONE, FAILED, FIRST])
def test_an_existing_job_does_not_depend_on_prerequisites(live: Any) -> None:
    fine = _plan(POOL, claim(POOL), live)
    assert _plan(POOL, claim(POOL), live, nodes=False, **NO_DRIVER) == fine


def test_a_failed_job_is_not_retried_while_engines_could_not_start() -> None:
    found = _plan(POOL, claim(POOL), FAILED, now=LATER, **NO_TOKEN)
    assert (_made(found), _reason(found)) == ([], "ProbeFailed")


@table(
    "of, live",
    {
        "a tier that was removed from the spec": (WITHOUT, [claim(POOL)]),
        "a PVC that is being deleted": (POOL, [claim(POOL, metadata={"deletionTimestamp": NOW})]),
    },
)
def test_jobs_are_deleted_with(of: KVCachePool, live: list[Any]) -> None:
    found = _plan(of, *live, DONE, NEXT)
    assert _deleted(found) == {_name(DONE), _name(NEXT)}
    assert (found.part.conditions, found.proven) == ((), False)


@pytest.mark.parametrize("live", [[DONE], [claim(POOL, "Pending"), DONE]])
def test_jobs_stay_while_no_pvc_is_bound(live: list[Any]) -> None:
    assert _plan(POOL, *live) == WriteProbe()


def test_other_jobs_are_ignored() -> None:
    foreign = job(POOL, spec={"template": {"metadata": {"labels": {"kvtier.dev/probe": None}}}})
    assert _plan(WITHOUT, foreign) == WriteProbe()


@table(
    "live, now, again",
    {
        "a running Job": ([FIRST], NOW, 30.0),
        "a failure until the retry": ([FAILED], "2026-11-29T12:01:00Z", 240.0),
        "never after a success": ([DONE], NOW, None),
        "never for a new Job, which has an event of its own": ([], NOW, None),
    },
)
def test_seconds_until_the_next_reconciliation(live: list[Any], now: str, again: float | None) -> None:
    assert _plan(POOL, claim(POOL), *live, now=now).part.again == again


def test_the_same_input_gives_the_same_plan_and_does_not_change() -> None:
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
        "denied": (POOL, _exited(13), "NotWritable", "Set tiers.lustre.prepareAsRoot to true."),
        "denied, and manually": (POOL, _exited(13), "NotWritable", "chgrp 1000 DIRECTORY; chmod g+rwxs"),
        "denied, with the place": (POOL, _exited(13), "NotWritable", "cannot write to /team-a/chat of the"),
        "denied to root itself": (AS_ROOT, _exited(13, "prepare"), "NotWritable", "accessRules squash root"),
        "denied below the directory that root prepared": (
            AS_ROOT,
            _exited(13),
            "NotWritable",
            "each directory of /team-a/chat",
        ),
        "full": (POOL, _exited(28), "NoSpace", "Increase tiers.lustre.capacity"),
        "read-only": (POOL, _exited(30), "ReadOnly", "mountOptions"),
        "broken or silent": (POOL, _exited(5), "InputOutput", "TCP 988 and 6988"),
        "something else": (
            POOL,
            {"reason": "Other", "message": "it broke"},
            "ProbeFailed",
            "The write probe failed: Other: it broke. Check the logs of its Pods.",
        ),
        "an unknown exit code": (POOL, _exited(77), "ProbeFailed", "exit code 77"),
        "a Job without a message": (POOL, {}, "ProbeFailed", "failed: Failed: no message."),
        "too long": (POOL, {"reason": "DeadlineExceeded"}, "ProbeStuck", "did not finish within 30 minutes"),
    },
)
def test_a_failure(of: KVCachePool, why: dict[str, str], reason: str, words: str) -> None:
    failed = _failed(of, why)
    message = _said(_plan(of, claim(of), failed), "False", reason, words)
    assert message.endswith(f" Job {_name(failed)} reported this. kvtier retries every 5 minutes.")


@pytest.mark.parametrize("container", ["probe", "prepare"])
def test_prepare_as_root_is_not_advised_where_it_is_set(container: str) -> None:
    found = _plan(AS_ROOT, claim(AS_ROOT), _failed(AS_ROOT, _exited(13, container)))
    assert "prepareAsRoot" not in _said(found, "False", "NotWritable", "")


ACTIVE, PODLESS = {"startTime": STARTED, "active": 1}, {"startTime": STARTED}
NO_NODE, NO_MOUNT = ("FailedScheduling", "0/4 nodes are available."), ("FailedMount", MGS)


@table(
    "of, status, event, reason, words",
    {
        "a new Job": (POOL, {}, None, "Probing", "kubectl -n team-a describe job chat-probe"),
        "a Job whose Pod runs": (POOL, ACTIVE, None, "Probing", "Lustre tier. Details: kubectl"),
        "a Job between two Pods": (POOL, {"startTime": STARTED, "failed": 1}, None, "Probing", "Details"),
        "a Job whose Pod will be created": (POOL, {"startTime": NOW}, None, "Probing", "Details"),
        "a Job whose Pod is refused": (
            POOL,
            PODLESS,
            None,
            "JobRefused",
            "Check the quota and the admission policies",
        ),
        "a Job whose Pod is refused for root": (
            AS_ROOT,
            PODLESS,
            None,
            "JobRefused",
            "is not stricter than baseline",
        ),
        "a Pod that waits for a node": (
            POOL,
            ACTIVE,
            NO_NODE,
            "Probing",
            "reports: 0/4 nodes are available. Details",
        ),
        "a Pod that cannot mount": (POOL, ACTIVE, NO_MOUNT, "ProbeStuck", "does not reach the instance"),
    },
)
def test_a_job_that_has_not_ended(
    of: KVCachePool, status: dict[str, Any], event: tuple[str, str] | None, reason: str, words: str
) -> None:
    running = job(of, status={"conditions": None, **status})
    events = (Event("Pod", f"{_name(running)}-x7k2p", *event, "Warning"),) if event else ()
    _said(_look(context(of, claim(of), running, pod_events=events)), "False", reason, words)


def test_a_failure_includes_why_the_retry_does_not_start() -> None:
    events = (Event("Pod", f"{_name(NEXT)}-x7k2p", *NO_MOUNT, "Warning"),)
    failed = _failed(POOL, {"reason": "DeadlineExceeded"})
    found = _look(context(POOL, claim(POOL), failed, NEXT, pod_events=events))
    why = "The Pod of the current attempt does not start. The node does not reach the instance."
    _said(found, "False", "ProbeStuck", why)


def test_a_refused_pod_is_reported_instead_of_the_last_failure() -> None:
    refused = job(POOL, **AFTER, status={"conditions": None, "startTime": STARTED})
    found = _plan(POOL, claim(POOL), _failed(POOL, {"reason": "DeadlineExceeded"}), refused)
    assert _reason(found) == "JobRefused"


SMALL = {"model": "openai/gpt-oss-20b", "tensorParallelSize": 1}
SIXTEEN_BITS, EIGHT_BITS = pool(models=[model(**SMALL)]), pool(models=[model(kvCacheDtype="fp8", **SMALL)])


def _planned(of: KVCachePool, done: Any, *more: Any) -> Plan:
    """The plan for a pool while engines of another spec of it run."""
    there = (claim(SIXTEEN_BITS), done, deployment(SIXTEEN_BITS), *more)
    return plan(of, observed(*there, facts=facts(node(SIXTEEN_BITS))), NOW)


def _status(found: Plan, type_: str) -> str:
    assert found.status is not None
    return next(one.status for one in found.status.conditions if one.type == type_)


def test_a_new_directory_is_probed_and_described_while_engines_keep_their_mount() -> None:
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


def test_another_script_or_document_of_a_new_version_causes_no_new_probe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = job(SIXTEEN_BITS)
    monkeypatch.setattr(write_probe, "script", lambda: "# another script")
    monkeypatch.setattr(fingerprint, "_FORMAT", 2)
    assert _name(job(SIXTEEN_BITS)) != _name(done)
    found = _planned(SIXTEEN_BITS, done)
    assert "Job" not in {one["kind"] for one in found.applies} | {one.kind for one in found.deletes}
    assert _status(found, "TierWritable") == "True"
