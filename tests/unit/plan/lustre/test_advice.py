"""The advice for an error of the Lustre API."""

from kvtier.plan.lustre.api_errors import advice
from unit.tables import table


@table(
    "code, message, reason, words",
    {
        "a zone without capacity": (
            "ResourceExhausted",
            "The zone us-central1-a does not have enough resources",
            "Stockout",
            "another zone",
        ),
        "a quota": ("ResourceExhausted", "Quota exceeded for LustreCapacity", "QuotaExceeded", "quota"),
        "too many requests, which are retried": (
            "ResourceExhausted",
            "Quota exceeded for quota metric 'Write requests' and limit 'Write requests per minute'",
            "RateLimited",
            "Retries are automatic.",
        ),
        "a role": (
            "PermissionDenied",
            "Permission 'lustre.instances.create' denied",
            "PermissionDenied",
            "lustre.admin",
        ),
        "a key": (
            "PermissionDenied",
            "Cloud KMS denied cryptoKeys/key",
            "KeyNotUsable",
            "cryptoKeyEncrypterDecrypter",
        ),
        "a field": ("InvalidArgument", "invalid network", "InvalidArgument", "field"),
        "a missing resource": ("NotFound", "network default was not found", "NotFound", "Create"),
        "an existing resource": ("AlreadyExists", "it exists", "AlreadyExists", "filesystem"),
        "a network that is not connected": (
            "FailedPrecondition",
            "no peering",
            "FailedPrecondition",
            "private services access",
        ),
        "another operation": ("Aborted", "unable to queue the operation", "Busy", "another operation"),
        "no response": ("Unavailable", "", "NoAnswer", "Retries are automatic."),
        "an unknown code": ("DataLoss", "", "Failed", "support"),
        "no code at all": ("", "", "Failed", "support"),
    },
)
def test_the_advice_fits_the_error(code: str, message: str, reason: str, words: str) -> None:
    found = advice(code, message)
    assert found.reason == reason
    assert words in found.text
    assert found.text[0].isupper()
    assert found.text.endswith(".")
