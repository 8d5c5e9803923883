"""Prerequisites for which the user vouches: what they say, and what they block."""

from typing import Any

import pytest

from kvtier.api.conditions import VOUCHABLE, Condition, false
from kvtier.api.placement import CONFIDENTIAL
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks import SPEC_FAULTS, STORAGE, blockers, run
from kvtier.context import Context
from kvtier.facts.model import Facts, GKECluster
from kvtier.plan.plan import plan
from unit.builders import NOW, context, deployment, facts, manifest, model, node, observed, pool
from unit.tables import table
from unit.verdicts import assert_verdict

HERE = GKECluster(network="projects/my-project/global/networks/here")
HUB = facts(gke=HERE)
WITHOUT_LUSTRE = {"tiers": {"lustre": None}}
UNTESTED = {"models": [model(engine={"image": "vllm/vllm-openai:v0.34.1"})]}
VOUCHED = "The pool accepts this in spec.acknowledgedConditions, so it blocks nothing."


def _accepts(*pairs: str) -> dict[str, Any]:
    """`acknowledgedConditions` with these pairs, such as `NetworkMatched/OtherNetwork`."""
    items = [dict(zip(("type", "reason"), pair.split("/"), strict=True)) for pair in pairs]
    return {"acknowledgedConditions": items}


def _found(type_: str, seen: Facts, **changes: Any) -> Condition:
    return run(context(pool(**changes), facts=seen))[type_]


def test_a_condition_that_the_user_may_accept_says_how() -> None:
    found = _found("NetworkMatched", HUB)
    item = "add {type: NetworkMatched, reason: OtherNetwork} to spec.acknowledgedConditions."
    assert_verdict(found, "NetworkMatched", "False", "OtherNetwork", f"If you know that it works, {item}")
    assert [one.type for one in blockers({"NetworkMatched": found}, ["NetworkMatched"], pool().spec)] == [
        "NetworkMatched"
    ]


@table("strict", {"by default": False, "in a strict pool": True})
def test_an_accepted_condition_is_unknown_keeps_its_message_and_blocks_nothing(strict: bool) -> None:
    of = pool(strict=strict, **_accepts("NetworkMatched/OtherNetwork"))
    checks = run(context(of, facts=HUB))
    found = checks["NetworkMatched"]
    assert_verdict(found, "NetworkMatched", "Unknown", "OtherNetwork", VOUCHED)
    assert "The cluster is in" in found.message
    assert found not in blockers(checks, STORAGE, of.spec)


def test_a_changed_reason_is_not_covered() -> None:
    changes = _accepts("NetworkMatched/ProjectNumber", "ZoneMatched/ZoneMismatch")
    assert _found("NetworkMatched", HUB, **changes).status == "False"


def test_an_acknowledgement_without_effect_is_harmless() -> None:
    changes = _accepts("NetworkMatched/OtherNetwork", "EngineSupported/Untested")
    assert run(context(pool(**changes))) == run(context(pool()))


def test_an_unknown_condition_of_a_strict_pool_can_be_accepted() -> None:
    seen = facts(gke=GKECluster(network="projects/123456/global/networks/default"))
    how = "add {type: NetworkMatched, reason: ProjectNumber} to spec.acknowledgedConditions."
    assert how not in _found("NetworkMatched", seen).message
    strict = _found("NetworkMatched", seen, strict=True)
    assert_verdict(strict, "NetworkMatched", "Unknown", "ProjectNumber", how)
    assert strict.message.endswith("gcloud projects describe 123456 --format='value(projectId)'")
    of = pool(strict=True, **_accepts("NetworkMatched/ProjectNumber"))
    assert blockers(run(context(of, facts=seen)), ["NetworkMatched"], of.spec) == []


def test_a_command_stays_the_end_of_the_message() -> None:
    found = _found("GKEVersionSupported", facts(version="v1.30.0-gke.1"))
    before, _, command = found.message.rpartition("spec.acknowledgedConditions. ")
    assert before.startswith("The control plane runs 1.30.0-gke.1")
    assert command.startswith("Upgrade it: gcloud container clusters upgrade")


def _of_old_cluster(**changes: Any) -> Context:
    seen = facts(node(pool(), kubelet_version="v1.30.0-gke.1"), version="v1.30.0-gke.1")
    return context(pool(**changes), facts=seen)


