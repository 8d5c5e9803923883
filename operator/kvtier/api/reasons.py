"""The reasons of all conditions, and what follows from each.

A reason is stable API: programs match on it. What kvtier itself concludes from a reason is defined only here: the
planner has no lists of reasons.
"""

from enum import StrEnum
from typing import Self

_PROGRESS, _EVENT, _VOUCH = "progress", "event", "vouch"


class Reason(StrEnum):
    """Why a condition has its status.

    `progress`: the missing part is being created, so that the pool is starting, not blocked. A False condition without
    `progress` counts as a failure. `event`: a failure that leaves the pool ready. It gets a Warning Event,
    because otherwise nobody would notice it. `vouch`: kvtier judges by a table or a rule that may be
    outdated or incomplete, so the user may know better (spec.acknowledgedConditions). It is never a reason that guards
    other users, that stands for wrong tokens, or for something that kvtier saw to be missing.
    """

    progress: bool
    event: bool
    vouch: bool

    def __new__(cls, value: str, *follows: str) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.progress, member.event = _PROGRESS in follows, _EVENT in follows
        member.vouch = _VOUCH in follows
        return member

    @classmethod
    def of(cls, text: str) -> "Reason | None":
        """The reason with this name; None for a reason of the API server or of another version of kvtier."""
        return cls._value2member_map_.get(text)  # type: ignore[return-value]

    def of_update(self) -> "Reason":
        """The reason for the same refusal of a change to an instance in use."""
        return Reason(f"Update{self.value}")

    # Several conditions
    NOT_NEEDED = "NotNeeded"
    SUPPORTED = "Supported"
    NOT_SUPPORTED = "NotSupported", _VOUCH
    FITS = "Fits"
    TOO_LARGE = "TooLarge"
    MATCHED = "Matched"
    NOT_READABLE = "NotReadable"
    MACHINE_TYPE_UNKNOWN = "MachineTypeUnknown", _VOUCH
    INSTANCE_NOT_SEEN = "InstanceNotSeen"
    INSTANCE_UNKNOWN = "InstanceUnknown"
    LUSTRE_API_UNAVAILABLE = "LustreAPIUnavailable"
    PREREQUISITES_NOT_MET = "PrerequisitesNotMet", _PROGRESS
    WAITING = "Waiting", _PROGRESS
    CREATING = "Creating", _PROGRESS
    ALL_READY = "AllReady"
    ASSUMED = "Assumed"

    # Ready and Deleting
    WITHOUT_SHARED_TIER = "WithoutSharedTier"
    INVALID_SPEC = "InvalidSpec"
    INTERNAL_ERROR = "InternalError"
    DELETING = "Deleting"
    TEARDOWN_STARTED = "TeardownStarted"

    # AccessGranted
    GRANTED = "Granted"
    NOT_GRANTED = "NotGranted"
    POLICY_INVALID = "PolicyInvalid"

    # GKEVersionSupported
    NO_GATE = "NoGate"
    VERSION_NOT_RECOGNISED = "VersionNotRecognised", _VOUCH
    NODE_VERSION_NOT_RECOGNISED = "NodeVersionNotRecognised", _VOUCH
    CONTROL_PLANE_TOO_OLD = "ControlPlaneTooOld", _VOUCH
    NODES_TOO_OLD = "NodesTooOld", _VOUCH

    # LustreDriverEnabled
    ENABLED = "Enabled"
    REGISTERING = "Registering"
    NOT_REGISTERED = "NotRegistered"
    ADDON_STARTING = "AddonStarting"
    ADDON_DISABLED = "AddonDisabled"

    # NodeImageSupported
    COS = "COS"
    COMPUTE_CLASS_USES_COS = "ComputeClassUsesCOS"
    NOT_COS = "NotCOS", _VOUCH
    NO_CANDIDATE_NODES = "NoCandidateNodes"

    # ZoneMatched
    ZONE_MISMATCH = "ZoneMismatch", _VOUCH
    NO_NODE_IN_ZONE = "NoNodeInZone"

    # NetworkMatched
    SAME_NETWORK = "SameNetwork"
    OTHER_NETWORK = "OtherNetwork", _VOUCH
    CLUSTER_NOT_GIVEN = "ClusterNotGiven"
    GKE_UNREACHABLE = "GKEUnreachable"
    NETWORK_NOT_RECOGNISED = "NetworkNotRecognised", _VOUCH
    PROJECT_NUMBER = "ProjectNumber", _VOUCH

    # PortMatched
    MADE = "Made"
    CLUSTER_NOT_SEEN = "ClusterNotSeen"
    LEGACY_CLUSTER = "LegacyCluster", _VOUCH
    LEGACY_INSTANCE = "LegacyInstance", _VOUCH
    PORT_NEEDS_VERSION = "PortNeedsVersion", _VOUCH

    # FilesystemUnique
    UNIQUE = "Unique"
    NAME_NOT_SEEN = "NameNotSeen"
    FOREIGN_VOLUME = "ForeignVolume"
    INSTANCE_SHARED = "InstanceShared"
    FILESYSTEM_NAME_TAKEN = "FilesystemNameTaken"

    # CapacityValid
    VALID = "Valid"
    EXISTING = "Existing"
    SMALLER_THAN_INSTANCE = "SmallerThanInstance"
    LARGER_THAN_INSTANCE = "LargerThanInstance"
    NOT_A_SIZE = "NotASize"
    WOULD_SHRINK = "WouldShrink"
    ABOVE_GROWTH_LIMIT = "AboveGrowthLimit", _VOUCH
    EXPANSION_UNSUPPORTED = "ExpansionUnsupported", _VOUCH

    # LocalSSDSupported and CPUTierFits
    NO_LOCAL_SSD = "NoLocalSSD", _VOUCH
    FIXED_DISK_COUNT = "FixedDiskCount", _VOUCH
    NOT_PINNED = "NotPinned", _VOUCH

    # EngineSupported and ModelConfigValid
    UNTESTED = "Untested", _VOUCH
    PAIR_NOT_SUPPORTED = "PairNotSupported"
    CONFLICTING_SETTINGS = "ConflictingSettings"
    NAME_NOT_USABLE = "NameNotUsable"
    KNOWN = "Known"
    NOT_KNOWN = "NotKnown"
    NOT_USABLE = "NotUsable"

    # CredentialsPresent
    PRESENT = "Present"
    SECRET_MISSING = "SecretMissing"  # noqa: S105 - a reason
    CONFIG_MAP_MISSING = "ConfigMapMissing"

    # NodePoolReady
    NODES_READY = "NodesReady"
    ON_DEMAND = "OnDemand"
    NO_MATCHING_NODE = "NoMatchingNode"
    CAPACITY_UNAVAILABLE = "CapacityUnavailable"
    COMPUTE_CLASS_NOT_SERVED = "ComputeClassNotServed"

    # StorageReady: PVCs and PersistentVolumes
    BOUND = "Bound"
    PROVISIONING = "Provisioning", _PROGRESS
    OVERDUE = "Overdue"
    REPLACING = "Replacing", _PROGRESS
    NOT_PICKED_UP = "NotPickedUp"
    PROVISIONING_FAILED = "ProvisioningFailed"
    RESIZING = "Resizing"
    GROWTH_ABANDONED = "GrowthAbandoned"
    RESIZE_FAILED = "ResizeFailed", _EVENT
    UPDATING = "Updating"
    STORAGE_CLASS_IMMUTABLE = "StorageClassImmutable"
    CLAIM_MISMATCH = "ClaimMismatch"
    CLAIM_DELETED = "ClaimDeleted"
    VOLUME_MISMATCH = "VolumeMismatch"
    VOLUME_LOST = "VolumeLost"

    # StorageReady: instances
    INSTANCE_GONE = "InstanceGone"
    INSTANCE_NOT_FOUND = "InstanceNotFound"
    CLUSTER_UNKNOWN = "ClusterUnknown"
    INSTANCE_NOT_OURS = "InstanceNotOurs"
    INSTANCE_MISMATCH = "InstanceMismatch"
    INSTANCE_CONTRADICTED = "InstanceContradicted"
    INSTANCE_UPGRADING = "InstanceUpgrading"
    INSTANCE_REPAIRING = "InstanceRepairing"
    INSTANCE_STOPPED = "InstanceStopped"
    INSTANCE_SUSPENDED = "InstanceSuspended"
    INSTANCE_DELETING = "InstanceDeleting"
    INSTANCE_STATE_UNKNOWN = "InstanceStateUnknown"

    # StorageReady: why the Lustre API refused to create an instance, or the CSI driver to provision a PVC
    RATE_LIMITED = "RateLimited"
    QUOTA_EXCEEDED = "QuotaExceeded"
    STOCKOUT = "Stockout"
    KEY_NOT_USABLE = "KeyNotUsable"
    PERMISSION_DENIED = "PermissionDenied"
    INVALID_ARGUMENT = "InvalidArgument"
    NOT_FOUND = "NotFound"
    ALREADY_EXISTS = "AlreadyExists"
    FAILED_PRECONDITION = "FailedPrecondition"
    OUT_OF_RANGE = "OutOfRange"
    BUSY = "Busy"
    CANCELLED = "Cancelled"
    NO_ANSWER = "NoAnswer"
    NO_CREDENTIALS = "NoCredentials"
    FAILED = "Failed"

    # StorageReady: why the Lustre API refused to change an instance in use. Temporary refusals get no Event.
    UPDATE_RATE_LIMITED = "UpdateRateLimited"
    UPDATE_QUOTA_EXCEEDED = "UpdateQuotaExceeded", _EVENT
    UPDATE_STOCKOUT = "UpdateStockout", _EVENT
    UPDATE_KEY_NOT_USABLE = "UpdateKeyNotUsable", _EVENT
    UPDATE_PERMISSION_DENIED = "UpdatePermissionDenied", _EVENT
    UPDATE_INVALID_ARGUMENT = "UpdateInvalidArgument", _EVENT
    UPDATE_NOT_FOUND = "UpdateNotFound", _EVENT
    UPDATE_ALREADY_EXISTS = "UpdateAlreadyExists", _EVENT
    UPDATE_FAILED_PRECONDITION = "UpdateFailedPrecondition", _EVENT
    UPDATE_OUT_OF_RANGE = "UpdateOutOfRange", _EVENT
    UPDATE_BUSY = "UpdateBusy"
    UPDATE_CANCELLED = "UpdateCancelled"
    UPDATE_NO_ANSWER = "UpdateNoAnswer"
    UPDATE_NO_CREDENTIALS = "UpdateNoCredentials", _EVENT
    UPDATE_FAILED = "UpdateFailed", _EVENT

    # TierWritable
    WRITTEN = "Written"
    PROBING = "Probing", _PROGRESS
    PROBE_STUCK = "ProbeStuck"
    PROBE_FAILED = "ProbeFailed"
    JOB_REFUSED = "JobRefused"
    NOT_WRITABLE = "NotWritable"
    INPUT_OUTPUT = "InputOutput"
    NO_SPACE = "NoSpace"
    READ_ONLY = "ReadOnly"

    # CloudStorageSynced
    IMPORTING = "Importing"
    IMPORTED = "Imported"
    IMPORT_FAILED = "ImportFailed", _EVENT
    EXPORTING = "Exporting"
    EXPORTED = "Exported"
    EXPORT_FAILED = "ExportFailed", _EVENT
    NOTHING_DUE = "NothingDue"
    INVALID_SCHEDULE = "InvalidSchedule", _EVENT
    INSTANCE_MISSING = "InstanceMissing"

    # MaintenanceScheduled
    SCHEDULED = "Scheduled"
    IN_PROGRESS = "InProgress"
    NONE_SCHEDULED = "NoneScheduled"
    BYPASSED = "Bypassed"

    # ModelsReady and EvictionHealthy
    STARTING = "Starting", _PROGRESS
    NOT_PROGRESSING = "NotProgressing"
    NOT_MANAGED = "NotManaged"
