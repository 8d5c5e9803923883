"""When engines are started, updated and kept, and their status."""

from typing import Any

from kvtier.api import names
from kvtier.api.kinds import Object
from kvtier.api.v1alpha1 import KVCachePool, ModelStatus
from kvtier.facts.model import Event
from kvtier.plan.lustre.shared_tier import Access
from kvtier.plan.model import Part
from kvtier.plan.serving import plan_serving
from unit.builders import checks, context, deployment, live, manifest, model, model_cache, mounts_lustre, pool
from unit.tables import table
from unit.verdicts import assert_verdict

POOL = pool()
NAME = manifest(POOL, "Deployment")["metadata"]["name"]
OPPORTUNISTIC = pool(mode="Opportunistic")
PLAIN = pool(tiers={"lustre": None})
CLAIM = names.claim(POOL.name)
USABLE = Access(CLAIM, mounted=CLAIM)
UNBOUND = Access(None, ("the PVC is not bound",))
UNPROVEN = Access(None, ("TierWritable is False",), mounted=CLAIM)
LEFT = Access(None, ("maintenance",), leave=True)
PAIR = ["Deployment", "Service"]


def _plan(
    of: KVCachePool, *children: Object, access: Access = USABLE, nodes: bool = True, **statuses: Any
) -> Part:
    return plan_serving(context(of, *children), checks(**statuses), access, nodes)


def _kinds(part: Part) -> list[str]:
    return [one["kind"] for one in part.applies]


def _mounts(part: Part) -> list[bool]:
    return [mounts_lustre(one) for one in part.applies if one["kind"] == "Deployment"]


@table(
    "of, access, statuses",
    {
        "once the PVC is bound": (POOL, USABLE, {}),
        "without the tier in an Opportunistic pool": (OPPORTUNISTIC, UNBOUND, {}),
        "at once without Lustre": (PLAIN, UNBOUND, {}),
        "with nodes that cannot mount the tier, if no engine mounts it": (
            OPPORTUNISTIC,
            UNBOUND,
            {"NodeImageSupported": "False", "LustreDriverEnabled": "False"},
        ),
        "with an unknown prerequisite": (POOL, USABLE, {"NetworkMatched": "Unknown"}),
        "with an invalid capacity": (POOL, USABLE, {"CapacityValid": "False"}),
    },
)
def test_engines_start(of: KVCachePool, access: Access, statuses: dict[str, Any]) -> None:
    part = _plan(of, access=access, **statuses)
    assert _kinds(part) == PAIR
    assert_verdict(part.conditions[0], "ModelsReady", "False", "Starting", "Ready so far: llama 0/1.")


@table(
    "of, access, nodes, statuses, what",
    {
        "the PVC": (POOL, UNBOUND, True, {}, "the PVC is not bound"),
        "the write probe": (POOL, UNPROVEN, True, {}, "TierWritable is False"),
        "nodes": (PLAIN, UNBOUND, False, {}, "no nodes exist"),
        "the token": (PLAIN, UNBOUND, True, {"CredentialsPresent": "False"}, "CredentialsPresent is False"),
        "Local SSD": (PLAIN, UNBOUND, True, {"LocalSSDSupported": "False"}, "LocalSSDSupported is False"),
        "memory": (PLAIN, UNBOUND, True, {"CPUTierFits": "False"}, "CPUTierFits is False"),
        "chunks": (PLAIN, UNBOUND, True, {"ModelConfigValid": "False"}, "ModelConfigValid is False"),
        "valid settings": (
            PLAIN,
            UNBOUND,
            True,
            {"EngineSupported": "False", "KVCacheDtypeSupported": "False"},
            "EngineSupported is False, KVCacheDtypeSupported is False",
        ),
        "nodes that can mount the tier": (
            POOL,
            USABLE,
            True,
            {"NodeImageSupported": "False"},
            "NodeImageSupported is False",
        ),
        "a fact that is unknown, in a strict pool": (
            pool(strict=True),
            USABLE,
            True,
            {"NetworkMatched": "Unknown"},
            "NetworkMatched is Unknown",
        ),
    },
)
def test_engines_wait_for(
    of: KVCachePool, access: Access, nodes: bool, statuses: dict[str, Any], what: str
) -> None:
    part = _plan(of, access=access, nodes=nodes, **statuses)
    assert part.applies == ()
    assert_verdict(part.conditions[0], "ModelsReady", "False", "Waiting", "")
    assert part.conditions[0].message == f"Engines do not start while {what}."


