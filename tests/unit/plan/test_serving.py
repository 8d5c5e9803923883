"""When engines are started, updated and kept, and what the status says of them."""

from typing import Any

from kvtier.api import names
from kvtier.api.kinds import Object
from kvtier.api.v1alpha1 import KVCachePool, ModelStatus
from kvtier.engines.fingerprint import fingerprint
from kvtier.facts.model import Event
from kvtier.plan.lustre.shared_tier import SharedTier
from kvtier.plan.model import Part
from kvtier.plan.serving import plan_serving
from unit.builders import checks, context, deployment, live, manifest, model, mounts_lustre, pool
from unit.tables import table
from unit.verdicts import assert_verdict

POOL = pool()
OPPORTUNISTIC = pool(mode="Opportunistic")
PLAIN = pool(tiers={"lustre": None})
CLAIM = names.claim(POOL.name)
USABLE = SharedTier(CLAIM, bound=CLAIM)
UNBOUND = SharedTier(None, ("the Lustre claim is not bound",))
UNPROVEN = SharedTier(None, ("TierWritable is False",), bound=CLAIM)
LEFT = SharedTier(None, ("maintenance",), leave=True, bound=CLAIM)
PAIR = ["Deployment", "Service"]


def _plan(
    of: KVCachePool, *children: Object, access: SharedTier = USABLE, nodes: bool = True, **statuses: Any
) -> Part:
    return plan_serving(context(of, *children), checks(**statuses), access, nodes)


def _kinds(part: Part) -> list[str]:
    return [one["kind"] for one in part.applies]


def _mounts(part: Part) -> list[bool]:
    return [mounts_lustre(one) for one in part.applies if one["kind"] == "Deployment"]


@table(
    "of, access, nodes, statuses, waits_for",
    {
        "engines start once the claim is bound": (POOL, USABLE, True, {}, None),
        "engines of a Required pool wait for the claim": (
            POOL,
            UNBOUND,
            True,
            {},
            "the Lustre claim is not bound",
        ),
        "and for the proof that it can be written to": (POOL, UNPROVEN, True, {}, "TierWritable is False"),
        "engines of an Opportunistic pool start without it": (OPPORTUNISTIC, UNBOUND, True, {}, None),
        "engines without Lustre start at once": (PLAIN, UNBOUND, True, {}, None),
        "engines wait for nodes": (PLAIN, UNBOUND, False, {}, "there are no nodes to run on"),
        "engines wait for the token": (
            PLAIN,
            UNBOUND,
            True,
            {"CredentialsPresent": "False"},
            "CredentialsPresent is False",
        ),
        "engines wait for Local SSD": (
            PLAIN,
            UNBOUND,
            True,
            {"LocalSSDSupported": "False"},
            "LocalSSDSupported is False",
        ),
        "engines wait for memory": (
            PLAIN,
            UNBOUND,
            True,
            {"CPUTierFits": "False"},
            "CPUTierFits is False",
        ),
        "engines wait for settings that can work": (
            PLAIN,
            UNBOUND,
            True,
            {"EngineSupported": "False", "KVCacheDtypeSupported": "False"},
            "EngineSupported is False, KVCacheDtypeSupported is False",
        ),
        "engines wait for the document that sizes their chunks": (
            PLAIN,
            UNBOUND,
            True,
            {"ModelConfigValid": "False"},
            "ModelConfigValid is False",
        ),
        "engines that mount Lustre wait for the node image": (
            POOL,
            USABLE,
            True,
            {"NodeImageSupported": "False"},
            "NodeImageSupported is False",
        ),
        "engines that do not mount it do not": (
            OPPORTUNISTIC,
            UNBOUND,
            True,
            {"NodeImageSupported": "False", "LustreDriverEnabled": "False"},
            None,
        ),
        "what cannot be seen is not waited for": (POOL, USABLE, True, {"NetworkMatched": "Unknown"}, None),
        "a strict pool waits for it": (
            pool(strict=True),
            USABLE,
            True,
            {"NetworkMatched": "Unknown"},
            "NetworkMatched is Unknown",
        ),
        "a capacity that cannot be reached keeps no engine from starting": (
            POOL,
            USABLE,
            True,
            {"CapacityValid": "False"},
            None,
        ),
    },
)
def test_start(
    of: KVCachePool, access: SharedTier, nodes: bool, statuses: dict[str, str], waits_for: str | None
) -> None:
    part = _plan(of, access=access, nodes=nodes, **statuses)
    (condition,) = part.conditions
    if waits_for is None:
        assert _kinds(part) == PAIR
        assert_verdict(condition, "ModelsReady", "False", "Starting", "Pods ready: llama 0/1")
    else:
        assert _kinds(part) == []
        words = f"engines are not started while {waits_for}"
        assert_verdict(condition, "ModelsReady", "False", "Waiting", words)
        assert condition.message == words


