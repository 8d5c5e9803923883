"""What an error code of the Lustre API or of its CSI driver means for a pool, and what to do about it."""

from typing import NamedTuple

from kvtier.api.reasons import Reason


class Advice(NamedTuple):
    """`words` are those of which the message must have one; none given fits every message."""

    reason: Reason
    text: str
    words: tuple[str, ...] = ()


_BY_ITSELF = "kvtier tries again by itself"

_TABLE: dict[str, tuple[Advice, ...]] = {
    "ResourceExhausted": (
        Advice(Reason.RATE_LIMITED, _BY_ITSELF, ("rate limit", "per minute", "requests per")),
        Advice(
            Reason.QUOTA_EXCEEDED,
            "ask for more Managed Lustre quota of this performance tier and region, or create a pool with less "
            "capacity",
            ("quota",),
        ),
        Advice(
            Reason.STOCKOUT,
            "the zone has no room for an instance of this size now: wait, or create a pool in another zone, with "
            "another performance tier or with less capacity",
        ),
    ),
    "PermissionDenied": (
        Advice(
            Reason.KEY_NOT_USABLE,
            "grant roles/cloudkms.cryptoKeyEncrypterDecrypter on the key to the service agent of Managed Lustre",
            ("cryptokey", "kms"),
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
        ),
    ),
    "OutOfRange": (Advice(Reason.OUT_OF_RANGE, "choose a capacity that the performance tier allows"),),
    "Aborted": (
        Advice(Reason.BUSY, f"the instance has another operation under way, {_BY_ITSELF} when it has ended"),
    ),
    "Cancelled": (Advice(Reason.CANCELLED, f"somebody cancelled the operation: {_BY_ITSELF}"),),
    "DeadlineExceeded": (Advice(Reason.NO_ANSWER, _BY_ITSELF),),
    "Unavailable": (Advice(Reason.NO_ANSWER, _BY_ITSELF),),
    "Unauthenticated": (
        Advice(Reason.NO_CREDENTIALS, "give kvtier's service account Workload Identity, see the user guide"),
    ),
}
_OTHER = Advice(
    Reason.FAILED,
    f"{_BY_ITSELF}; if it stays so, see the operation in the Cloud Console and ask Google's support",
)


def advice(code: str, message: str) -> tuple[Reason, str]:
    """Reason and the part of a sentence that says what to do.

    `code` is a canonical code in CamelCase, such as ResourceExhausted; what is not known has an answer too.
    """
    text = message.lower()
    fits = (one for one in _TABLE.get(code, ()) if not one.words or any(word in text for word in one.words))
    found = next(fits, _OTHER)
    return found.reason, found.text
