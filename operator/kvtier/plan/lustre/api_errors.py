"""What an error code of the Lustre API or of its CSI driver means for a pool, and what to do about it."""

from dataclasses import dataclass
from enum import Enum, auto

from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import OperationStatus


class Retry(Enum):
    """What becomes of a claim for which the CSI driver answers so: its sidecar asks again until it gets a volume."""

    GOES_ON = auto()
    """The sidecar takes the operation to be under way (external-provisioner, controller.go, checkError)."""

    PASSES = auto()
    """The request succeeds in a while, without anybody's help."""

    ONCE_CORRECTED = auto()
    """The request is refused until somebody has done what the advice says."""

    REPEATED = auto()
    """The creation fails after it was accepted: the driver repeats that for good, and only another claim helps."""

    REPEATED_IF_OFTEN = auto()
    """The same, but it may be an error of the moment, so that once proves nothing."""

    REPEATED_IF_ABSENT = auto()
    """The same, or the request itself is refused, which the driver then makes again.

    Another claim could cross a creation that has just begun: only the Lustre API can exclude that.
    """


@dataclass(frozen=True)
class Advice:
    """`words` are those of which the message must have one; none given fits every message."""

    reason: Reason
    text: str
    words: tuple[str, ...] = ()
    retry: Retry = Retry.ONCE_CORRECTED


_BY_ITSELF = "kvtier tries again by itself"

_TABLE: dict[str, tuple[Advice, ...]] = {
    "ResourceExhausted": (
        Advice(Reason.RATE_LIMITED, _BY_ITSELF, ("rate limit", "per minute", "requests per"), Retry.PASSES),
        Advice(
            Reason.QUOTA_EXCEEDED,
            "ask for more Managed Lustre quota of this performance tier and region, or create a pool with less "
            "capacity",
            ("quota",),
            Retry.REPEATED_IF_ABSENT,
        ),
        Advice(
            Reason.STOCKOUT,
            "the zone has no room for an instance of this size now: wait, or create a pool in another zone, with "
            "another performance tier or with less capacity",
            retry=Retry.REPEATED,
        ),
    ),
    "PermissionDenied": (
        Advice(
            Reason.KEY_NOT_USABLE,
            "grant roles/cloudkms.cryptoKeyEncrypterDecrypter on the key to the service agent of Managed Lustre",
            ("cryptokey", "kms"),
            Retry.REPEATED_IF_ABSENT,
        ),
        Advice(
            Reason.PERMISSION_DENIED,
            "grant roles/lustre.admin to whoever makes the instance (kvtier's service account with provisioner API, "
            "the GKE service agent with CSI), and see that lustre.googleapis.com is enabled",
        ),
    ),
    "InvalidArgument": (
        Advice(
            Reason.INVALID_ARGUMENT,
            "correct the field that the message names; what is immutable needs a new pool",
        ),
    ),
    "NotFound": (
        Advice(
            Reason.NOT_FOUND,
            "create what the message names (network, key or policy), or name another in a new pool",
            retry=Retry.REPEATED_IF_ABSENT,
        ),
    ),
    "AlreadyExists": (
        Advice(
            Reason.ALREADY_EXISTS,
            "an instance or a file system of this name is there already: delete it if it is not needed, or choose "
            "another filesystem in a new pool",
        ),
    ),
    "FailedPrecondition": (
        Advice(
            Reason.FAILED_PRECONDITION,
            "see that the network has private services access with a free range of /23 or larger, and that the "
            "instance is ACTIVE",
            retry=Retry.REPEATED_IF_ABSENT,
        ),
    ),
    "OutOfRange": (Advice(Reason.OUT_OF_RANGE, "choose a capacity that the performance tier allows"),),
    "Aborted": (
        Advice(
            Reason.BUSY,
            f"the instance has another operation under way, {_BY_ITSELF} when it has ended",
            retry=Retry.GOES_ON,
        ),
    ),
    "Cancelled": (
        Advice(Reason.CANCELLED, f"somebody cancelled the operation: {_BY_ITSELF}", retry=Retry.GOES_ON),
    ),
    "DeadlineExceeded": (Advice(Reason.NO_ANSWER, _BY_ITSELF, retry=Retry.GOES_ON),),
    "Unavailable": (Advice(Reason.NO_ANSWER, _BY_ITSELF, retry=Retry.GOES_ON),),
    "Unauthenticated": (
        Advice(
            Reason.NO_CREDENTIALS,
            "give kvtier's service account Workload Identity: see docs/how-to/install.md",
        ),
    ),
}
_OTHER = Advice(
    Reason.FAILED,
    f"{_BY_ITSELF}; if it stays so, see the operation in the Cloud Console and ask Google's support",
    retry=Retry.REPEATED_IF_OFTEN,
)


def advice(code: str, message: str) -> Advice:
    """The row of an error; one that is not in the table has an answer too.

    `code` is a canonical code in CamelCase, such as ResourceExhausted.
    """
    text = message.lower()
    fits = (one for one in _TABLE.get(code, ()) if not one.words or any(word in text for word in one.words))
    return next(fits, _OTHER)


def explained(failed: OperationStatus) -> tuple[Reason, str]:
    """Why an operation has failed, and the part of a sentence that quotes the Lustre API and says what to do."""
    row = advice(failed.code or "", failed.message or "")
    return row.reason, f"{failed.code}: {failed.message or 'no details'}; {row.text}"
