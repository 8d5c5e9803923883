"""What kvtier reports about a pool."""

from typing import Annotated

from pydantic import Field

from kvtier.api.conditions import Condition
from kvtier.api.fields import list_map
from kvtier.api.rules import ApiModel


class TierStatus(ApiModel):
    """State of one cache tier."""

    name: Annotated[
        str, Field(max_length=16, description="cpu, localSSD, lustre, objectStorage or cloudStorage.")
    ]
    phase: Annotated[
        str,
        Field(
            description="Configured, Waiting, Provisioning, Importing, Bound, Resizing, Bypassed, Failed, Deleting or "
            "Retained."
        ),
    ]
    capacity: Annotated[
        str | None,
        Field(
            max_length=24,
            description="Bytes that exist: per Pod for cpu and localSSD, of the whole pool for lustre.",
        ),
    ] = None
    used: Annotated[str | None, Field(description="Bytes in use, where they can be measured.")] = None
    tokens: Annotated[
        int | None,
        Field(
            description="Tokens that it holds at least, of the pool's model with the most bytes per token, where those "
            "are known: per Pod for cpu and localSSD."
        ),
    ] = None
    instance: Annotated[
        str | None,
        Field(
            description="Lustre instance, projects/PROJECT/locations/ZONE/instances/INSTANCE, where known."
        ),
    ] = None
    throughput: Annotated[
        str | None, Field(description="Throughput that the capacity brings, for the whole pool.")
    ] = None
    attempts: Annotated[
        int | None,
        Field(
            description="Claims that were made for the instance, if more than one: the others failed for good."
        ),
    ] = None


class TransferStatus(ApiModel):
    """Progress of a copy between Lustre and Cloud Storage."""

    objects_found: Annotated[int, Field(description="Objects that were found so far.")] = 0
    objects_copied: Annotated[int, Field(description="Objects that have arrived.")] = 0
    objects_skipped: Annotated[int, Field(description="Objects that were there already.")] = 0
    objects_failed: Annotated[int, Field(description="Objects that could not be copied.")] = 0
    bytes_found: Annotated[int, Field(description="Bytes of the objects that were found.")] = 0
    bytes_copied: Annotated[int, Field(description="Bytes that have arrived.")] = 0


class OperationStatus(ApiModel):
    """The last operation of a kind on the pool's Lustre instance."""

    kind: Annotated[str, Field(max_length=16, description="Create, Update, Import, Export or Delete.")]
    subject: Annotated[
        str,
        Field(
            max_length=128,
            description="What of that kind: a capacity, a time of the schedule. A new one starts anew.",
        ),
    ]
    state: Annotated[str, Field(description="Running, Succeeded or Failed.")]
    attempt: Annotated[int, Field(description="Number of tries for this subject.")] = 1
    request_id: Annotated[str, Field(alias="requestID", description="Makes a repeated request harmless.")]
    name: Annotated[str | None, Field(description="The operation in the Lustre API.")] = None
    start_time: Annotated[
        str, Field(description="When it was asked for.", json_schema_extra={"format": "date-time"})
    ]
    progress_time: Annotated[
        str | None,
        Field(description="When it last got on, or ended.", json_schema_extra={"format": "date-time"}),
    ] = None
    code: Annotated[str | None, Field(description="Error code, if it failed.")] = None
    message: Annotated[str | None, Field(max_length=1024, description="What it says.")] = None
    transfer: TransferStatus | None = None


class ModelStatus(ApiModel):
    """State of one model."""

    name: Annotated[str, Field(description="Name of the model in the spec.")]
    replicas: Annotated[int, Field(description="Pods wanted.")] = 0
    ready_replicas: Annotated[int, Field(description="Pods that answer.")] = 0
    service: Annotated[
        str | None, Field(description="Service in the pool's namespace; port 8000 speaks OpenAI's API.")
    ] = None
    fingerprint: Annotated[
        str | None,
        Field(description="Name of the model's cache directory, in which kvtier.json says what it holds."),
    ] = None
    blocks_per_chunk: Annotated[
        int | None, Field(description="Blocks that are kept as one file. Stays while the fingerprint does.")
    ] = None
    chunk: Annotated[str | None, Field(description="What a chunk is, in tokens and bytes of a file.")] = None
    bytes_per_token: Annotated[
        int | None, Field(description="Bytes that a token takes in a tier, over all GPUs of a Pod.")
    ] = None
    suggestion: Annotated[
        str | None, Field(description="How far limits of the engine may rise, with the arithmetic.")
    ] = None


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
    operations: Annotated[
        list[OperationStatus],
        Field(
            description="Operations on the Lustre instance that kvtier asked for, the last of each kind.",
            max_length=8,
            json_schema_extra=list_map("kind"),
        ),
    ] = []
    models: Annotated[
        list[ModelStatus],
        Field(
            description="The models, in the order of the spec.",
            json_schema_extra=list_map("name"),
        ),
    ] = []