RUNNING, UNMOUNTED = deployment(POOL), deployment(PLAIN)


@table(
    "of, live, access, statuses",
    {
        "with a failing prerequisite of Lustre": (POOL, RUNNING, USABLE, {"LustreDriverEnabled": "False"}),
        "with a token that was deleted": (POOL, RUNNING, USABLE, {"CredentialsPresent": "False"}),
        "with an invalid capacity": (POOL, RUNNING, USABLE, {"CapacityValid": "False"}),
        "with a ConfigMap that was deleted": (POOL, RUNNING, USABLE, {"ModelConfigValid": "False"}),
        "with an unknown Local SSD": (
            pool(strict=True),
            RUNNING,
            USABLE,
            {"LocalSSDSupported": "Unknown"},
        ),
        "without a PVC that it never mounted": (POOL, UNMOUNTED, UNBOUND, {}),
        "without a tier that was removed from the spec": (
            PLAIN,
            RUNNING,
            UNBOUND,
            {"CredentialsPresent": "False"},
        ),
    },
)
def test_a_running_engine_is_updated(
    of: KVCachePool, live: Any, access: Access, statuses: dict[str, Any]
) -> None:
    part = _plan(of, live, access=access, **statuses)
    assert _kinds(part) == PAIR
    assert part.conditions[0].status == "True"


@table(
    "of, access, statuses",
    {
        "a fault in the spec": (POOL, USABLE, {"LocalSSDSupported": "False"}),
        "an element type that vLLM refuses": (POOL, USABLE, {"KVCacheDtypeSupported": "False"}),
        "a new node that is too small": (POOL, USABLE, {"CPUTierFits": "False"}),
        "a mounted PVC that is unknown": (POOL, UNBOUND, {}),
        "the same in an Opportunistic pool": (OPPORTUNISTIC, UNBOUND, {}),
        "the same while its engines wait": (OPPORTUNISTIC, UNBOUND, {"CredentialsPresent": "False"}),
    },
)
def test_a_running_engine_is_ready_but_not_updated_with(
    of: KVCachePool, access: Access, statuses: dict[str, Any]
) -> None:
    part = _plan(of, RUNNING, access=access, **statuses)
    assert part.applies == ()
    assert part.conditions[0].status == "True"


@table(
    "of, live, access, mounts",
    {
        "by a new engine, if it is usable": (OPPORTUNISTIC, [], USABLE, True),
        "not by one that starts without it": (OPPORTUNISTIC, [], UNBOUND, False),
        "by an engine that mounts it, although it is unproven": (POOL, [RUNNING], UNPROVEN, True),
        "by such an engine of an Opportunistic pool": (OPPORTUNISTIC, [RUNNING], UNPROVEN, True),
        "not by an engine that runs without it": (OPPORTUNISTIC, [UNMOUNTED], UNPROVEN, False),
        "not by an engine that bypasses maintenance": (OPPORTUNISTIC, [RUNNING], LEFT, False),
    },
)
def test_the_shared_tier_is_mounted(of: KVCachePool, live: list[Any], access: Access, mounts: bool) -> None:
    assert _mounts(_plan(of, *live, access=access)) == [mounts]


def test_an_engine_whose_new_pods_could_not_mount_the_tier_is_not_updated() -> None:
    assert _plan(OPPORTUNISTIC, RUNNING, access=UNPROVEN, LustreDriverEnabled="False").applies == ()


def test_a_new_model_waits_while_a_running_one_is_kept() -> None:
    two = pool(models=[model(), model(name="new")])
    part = _plan(two, deployment(POOL), CredentialsPresent="False")
    assert _kinds(part) == PAIR
    assert part.conditions[0].reason == "Waiting"


def test_children_of_waiting_engines_are_kept() -> None:
    waiting, running = _plan(POOL, access=UNBOUND), _plan(POOL)
    assert waiting.applies == ()
    assert list(waiting.keeps) == [(one["kind"], one["metadata"]["name"]) for one in running.applies]


# Status and ModelsReady.


def _status(of: KVCachePool, *children: Object) -> ModelStatus:
    (status,) = _plan(of, *children).models
    return status


