"""The Deployment of one model's engines."""

from kvtier.api.quantities import canonical
from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.engines import versions
from kvtier.engines.arguments import PORT, argv
from kvtier.plan.cache_server import cache_server
from kvtier.plan.children import child, model_name, owner, selector
from kvtier.plan.model import Manifest
from kvtier.plan.pod_template import added
from kvtier.plan.pods import literal, on_demand, placed
from kvtier.plan.variables import variables
from kvtier.sizing.memory import memory
from kvtier.sizing.probes import PERIOD_SECONDS, startup_failures, weights_seconds

_SCHEDULING_SECONDS = 1200
"""Beyond the start of an engine: GKE makes a node, a large image is pulled."""


def deployment(pool: KVCachePool, model: ServedModel, claim: str | None, blocks: int) -> Manifest:
    """Engines that mount `claim`, if there is one, and keep `blocks` blocks as one file."""
    engine = versions.facts(model)
    load_seconds = engine.startup_seconds + weights_seconds(pool, model)
    failures = startup_failures(pool, load_seconds, engine.pin_seconds_per_gib)
    size = memory(pool, model, engine.shm_headroom_gib)
    tier = pool.spec.tiers.local_ssd
    server = cache_server(pool, model, claim is not None, blocks)
    patience = failures + (server["startup_failures"] if server else 0)
    made = child(
        "deployment",
        pool,
        model_name(pool, model),
        owner=owner(pool),
        selector=selector(pool, model),
        replicas=model.wanted_replicas(),
        surge=1 if on_demand(pool) else 0,
        **placed(pool, model),
        image=model.engine.image,
        args=[literal(argument) for argument in argv(pool, model, claim is not None, blocks)],
        variables=variables(pool, model),
        port=PORT,
        cpu=canonical(model.resources.cpu),
        memory=canonical(size.total),
        shm=canonical(size.shm),
        gpus=str(model.tensor_parallel_size),
        startup_period=PERIOD_SECONDS,
        startup_failures=failures,
        progress_deadline=patience * PERIOD_SECONDS + _SCHEDULING_SECONDS,
        local_ssd=canonical(tier.capacity.bytes) if tier else None,
        claim=claim,
        cache_server=server,
    )
    return added(made, model.pod_template)
