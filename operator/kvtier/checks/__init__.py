"""Prerequisites: one pure function per file, `check(context) -> Condition`, and the steps that wait for each.

A new prerequisite needs a line in `CHECKS`, and its type in the steps that it blocks.
"""

from collections.abc import Iterable, Mapping

from kvtier.api.conditions import (
    ACCESS_GRANTED,
    CAPACITY_VALID,
    CPU_TIER_FITS,
    CREDENTIALS_PRESENT,
    ENGINE_SUPPORTED,
    FILESYSTEM_UNIQUE,
    GKE_VERSION_SUPPORTED,
    KV_CACHE_DTYPE_SUPPORTED,
    LOCAL_SSD_SUPPORTED,
    LUSTRE_DRIVER_ENABLED,
    MODEL_CONFIG_VALID,
    NETWORK_MATCHED,
    NODE_IMAGE_SUPPORTED,
    PORT_MATCHED,
    ZONE_MATCHED,
    Condition,
    Status,
)
from kvtier.api.sentences import before_command
from kvtier.api.v1alpha1 import PoolSpec
from kvtier.checks import (
    access,
    capacity,
    cpu_tier,
    credentials,
    engine,
    filesystem,
    gke_version,
    kv_dtype,
    local_ssd,
    lustre_driver,
    model_config,
    network,
    node_image,
    port,
    zone,
)
from kvtier.context import Context

CHECKS = (
    access.check,
    gke_version.check,
    lustre_driver.check,
    node_image.check,
    zone.check,
    network.check,
    port.check,
    filesystem.check,
    capacity.check,
    local_ssd.check,
    cpu_tier.check,
    engine.check,
    kv_dtype.check,
    model_config.check,
    credentials.check,
)


Checks = Mapping[str, Condition]
"""Every prerequisite's condition, by type."""


def run(context: Context) -> Checks:
    """The conditions of all prerequisites, in a fixed order."""
    conditions = (_vouched(check(context), context.pool.spec) for check in CHECKS)
    return {condition.type: condition for condition in conditions}


def _vouched(condition: Condition, spec: PoolSpec) -> Condition:
    """The condition, Unknown if the user vouches for it: not True, because kvtier knows only what the user says.

    A condition that the user could accept says how.
    """
    if spec.acknowledges(condition):
        return _with(
            condition,
            "The pool accepts this in spec.acknowledgedConditions, so it blocks nothing.",
            "Unknown",
        )
    if condition.vouchable and condition.status in _refused(spec.strict):
        item = f"{{type: {condition.type}, reason: {condition.reason}}}"
        sentence = f"If you know that it works, add {item} to spec.acknowledgedConditions."
        return _with(condition, sentence, condition.status)
    return condition


def _with(condition: Condition, sentence: str, status: Status) -> Condition:
    message = before_command(condition.message, sentence)
    return Condition(type=condition.type, status=status, reason=condition.reason, message=message)


_REACHABLE = (LUSTRE_DRIVER_ENABLED, NETWORK_MATCHED, ZONE_MATCHED, PORT_MATCHED, FILESYSTEM_UNIQUE)
STORAGE = (ACCESS_GRANTED, GKE_VERSION_SUPPORTED, *_REACHABLE, CAPACITY_VALID)
NODES = (LOCAL_SSD_SUPPORTED, CPU_TIER_FITS)
SPEC_FAULTS = (*NODES, ENGINE_SUPPORTED, KV_CACHE_DTYPE_SUPPORTED)
"""Faults with which engines do not start: an update to such a spec would only stop the running engines.

Running engines also stay as they are when the fault came with a node, not with an edit of the spec.
"""

ENGINES = (*SPEC_FAULTS, MODEL_CONFIG_VALID, CREDENTIALS_PRESENT)
LUSTRE_MOUNTS = (NODE_IMAGE_SUPPORTED, *_REACHABLE)
ENGINES_ON_LUSTRE = (*ENGINES, *LUSTRE_MOUNTS, ACCESS_GRANTED)


GUARDS = (ACCESS_GRANTED,)
"""Prerequisites that protect what belongs to others. They block every pool while they are Unknown, too."""


def blockers(checks: Checks, types: Iterable[str], spec: PoolSpec) -> list[Condition]:
    """The prerequisites among `types` that are False, and those that are Unknown for a strict pool, or in GUARDS.

    What the user vouches for blocks nothing.
    """

    def refuses(found: Condition) -> bool:
        return found.status in _refused(spec.strict or found.type in GUARDS)

    found = (checks[type_] for type_ in types)
    return [one for one in found if refuses(one) and not spec.acknowledges(one)]


def _refused(strict: bool) -> tuple[str, ...]:
    return ("False", "Unknown") if strict else ("False",)
