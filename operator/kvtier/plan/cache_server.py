"""The LMCache server that runs beside an engine: values of `templates/cache_server.yaml.j2`."""

from typing import Any

from kvtier.api.quantities import canonical
from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.data import table
from kvtier.engines import versions
from kvtier.engines.arguments import environment
from kvtier.engines.lmcache import HEALTH_PATH, HTTP_PORT, POD_NAME, expandable, server_argv
from kvtier.plan.pods import literal
from kvtier.sizing.memory import memory
from kvtier.sizing.probes import startup_failures

_QUIET = {"LMCACHE_TRACK_USAGE": "false"}
"""Else the server sends statistics of its use to LMCache's authors, and no field of a pool could tell it not to."""
_POD_NAME_FIELD = {"apiVersion": "v1", "fieldPath": "metadata.name"}


def cache_server(
    pool: KVCachePool, model: ServedModel, with_lustre: bool, blocks: int
) -> dict[str, Any] | None:
    """None for an engine without one.

    Its startup probe leaves time for pinning the CPU tier: it does where the runtime shows GPUs to every container.
    """
    lmcache, engine = model.engine.lmcache, versions.facts(model)
    if lmcache is None:
        return None
    size = memory(pool, model, engine.shm_headroom_gib)
    seconds = table("lmcache")["versions"][lmcache.version]["startupSeconds"]
    arguments = server_argv(pool, model, with_lustre, blocks)
    return {
        "args": [one if expandable(one) else literal(one) for one in arguments],
        "env": [
            *_named(environment() | _QUIET),
            {"name": POD_NAME, "valueFrom": {"fieldRef": _POD_NAME_FIELD}},
        ],
        "port": HTTP_PORT,
        "health": HEALTH_PATH,
        "cpu": canonical(lmcache.cpu),
        "memory": canonical(size.server),
        "memory_limit": canonical(size.server_limit),
        "startup_failures": startup_failures(pool, seconds, engine.pin_seconds_per_gib),
    }


def _named(variables: dict[str, str]) -> list[dict[str, Any]]:
    return [{"name": name, "value": literal(value)} for name, value in variables.items()]
