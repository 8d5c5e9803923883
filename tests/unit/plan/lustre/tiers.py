"""A pool whose instance the CSI driver does not make, through time: what is planned is carried out, and reported."""

from dataclasses import replace
from typing import Any

from kvtier.api.conditions import STORAGE_READY, Condition
from kvtier.api.v1alpha1 import KVCachePool, OperationStatus, TierStatus
from kvtier.checks import run
from kvtier.context import build
from kvtier.facts.model import Instance, LustreFacts, Observed, Operation
from kvtier.facts.volumes import Volumes, volume
from kvtier.plan.lustre.identity import filesystem, instance_name
from kvtier.plan.lustre.instance import create_body
from kvtier.plan.lustre.shared_tier import plan_storage
from kvtier.plan.model import Call, Manifest, Part, Plan
from kvtier.plan.plan import plan as planned
from unit.builders import NETWORK, NOW, checks, context, facts, live, merged, observed, pool, with_status
from unit.instances import UNSEEN, api
from unit.instances import instance as shared

CREATED = "2026-11-29T11:00:00Z"
GIB = 1 << 30


def made(of: KVCachePool, gib: int = 18_000, **changes: Any) -> Instance:
    """The instance that kvtier makes for a pool, as the Lustre API tells it, but for `changes`."""
    lustre = of.spec.tiers.lustre
    assert lustre is not None
    fields: dict[str, Any] = {
        "name": instance_name(of, Observed()),
        "state": "ACTIVE",
        "capacity": gib * GIB,
        "throughput": lustre.throughput_per_tib or 0,
        "filesystem": filesystem(of),
        "network": NETWORK,
        "address": "10.0.0.7",
        "created": CREATED,
        "labels": create_body(of, lustre)["labels"],
        "kms_key": lustre.kms_key or "",
    }
    return Instance(**{**fields, **changes})


class Tier:
    """What the world is like, to be changed between two moments, and what was planned last."""

    def __init__(self, of: KVCachePool | None = None, instance: Instance | None = None) -> None:
        self.pool = of or pool(**api())
        self.instance = instance
        self.error: str | None = None
        self.pending = False
        self.answers: dict[str, Operation] = {}
        self.objects: dict[tuple[str, str], Any] = {}
        self.statuses: dict[str, Any] = {}
        self.strangers: list[Any] = []
        self.calls: list[Call] = []
        self.part = Part()
        self.plan = Plan()

    def at(self, now: str = NOW) -> Part:
        """Plan as `now` is, carry it out, and write the status."""
        self.part = plan_storage(build(self.pool, self.world(), now), self._checks())
        self._carry_out(self.part.applies, self.part.deletes)
        self._call(self.part.calls)
        told = {
            "conditions": list(self.part.conditions),
            "tiers": list(self.part.tiers),
            "operations": list(self.part.operations),
        }
        self.pool = with_status(self.pool, self.pool.status.model_copy(update=told))
        return self.part

    def leave(self, now: str = NOW) -> Plan:
        """The same for a pool that was deleted."""
        self.pool.metadata["deletionTimestamp"] = NOW
        self.plan = planned(self.pool, self.world(), now)
        self._carry_out(self.plan.applies, self.plan.deletes)
        self._call(self.plan.calls)
        if self.plan.status:
            self.pool = with_status(self.pool, self.plan.status)
        return self.plan

    def edit(self, **changes: Any) -> None:
        """Change the spec."""
        spec = merged(self.pool.spec.model_dump(by_alias=True, exclude_none=True), changes)
        raw = {"spec": spec, "metadata": self.pool.metadata}
        self.pool = with_status(KVCachePool.model_validate(raw), self.pool.status)

    def world(self) -> Observed:
        error = self.error
        lustre = LustreFacts(None if error else self.instance, error, dict(self.answers), self.pending)
        volumes = [volume(one) for one in self._volumes()]
        known = Volumes({one.name: one for one in volumes if one})
        return observed(*self.objects.values(), facts=replace(facts(), lustre=lustre, volumes=known))

    def answer(self, name: str = "op", **fields: Any) -> None:
        """What the API says of the request that was made last."""
        self.answers[self.calls[-1].request] = Operation(name, **fields)

    def lose(self) -> None:
        """Another process, that does not know what became of the request that was made last."""
        del self.answers[self.calls[-1].request]

    def bind(self) -> None:
        """As Kubernetes does."""
        self.change("PersistentVolumeClaim", status={"phase": "Bound", "capacity": {"storage": "18000Gi"}})
        uid = self.only("PersistentVolumeClaim")["metadata"]["uid"]
        bound = {"claimRef": {"uid": uid, "resourceVersion": "7"}}
        self.change("PersistentVolume", status={"phase": "Bound"}, spec=bound)

    def change(self, kind: str, **changes: Any) -> None:
        """Change the only object of a kind."""
        one = self.only(kind)
        self.objects[kind, one["metadata"]["name"]] = merged(one, changes)

    def drop(self, kind: str) -> None:
        """The only object of a kind is gone."""
        del self.objects[kind, self.only(kind)["metadata"]["name"]]

    def only(self, kind: str) -> Any:
        (one,) = [obj for (of, _), obj in self.objects.items() if of == kind]
        return one

    def kinds(self) -> list[str]:
        return sorted(kind for kind, _ in self.objects)

    @property
    def condition(self) -> Condition:
        return next(one for one in self.pool.status.conditions if one.type == STORAGE_READY)

    @property
    def told(self) -> tuple[str, str]:
        return self.condition.status, self.condition.reason

    @property
    def tier(self) -> TierStatus:
        (tier,) = self.pool.status.tiers
        return tier

    def operation(self, kind: str) -> OperationStatus:
        return next(one for one in self.pool.status.operations if one.kind == kind)

    def asked(self) -> list[str]:
        """The verbs of all calls so far."""
        return [call.verb for call in self.calls]

    def _checks(self) -> Any:
        return checks(**self.statuses) if self.statuses else run(context(self.pool))

    def _volumes(self) -> list[Any]:
        mine = [obj for (kind, _), obj in self.objects.items() if kind == "PersistentVolume"]
        return [*mine, *self.strangers]

    def _call(self, calls: tuple[Call, ...]) -> None:
        self.calls += calls
        self.answers.update({call.request: Operation() for call in calls})

    def _carry_out(self, applies: tuple[Manifest, ...], deletes: Any) -> None:
        for one in applies:
            key = (one["kind"], one["metadata"]["name"])
            if "labels" in one["metadata"]:
                known = self.objects.get(key)
                self.objects[key] = merged(known, one) if known else live(one)
        for ref in deletes:
            del self.objects[ref.kind, ref.name]


def bound(of: KVCachePool | None = None, **instance: Any) -> Tier:
    """A tier in use."""
    tier = Tier(of)
    lustre = tier.pool.spec.tiers.lustre
    existing = lustre is not None and lustre.provisioner == "Existing"
    tier.instance = shared(**instance).instance if existing else made(tier.pool, **instance)
    tier.at()
    tier.bind()
    tier.at()
    return tier


def unseen(tier: Tier) -> Tier:
    """The Lustre API does not tell any more."""
    tier.error = UNSEEN.error
    return tier