TWO = pool(models=[model(replicas=2)])
AUTOSCALED = pool(models=[model(autoscaling={"provider": "External"})])


@table(
    "of, live, counts",
    {
        "no Deployment": (POOL, [], (1, 0)),
        "ready Pods": (TWO, [deployment(POOL, ready=2)], (2, 2)),
        "a status of an older spec": (POOL, [deployment(POOL, metadata={"generation": 2})], (1, 0)),
        "a status without an observedGeneration": (
            POOL,
            [deployment(POOL, status={"observedGeneration": None})],
            (1, 0),
        ),
        "no ready Pods": (POOL, [deployment(POOL, status={"readyReplicas": None})], (1, 0)),
        "an autoscaler's number": (AUTOSCALED, [deployment(POOL, ready=3, spec={"replicas": 4})], (4, 3)),
    },
)
def test_replicas_in_spec_and_ready_with(of: KVCachePool, live: list[Any], counts: tuple[int, int]) -> None:
    status = _status(of, *live)
    assert (status.replicas, status.ready_replicas) == counts
    assert status.service == (context(of).models[0].name if live else None)


@table(
    "of, sizes",
    {
        "of a model's cache": (
            pool(models=[model(model="openai/gpt-oss-20b", tensorParallelSize=1, maxNumSeqs=8)]),
            (64, "chunks of 1024 tokens in files of 24Mi", 49152, None),
        ),
        "with a suggestion for limits": (
            pool(models=[model(kvCacheDtype="fp8", maxNumSeqs=8)]),
            (
                16,
                "chunks of 256 tokens in files of 16Mi",
                65536,
                "Per token and GPU, kvCacheDtype fp8 takes 8192 bytes and auto takes 16384. 16 sequences with fp8 fit "
                "in the memory of 8 with auto. If maxNumSeqs 8 fits with auto, it may rise to 16.",
            ),
        ),
        "without bytes for an unknown model": (
            pool(models=[model(model="a/b", maxNumSeqs=8)]),
            (16, "chunks of 16 blocks; their size is unknown for this model", None, None),
        ),
    },
)
def test_sizes(of: KVCachePool, sizes: tuple[int, str, int | None, str | None]) -> None:
    status = _status(of)
    assert (status.blocks_per_chunk, status.chunk, status.bytes_per_token, status.suggestion) == sizes
    assert status.fingerprint == model_cache(of.spec.models[0], sizes[0]).fingerprint


def test_a_provisional_number_of_blocks_is_recorded_only_if_engines_use_it() -> None:
    of = pool(models=[model(modelConfigFrom={"configMapKeyRef": {"name": "configs"}})])
    without = _status(of)
    assert (without.blocks_per_chunk, without.fingerprint, without.chunk) == (None, None, None)
    used = _status(of, deployment(of))
    assert (used.blocks_per_chunk, used.fingerprint) == (16, model_cache(of.spec.models[0], 16).fingerprint)


PROGRESS = {"type": "Progressing", "status": "False", "message": "timed out progressing"}
QUOTA = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"}
FINE = [{"type": "Progressing", "status": "True"}, {"type": "ReplicaFailure", "status": "False"}]
LACKING = Event("Pod", f"{NAME}-a", "FailedScheduling", "no GPU left")


@table(
    "ready, conditions, events, reason, message",
    {
        "all Pods": (1, FINE, [], "AllReady", "All Pods of every model are ready."),
        "all Pods, with a problem that affects none of them": (
            1,
            [PROGRESS],
            [LACKING],
            "AllReady",
            "All Pods of every model are ready.",
        ),
        "missing Pods": (0, FINE, [], "Starting", "Pods are starting. Ready so far: llama 0/1."),
        "Pods that cannot start": (
            0,
            FINE,
            [LACKING],
            "Starting",
            "Pods are starting. Ready so far: llama 0/1. The scheduler reports: no GPU left.",
        ),
        "a rollout without progress": (
            0,
            [PROGRESS],
            [],
            "NotProgressing",
            f"Deployment {NAME} of model llama reports: timed out progressing.",
        ),
        "a rollout whose Pods cannot start": (
            0,
            [PROGRESS],
            [LACKING],
            "NotProgressing",
            f"Deployment {NAME} of model llama reports: timed out progressing. The scheduler reports: no GPU left.",
        ),
        "Pods that exceed a quota": (
            0,
            [QUOTA],
            [],
            "NotProgressing",
            f"Deployment {NAME} of model llama reports: exceeded quota.",
        ),
    },
)
def test_models_ready_with(
    ready: int, conditions: list[Any], events: list[Event], reason: str, message: str
) -> None:
    engine = deployment(POOL, ready=ready, status={"conditions": conditions})
    part = plan_serving(context(POOL, engine, pod_events=tuple(events)), checks(), USABLE, nodes_usable=True)
    assert_verdict(part.conditions[0], "ModelsReady", str(bool(ready)), reason, message)
    assert part.conditions[0].message == message
    assert part.again == (None if ready else 20)