@table(
    "look, type_, reason",
    {
        "old nodes behind an old control plane": (
            _of_old_cluster(**_accepts("GKEVersionSupported/ControlPlaneTooOld")),
            "GKEVersionSupported",
            "NodesTooOld",
        ),
        "too few bytes behind another number of disks": (
            context(
                pool(
                    tiers={"localSSD": {"capacity": "60000Gi"}},
                    nodePool={"localSSDCount": 2},
                    **_accepts("LocalSSDSupported/FixedDiskCount"),
                )
            ),
            "LocalSSDSupported",
            "TooLarge",
        ),
        "a tier that is too large behind one that cannot be pinned": (
            context(
                pool(tiers={"cpu": {"capacity": "9000Gi"}}, **_accepts("CPUTierFits/NotPinned")),
                facts=facts(node(pool(), labels={CONFIDENTIAL[0]: "TDX"})),
            ),
            "CPUTierFits",
            "TooLarge",
        ),
        "a conflict of one model behind the version of another": (
            context(
                pool(
                    models=[*UNTESTED["models"], model(name="b", extraArgs=["-pp", "2"])],
                    **_accepts("EngineSupported/Untested"),
                )
            ),
            "EngineSupported",
            "ConflictingSettings",
        ),
    },
)
def test_an_accepted_condition_hides_no_other_one(look: Context, type_: str, reason: str) -> None:
    found = run(look)[type_]
    assert (found.status, found.reason) == ("False", reason)


def test_of_several_accepted_conditions_the_first_is_shown() -> None:
    both = _accepts("GKEVersionSupported/ControlPlaneTooOld", "GKEVersionSupported/NodesTooOld")
    found = run(_of_old_cluster(**both))["GKEVersionSupported"]
    assert_verdict(found, "GKEVersionSupported", "Unknown", "ControlPlaneTooOld", VOUCHED)


@pytest.mark.parametrize("type_", ["FilesystemUnique", "CredentialsPresent", "LustreDriverEnabled"])
def test_nobody_can_vouch_for_what_guards_others_or_does_not_exist(type_: str) -> None:
    assert type_ not in VOUCHABLE


@pytest.mark.parametrize(
    "reason",
    [
        Reason.PAIR_NOT_SUPPORTED,
        Reason.CONFLICTING_SETTINGS,
        Reason.NAME_NOT_USABLE,
        Reason.WOULD_SHRINK,
        Reason.NO_NODE_IN_ZONE,
        Reason.TOO_LARGE,
        Reason.FILESYSTEM_NAME_TAKEN,
        Reason.INSTANCE_SHARED,
    ],
)
def test_nobody_can_vouch_for_wrong_tokens_or_for_facts(reason: Reason) -> None:
    assert not any(false(type_, reason, "why").vouchable for type_ in VOUCHABLE)


def test_an_untested_engine_is_not_created_until_the_user_vouches_for_it() -> None:
    blocked = pool(**WITHOUT_LUSTRE, **UNTESTED)
    vouched = pool(**WITHOUT_LUSTRE, **UNTESTED, **_accepts("EngineSupported/Untested"))
    applied = [{one["kind"] for one in plan(of, observed(), NOW).applies} for of in (blocked, vouched)]
    assert ["Deployment" in kinds for kinds in applied] == [False, True]
    assert_verdict(
        _ready(blocked), "Ready", "False", "Untested", "EngineSupported: Model llama uses vLLM 0.34"
    )


def test_a_pool_with_an_accepted_condition_becomes_ready() -> None:
    of = pool(**WITHOUT_LUSTRE, **UNTESTED, **_accepts("EngineSupported/Untested"))
    ready = _ready(of, manifest(of, "ComputeClass"), deployment(of))
    assert_verdict(ready, "Ready", "True", "AllReady", "")


def _ready(of: KVCachePool, *live: Any) -> Condition:
    status = plan(of, observed(*live), NOW).status
    assert status is not None
    return status.conditions[0]


def test_running_engines_do_not_get_an_untested_version() -> None:
    checks = run(context(pool(**UNTESTED)))
    assert [one for one in SPEC_FAULTS if checks[one].status == "False"] == ["EngineSupported"]
