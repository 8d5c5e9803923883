"""A shared tier that has left the spec of a pool that lives on."""

from typing import Any

from kvtier.plan.children import claim_name
from unit.builders import deployment, document, pool
from unit.instances import api, existing
from unit.plan.lustre.tiers import Tier, bound, made, unseen
from unit.tables import table

NO_TIER: dict[str, Any] = {"tiers": {"lustre": None}}
DELETE: dict[str, Any] = {"deletionPolicy": "Delete"}
VOLUME, CLAIM = "PersistentVolume", "PersistentVolumeClaim"


def _removed(changes: dict[str, Any], **more: Any) -> Tier:
    tier = bound(pool(**{**changes, **more}))
    tier.edit(**NO_TIER)
    return tier


@table("changes", {"an existing instance": existing(), "kvtier's own": api()})
def test_everything_stays_under_retain(changes: dict[str, Any]) -> None:
    tier = _removed(changes)
    part = tier.at()
    assert (part.deletes, part.calls, tier.kinds()) == ((), (), [VOLUME, CLAIM])


def test_an_instance_of_kvtier_s_that_stays_is_remembered() -> None:
    tier = _removed(api())
    tier.at()
    assert (tier.tier.phase, tier.tier.instance) == ("Retained", made(pool(**api())).name)
    assert tier.part.conditions == ()


def test_nothing_goes_while_an_engine_mounts_it() -> None:
    tier = _removed(api(), **DELETE)
    engine = deployment(pool())
    tier.objects["Deployment", engine["metadata"]["name"]] = engine
    part = tier.at()
    assert (part.deletes, part.calls) == ((), ())
    assert tier.tier.phase == "Deleting"


def test_claim_instance_and_volume_go_one_after_the_other() -> None:
    tier = _removed(api(), **DELETE)
    name = made(pool(**api())).name
    tier.at()
    assert tier.kinds() == [VOLUME]
    tier.at()
    (call,) = tier.calls
    assert (call.verb, call.instance, tier.kinds()) == ("delete", name, [VOLUME])
    tier.answer()
    tier.at()
    assert (tier.tier.phase, tier.tier.instance) == ("Deleting", name)
    tier.answer(done=True)
    tier.instance = None
    tier.at()
    assert tier.kinds() == []
    tier.at()
    assert tier.pool.status.tiers == []
    assert tier.asked() == ["delete"]


def test_of_an_existing_instance_only_the_objects_go() -> None:
    tier = _removed(existing(), **DELETE)
    tier.at()
    tier.at()
    assert (tier.kinds(), tier.calls) == ([], [])
    tier.at()
    assert tier.pool.status.tiers == []


def test_an_instance_that_is_just_being_made_goes_too() -> None:
    tier = Tier(pool(**api(), **DELETE))
    tier.at()
    tier.answer()
    tier.instance = made(tier.pool, state="CREATING", address="")
    tier.at()
    tier.edit(**NO_TIER)
    tier.at()
    assert tier.asked() == ["create", "delete"]


def test_an_instance_whose_creation_is_not_answered_yet_is_waited_for() -> None:
    tier = Tier(pool(**api(), **DELETE))
    tier.at()
    tier.edit(**NO_TIER)
    tier.at()
    assert tier.tier.phase == "Deleting"
    assert tier.asked() == ["create"]


def test_a_tier_that_comes_back_and_goes_again_goes_again() -> None:
    tier = _removed(api(), **DELETE)
    tier.at()
    tier.at()
    tier.answer(done=True)
    tier.instance = None
    tier.at()
    tier.edit(tiers=document(**api())["spec"]["tiers"])
    tier.at()
    tier.instance = made(tier.pool, created="2026-12-01T00:00:00Z")
    tier.answer(done=True)
    tier.at()
    tier.edit(**NO_TIER)
    tier.at()
    tier.at()
    assert tier.asked() == ["delete", "create", "delete"]
    assert len({call.request for call in tier.calls}) == 3


def test_nothing_goes_blindly() -> None:
    tier = unseen(_removed(api(), **DELETE))
    tier.at()
    tier.at()
    assert (tier.kinds(), tier.calls) == ([VOLUME], [])
    assert tier.tier.phase == "Deleting"


def test_a_pool_that_never_had_a_tier_says_nothing() -> None:
    tier = Tier(pool(**NO_TIER))
    tier.at()
    assert (tier.part.tiers, tier.part.conditions, tier.part.again) == ((), (), None)


def test_the_claim_of_the_driver_goes_under_delete_with_its_volume() -> None:
    of = pool(**DELETE)
    tier = Tier(of)
    claim = {
        "kind": CLAIM,
        "metadata": {"name": claim_name(of), "namespace": "team-a", "uid": "u"},
        "spec": {"volumeName": "pvc-1", "storageClassName": "fast"},
        "status": {"phase": "Bound", "capacity": {"storage": "18000Gi"}},
    }
    tier.objects[CLAIM, claim_name(of)] = claim
    tier.edit(**NO_TIER)
    part = tier.at()
    (switch,) = part.applies
    assert (switch["kind"], switch["metadata"]) == (VOLUME, {"name": "pvc-1"})
    assert [ref.kind for ref in part.deletes] == [CLAIM]
