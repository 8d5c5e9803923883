"""Volume and claim of an instance that is known, and what the tier is reported as."""

from typing import Any

from unit.builders import NOW, pool
from unit.instances import api, by_hand, existing, instance
from unit.plan.lustre.tiers import Tier, bound, made, unseen
from unit.tables import table

BY_HAND, TOLD, API = pool(**by_hand()), pool(**existing()), pool(**api())
SHARED = instance().instance
GOING = {"metadata": {"deletionTimestamp": NOW}}


def test_volume_and_claim_of_an_existing_instance() -> None:
    tier = Tier(TOLD, SHARED)
    volume, claim = tier.at().applies
    assert (volume["kind"], claim["kind"]) == ("PersistentVolume", "PersistentVolumeClaim")
    spec = volume["spec"]
    assert spec["csi"] == {
        "driver": "lustre.csi.storage.gke.io",
        "volumeHandle": "my-project/us-central1-a/shared",
        "volumeAttributes": {"ip": "10.0.0.4", "filesystem": "given"},
    }
    assert spec["claimRef"] == {"namespace": "team-a", "name": claim["metadata"]["name"]}
    assert spec["capacity"] == claim["spec"]["resources"]["requests"] == {"storage": "18000Gi"}
    assert claim["spec"]["storageClassName"] == "", "else the default class is put there"
    assert "storageClassName" not in spec, "the API server does not keep an empty one"
    assert (spec["persistentVolumeReclaimPolicy"], spec["accessModes"]) == ("Retain", ["ReadWriteMany"])
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"]
    (term,) = spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": "topology.gke.io/zone", "operator": "In", "values": ["us-central1-a"]}
    ]
    assert volume["metadata"]["annotations"]["kvtier.dev/provisioner"] == "Existing"
    assert "ownerReferences" not in {**volume["metadata"], **claim["metadata"]}


def test_the_tier_in_use() -> None:
    tier = bound(API)
    assert tier.told == ("True", "Bound")
    assert (tier.tier.phase, tier.tier.capacity) == ("Bound", "18000Gi")
    assert tier.tier.instance == made(API).name
    assert tier.calls == []


def test_what_is_in_use_is_written_no_more() -> None:
    tier = bound(BY_HAND)
    before = dict(tier.objects)
    tier.at()
    assert tier.objects == before


def test_the_volume_follows_an_instance_that_grew_by_other_hands() -> None:
    tier = bound(TOLD)
    tier.instance = instance(27_000).instance
    volume, claim = tier.at().applies
    assert volume["spec"]["capacity"] == {"storage": "27000Gi"}
    assert claim["spec"]["resources"]["requests"] == {"storage": "18000Gi"}, (
        "Kubernetes lets no such claim grow"
    )
    assert tier.tier.capacity == "27000Gi"


@table(
    "statuses, kinds",
    {
        "nothing is made while a prerequisite does not hold": ({"LustreDriverEnabled": "False"}, []),
        "what cannot be seen holds up nothing": (
            {"NetworkMatched": "Unknown"},
            ["PersistentVolume", "PersistentVolumeClaim"],
        ),
    },
)
def test_prerequisites(statuses: dict[str, str], kinds: list[str]) -> None:
    tier = Tier(BY_HAND, SHARED)
    tier.statuses = statuses
    tier.at()
    assert tier.kinds() == kinds
    assert tier.told[1] == ("Creating" if kinds else "PrerequisitesNotMet")
    assert tier.tier.phase == ("Provisioning" if kinds else "Waiting")


def test_a_prerequisite_that_fails_later_changes_nothing() -> None:
    tier = bound(BY_HAND)
    tier.statuses = {"LustreDriverEnabled": "False"}
    assert tier.at().applies == ()
    assert tier.told == ("True", "Bound")


def test_nothing_is_made_from_an_instance_that_cannot_be_used() -> None:
    tier = Tier(TOLD, instance(state="SUSPENDED").instance)
    tier.at()
    assert tier.kinds() == []
    assert tier.told == ("False", "InstanceSuspended")
    assert tier.tier.phase == "Failed"


