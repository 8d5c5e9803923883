"""The status that kvtier writes for a pool."""

from typing import Annotated

from pydantic import AfterValidator, Field

from kvtier.api.conditions import Condition
from kvtier.api.fields import list_map
from kvtier.api.rules import ApiModel
from kvtier.api.sentences import printable

_Message = Annotated[str, Field(max_length=1024), AfterValidator(printable)]


class TierStatus(ApiModel):
    """State of one cache tier."""

    name: Annotated[
        str, Field(max_length=16, description="Tier: cpu, localSSD, lustre, objectStorage or cloudStorage.")
    ]
    phase: Annotated[
        str,
        Field(
            description="State of the tier: Configured, Waiting, Provisioning, Importing, Bound, Resizing, Bypassed, "
            "Failed, Deleting or Retained."
        ),
    ]
    capacity: Annotated[
        str | None,
        Field(
            max_length=24,
            description="Existing capacity: per Pod for cpu and localSSD, for the whole pool for lustre.",
        ),
    ] = None
    used: Annotated[str | None, Field(description="Used capacity, if kvtier can measure it.")] = None
    tokens: Annotated[
        int | None,
        Field(
            description="Minimum number of tokens that fit into the tier: per Pod for cpu and localSSD. Calculated for "
            "the model with the most bytes per token, among models whose size kvtier knows."
        ),
    ] = None
    instance: Annotated[
        str | None,
        Field(
            description="Lustre instance, projects/PROJECT/locations/ZONE/instances/INSTANCE, once it is known."
        ),
    ] = None
    throughput: Annotated[
        str | None, Field(description="Throughput of the tier at this capacity, for the whole pool.")
    ] = None
    attempts: Annotated[
        int | None,
        Field(
            description="Number of PVCs created for the instance, if more than one. All but the last one failed."
        ),
    ] = None


class TransferStatus(ApiModel):
    """Progress of a copy between Lustre and Cloud Storage."""

    objects_found: Annotated[int, Field(description="Objects found so far.")] = 0
    objects_copied: Annotated[int, Field(description="Objects copied so far.")] = 0
    objects_skipped: Annotated[int, Field(description="Objects that existed at the destination.")] = 0
    objects_failed: Annotated[int, Field(description="Objects that could not be copied.")] = 0
    bytes_found: Annotated[int, Field(description="Bytes of the objects found so far.")] = 0
    bytes_copied: Annotated[int, Field(description="Bytes copied so far.")] = 0


class OperationStatus(ApiModel):
    """The last operation of one kind on the Lustre instance of the pool."""

    kind: Annotated[str, Field(max_length=16, description="Kind: Create, Update, Import, Export or Delete.")]
    subject: Annotated[
        str,
        Field(
            max_length=128,
            description="Goal of the operation: a capacity, a time of the schedule. A new goal starts a new operation.",
        ),
    ]
    state: Annotated[str, Field(description="State: Running, Succeeded or Failed.")]
    attempt: Annotated[int, Field(description="Number of this attempt at the same goal.")] = 1
    request_id: Annotated[
        str,
        Field(
            alias="requestID",
            description="Request ID. A repeated request with it starts no second operation.",
        ),
    ]
    name: Annotated[str | None, Field(description="Name of the operation in the Lustre API.")] = None
    start_time: Annotated[
        str, Field(description="When kvtier sent the request.", json_schema_extra={"format": "date-time"})
    ]
    progress_time: Annotated[
        str | None,
        Field(description="When it last made progress, or ended.", json_schema_extra={"format": "date-time"}),
    ] = None
    code: Annotated[str | None, Field(description="Error code, if the operation failed.")] = None
    message: Annotated[_Message | None, Field(description="Error message, if it failed.")] = None
    transfer: TransferStatus | None = None


class ModelStatus(ApiModel):
    """State of one model."""

    name: Annotated[str, Field(description="Name of the model in the spec.")]
    replicas: Annotated[int, Field(description="Desired number of Pods.")] = 0
    ready_replicas: Annotated[int, Field(description="Number of ready Pods.")] = 0
    service: Annotated[
        str | None, Field(description="Service in the pool's namespace. Port 8000 serves the OpenAI API.")
    ] = None
    fingerprint: Annotated[
        str | None,
        Field(
            description="Name of the model's cache directory. The file kvtier.json in it describes its content."
        ),
    ] = None
    fingerprint_rules: Annotated[
        int | None,
        Field(
            description="Version of the rules for the identity. It stays until the identity changes, so that an update "
            "of kvtier keeps the cache."
        ),
    ] = None
    identity: Annotated[
        str | None,
        Field(
            max_length=16,
            description="Digest of everything that changes the bytes of a cached block. If it changes, the model gets "
            "a new, empty cache directory.",
        ),
    ] = None
    blocks_per_chunk: Annotated[
        int | None,
        Field(description="Blocks per cache file. Fixed for as long as the fingerprint is the same."),
    ] = None
    chunk: Annotated[str | None, Field(description="Size of a chunk: tokens, and bytes of its file.")] = None
    bytes_per_token: Annotated[
        int | None, Field(description="Bytes per token in a tier, summed over all GPUs of a Pod.")
    ] = None
    suggestion: Annotated[
        str | None, Field(description="Higher limits that the engine could use, with the calculation.")
    ] = None


class PoolStatus(ApiModel):
    """Observed state of the pool."""

    observed_generation: Annotated[
        int | None, Field(description="Generation of the spec that this status describes.")
    ] = None
    phase: Annotated[
        str | None,
        Field(
            description="State of the pool: Blocked, Provisioning, Starting, Ready, Degraded or Deleting. The "
            "conditions give the reasons."
        ),
    ] = None
    models_ready: Annotated[
        str | None, Field(description="Models with all Pods ready, of all models, such as 1/2.")
    ] = None
    conditions: Annotated[
        list[Condition],
        Field(
            description="Ready first, then the prerequisites, then the parts of the pool.",
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
            description="Operations that kvtier started on the Lustre instance, the last of each kind.",
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
