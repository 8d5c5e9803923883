"""A simulation of a pool over time around the pure planner: plans are carried out and reported as by the operator.

Nothing here behaves like Kubernetes, the driver or the Lustre API. Between two reconciliations, the test changes the
world: it binds a claim, ends a Job, answers a request.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kvtier.api.conditions import Condition, find
from kvtier.api.identity import new_filesystem
from kvtier.api.kinds import Key
from kvtier.api.v1alpha1 import KVCachePool, OperationStatus, TierStatus
from kvtier.facts.children import children
from kvtier.facts.identity import instance_name
from kvtier.facts.model import Event, Facts, Instance, LustreFacts, Observed, Operation
from kvtier.facts.volumes import Volumes, volume
from kvtier.plan.events import PoolEvent, status_events
from kvtier.plan.lustre.instance import create_body
from kvtier.plan.model import Call, Plan
from kvtier.plan.plan import plan
from unit.builders import (
    NETWORK,
    NOW,
    OWN_CLUSTER,
    driver_volume,
    facts,
    live,
    merged,
    node,
    pool,
    with_status,
)

GIB = 1 << 30
CREATED = "2026-11-29T11:00:00Z"
CLAIM, VOLUME, JOB, DEPLOYMENT = "PersistentVolumeClaim", "PersistentVolume", "Job", "Deployment"


def made(of: KVCachePool, gib: int = 18_000, **changes: Any) -> Instance:
    """The ACTIVE instance of a pool as the Lustre API describes it, with `changes`."""
    lustre = of.spec.tiers.lustre
    assert lustre is not None
    fields: dict[str, Any] = {
        "name": instance_name(of, children({}), Volumes()),
        "state": "ACTIVE",
        "capacity": gib * GIB,
        "throughput": lustre.throughput_per_tib or 0,
        "filesystem": new_filesystem(of),
        "network": NETWORK,
        "address": lustre.address or "10.0.0.7",
        "created": CREATED,
        "labels": create_body(of, lustre, OWN_CLUSTER)["labels"] if lustre.provisioner == "API" else {},
        "kms_key": lustre.kms_key or "",
    }
    return Instance(**{**fields, **changes})


class Simulation:
    """The state of the cluster and of Google's APIs, which tests change, and what was planned.

    `objects` are live children, `strangers` PersistentVolumes of others. `instance` or `error` is what the Lustre API
    returns, `answers` are its answers to requests. `calls` and `events` are those of all plans, `plan` is the last one.
    """

    def __init__(self, of: KVCachePool | None = None, instance: Instance | None = None) -> None:
        self.pool = of or pool()
        self.facts: Facts = facts(node(self.pool))
        self.instance = instance
        self.error: str | None = None
        self.pending = False
        self.answers: dict[str, Operation] = {}
        self.objects: dict[Key, Any] = {}
        self.strangers: list[Any] = []
        self.claim_events: tuple[Event, ...] = ()
        self.pod_events: tuple[Event, ...] = ()
        self.holders: tuple[str, ...] = ()
        self.calls: list[Call] = []
        self.events: list[PoolEvent] = []
        self.plan = Plan()

    def at(self, now: str = NOW) -> Plan:
        """Reconcile at the time `now`: plan, carry out the plan, write the status and the Events."""
        self.plan = plan(self.pool, self.observed(), now)
        self._carry_out(self.plan)
        self.events += self.plan.events
        if self.plan.status is not None:
            self.events += status_events(self.pool.status, self.plan.status)
            self.pool = with_status(self.pool, self.plan.status)
        return self.plan

    def until(self, over: Callable[[], bool], now: str = NOW, looks: int = 9) -> Plan:
        """Reconcile until `over` returns True."""
        for _ in range(looks):
            done = self.at(now)
            if over():
                return done
        raise AssertionError(f"not over after {looks} reconciliations: {self.pool.status.conditions}")

    def observed(self) -> Observed:
        """What the operator observes."""
        volumes = [obj for (kind, _), obj in self.objects.items() if kind == VOLUME]
        known = [one for one in map(volume, [*volumes, *self.strangers]) if one]
        asked = instance_name(self.pool, children(self.objects), Volumes({one.name: one for one in known}))
        lustre = LustreFacts(
            None if self.error else self.instance, self.error, dict(self.answers), self.pending
        )
        world = replace(
            self.facts,
            lustre=lustre if asked else None,
            volumes=Volumes({one.name: one for one in known}),
        )
        return Observed(
            facts=world,
            children=children(self.objects),
            claim_events=self.claim_events,
            pod_events=self.pod_events,
            holders=self.holders,
        )

    # What users do.

    def edit(self, **changes: Any) -> None:
        """Change the spec."""
        spec = merged(self.pool.spec.model_dump(by_alias=True, exclude_none=True), changes)
        raw = {"spec": spec, "metadata": self.pool.metadata}
        self.pool = with_status(KVCachePool.model_validate(raw), self.pool.status)

    def delete(self) -> None:
        """Delete the pool."""
        metadata = {**self.pool.metadata, "deletionTimestamp": NOW}
        self.pool = self.pool.model_copy(update={"metadata": metadata})

    # What Kubernetes and the driver do.

    def bind(self, capacity: str = "18000Gi") -> None:
        """Bind the PVC: to the PersistentVolume of kvtier if it exists, else to a new one of the driver."""
        claim = self.only(CLAIM)
        bound = {"uid": claim["metadata"]["uid"], "resourceVersion": "7"}
        if (VOLUME, claim["spec"].get("volumeName")) in self.objects:
            self.change(VOLUME, status={"phase": "Bound"}, spec={"claimRef": bound})
            name = claim["spec"]["volumeName"]
        else:
            name = f"pvc-{claim['metadata']['uid']}"
            by_kubernetes = {"annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}}
            self.change(CLAIM, metadata=by_kubernetes, spec={"volumeName": name})
            # Without a handle, the Lustre API is not asked for an instance that the simulation does not have.
            self.strangers.append(driver_volume(self.only(CLAIM), spec={"csi": {"volumeHandle": ""}}))
        self.change(CLAIM, status={"phase": "Bound", "capacity": {"storage": capacity}})

    def end_job(self, condition: str = "Complete", at: str = NOW, message: str = "") -> None:
        """End the only running Job."""
        running = [key for key, obj in self.objects.items() if key[0] == JOB and not obj.get("status")]
        (key,) = running
        ended = {"type": condition, "status": "True", "lastTransitionTime": at, "message": message}
        self.objects[key] = merged(self.objects[key], {"status": {"conditions": [ended]}})

    def start_engines(self) -> None:
        """Make every Pod of every Deployment ready."""
        for key, obj in self.objects.items():
            if key[0] == DEPLOYMENT:
                ready = {"readyReplicas": obj["spec"].get("replicas", 1), "observedGeneration": 1}
                self.objects[key] = merged(obj, {"status": ready})

    def change(self, kind: str, **changes: Any) -> None:
        """Change the only object of a kind."""
        one = self.only(kind)
        self.objects[kind, one["metadata"]["name"]] = merged(one, changes)

    def drop(self, kind: str) -> None:
        """Delete the only object of a kind."""
        del self.objects[kind, self.only(kind)["metadata"]["name"]]

    # What the Lustre API does.

    def answer(self, name: str = "op", **fields: Any) -> None:
        """Set the answer to the last request."""
        self.answers[self.calls[-1].request] = Operation(name, **fields)

    def lose(self) -> None:
        """Forget the answer to the last request."""
        del self.answers[self.calls[-1].request]

    def restart(self) -> None:
        """Start a new operator process, which knows only the status."""
        running = {
            one.request_id for one in self.pool.status.operations if one.name and one.state == "Running"
        }
        self.answers = {request: one for request, one in self.answers.items() if request in running}

    # What can be seen.

    def only(self, kind: str) -> Any:
        (one,) = [obj for (of, _), obj in self.objects.items() if of == kind]
        return one

    def kinds(self) -> list[str]:
        return sorted(kind for kind, _ in self.objects)

    def storage(self) -> list[str]:
        """Kinds of the storage objects of the shared tier."""
        return sorted(kind for kind, _ in self.objects if kind in (CLAIM, VOLUME))

    def mounted(self) -> bool:
        """Whether the engines, which must exist, mount the shared tier."""
        volumes = self.only(DEPLOYMENT)["spec"]["template"]["spec"]["volumes"]
        return "lustre" in [volume["name"] for volume in volumes]

    def condition(self, type_: str) -> Condition:
        found = find(self.pool.status.conditions, type_)
        assert found is not None, f"no condition {type_}"
        return found

    def verdict(self, type_: str) -> tuple[str, str]:
        """Status and reason of a condition."""
        found = self.condition(type_)
        return found.status, found.reason

    def tier(self, name: str = "lustre") -> TierStatus:
        (tier,) = [one for one in self.pool.status.tiers if one.name == name]
        return tier

    def operation(self, kind: str) -> OperationStatus:
        (operation,) = [one for one in self.pool.status.operations if one.kind == kind]
        return operation

    def verbs(self) -> list[str]:
        """The verbs of all calls so far."""
        return [call.verb for call in self.calls]

    def reasons(self) -> list[str]:
        """The reasons of all Events so far."""
        return [event.reason for event in self.events]

    def _carry_out(self, planned: Plan) -> None:
        for one in planned.applies:
            key = (one["kind"], one["metadata"]["name"])
            if "labels" in one["metadata"]:
                known = self.objects.get(key)
                self.objects[key] = merged(known, one) if known else live(one)
            elif key in self.objects:
                self.objects[key] = merged(self.objects[key], one)
        for ref in planned.deletes:
            del self.objects[ref.kind, ref.name]
        self.calls += planned.calls
        self.answers.update({call.request: Operation() for call in planned.calls})


def in_use(of: KVCachePool | None = None, instance: Instance | None = None, now: str = NOW) -> Simulation:
    """A pool with a bound and writable shared tier and with ready engines."""
    simulation = Simulation(of, instance)
    lustre = simulation.pool.spec.tiers.lustre
    gib = lustre.size // GIB if lustre and lustre.size else 18_000
    if lustre and instance is None and instance_name(simulation.pool, children({}), Volumes()):
        simulation.instance = made(simulation.pool, gib)
    simulation.at(now)
    if lustre:
        simulation.bind(f"{gib}Gi")
        simulation.at(now)
        simulation.end_job(at=now)
    simulation.at(now)
    simulation.start_engines()
    simulation.at(now)
    return simulation
