"""The advice for an error of the Lustre API."""

from typing import Any

from kvtier.plan.lustre.api_errors import advice
from unit.builders import pool
from unit.instances import api
from unit.simulation import Simulation
from unit.tables import table

ERRORS: dict[str, Any] = {
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
        "No action is needed.",
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
    "an existing resource": ("AlreadyExists", "it exists", "AlreadyExists", "has this file system name"),
    "a network that is not connected": (
        "FailedPrecondition",
        "no peering",
        "FailedPrecondition",
        "private services access",
    ),
    "a capacity that the tier does not have": ("OutOfRange", "too large", "OutOfRange", "Choose a capacity"),
    "a cancelled operation": ("Cancelled", "by an administrator", "Cancelled", "No action is needed."),
    "a service account without credentials": (
        "Unauthenticated",
        "no token",
        "NoCredentials",
        "Workload Identity",
    ),
    "another operation": (
        "Aborted",
        "unable to queue the operation",
        "Busy",
        "Another operation is in progress.",
    ),
    "no response": ("Unavailable", "", "NoAnswer", "No action is needed."),
    "an unknown code": ("DataLoss", "", "Failed", "support"),
    "no code at all": ("", "", "Failed", "support"),
}


@table("code, message, reason, words", ERRORS)
def test_the_advice_fits_the_error(code: str, message: str, reason: str, words: str) -> None:
    found = advice(code, message)
    assert found.reason == reason
    assert words in found.text
    assert found.text[0].isupper()
    assert found.text.endswith(".")


@table("code, message, reason, words", ERRORS)
def test_a_failed_creation_is_reported_with_the_advice(
    code: str, message: str, reason: str, words: str
) -> None:
    simulation = Simulation(pool(**api()))
    simulation.at()
    simulation.answer(done=True, code=code or "Unknown", message=message)
    simulation.at()
    condition = simulation.condition("StorageReady")
    assert condition.reason == reason
    assert words in condition.message
