"""What is not granted is not created or requested, and what exists stays."""

from dataclasses import replace
from typing import Any

import pytest

from kvtier.context import build
from kvtier.facts.policy import Grants
from unit.builders import NOW, joined, model, mounts_lustre, pool
from unit.instances import CLUSTER, KEY, api, by_hand, existing
from unit.plan.lustre.copying import cached
from unit.simulation import CLAIM, DEPLOYMENT, JOB, VOLUME, Simulation, in_use, made
from unit.tables import table

NOTHING = Grants(frozenset({"my-project"}))
"""The cluster is in my-project, and there is no policy."""

DELETE = {"deletionPolicy": "Delete"}
HELD = "kvtier does not read the instance: see AccessGranted."
STORAGE = {"StorageClass", CLAIM, VOLUME, DEPLOYMENT, JOB}
FOREIGN = {"project": "their-project"}
UNGRANTED: dict[str, dict[str, Any]] = {
    "an existing instance": existing(),
    "an existing instance by hand": by_hand(),
    "a network": {"tiers": {"lustre": {"network": "projects/their-project/global/networks/default"}}},
    "a bucket": cached(importOnCreate=False),
    "another project": joined(api(), {"cluster": FOREIGN}),
    "a key": api(kmsKey=KEY.replace("my-project", "their-project")),
}


def revoke(simulation: Simulation) -> None:
    """Remove all grants. Then the collector does not read the instance."""
    simulation.facts = replace(simulation.facts, grants=NOTHING)
    simulation.error = HELD


@table("changes", UNGRANTED)
@pytest.mark.parametrize("mode", ["Required", "Opportunistic"])
def test_nothing_is_created_or_requested_for_a_pool_without_its_grants(
    changes: dict[str, Any], mode: str
) -> None:
    new = Simulation(pool(**joined(changes, {"mode": mode})))
    new.facts = replace(new.facts, grants=NOTHING)
    new.instance = made(new.pool) if "Existing" in str(changes) else None
    first = new.at()
    kinds = {one["kind"] for one in first.applies}
    assert kinds & STORAGE == ({DEPLOYMENT} if mode == "Opportunistic" else set())
    assert not any(mounts_lustre(one) for one in first.applies if one["kind"] == DEPLOYMENT)
    assert new.calls == []
    assert new.verdict("AccessGranted") == ("False", "NotGranted")
    assert new.verdict("StorageReady") == ("False", "PrerequisitesNotMet")


def test_an_instance_is_not_described_to_a_pool_that_may_not_use_it() -> None:
    new = Simulation(pool(**existing()))
    revoke(new)
    new.at()
    assert new.condition("StorageReady").message == "kvtier creates no storage while AccessGranted is False."


@table("changes", UNGRANTED)
@pytest.mark.parametrize("mode", ["Required", "Opportunistic"])
def test_a_pool_that_serves_keeps_serving_when_its_grants_are_revoked(
    changes: dict[str, Any], mode: str
) -> None:
    of = pool(**joined(changes, {"mode": mode}))
    serving = in_use(of, made(of))
    before = {key: obj["metadata"]["uid"] for key, obj in serving.objects.items()}
    serving.calls.clear()
    revoke(serving)
    done = serving.at()
    assert done.deletes == ()
    assert serving.calls == []
    assert {key: obj["metadata"]["uid"] for key, obj in serving.objects.items()} == before
    (engines,) = (one for one in done.applies if one["kind"] == DEPLOYMENT)
    assert mounts_lustre(engines)
    assert serving.verdict("ModelsReady") == ("True", "AllReady")
    assert serving.pool.status.phase == "Degraded" if mode == "Required" else "Ready"


def test_a_new_model_does_not_mount_an_instance_whose_grant_was_revoked() -> None:
    of = pool(**existing())
    serving = in_use(of, made(of))
    revoke(serving)
    serving.edit(models=[model(), model(name="second")])
    done = serving.at()
    assert [one["metadata"]["name"] for one in done.applies if one["kind"] == DEPLOYMENT] == [
        name for kind, name in serving.objects if kind == DEPLOYMENT
    ]
    assert "AccessGranted is False" in serving.condition("ModelsReady").message


def test_an_instance_does_not_grow_while_something_is_not_granted() -> None:
    of = pool(**api())
    serving = in_use(of, made(of))
    serving.calls.clear()
    serving.facts = replace(serving.facts, grants=Grants(frozenset({"other-project"})))
    serving.edit(tiers={"lustre": {"capacity": "36000Gi"}})
    serving.at()
    assert serving.calls == []


def test_no_scheduled_export_starts_after_the_grant_of_the_bucket_was_revoked() -> None:
    of = pool(**cached(importOnCreate=False, exportSchedule="0 3 * * *"))
    serving = in_use(of, made(of))
    serving.calls.clear()
    serving.facts = replace(serving.facts, grants=NOTHING)
    serving.at("2026-11-30T03:00:05Z")
    assert serving.calls == []
    expected = "kvtier starts no copy from or to gs://bucket/cache/ while AccessGranted is False."
    assert serving.condition("CloudStorageSynced").message == expected


def test_an_instance_of_kvtier_is_deleted_with_its_pool_after_the_grant_was_revoked() -> None:
    of = pool(**joined(api(), DELETE))
    leaving = in_use(of, made(of))
    leaving.calls.clear()
    leaving.facts = replace(leaving.facts, grants=Grants(frozenset({"other-project"})))
    leaving.delete()
    leaving.until(lambda: "delete" in leaving.verbs())


def test_an_instance_of_another_cluster_can_be_adopted_only_with_a_grant() -> None:
    adopter = Simulation(pool(**api()))
    assert build(adopter.pool, adopter.observed(), NOW).lustre.adoption_granted
    revoke(adopter)
    assert not build(adopter.pool, adopter.observed(), NOW).lustre.adoption_granted


def test_without_the_grant_of_the_bucket_the_data_is_kept_instead_of_exported() -> None:
    of = pool(**joined(cached(importOnCreate=False), {**DELETE, "cluster": CLUSTER}))
    leaving = in_use(of, made(of))
    leaving.calls.clear()
    leaving.facts = replace(leaving.facts, grants=NOTHING)
    leaving.delete()
    leaving.until(lambda: not leaving.plan.finalizer)
    assert leaving.calls == []
    (event,) = (one for one in leaving.events if one.reason == "DataKept")
    assert "(spec.tiers.cloudStorage.uri) is not granted." in event.message
    assert any(kind == CLAIM for kind, _ in leaving.objects)