@table(
    "of, mounted, access, statuses, updated",
    {
        "a failing prerequisite of Lustre": (POOL, True, USABLE, {"LustreDriverEnabled": "False"}, True),
        "a token that is lost": (POOL, True, USABLE, {"CredentialsPresent": "False"}, True),
        "a capacity that cannot be reached": (POOL, True, USABLE, {"CapacityValid": "False"}, True),
        "a Local SSD that cannot be judged": (
            pool(strict=True),
            True,
            USABLE,
            {"LocalSSDSupported": "Unknown"},
            True,
        ),
        "a fault in the spec": (POOL, True, USABLE, {"LocalSSDSupported": "False"}, False),
        "a type that vLLM refuses": (POOL, True, USABLE, {"KVCacheDtypeSupported": "False"}, False),
        "a node that joined, and is too small": (POOL, True, USABLE, {"CPUTierFits": "False"}, False),
        "a document that is gone": (POOL, True, USABLE, {"ModelConfigValid": "False"}, True),
        "a mounted claim that is out of sight": (POOL, True, UNBOUND, {}, False),
        "the same of an Opportunistic pool": (OPPORTUNISTIC, True, UNBOUND, {}, False),
        "a mounted claim out of sight of an Opportunistic pool's waiting engine": (
            OPPORTUNISTIC,
            True,
            UNBOUND,
            {"CredentialsPresent": "False"},
            False,
        ),
        "a claim that was never mounted": (POOL, False, UNBOUND, {}, True),
        "a tier that left the spec": (PLAIN, True, UNBOUND, {"CredentialsPresent": "False"}, True),
    },
)
def test_an_engine_that_runs_is_kept_and_still_updated_or_held_with(
    of: KVCachePool, mounted: bool, access: SharedTier, statuses: dict[str, Any], updated: bool
) -> None:
    part = _plan(of, deployment(POOL if mounted else PLAIN), access=access, **statuses)
    assert _kinds(part) == (PAIR if updated else [])
    assert part.conditions[0].status == "True", "an engine that runs is ready, whatever holds its updates"


@table(
    "of, mounted, access, statuses, mounts",
    {
        "a new engine of an Opportunistic pool mounts a tier that can be used": (
            OPPORTUNISTIC,
            None,
            USABLE,
            {},
            [True],
        ),
        "and starts without one that cannot": (OPPORTUNISTIC, None, UNBOUND, {}, [False]),
        "an engine that mounts an unproven tier goes on with it": (POOL, True, UNPROVEN, {}, [True]),
        "so does one of an Opportunistic pool": (OPPORTUNISTIC, True, UNPROVEN, {}, [True]),
        "an engine that does not mount it goes on without": (OPPORTUNISTIC, False, UNPROVEN, {}, [False]),
        "an engine whose tier is left on purpose is rolled": (OPPORTUNISTIC, True, LEFT, {}, [False]),
        "an engine whose new Pods could not mount it is left alone": (
            OPPORTUNISTIC,
            True,
            UNPROVEN,
            {"LustreDriverEnabled": "False"},
            [],
        ),
    },
)
def test_the_shared_tier_is_mounted(
    of: KVCachePool, mounted: bool | None, access: SharedTier, statuses: dict[str, Any], mounts: list[bool]
) -> None:
    running = [] if mounted is None else [deployment(POOL if mounted else PLAIN)]
    assert _mounts(_plan(of, *running, access=access, **statuses)) == mounts


def test_a_new_model_waits_while_a_running_one_is_kept() -> None:
    two = pool(models=[model(), model(name="new")])
    part = _plan(two, deployment(POOL), CredentialsPresent="False")
    assert _kinds(part) == PAIR
    assert part.conditions[0].reason == "Waiting"


def test_what_waits_is_kept_like_what_runs() -> None:
    waiting, running = _plan(POOL, access=UNBOUND), _plan(POOL)
    assert waiting.applies == ()
    assert list(waiting.keeps) == [(one["kind"], one["metadata"]["name"]) for one in running.applies]


# What is reported.


def _status(of: KVCachePool, *children: Object) -> ModelStatus:
    (status,) = _plan(of, *children).models
    return status


@table(
    "of, engine, counts",
    {
        "without a Deployment nothing is ready": (POOL, None, (1, 0)),
        "ready Pods are counted": (pool(models=[model(replicas=2)]), deployment(POOL, ready=2), (2, 2)),
        "a status about an older spec does not count": (
            POOL,
            deployment(POOL, metadata={"generation": 2}),
            (1, 0),
        ),
        "a status that says nothing of its spec does not count": (
            POOL,
            deployment(POOL, status={"observedGeneration": None}),
            (1, 0),
        ),
        "no ready Pods are zero": (POOL, deployment(POOL, status={"readyReplicas": None}), (1, 0)),
        "an autoscaler's number is the one wanted": (
            pool(models=[model(autoscaling={})]),
            deployment(POOL, ready=3, spec={"replicas": 4}),
            (4, 3),
        ),
    },
)
def test_model_status(of: KVCachePool, engine: Any, counts: tuple[int, int]) -> None:
    status = _status(of, *([engine] if engine else []))
    assert (status.replicas, status.ready_replicas) == counts
    assert status.service == (engine["metadata"]["name"] if engine else None)


