"""TierWritable: when a Job is made, tried again and kept, and what its end means for the pool."""

from typing import Any

import pytest

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.plan.children import claim_name
from kvtier.plan.lustre.write_probe import plan_writable
from kvtier.plan.model import Part
from unit.builders import NOW, checks, claim, deployment, job, model, observed, pool
from unit.tables import table

POOL = pool()
AS_ROOT = pool(tiers={"lustre": {"prepareAsRoot": True}})
OTHER_IMAGE = pool(models=[model(engine={"image": "mirror/vllm-openai:v0.33.0"})])
SOON, LATER = "2026-11-29T12:04:59Z", "2026-11-29T12:05:00Z"
RUNNING: dict[str, Any] = {"status": {"conditions": None}}
FIRST, DONE = job(POOL, **RUNNING), job(POOL)
FAILED = job(POOL, "FailureTarget", "Failed")
AFTER: dict[str, Any] = {"after": FAILED["metadata"]["uid"], "metadata": {"creationTimestamp": LATER}}
NEXT = job(POOL, **AFTER, **RUNNING)
NEXT_DONE, NEXT_FAILED = job(POOL, **AFTER), job(POOL, "Failed", **AFTER)


def _plan(
    of: KVCachePool,
    *live: Any,
    bound: bool = True,
    nodes: bool = True,
    now: str = NOW,
    **statuses: str,
) -> Part:
    name = claim_name(of) if bound else None
    return plan_writable(of, observed(*live), checks(**statuses), name, nodes, now)


def _made(part: Part) -> list[str]:
    return [one["metadata"]["name"] for one in part.applies]


def _name(of: Any) -> str:
    return str(of["metadata"]["name"])


def _left(part: Part, live: list[Any]) -> set[str]:
    return {_name(one) for one in live} - {ref.name for ref in part.deletes}


def _reason(part: Part) -> str:
    return part.conditions[0].reason if part.conditions else ""


@table(
    "of, live, now, expected",
    {
        "a bound claim is tried out": (POOL, [], NOW, ([FIRST], [], "Probing")),
        "a Job that runs is waited for": (POOL, [FIRST], NOW, ([], [FIRST], "Probing")),
        "a Job that has succeeded is the record": (POOL, [DONE], NOW, ([], [DONE], "Written")),
        "its verdict counts before its Pods are gone": (
            POOL,
            [job(POOL, "SuccessCriteriaMet")],
            NOW,
            ([], [DONE], "Written"),
        ),
        "it outlives a change of the image": (OTHER_IMAGE, [DONE], NOW, ([], [DONE], "Written")),
        "a Job that runs with an image that the spec has left is replaced": (
            OTHER_IMAGE,
            [FIRST],
            NOW,
            ([job(OTHER_IMAGE)], [], "Probing"),
        ),
        "root's help is tried at once": (AS_ROOT, [FAILED], NOW, ([job(AS_ROOT)], [], "Probing")),
        "a failed Job is left alone for a while": (POOL, [FAILED], SOON, ([], [FAILED], "ProbeFailed")),
        "and then tried again": (POOL, [FAILED], LATER, ([NEXT], [FAILED], "ProbeFailed")),
        "its finding stands meanwhile": (POOL, [NEXT, FAILED], LATER, ([], [FAILED, NEXT], "ProbeFailed")),
        "until the next one fails, too": (POOL, [NEXT_FAILED, FAILED], LATER, ([], [NEXT], "ProbeFailed")),
        "or succeeds": (POOL, [FAILED, NEXT_DONE], LATER, ([], [NEXT], "Written")),
        "a Job whose Pod hangs on a dead mount has failed all the same": (
            POOL,
            [job(POOL, "FailureTarget")],
            NOW,
            ([], [FAILED], "ProbeFailed"),
        ),
    },
)
def test_jobs(of: KVCachePool, live: list[Any], now: str, expected: tuple[list[Any], list[Any], str]) -> None:
    made, kept, reason = expected
    part = _plan(of, claim(of), *live, now=now)
    assert _made(part) == [_name(one) for one in made]
    assert _left(part, live) == {_name(one) for one in kept}
    assert _reason(part) == reason


def test_another_claim_is_tried_out_anew() -> None:
    part = _plan(POOL, claim(POOL, metadata={"uid": "new"}), DONE)
    assert _made(part) not in ([], [_name(DONE)])
    assert _left(part, [DONE]) == set()


@table(
    "options, reason, said",
    {
        "not while the claim is not bound": ({"bound": False}, "", ""),
        "not while there are no nodes": ({"nodes": False}, "Waiting", "no nodes to run on"),
        "not while engines could not mount it": (
            {"NodeImageSupported": "False"},
            "PrerequisitesNotMet",
            "NodeImageSupported is False",
        ),
        "not while engines could not start, for it may make a node": (
            {"CredentialsPresent": "False"},
            "PrerequisitesNotMet",
            "CredentialsPresent is False",
        ),
    },
)
def test_no_job_is_made(options: dict[str, Any], reason: str, said: str) -> None:
    part = _plan(POOL, claim(POOL), **options)
    assert _made(part) == []
    assert _reason(part) == reason
    assert said in "".join(one.message for one in part.conditions)


@pytest.mark.parametrize("live", [DONE, FAILED, FIRST])
def test_a_job_that_exists_is_not_judged_by_prerequisites(live: Any) -> None:
    fine = _plan(POOL, claim(POOL), live)
    assert _plan(POOL, claim(POOL), live, nodes=False, LustreDriverEnabled="False") == fine


def test_a_failed_job_is_not_repeated_while_engines_could_not_start() -> None:
    part = _plan(POOL, claim(POOL), FAILED, now=LATER, CredentialsPresent="False")
    assert (_made(part), _reason(part)) == ([], "ProbeFailed")


@table(
    "of, live",
    {
        "a tier that left the spec": (pool(tiers={"lustre": None}), [claim(POOL)]),
        "a claim that is being deleted": (POOL, [claim(POOL, metadata={"deletionTimestamp": NOW})]),
    },
)
def test_the_pods_of_jobs_do_not_keep(of: KVCachePool, live: list[Any]) -> None:
    part = _plan(of, *live, DONE, NEXT, bound=False)
    assert {(ref.kind, ref.name) for ref in part.deletes} == {("Job", _name(DONE)), ("Job", _name(NEXT))}
    assert part.conditions == ()


def test_jobs_stay_while_the_claim_is_out_of_sight() -> None:
    assert _plan(POOL, DONE, bound=False) == Part()


def test_jobs_of_another_purpose_are_left_alone() -> None:
    foreign = job(POOL, spec={"template": {"metadata": {"labels": {"kvtier.dev/probe": None}}}})
    assert _plan(pool(tiers={"lustre": None}), foreign).deletes == ()


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
    assert _plan(POOL, claim(POOL), *live, now=now).again == again


def test_a_pool_of_the_same_name_tries_its_claim_out_itself() -> None:
    heir = pool(metadata={"uid": "heir"})
    part = _plan(heir, claim(heir), DONE)
    assert [ref.name for ref in part.deletes] == [_name(DONE)]
    assert len(_made(part)) == 1


def test_the_world_is_only_read_and_the_answer_is_always_the_same() -> None:
    live = [claim(POOL), FAILED, deployment(POOL)]
    before = repr(live)
    assert _plan(POOL, *live, now=LATER) == _plan(POOL, *reversed(live), now=LATER)
    assert repr(live) == before
