"""Why the Lustre API does not tell about something, with the way out. The same failure always reads the same."""

from kvtier.facts.model import ASKING
from kvtier.gcp import errors
from kvtier.gcp.errors import GoogleError
from kvtier.gcp.lustre import ENDPOINT_VARIABLE

_ROLES = "roles/lustre.viewer, or roles/lustre.admin where kvtier makes instances or copies data"


def asking(name: str) -> str:
    """Before the first answer."""
    return f"{ASKING} about {name}"


def hint(name: str, error: GoogleError) -> str:
    """A sentence about the instance or operation of this full name; it may end up in a status."""
    match error:
        case errors.NoCredentialsError():
            return (
                f"the Lustre API cannot be asked about {name} ({error}): give kvtier's service account credentials "
                f"through Workload Identity, with {_ROLES}"
            )
        case errors.NoAnswerError():
            return (
                f"the Lustre API does not answer about {name} ({error}): let kvtier reach it (egress, DNS, proxy, "
                f"{ENDPOINT_VARIABLE}); it is asked again"
            )
        case errors.BadAnswerError():
            return _stranger(name, error)
    return _refusal(name, error)


def _refusal(name: str, error: GoogleError) -> str:
    match error.status:
        case "PermissionDenied":
            return (
                f"the Lustre API refuses to show {name} ({error}): grant {_ROLES} in project {name.split('/')[1]} to "
                "kvtier's service account (Workload Identity), and enable lustre.googleapis.com there"
            )
        case "InvalidArgument":
            return f"the Lustre API does not take {name} ({error}): correct spec.tiers.lustre"
        case "ResourceExhausted":
            return f"the Lustre API has no quota left for questions about {name} ({error}): raise it; it is asked again"
        case "Unimplemented":
            return _stranger(name, error)
    return f"the Lustre API answered {error.code} about {name} ({error}): nothing to do, it is asked again"


def _stranger(name: str, error: GoogleError) -> str:
    return (
        f"what answers about {name} is not the Lustre API ({error}): check proxies and {ENDPOINT_VARIABLE}; "
        "it is asked again"
    )
