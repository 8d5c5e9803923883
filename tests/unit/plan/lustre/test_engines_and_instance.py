"""What copies and maintenance do to the engines: the whole plan, with its children made and its status written."""

from dataclasses import replace
from typing import Any

from kvtier.api.kinds import Object
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Counters, Instance, LustreFacts, Operation
from kvtier.plan.children import mounts_lustre
from kvtier.plan.model import Plan
from kvtier.plan.plan import plan
from unit.builders import claim, facts, job, live, manifest, node, observed, pool, with_status
from unit.plan.lustre.story import CLUSTER, INSTANCE, URI
from unit.plan.lustre.watching import AFTER, ANNOUNCED, BEFORE, SOON, WITHIN

STORAGE: dict[str, Any] = {"cloudStorage": {"uri": URI}}


class Cluster:
    """A pool whose claim is bound and writable, in a cluster that does what is planned."""

    def __init__(self, of: KVCachePool) -> None:
        self.pool = of
        self.deployment: Object | None = None
        self.rolls = 0
        self.answers: dict[str, Operation] = {}
        self.plan = Plan()

    def at(self, now: str, instance: Instance = INSTANCE, error: str | None = None) -> Plan:
        lustre = LustreFacts(None if error else instance, error, self.answers)
        children = [
            claim(self.pool),
            job(self.pool),
            live(manifest(self.pool, "ComputeClass")),
            *([self.deployment] if self.deployment else []),
        ]
        world = observed(*children, facts=replace(facts(node(self.pool)), lustre=lustre))
        self.plan = plan(self.pool, world, now)
        for made in (one for one in self.plan.applies if one["kind"] == "Deployment"):
            self._run(made)
        self.pool = with_status(self.pool, self.plan.status)
        return self.plan

    def _run(self, made: dict[str, Any]) -> None:
        changed = self.deployment is not None and mounts_lustre(made) != self.mounted
        self.rolls += changed
        self.deployment = live(made, status={"observedGeneration": 1, "readyReplicas": 1})

    @property
    def mounted(self) -> bool:
        return mounts_lustre(self.deployment or {})

    def told(self, type_: str) -> tuple[str, str]:
        found = next(one for one in self.pool.status.conditions if one.type == type_)
        return found.status, found.reason


def _pool(mode: str, maintenance: str = "Ride", **tiers: Any) -> KVCachePool:
    return pool(mode=mode, cluster=CLUSTER, tiers={"lustre": {"maintenance": maintenance}, **tiers})


def _import(cluster: Cluster, done: bool) -> None:
    (operation,) = cluster.pool.status.operations
    cluster.answers[operation.request_id] = Operation("op", done=done, counters=Counters(found=1, copied=1))


def test_a_required_pool_starts_its_engines_after_the_import() -> None:
    cluster = Cluster(_pool("Required", **STORAGE))
    first = cluster.at(BEFORE)
    assert [call.verb for call in first.calls] == ["import"]
    assert cluster.deployment is None
    _import(cluster, done=False)
    cluster.at(BEFORE)
    assert cluster.deployment is None
    assert cluster.told("ModelsReady") == ("False", "Waiting")
    _import(cluster, done=True)
    cluster.at(BEFORE)
    assert cluster.mounted
    cluster.at(BEFORE)
    assert (cluster.told("Ready"), cluster.rolls) == (("True", "AllReady"), 0)


def test_an_opportunistic_pool_serves_without_the_tier_until_the_import_is_done() -> None:
    cluster = Cluster(_pool("Opportunistic", **STORAGE))
    cluster.at(BEFORE)
    assert cluster.deployment is not None
    assert not cluster.mounted
    cluster.at(BEFORE)
    assert cluster.told("Ready") == ("True", "WithoutSharedTier")
    _import(cluster, done=True)
    cluster.at(BEFORE)
    assert (cluster.mounted, cluster.rolls) == (True, 1)
    cluster.at(BEFORE)
    assert cluster.told("Ready") == ("True", "AllReady")


def test_a_failed_copy_leaves_a_pool_ready() -> None:
    cluster = Cluster(_pool("Required", cloudStorage={"uri": URI, "exportSchedule": "0 0 31 2 *"}))
    cluster.at(BEFORE)
    _import(cluster, done=True)
    cluster.at(BEFORE)
    cluster.at(BEFORE)
    assert cluster.told("CloudStorageSynced") == ("False", "InvalidSchedule")
    assert cluster.told("Ready") == ("True", "AllReady")


def test_engines_are_rolled_once_before_and_once_after_the_maintenance() -> None:
    cluster = Cluster(_pool("Opportunistic", "Bypass"))
    seen = []
    for now, instance in (
        (BEFORE, ANNOUNCED),
        (SOON, ANNOUNCED),
        (WITHIN, replace(ANNOUNCED, state="UPGRADING")),
        ("2026-12-06T02:30:00Z", ANNOUNCED),
        (AFTER, INSTANCE),
        ("2026-12-06T03:10:00Z", INSTANCE),
    ):
        cluster.at(now, instance)
        seen.append(cluster.mounted)
    assert seen == [True, False, False, False, True, True]
    assert cluster.rolls == 2


def test_a_pool_that_bypasses_maintenance_is_ready_without_its_tier() -> None:
    cluster = Cluster(_pool("Opportunistic", "Bypass"))
    cluster.at(SOON, ANNOUNCED)
    cluster.at(SOON, ANNOUNCED)
    assert cluster.told("Ready") == ("True", "WithoutSharedTier")
    assert cluster.told("MaintenanceScheduled") == ("True", "Bypassed")


def test_an_outage_of_the_api_rolls_nobody() -> None:
    cluster = Cluster(_pool("Opportunistic", "Bypass"))
    cluster.at(SOON, ANNOUNCED)
    for now in (WITHIN, AFTER, "2026-12-06T12:00:00Z"):
        cluster.at(now, error="no answer")
    assert (cluster.mounted, cluster.rolls) == (False, 0)
    cluster.at("2026-12-06T12:01:00Z", INSTANCE)
    assert (cluster.mounted, cluster.rolls) == (True, 1)


def test_an_instance_is_looked_at_more_often_while_it_is_not_well() -> None:
    cluster = Cluster(pool())
    cluster.at(BEFORE)
    assert cluster.at(BEFORE).requeue_after == 300
    assert cluster.at(BEFORE, replace(INSTANCE, state="UPGRADING")).requeue_after == 60
