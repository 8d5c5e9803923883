"""When engines are started, updated and kept."""

from typing import Any

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.plan.children import claim_name, mounts_lustre
from kvtier.plan.lustre.shared_tier import SharedTier
from kvtier.plan.model import Part
from kvtier.plan.serving import plan_serving
from unit.builders import checks, deployment, model, observed, pool
from unit.tables import table

POOL = pool()
OPPORTUNISTIC = pool(mode="Opportunistic")
PLAIN = pool(tiers={"lustre": None})
CLAIM = claim_name(POOL)


def _plan(
    of: KVCachePool, *live: Any, claim: str | None = CLAIM, nodes: bool = True, **statuses: Any
) -> Part:
    tier = SharedTier(claim, () if claim else ("the Lustre claim is not bound",))
    return plan_serving(of, observed(*live), checks(**statuses), tier, nodes)


def _made(part: Part) -> list[str]:
    return [one["kind"] for one in part.applies]


PAIR = ["Deployment", "Service"]


@table(
    "of, claim, nodes, statuses, waits_for",
    {
        "engines start once the claim is bound": (POOL, CLAIM, True, {}, None),
        "engines of a Required pool wait for the claim": (
            POOL,
            None,
            True,
            {},
            "the Lustre claim is not bound",
        ),
        "engines of an Opportunistic pool start without it": (OPPORTUNISTIC, None, True, {}, None),
        "engines without Lustre start at once": (PLAIN, None, True, {}, None),
        "engines wait for nodes": (PLAIN, None, False, {}, "there are no nodes to run on"),
        "engines wait for the token": (
            PLAIN,
            None,
            True,
            {"CredentialsPresent": "False"},
            "CredentialsPresent is False",
        ),
        "engines wait for Local SSD": (
            PLAIN,
            None,
            True,
            {"LocalSSDSupported": "False"},
            "LocalSSDSupported is False",
        ),
        "engines wait for memory": (PLAIN, None, True, {"CPUTierFits": "False"}, "CPUTierFits is False"),
        "engines wait for settings that can work": (
            PLAIN,
            None,
            True,
            {"EngineSupported": "False", "KVCacheDtypeSupported": "False"},
            "EngineSupported is False, KVCacheDtypeSupported is False",
        ),
        "engines wait for the document that sizes their chunks": (
            PLAIN,
            None,
            True,
            {"ModelConfigValid": "False"},
            "ModelConfigValid is False",
        ),
        "engines that mount Lustre wait for the node image": (
            POOL,
            CLAIM,
            True,
            {"NodeImageSupported": "False"},
            "NodeImageSupported is False",
        ),
        "engines that do not mount it do not": (
            OPPORTUNISTIC,
            None,
            True,
            {"NodeImageSupported": "False", "LustreDriverEnabled": "False"},
            None,
        ),
        "what cannot be seen is not waited for": (POOL, CLAIM, True, {"NetworkMatched": "Unknown"}, None),
        "a strict pool waits for it": (
            pool(strict=True),
            CLAIM,
            True,
            {"NetworkMatched": "Unknown"},
            "NetworkMatched is Unknown",
        ),
        "a capacity that cannot be reached keeps no engine from starting": (
            POOL,
            CLAIM,
            True,
            {"CapacityValid": "False"},
            None,
        ),
    },
)
def test_start(
    of: KVCachePool, claim: str | None, nodes: bool, statuses: dict[str, str], waits_for: str | None
) -> None:
    part = _plan(of, claim=claim, nodes=nodes, **statuses)
    (condition,) = part.conditions
    if waits_for is None:
        assert _made(part) == PAIR
        assert (condition.status, condition.reason) == ("False", "Starting")
    else:
        assert _made(part) == []
        assert (condition.status, condition.reason) == ("False", "Waiting")
        assert condition.message == f"engines are not started while {waits_for}"


def test_an_opportunistic_pool_takes_up_the_claim_when_it_is_bound() -> None:
    before, after = _plan(OPPORTUNISTIC, claim=None), _plan(OPPORTUNISTIC)
    assert not mounts_lustre(before.applies[0])
    assert mounts_lustre(after.applies[0])


