"""Status conditions: their types, and the rule for transition times."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from kvtier.api.reasons import Reason
from kvtier.api.rules import ApiModel
from kvtier.api.sentences import printable

READY = "Ready"
ACCESS_GRANTED = "AccessGranted"
GKE_VERSION_SUPPORTED = "GKEVersionSupported"
LUSTRE_DRIVER_ENABLED = "LustreDriverEnabled"
NODE_IMAGE_SUPPORTED = "NodeImageSupported"
NETWORK_MATCHED = "NetworkMatched"
ZONE_MATCHED = "ZoneMatched"
PORT_MATCHED = "PortMatched"
FILESYSTEM_UNIQUE = "FilesystemUnique"
CAPACITY_VALID = "CapacityValid"
LOCAL_SSD_SUPPORTED = "LocalSSDSupported"
CREDENTIALS_PRESENT = "CredentialsPresent"
ENGINE_SUPPORTED = "EngineSupported"
KV_CACHE_DTYPE_SUPPORTED = "KVCacheDtypeSupported"
MODEL_CONFIG_VALID = "ModelConfigValid"
CPU_TIER_FITS = "CPUTierFits"
NODE_POOL_READY = "NodePoolReady"
STORAGE_READY = "StorageReady"
TIER_WRITABLE = "TierWritable"
CLOUD_STORAGE_SYNCED = "CloudStorageSynced"
MAINTENANCE_SCHEDULED = "MaintenanceScheduled"
MODELS_READY = "ModelsReady"
EVICTION_HEALTHY = "EvictionHealthy"
DELETING = "Deleting"

VOUCHABLE = (
    GKE_VERSION_SUPPORTED,
    NODE_IMAGE_SUPPORTED,
    ZONE_MATCHED,
    NETWORK_MATCHED,
    PORT_MATCHED,
    CAPACITY_VALID,
    LOCAL_SSD_SUPPORTED,
    CPU_TIER_FITS,
    ENGINE_SUPPORTED,
    KV_CACHE_DTYPE_SUPPORTED,
)
"""Prerequisites that may have a reason for which the user can vouch (`Reason.vouch`)."""

Status = Literal["True", "False", "Unknown"]


class Condition(ApiModel):
    """One aspect of the pool, in the shape of metav1.Condition."""

    type: Annotated[str, Field(description="Type of the condition, such as StorageReady.")]
    status: Annotated[
        Status,
        Field(
            description="True, False, or Unknown: kvtier could not read it, or spec.acknowledgedConditions accepts it."
        ),
    ]
    reason: Annotated[str, Field(description="Reason of the status, a CamelCase word for programs.")]
    message: Annotated[
        str, AfterValidator(printable), Field(description="Text for people: what was seen, and what to do.")
    ] = ""
    observed_generation: Annotated[
        int | None, Field(description="Generation of the spec that the condition describes.")
    ] = None
    last_transition_time: Annotated[
        str | None,
        Field(description="When the status last changed.", json_schema_extra={"format": "date-time"}),
    ] = None

    @property
    def clause(self) -> str:
        """Type and status for use in a sentence, such as `ZoneMatched is False`."""
        return f"{self.type} is {self.status}"

    @property
    def in_progress(self) -> bool:
        """Whether the missing part is being created, so that the pool is starting, not blocked."""
        known = Reason.of(self.reason)
        return known is not None and known.progress

    @property
    def vouchable(self) -> bool:
        """Whether spec.acknowledgedConditions may accept it."""
        known = Reason.of(self.reason)
        return self.status != "True" and self.type in VOUCHABLE and known is not None and known.vouch

    @property
    def deserves_event(self) -> bool:
        """Whether it is a failure that leaves the pool ready, and therefore needs an Event."""
        known = Reason.of(self.reason)
        return known is not None and known.event


def find(conditions: Iterable[Condition], type_: str) -> Condition | None:
    """The condition of a type, or None."""
    return next((condition for condition in conditions if condition.type == type_), None)


def true(type_: str, reason: Reason, message: str = "") -> Condition:
    return Condition(type=type_, status="True", reason=reason.value, message=message)


def false(type_: str, reason: Reason, message: str) -> Condition:
    return Condition(type=type_, status="False", reason=reason.value, message=message)


def unknown(type_: str, reason: Reason, message: str) -> Condition:
    return Condition(type=type_, status="Unknown", reason=reason.value, message=message)


def relayed(type_: str, reason: str, message: str) -> Condition:
    """A False condition with the reason of another condition or of the API server."""
    return Condition(type=type_, status="False", reason=reason, message=message)


def stamp(new: list[Condition], old: list[Condition], generation: int, now: str) -> list[Condition]:
    """`new` with generation and transition times. A time changes only when the status of its type changed."""
    before = {condition.type: condition for condition in old}

    def since(condition: Condition) -> str:
        last = before.get(condition.type)
        same = last is not None and last.status == condition.status and last.last_transition_time
        return last.last_transition_time if same else now  # type: ignore[union-attr,return-value]

    return [
        c.model_copy(update={"observed_generation": generation, "last_transition_time": since(c)})
        for c in new
    ]