@table(
    "of, sizes",
    {
        "what a model's cache is": (
            pool(models=[model(model="openai/gpt-oss-20b", tensorParallelSize=1, maxNumSeqs=8)]),
            (64, "chunks of 1024 tokens in files of 24Mi", 49152, None),
        ),
        "how far limits may rise": (
            pool(models=[model(kvCacheDtype="fp8", maxNumSeqs=8)]),
            (
                16,
                "chunks of 256 tokens in files of 16Mi",
                65536,
                "kvCacheDtype fp8 takes 8192 bytes per token and GPU where auto takes 16384, so 16 sequences fit "
                "where 8 of auto do: if maxNumSeqs 8 is what auto held, it may rise to 16",
            ),
        ),
        "nothing in bytes of a model that is not known": (
            pool(models=[model(model="a/b", maxNumSeqs=8)]),
            (16, "chunks of 16 blocks, of a model whose size in the cache kvtier does not know", None, None),
        ),
    },
)
def test_sizes(of: KVCachePool, sizes: tuple[int, str, int | None, str | None]) -> None:
    status = _status(of)
    assert (status.blocks_per_chunk, status.chunk, status.bytes_per_token, status.suggestion) == sizes
    assert status.fingerprint == fingerprint(of.spec.models[0], sizes[0])


def test_a_provisional_number_of_blocks_is_recorded_only_where_engines_use_it() -> None:
    of = pool(models=[model(modelConfigFrom={"configMapKeyRef": {"name": "configs"}})])
    without = _status(of)
    assert (without.blocks_per_chunk, without.fingerprint, without.chunk) == (None, None, None)
    used = _status(of, deployment(of))
    assert (used.blocks_per_chunk, used.fingerprint) == (16, fingerprint(of.spec.models[0], 16))


PROGRESS = {"type": "Progressing", "status": "False", "message": "timed out progressing"}
QUOTA = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"}
FINE = [{"type": "Progressing", "status": "True"}, {"type": "ReplicaFailure", "status": "False"}]
LACKING = Event(
    "Pod", f"{manifest(POOL, 'Deployment')['metadata']['name']}-a", "FailedScheduling", "no GPU left"
)


@table(
    "ready, conditions, events, verdict, again",
    {
        "all Pods ready is ready": (
            1,
            FINE,
            [],
            ("True", "AllReady", "every model has all its Pods ready"),
            None,
        ),
        "missing Pods are counted": (0, FINE, [], ("False", "Starting", "Pods ready: llama 0/1"), 20),
        "with what keeps them from starting": (
            0,
            FINE,
            [LACKING],
            ("False", "Starting", "Pods ready: llama 0/1; no GPU left"),
            20,
        ),
        "a rollout that does not go on says why": (
            0,
            [PROGRESS],
            [],
            ("False", "NotProgressing", "llama: timed out progressing"),
            20,
        ),
        "and what the Pods lack": (
            0,
            [PROGRESS],
            [LACKING],
            ("False", "NotProgressing", "llama: timed out progressing; no GPU left"),
            20,
        ),
        "Pods that may not be made say why": (
            0,
            [QUOTA],
            [],
            ("False", "NotProgressing", "llama: exceeded quota"),
            20,
        ),
        "a problem that keeps no Pod from being ready is none": (
            1,
            [PROGRESS],
            [LACKING],
            ("True", "AllReady", "every model has all its Pods ready"),
            None,
        ),
    },
)
def test_models_ready(
    ready: int, conditions: list[Any], events: list[Event], verdict: tuple[str, str, str], again: float | None
) -> None:
    engine = deployment(POOL, ready=ready, status={"conditions": conditions})
    part = plan_serving(context(POOL, engine, pod_events=tuple(events)), checks(), USABLE, nodes_usable=True)
    (condition,) = part.conditions
    assert_verdict(condition, "ModelsReady", *verdict)
    assert condition.message == verdict[2]
    assert part.again == again


def test_a_model_of_no_replicas_is_ready_once_it_exists() -> None:
    none = pool(models=[model(replicas=0)])
    assert _plan(none).conditions[0].reason == "Starting"
    assert _plan(none, deployment(none, ready=0)).conditions[0].reason == "AllReady"


# Replicas that an autoscaler takes over.

SCALED = manifest(pool(models=[model(replicas=7)]), "Deployment")
AUTOSCALED = pool(models=[model(autoscaling={"provider": "External"})])


def test_the_present_number_of_replicas_is_handed_over_when_kvtier_lets_go_of_it() -> None:
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
        "once that is done": (AUTOSCALED, [live(manifest(AUTOSCALED, "Deployment"), spec={"replicas": 7})]),
        "while the pool sets the number": (pool(models=[model(replicas=3)]), [live(SCALED)]),
        "of a Deployment that is new": (AUTOSCALED, []),
        "of one without a number": (AUTOSCALED, [live(SCALED, spec={"replicas": None})]),
    },
)
def test_nothing_is_handed_over(of: KVCachePool, children: list[Object]) -> None:
    part = _plan(of, *children)
    assert _kinds(part) == PAIR
    assert part.handovers == ()
