"""The GKE and Managed Lustre APIs. Google's clients are synchronous, so they run in threads, with a time limit."""

import asyncio
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import cache, partial
from typing import Any, Literal, NamedTuple

from kvtier.gcp.errors import BadAnswerError, GoogleError, NoAnswerError, translating

SOCKET_SECONDS = 10.0
TOTAL_SECONDS = 15.0
"""SOCKET_SECONDS limits each read of a socket; one call makes many (credentials, slow bodies)."""


async def _answer(api: str, call: Callable[[], Any]) -> Any:
    """The result of `call`. Raises only GoogleError, also if there is no result within 15 s.

    `api` names the thread. There are no retries: the caller decides when to retry.
    """
    try:
        async with asyncio.timeout(TOTAL_SECONDS):
            return await asyncio.wrap_future(_in_thread(api, partial(translating, call)))
    except TimeoutError:
        message = f"no response within {TOTAL_SECONDS:g} s, including the time for credentials"
        raise NoAnswerError(0, message, "DeadlineExceeded") from None


def _connection(endpoint: str) -> dict[str, Any]:
    """Arguments of a client for `endpoint` (empty: Google's own). An http:// endpoint gets no credentials."""
    from google.api_core.client_options import ClientOptions
    from google.auth.credentials import AnonymousCredentials

    return {
        "transport": "rest",
        "credentials": AnonymousCredentials() if endpoint.startswith("http://") else None,
        "client_options": ClientOptions(api_endpoint=endpoint) if endpoint else None,
    }


def _in_thread(api: str, call: Callable[[], Any]) -> Future[Any]:
    """Run `call` in a separate thread.

    The executor of the event loop has few threads. Name resolution also needs them, and a process waits for them when
    it exits, so hanging calls would block both.
    """
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    future.set_running_or_notify_cancel()
    threading.Thread(target=run, name=api, daemon=True).start()
    return future


GKE_ENDPOINT = "KVTIER_GKE_ENDPOINT"
"""Overrides the API's address, for tests and private endpoints; an http:// address is called without credentials."""


async def get_cluster(project: str, location: str, name: str) -> Any:
    """The `container_v1.Cluster`. Raises only GoogleError, also if there is no response within 15 s."""
    path = f"projects/{project}/locations/{location}/clusters/{name}"
    endpoint = os.environ.get(GKE_ENDPOINT, "")
    return await _answer("gke-api", lambda: _get_cluster(endpoint, path))


def _get_cluster(endpoint: str, path: str) -> Any:
    return _gke_client(endpoint).get_cluster(name=path, timeout=SOCKET_SECONDS, retry=None)


@cache
def _gke_client(endpoint: str) -> Any:
    """One client per address and process. Imported on first use: it costs 0.4 s and 26 MB."""
    from google.cloud import container_v1

    return container_v1.ClusterManagerClient(**_connection(endpoint))


Verb = Literal["create", "update", "delete", "import", "export"]

LUSTRE_ENDPOINT = "KVTIER_LUSTRE_ENDPOINT"
"""Overrides the API's address, for tests and private endpoints; an http:// address is called without credentials."""

_THREAD = "lustre-api"
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_TRANSFERS = ("ImportDataMetadata", "ExportDataMetadata")


class _Clients(NamedTuple):
    """Google's client, and an authorized `requests.Session` for calls that it does not support."""

    client: Any
    session: Any
    url: str


async def get_instance(name: str) -> Any:
    """The `lustre_v1.Instance` with this full name. Raises only GoogleError, also after 15 s."""
    endpoint = _endpoint()
    return await _answer(_THREAD, lambda: _get_instance(_clients(endpoint), name))


async def get_operation(name: str) -> Any:
    """The `longrunning.Operation` with this full name, without its response. Raises GoogleError as above."""
    endpoint = _endpoint()
    return await _answer(_THREAD, lambda: _get_operation(_clients(endpoint), name))


async def start_operation(verb: Verb, instance: str, request: str, body: Mapping[str, Any]) -> Any:
    """Start an operation and return the `longrunning.Operation`. Raises GoogleError as above.

    `instance` is the full name. `request` is a UUID: the API ignores a repeated request for at least 60 minutes. `body`
    for create and update: fields of the Instance in the API's JSON (an update changes only these). `body` for import
    and export: {"uri": "gs://BUCKET/PREFIX/", "path": "/DIRECTORY/"}.
    """
    endpoint = _endpoint()
    return await _answer(_THREAD, lambda: _start_operation(_clients(endpoint), verb, instance, request, body))


