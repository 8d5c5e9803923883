"""What kvtier reports about a pool."""

from typing import Annotated

from pydantic import Field

from kvtier.api.conditions import Condition
from kvtier.api.fields import list_map
from kvtier.api.rules import ApiModel


class TierStatus(ApiModel):
    """State of one cache tier."""

    name: Annotated[str, Field(max_length=16, description="cpu, localSSD or lustre.")]
    phase: Annotated[
        str, Field(description="Configured, Waiting, Provisioning, Bound, Resizing, Failed or Retained.")
    ]
    capacity: Annotated[
        str | None,
        Field(
            max_length=24,
            description="Bytes that exist: per Pod for cpu and localSSD, of the whole pool for lustre.",
        ),
    ] = None
    used: Annotated[str | None, Field(description="Bytes in use, where they can be measured.")] = None


class ModelStatus(ApiModel):
    """State of one model."""

    name: Annotated[str, Field(description="Name of the model in the spec.")]
    replicas: Annotated[int, Field(description="Pods wanted.")] = 0
    ready_replicas: Annotated[int, Field(description="Pods that answer.")] = 0
    service: Annotated[
        str | None, Field(description="Service in the pool's namespace; port 8000 speaks OpenAI's API.")
    ] = None
    fingerprint: Annotated[str | None, Field(description="Name of the model's cache directory.")] = None


class PoolStatus(ApiModel):
    """Observed state of the pool."""

    observed_generation: Annotated[
        int | None, Field(description="Generation of the spec that this status is about.")
    ] = None
    phase: Annotated[
        str | None, Field(description="One word for the whole pool; the conditions say why.")
    ] = None
    models_ready: Annotated[str | None, Field(description="Models with all Pods ready, of all models.")] = (
        None
    )
    conditions: Annotated[
        list[Condition],
        Field(
            description="Ready first, then one per prerequisite and concern.",
            json_schema_extra=list_map("type"),
        ),
    ] = []
    tiers: Annotated[
        list[TierStatus],
        Field(
            description="The cache tiers, fastest first.", max_length=8, json_schema_extra=list_map("name")
        ),
    ] = []
    models: Annotated[
        list[ModelStatus],
        Field(
            description="The models, in the order of the spec.",
            json_schema_extra=list_map("name"),
        ),
    ] = []