@table(
    "of, mounted, claim, statuses, updated",
    {
        "a failing prerequisite of Lustre": (POOL, True, CLAIM, {"LustreDriverEnabled": "False"}, True),
        "a token that is lost": (POOL, True, CLAIM, {"CredentialsPresent": "False"}, True),
        "a capacity that cannot be reached": (POOL, True, CLAIM, {"CapacityValid": "False"}, True),
        "a Local SSD that cannot be judged": (
            pool(strict=True),
            True,
            CLAIM,
            {"LocalSSDSupported": "Unknown"},
            True,
        ),
        "a fault in the spec": (POOL, True, CLAIM, {"LocalSSDSupported": "False"}, False),
        "a type that vLLM refuses": (POOL, True, CLAIM, {"KVCacheDtypeSupported": "False"}, False),
        "a node that joined, and is too small": (POOL, True, CLAIM, {"CPUTierFits": "False"}, False),
        "a document that is gone": (POOL, True, CLAIM, {"ModelConfigValid": "False"}, True),
        "a mounted claim that is out of sight": (POOL, True, None, {}, False),
        "a mounted claim out of sight of an Opportunistic pool's waiting engine": (
            OPPORTUNISTIC,
            True,
            None,
            {"CredentialsPresent": "False"},
            False,
        ),
        "a claim that was never mounted": (POOL, False, None, {}, True),
        "a tier that left the spec": (PLAIN, True, None, {"CredentialsPresent": "False"}, True),
    },
)
def test_an_engine_that_runs_is_kept_and_still_updated_or_held_with(
    of: KVCachePool, mounted: bool, claim: str | None, statuses: dict[str, Any], updated: bool
) -> None:
    running = deployment(POOL if mounted else PLAIN)
    part = _plan(of, running, claim=claim, **statuses)
    assert _made(part) == (PAIR if updated else [])
    assert part.conditions[0].status == "True", "an engine that runs is ready, whatever holds its updates"


UNPROVEN = SharedTier(None, ("TierWritable is False",), bound=CLAIM)


@table(
    "of, mounted, tier, statuses, mounts",
    {
        "an engine that mounts the tier goes on with it": (POOL, True, UNPROVEN, {}, True),
        "so does one of an Opportunistic pool": (OPPORTUNISTIC, True, UNPROVEN, {}, True),
        "an engine that does not mount it goes on without": (OPPORTUNISTIC, False, UNPROVEN, {}, False),
        "an engine whose tier is left on purpose is rolled": (
            OPPORTUNISTIC,
            True,
            SharedTier(None, ("maintenance",), leave=True, bound=CLAIM),
            {},
            False,
        ),
        "an engine whose new Pods could not mount it is left alone": (
            OPPORTUNISTIC,
            True,
            UNPROVEN,
            {"LustreDriverEnabled": "False"},
            None,
        ),
    },
)
def test_while_the_tier_is_bound_and_not_to_be_taken_up(
    of: KVCachePool, mounted: bool, tier: SharedTier, statuses: dict[str, Any], mounts: bool | None
) -> None:
    running = deployment(POOL if mounted else PLAIN)
    part = plan_serving(of, observed(running), checks(**statuses), tier, True)
    assert [mounts_lustre(one) for one in part.applies if one["kind"] == "Deployment"] == (
        [] if mounts is None else [mounts]
    )


def test_engines_of_a_required_pool_wait_for_the_tier_to_be_proven() -> None:
    part = plan_serving(POOL, observed(), checks(), UNPROVEN, True)
    assert part.applies == ()
    assert part.conditions[0].message == "engines are not started while TierWritable is False"


def test_a_new_model_waits_while_a_running_one_is_kept() -> None:
    two = pool(models=[model(), model(name="new")])
    part = _plan(two, deployment(POOL), CredentialsPresent="False")
    assert _made(part) == PAIR
    assert part.conditions[0].reason == "Waiting"


def test_a_mounted_tier_is_not_unmounted_when_the_claim_is_lost_from_sight() -> None:
    for of in (POOL, OPPORTUNISTIC):
        part = _plan(of, deployment(of), claim=None)
        assert all(mounts_lustre(one) for one in part.applies if one["kind"] == "Deployment")
