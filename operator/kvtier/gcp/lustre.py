"""The Managed Lustre API (google-cloud-lustre): instances, and the operations that change them."""

import os
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

from kvtier.gcp import calls
from kvtier.gcp.errors import BadAnswerError, GoogleError

Verb = Literal["create", "update", "delete", "import", "export"]

ENDPOINT_VARIABLE = "KVTIER_LUSTRE_ENDPOINT"
"""Overrides the API's address, for tests and private endpoints; an http:// address is called without credentials."""

_THREAD = "lustre-api"
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_TRANSFERS = ("ImportDataMetadata", "ExportDataMetadata")


class _Clients(NamedTuple):
    """Google's client, and an authorized `requests.Session` for what it cannot do."""

    client: Any
    session: Any
    url: str


async def get_instance(name: str) -> Any:
    """The `lustre_v1.Instance` of this full name; GoogleError, and nothing else, without one within 15 s."""
    endpoint = _endpoint()
    return await calls.answer(_THREAD, lambda: _get_instance(_clients(endpoint), name))


async def get_operation(name: str) -> Any:
    """The `longrunning.Operation` of this full name, without its response; GoogleError as above."""
    endpoint = _endpoint()
    return await calls.answer(_THREAD, lambda: _get_operation(_clients(endpoint), name))


async def start(verb: Verb, instance: str, request: str, body: Mapping[str, Any]) -> Any:
    """Start an operation; the `longrunning.Operation`, or GoogleError as above.

    `instance` is the full name, `request` a UUID by which a repeat starts nothing new (for 60 minutes at
    least, says the API). `body` has, for create and update, the Instance's fields in the API's JSON (an update
    changes just these), for import and export {"uri": "gs://BUCKET/PREFIX/", "path": "/DIRECTORY/"}.
    """
    endpoint = _endpoint()
    return await calls.answer(_THREAD, lambda: _start(_clients(endpoint), verb, instance, request, body))


def transfer(operation: Any) -> Any:
    """The `lustre_v1.TransferOperationMetadata` of an import or export, None of any other operation."""
    from google.cloud import lustre_v1

    kind = operation.metadata.type_url.rpartition(".")[2]
    if kind not in _TRANSFERS:
        return None
    return getattr(lustre_v1, kind).deserialize(operation.metadata.value).operation_metadata


def _endpoint() -> str:
    return os.environ.get(ENDPOINT_VARIABLE, "")


@cache
def _clients(endpoint: str) -> _Clients:
    """One per address and process. Imported on first use: it costs 0.4 s and 26 MB."""
    import google.auth
    from google.auth.transport.requests import AuthorizedSession
    from google.cloud import lustre_v1

    options = calls.connection(endpoint)
    credentials = options["credentials"] or google.auth.default(scopes=[_SCOPE])[0]
    client = lustre_v1.LustreClient(**options | {"credentials": credentials})
    host = client.api_endpoint
    return _Clients(client, AuthorizedSession(credentials), host if "://" in host else f"https://{host}")


def _get_instance(clients: _Clients, name: str) -> Any:
    found = clients.client.get_instance(name=name, timeout=calls.SOCKET_SECONDS, retry=None)
    return _named(found, "instance")


def _get_operation(clients: _Clients, name: str) -> Any:
    """Without the client, which takes no field that it does not know, in this one answer (0.4.3)."""
    from google.api_core.exceptions import from_http_response
    from google.longrunning.operations_pb2 import Operation
    from google.protobuf.json_format import ParseDict

    reply = clients.session.get(f"{clients.url}/v1/{name}", timeout=calls.SOCKET_SECONDS)
    if reply.status_code >= 400:
        raise from_http_response(reply)
    document = reply.json()
    document.pop("response", None)
    document.get("error", {}).pop("details", None)
    return _named(ParseDict(document, Operation(), ignore_unknown_fields=True), "operation")


def _start(clients: _Clients, verb: Verb, instance: str, request: str, body: Mapping[str, Any]) -> Any:
    try:
        method, message = _request(verb, instance, request, body)
    except Exception as error:
        raise GoogleError(0, f"cannot be said to the API: {error}", "InvalidArgument") from error
    call = getattr(clients.client, method)
    return _named(call(request=message, timeout=calls.SOCKET_SECONDS, retry=None).operation, "operation")


def _named(message: Any, kind: str) -> Any:
    """An answer without a name is not the API's, though JSON may be read so."""
    if not message.name:
        raise BadAnswerError(0, f"an {kind} without a name")
    return message


def _request(verb: Verb, instance: str, request: str, body: Mapping[str, Any]) -> tuple[str, Any]:
    """The client's method, and what to give it."""
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
