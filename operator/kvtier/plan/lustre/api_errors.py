"""What an error code of the Lustre API or of its CSI driver means for a pool, and what to do about it."""

from dataclasses import dataclass
from enum import Enum, auto

from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.api.v1alpha1 import OperationStatus


class Retry(Enum):
    """What happens next to a PVC after this error. The sidecar of the CSI driver retries until the PVC has a volume."""

    GOES_ON = auto()
    """The sidecar treats the operation as in progress (external-provisioner, controller.go, checkError)."""

    PASSES = auto()
    """The request succeeds after a while, and nobody has to act."""

    ONCE_CORRECTED = auto()
    """The request is refused until somebody follows the advice."""

    REPEATED = auto()
    """The creation failed after it was accepted. The driver repeats this error until the PVC is recreated."""

    REPEATED_IF_OFTEN = auto()
    """Like REPEATED, but only after several errors: a single one may be temporary."""

    REPEATED_IF_ABSENT = auto()
    """Like REPEATED, or the request itself was refused, and then the driver retries it.

    A recreated PVC could get a second instance if a creation has just begun. Only the Lustre API can exclude that.
    """


@dataclass(frozen=True)
class Advice:
    """`text`: full sentences. `words`: the error message must contain one of them; empty: every message fits.

    `existing`: the text if the instance exists already; empty: the same text.
    """

    reason: Reason
    text: str
    words: tuple[str, ...] = ()
    retry: Retry = Retry.ONCE_CORRECTED
    existing: str = ""

    @property
    def of_existing(self) -> str:
        """What to do after an error about an instance that exists already."""
        return self.existing or self.text


_AUTOMATIC = "No action is needed."

_TABLE: dict[str, tuple[Advice, ...]] = {
    "ResourceExhausted": (
        Advice(Reason.RATE_LIMITED, _AUTOMATIC, ("rate limit", "per minute", "requests per"), Retry.PASSES),
        Advice(
            Reason.QUOTA_EXCEEDED,
            "Request more Managed Lustre quota for this performance tier and region, or create a pool with less "
            "capacity.",
            ("quota",),
            Retry.REPEATED_IF_ABSENT,
            existing="Request more Managed Lustre quota for this performance tier and region.",
        ),
        Advice(
            Reason.STOCKOUT,
            "The zone has no capacity for an instance of this size now. Wait, or create a pool in another zone, with "
            "another performance tier, or with less capacity.",
            retry=Retry.REPEATED,
            existing="The zone has no free capacity for the larger size now.",
        ),
    ),
    "PermissionDenied": (
        Advice(
            Reason.KEY_NOT_USABLE,
            "Grant roles/cloudkms.cryptoKeyEncrypterDecrypter on the key to the service agent of Managed Lustre.",
            ("cryptokey", "kms"),
            Retry.REPEATED_IF_ABSENT,
        ),
        Advice(
            Reason.PERMISSION_DENIED,
            "Grant roles/lustre.admin to kvtier's service account (provisioner API) or to the GKE service agent "
            "(provisioner CSI). Check that lustre.googleapis.com is enabled.",
        ),
    ),
    "InvalidArgument": (
        Advice(
            Reason.INVALID_ARGUMENT,
            "Correct the field that the message names. To change an immutable field, create a new pool.",
        ),
    ),
    "NotFound": (
        Advice(
            Reason.NOT_FOUND,
            "Create the resource that the message names (network, key or policy), or create a pool that names another "
            "one.",
            retry=Retry.REPEATED_IF_ABSENT,
        ),
    ),
    "AlreadyExists": (
        Advice(
            Reason.ALREADY_EXISTS,
            "If an instance of this name exists and its data is not needed, delete it. If another instance has this "
            "file system name, create a pool with another spec.tiers.lustre.filesystem.",
        ),
    ),
    "FailedPrecondition": (
        Advice(
            Reason.FAILED_PRECONDITION,
            "Check that the network has private services access with a free range of /23 or larger.",
            retry=Retry.REPEATED_IF_ABSENT,
            existing="Check that the instance is ACTIVE.",
        ),
    ),
    "OutOfRange": (Advice(Reason.OUT_OF_RANGE, "Choose a capacity that the performance tier allows."),),
    "Aborted": (
        Advice(
            Reason.BUSY,
            f"Another operation is in progress. {_AUTOMATIC}",
            retry=Retry.GOES_ON,
        ),
    ),
    "Cancelled": (
        Advice(Reason.CANCELLED, f"Somebody cancelled the operation. {_AUTOMATIC}", retry=Retry.GOES_ON),
    ),
    "DeadlineExceeded": (Advice(Reason.NO_ANSWER, _AUTOMATIC, retry=Retry.GOES_ON),),
    "Unavailable": (Advice(Reason.NO_ANSWER, _AUTOMATIC, retry=Retry.GOES_ON),),
    "Unauthenticated": (
        Advice(
            Reason.NO_CREDENTIALS,
            "Set up Workload Identity for kvtier's service account as described in docs/how-to/install.md.",
        ),
    ),
}
_OTHER = Advice(
    Reason.FAILED,
    "Check the operation in the Cloud Console, and contact Google Cloud support if you cannot resolve the error.",
    retry=Retry.REPEATED_IF_OFTEN,
)


def advice(code: str, message: str) -> Advice:
    """The row for an error, or the general one for an error that is not in the table.

    `code` is a canonical code in CamelCase, such as ResourceExhausted.
    """
    text = message.lower()
    fits = (one for one in _TABLE.get(code, ()) if not one.words or any(word in text for word in one.words))
    return next(fits, _OTHER)


def explained(failed: OperationStatus) -> tuple[Reason, str]:
    """The reason of a failed operation, and `CODE: message. Advice.`, which follows "The Lustre API reports"."""
    row = advice(failed.code or "", failed.message or "")
    text = row.text if failed.kind == "Create" else row.of_existing
    return row.reason, sentences(f"{failed.code}: {failed.message or 'no details'}", text)
