"""Prerequisites: one pure function per file, `check(context) -> Condition`. `run` makes them all."""

from kvtier.api.conditions import Condition
from kvtier.checks import (
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


def run(context: Context) -> dict[str, Condition]:
    """Every prerequisite's condition, by type, in a fixed order."""
    conditions = (check(context) for check in CHECKS)
    return {condition.type: condition for condition in conditions}
