"""What is reported of the engines."""

from typing import Any

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.engines.fingerprint import fingerprint
from kvtier.facts.model import Observed
from kvtier.plan.children import claim_name
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


def _status(of: KVCachePool, *live: Any) -> Any:
    return _plan(of, *live).models[0]


@table(
    "of, live, counts",
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
def test_model_status(of: KVCachePool, live: Any, counts: tuple[int, int]) -> None:
    status = _status(of, *([live] if live else []))
    assert (status.replicas, status.ready_replicas) == counts
    assert status.service == (live["metadata"]["name"] if live else None)
    assert len(status.fingerprint) == 16


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


def test_a_stopgap_is_recorded_only_where_engines_use_it() -> None:
    of = pool(models=[model(modelConfigFrom={"configMapKeyRef": {"name": "configs"}})])
    assert (_status(of).blocks_per_chunk, _status(of).fingerprint, _status(of).chunk) == (None, None, None)
    used = _status(of, deployment(of))
    assert (used.blocks_per_chunk, used.fingerprint) == (16, fingerprint(of.spec.models[0], 16))


PROGRESS = {"type": "Progressing", "status": "False", "message": "timed out progressing"}
QUOTA = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"}
FINE = [{"type": "Progressing", "status": "True"}, {"type": "ReplicaFailure", "status": "False"}]


@table(
    "ready, conditions, verdict",
    {
        "all Pods ready is ready": (1, FINE, ("True", "AllReady", "every model has all its Pods ready")),
        "missing Pods are counted": (0, FINE, ("False", "Starting", "Pods ready: llama 0/1")),
        "a rollout that does not go on says why": (
            0,
            [PROGRESS],
            ("False", "NotProgressing", "llama: timed out progressing"),
        ),
        "Pods that may not be made say why": (
            0,
            [QUOTA],
            ("False", "NotProgressing", "llama: exceeded quota"),
        ),
        "a problem that keeps no Pod from being ready is none": (1, [PROGRESS], ("True", "AllReady", "")),
    },
)
def test_models_ready(ready: int, conditions: list[Any], verdict: tuple[str, str, str]) -> None:
    (condition,) = _plan(POOL, deployment(POOL, ready=ready, status={"conditions": conditions})).conditions
    assert (condition.type, condition.status, condition.reason) == ("ModelsReady", *verdict[:2])
    assert verdict[2] in condition.message


def test_a_model_of_no_replicas_is_ready_once_it_exists() -> None:
    none = pool(models=[model(replicas=0)])
    assert _plan(none).conditions[0].reason == "Starting"
    assert _plan(none, deployment(none, ready=0)).conditions[0].reason == "AllReady"


def test_the_world_is_only_read() -> None:
    world: Observed = observed(deployment(POOL))
    before = repr(world)
    plan_serving(POOL, world, checks(), SharedTier(CLAIM), nodes_usable=True)
    assert repr(world) == before
