"""Google's client of Managed Lustre, for tests of the simulated API."""

from typing import Any

PARENT = "projects/{project}/locations/us-central1-a"


def client(url: str) -> Any:
    """A `lustre_v1.LustreClient` of a loopback endpoint, without credentials."""
    from google.api_core.client_options import ClientOptions
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import lustre_v1

    options = ClientOptions(api_endpoint=url)
    return lustre_v1.LustreClient(
        transport="rest", credentials=AnonymousCredentials(), client_options=options
    )


def instance(capacity_gib: int = 9000, **fields: Any) -> Any:
    """A `lustre_v1.Instance` that the API accepts; ``fields`` by their Python names replace or add some."""
    from google.cloud import lustre_v1

    known = {
        "capacity_gib": capacity_gib,
        "per_unit_storage_throughput": 1000,
        "filesystem": "kvcache",
        "network": "projects/p/global/networks/default",
    }
    return lustre_v1.Instance(**(known | fields))


def refusal(error: Any) -> tuple[int, str]:
    """The HTTP status and the name of the gRPC code of a `GoogleAPICallError`."""
    return int(error.code), str(error.response.json()["error"]["status"])