def test_an_instance_that_is_not_well_any_more_keeps_its_volume_and_is_told_of() -> None:
    tier = bound(TOLD)
    tier.instance = instance(state="STOPPED").instance
    tier.at()
    assert tier.kinds() == ["PersistentVolume", "PersistentVolumeClaim"]
    assert tier.told == ("False", "InstanceStopped")


@table("changes", {"an existing instance": existing(), "kvtier's own": api()})
def test_losing_sight_of_an_instance_in_use_changes_nothing(changes: dict[str, Any]) -> None:
    tier = unseen(bound(pool(**changes)))
    part = tier.at()
    assert (part.applies, part.calls) == ((), ())
    assert tier.told == ("True", "Bound")
    assert "the Lustre API cannot be asked" in tier.condition.message
    assert (tier.tier.phase, tier.tier.capacity) == ("Bound", "18000Gi")
    assert tier.tier.instance


def test_an_instance_that_has_never_been_seen_is_not_guessed_at() -> None:
    tier = unseen(Tier(pool(**api())))
    tier.at()
    assert (tier.kinds(), tier.calls) == ([], [])
    assert tier.told == ("False", "InstanceUnknown")
    assert tier.tier.instance is None


@table(
    "spec, words",
    {
        "another address": ({"csi": {"volumeAttributes": {"ip": "10.1.1.1"}}}, "in ip,"),
        "another instance": ({"csi": {"volumeHandle": "a/b/c"}}, "in volumeHandle,"),
        "another driver": ({"csi": None, "nfs": {}}, "volumeHandle, driver, ip, filesystem"),
        "another zone": ({"nodeAffinity": None}, "in nodeAffinity,"),
    },
)
def test_a_volume_that_names_something_else_is_told_of_and_not_written(
    spec: dict[str, Any], words: str
) -> None:
    tier = bound(pool(**existing()))
    tier.change("PersistentVolume", spec=spec)
    assert tier.at().applies == ()
    assert tier.told == ("False", "VolumeMismatch")
    assert words in tier.condition.message


def test_a_claim_that_was_made_for_something_else_is_told_of_and_not_written() -> None:
    tier = bound(pool(**existing()))
    tier.change("PersistentVolumeClaim", spec={"volumeName": "pvc-1", "storageClassName": "old"})
    assert tier.at().applies == ()
    assert tier.told == ("False", "ClaimMismatch")
    assert "pvc-1" in tier.condition.message


def test_a_claim_that_is_going_is_waited_for_and_not_written() -> None:
    tier = bound(pool(**existing()))
    tier.change("PersistentVolumeClaim", **GOING)
    assert [one["kind"] for one in tier.at().applies] == ["PersistentVolume"]
    assert tier.told == ("False", "ClaimDeleted")


def test_the_size_of_a_tier_is_that_of_its_instance_before_it_is_bound() -> None:
    tier = Tier(pool(**existing()), SHARED)
    tier.at()
    assert (tier.tier.phase, tier.tier.capacity) == ("Provisioning", "18000Gi")


ASKED = "the Lustre API is being asked about an instance"


@table("changes", {"an existing instance": existing(), "given by hand": by_hand(), "kvtier's own": api()})
def test_the_first_answer_is_waited_for(changes: dict[str, Any]) -> None:
    tier = Tier(pool(**changes))
    tier.error, tier.pending = ASKED, True
    tier.at()
    assert (tier.kinds(), tier.calls) == ([], [])
    assert (tier.told, tier.tier.phase) == (("False", "Waiting"), "Waiting")


@table("changes", {"an existing instance": existing(), "kvtier's own": api()})
def test_a_process_that_has_just_begun_says_nothing_new(changes: dict[str, Any]) -> None:
    tier = bound(pool(**changes))
    before = tier.pool.status
    tier.error, tier.pending = ASKED, True
    tier.at()
    assert tier.pool.status == before


def test_a_larger_instance_is_taken_up_before_the_spec_is_found_too_small() -> None:
    tier = Tier(pool(**api()))
    tier.instance = made(tier.pool, gib=27_000)
    tier.at()
    tier.at()
    assert tier.kinds() == ["PersistentVolume", "PersistentVolumeClaim"]
    before = tier.tier
    tier.bind()
    tier.at()
    assert (before.capacity, tier.tier.capacity) == (None, "27000Gi")
    tier.at()
    assert tier.told == ("True", "Bound")