_RPC = 'MountVolume.MountDevice failed for volume "pvc-1" : rpc error: code = Internal desc = '


@table(
    "event, message, words",
    {
        "a name that is mounted": (
            "FailedMount",
            f"{_RPC}A mountpoint with the same lustre filesystem name",
            "Another Lustre file system of this name is mounted",
        ),
        "an instance out of reach": ("FailedMount", f"{_RPC}Is the MGS running?", "The node does not reach"),
        "a wrong name": (
            "FailedMount",
            f"{_RPC}Is the filesystem name correct?",
            "no file system of this name",
        ),
        "missing modules": (
            "FailedMount",
            f"{_RPC}No such device",
            "The Lustre kernel modules are not loaded",
        ),
        "a missing driver": (
            "FailedMount",
            "driver name x not found in the list of registered CSI drivers",
            "The Lustre CSI driver does not run",
        ),
        "an unknown cause": ("FailedMount", f"{_RPC}out of cheese", "The Pod cannot mount a volume."),
        "a missing image": (
            "Failed",
            'Failed to pull image "x": not found',
            "The kubelet reports: Failed to pull",
        ),
    },
)
def test_models_ready_says_why_a_pod_does_not_start(event: str, message: str, words: str) -> None:
    engine = deployment(POOL, ready=0)
    seen = Event("Pod", f"{engine['metadata']['name']}-a", event, message, "Warning")
    part = plan_serving(context(POOL, engine, pod_events=(seen,)), checks(), USABLE, nodes_usable=True)
    assert_verdict(part.conditions[0], "ModelsReady", "False", "Starting", words)


def test_models_ready_has_the_message_of_the_autoscaler() -> None:
    engine = deployment(POOL, ready=0)
    name = f"{engine['metadata']['name']}-a"
    seen = tuple(
        Event("Pod", name, reason, message, "Warning")
        for reason, message in {
            "FailedScheduling": "no GPU",
            "NotTriggerScaleUp": "no node pool fits",
        }.items()
    )
    part = plan_serving(context(POOL, engine, pod_events=seen), checks(), USABLE, nodes_usable=True)
    assert (
        "The scheduler reports: no GPU. The autoscaler reports: no node pool fits."
        in part.conditions[0].message
    )


def test_a_model_with_zero_replicas_is_ready_once_it_exists() -> None:
    none = pool(models=[model(replicas=0)])
    assert _plan(none).conditions[0].reason == "Starting"
    assert _plan(none, deployment(none, ready=0)).conditions[0].reason == "AllReady"


# Replicas under an autoscaler.

SCALED = manifest(pool(models=[model(replicas=7)]), "Deployment")


def test_the_number_of_replicas_is_handed_over_when_kvtier_stops_applying_it() -> None:
    before = live(SCALED)
    (handover,) = _plan(AUTOSCALED, before).handovers
    identity = {key: before["metadata"][key] for key in ("name", "namespace", "resourceVersion")}
    assert handover == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": identity,
        "spec": {"replicas": 7},
    }


@table(
    "of, children",
    {
        "after the handover": (AUTOSCALED, [live(manifest(AUTOSCALED, "Deployment"), spec={"replicas": 7})]),
        "while the pool sets the number": (pool(models=[model(replicas=3)]), [live(SCALED)]),
        "for a new Deployment": (AUTOSCALED, []),
        "for a Deployment without replicas": (AUTOSCALED, [live(SCALED, spec={"replicas": None})]),
    },
)
def test_nothing_is_handed_over(of: KVCachePool, children: list[Object]) -> None:
    part = _plan(of, *children)
    assert _kinds(part) == PAIR
    assert part.handovers == ()