def transfer(operation: Any) -> Any:
    """The `lustre_v1.TransferOperationMetadata` of an import or export, None for other operations."""
    from google.cloud import lustre_v1

    kind = operation.metadata.type_url.rpartition(".")[2]
    if kind not in _TRANSFERS:
        return None
    return getattr(lustre_v1, kind).deserialize(operation.metadata.value).operation_metadata


def _endpoint() -> str:
    return os.environ.get(LUSTRE_ENDPOINT, "")


@cache
def _clients(endpoint: str) -> _Clients:
    """One per address and process. Imported on first use: it costs 0.4 s and 26 MB."""
    import google.auth
    from google.auth.transport.requests import AuthorizedSession
    from google.cloud import lustre_v1

    options = _connection(endpoint)
    credentials = options["credentials"] or google.auth.default(scopes=[_SCOPE])[0]
    client = lustre_v1.LustreClient(**options | {"credentials": credentials})
    host = client.api_endpoint
    return _Clients(client, AuthorizedSession(credentials), host if "://" in host else f"https://{host}")


def _get_instance(clients: _Clients, name: str) -> Any:
    found = clients.client.get_instance(name=name, timeout=SOCKET_SECONDS, retry=None)
    return _named(found, "instance")


def _get_operation(clients: _Clients, name: str) -> Any:
    """Does not use the client (0.4.3), which refuses unknown fields in this response."""
    from google.api_core.exceptions import from_http_response
    from google.longrunning.operations_pb2 import Operation
    from google.protobuf.json_format import ParseDict

    reply = clients.session.get(f"{clients.url}/v1/{name}", timeout=SOCKET_SECONDS)
    if reply.status_code >= 400:
        raise from_http_response(reply)
    document = reply.json()
    document.pop("response", None)
    document.get("error", {}).pop("details", None)
    return _named(ParseDict(document, Operation(), ignore_unknown_fields=True), "operation")


def _start_operation(
    clients: _Clients, verb: Verb, instance: str, request: str, body: Mapping[str, Any]
) -> Any:
    try:
        method, message = _request(verb, instance, request, body)
    except Exception as error:
        raise GoogleError(0, f"the request is not valid: {error}", "InvalidArgument") from error
    call = getattr(clients.client, method)
    return _named(call(request=message, timeout=SOCKET_SECONDS, retry=None).operation, "operation")


def _named(message: Any, kind: str) -> Any:
    """Refuse a response without a name: it is valid JSON, but not from the API."""
    if not message.name:
        raise BadAnswerError(0, f"the {kind} has no name")
    return message


def _request(verb: Verb, instance: str, request: str, body: Mapping[str, Any]) -> tuple[str, Any]:
    """The method of the client, and its argument."""
    from google.cloud import lustre_v1

    if verb == "create":
        parent, _, identifier = instance.partition("/instances/")
        new = {"parent": parent, "instance_id": identifier, "instance": _instance(body)}
        return "create_instance", lustre_v1.CreateInstanceRequest(**new, request_id=request)
    if verb == "update":
        changed = {"instance": _instance(body, name=instance), "update_mask": _mask(body)}
        return "update_instance", lustre_v1.UpdateInstanceRequest(**changed, request_id=request)
    if verb == "delete":
        return "delete_instance", lustre_v1.DeleteInstanceRequest(name=instance, request_id=request)
    paths = {"gcs_path": {"uri": body["uri"]}, "lustre_path": {"path": body["path"]}}
    kind = lustre_v1.ImportDataRequest if verb == "import" else lustre_v1.ExportDataRequest
    return f"{verb}_data", kind(name=instance, request_id=request, **paths)


def _instance(body: Mapping[str, Any], **more: str) -> Any:
    from google.cloud.lustre_v1 import Instance
    from google.protobuf.json_format import ParseDict

    return ParseDict({**body, **more}, Instance.pb(Instance()))


def _mask(body: Mapping[str, Any]) -> Any:
    from google.protobuf.field_mask_pb2 import FieldMask

    mask = FieldMask()
    mask.FromJsonString(",".join(body))
    return mask
