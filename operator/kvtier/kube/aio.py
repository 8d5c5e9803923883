"""KubeClient on `kubernetes.aio`: raw JSON in and out, because typed models cost more than they check here."""

import json
import os
import re
from typing import Any
from urllib.parse import urlencode
from urllib.request import getproxies_environment

import aiohttp
import yaml
from kubernetes.aio import config
from kubernetes.aio.client.api_client import ApiClient
from kubernetes.aio.client.configuration import Configuration

from kvtier import __version__
from kvtier.api.kinds import Object, Resource
from kvtier.api.names import FIELD_MANAGER
from kvtier.kube.client import ApiError
from kvtier.kube.documents import decode

# The parameter keeps the client from encoding the body once more.
_APPLY = {"Content-Type": "application/apply-patch+yaml; charset=utf-8"}
_METADATA = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
_PAGE = 500
_TIMEOUT_SECONDS = 30.0


async def connect(
    kubeconfig: str | None = None, context: str | None = None, connections: int = 16
) -> ApiClient:
    """A client for the kubeconfig or, in a Pod without one, for the cluster of the Pod.

    ApiError if the configuration cannot be read.
    """
    configuration = Configuration()
    try:
        await _configure(configuration, kubeconfig, context)
    except (config.ConfigException, OSError, yaml.YAMLError) as error:
        raise ApiError(0, "NoCluster", str(error)) from error
    configuration.connection_pool_maxsize = connections
    # With trust_env, aiohttp uses two threads per request to look for a proxy. So it is on only if a proxy is set.
    configuration.client_session_kwargs = {"trust_env": bool(getproxies_environment())}
    client = ApiClient(configuration)
    client.user_agent = f"kvtier/{__version__}"
    return client


async def _configure(configuration: Configuration, kubeconfig: str | None, context: str | None) -> None:
    if kubeconfig is None and "KUBERNETES_SERVICE_HOST" in os.environ:
        config.load_incluster_config(client_configuration=configuration)
    else:
        await config.load_kube_config(kubeconfig, context=context, client_configuration=configuration)


class AioClient:
    """The protocol of `kube.client`, over one connection pool."""

    def __init__(self, client: ApiClient) -> None:
        self.api = client

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        return await self._optional("GET", resource.path(namespace, name))

    async def get_metadata(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        return await self._optional("GET", resource.path(namespace, name), headers=_METADATA)

    async def list(
        self, resource: Resource, namespace: str | None = None, selector: str = "", fields: str = ""
    ) -> list[Object] | None:
        objects: list[Object] = []
        names = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
        }  # the items of a list do not have them
        query = {"limit": str(_PAGE), "labelSelector": selector, "fieldSelector": fields}
        while True:
            page = await self._optional("GET", f"{resource.path(namespace)}?{urlencode(query)}")
            if page is None:
                return None
            objects += ({**names, **item} for item in page.get("items") or ())
            query["continue"] = page.get("metadata", {}).get("continue")
            if not query["continue"]:
                return objects

    async def apply(self, resource: Resource, manifest: Object, manager: str = FIELD_MANAGER) -> Object:
        return await self._apply(resource, manifest, "", manager)

    async def create(self, resource: Resource, manifest: Object) -> Object:
        return await self._request(
            "POST", resource.path(manifest["metadata"].get("namespace")), dict(manifest)
        )

    async def replace(self, resource: Resource, manifest: Object) -> Object:
        metadata = manifest["metadata"]
        return await self._request(
            "PUT", resource.path(metadata.get("namespace"), metadata["name"]), dict(manifest)
        )

    async def patch_status(self, resource: Resource, manifest: Object) -> Object:
        return await self._apply(resource, manifest, "/status", FIELD_MANAGER)

    async def delete(self, resource: Resource, namespace: str | None, name: str, uid: str) -> None:
        # Explicit, because by default the Pods of a deleted Job stay.
        body: dict[str, Any] = {"propagationPolicy": "Background"}
        if uid:
            body["preconditions"] = {"uid": uid}
        try:
            await self._request("DELETE", resource.path(namespace, name), body)
        except ApiError as error:
            if error.status not in (404, 409):
                raise

    async def server_version(self) -> str:
        return str((await self._request("GET", "/version")).get("gitVersion", ""))

    async def schema(self, resource: Resource) -> Object:
        """The OpenAPI schema that the API server has of a kind, {} if it has none. Every client may read it."""
        group = await self._optional("GET", f"/openapi/v3/apis/{resource.api_version}")
        found = (group or {}).get("components", {}).get("schemas", {})
        about = {"group": resource.group, "version": resource.version, "kind": resource.kind}
        return next(
            (one for one in found.values() if about in one.get("x-kubernetes-group-version-kind", ())), {}
        )

    async def _apply(self, resource: Resource, manifest: Object, subresource: str, manager: str) -> Object:
        metadata = manifest["metadata"]
        path = resource.path(metadata.get("namespace"), metadata["name"]) + subresource
        query = urlencode({"fieldManager": manager, "force": "true"})
        return await self._request("PATCH", f"{path}?{query}", as_yaml(manifest), _APPLY)

    async def _optional(
        self, method: str, path: str, headers: dict[str, str] | None = None
    ) -> dict[str, Any] | None:
        try:
            return await self._request(method, path, headers=headers)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    async def _request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """Send one request. No answer, a broken connection and an unreadable answer are ApiErrors with status 0."""
        try:
            arguments = await self.api.param_serialize(
                method,
                path,
                header_params={"Accept": "application/json", **(headers or {})},
                body=body,
                auth_settings=["BearerToken"],
            )
            response = await self.api.call_api(*arguments, _request_timeout=_TIMEOUT_SECONDS)
            data = await response.read()
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise ApiError(0, "Unreachable", f"the API server did not answer: {error!r}") from error
        return _decode(response.status, data, response.getheader("Retry-After"))


_ESCAPED = re.compile("[\x7f-\uffff]")


def as_yaml(manifest: Object) -> bytes:
    """The manifest in JSON that is YAML, too.

    YAML has no surrogate pairs, so characters above U+FFFF are sent as they are. The others above ASCII are escaped:
    YAML forbids some of them, and takes some for line breaks. A lone surrogate becomes U+FFFD.
    """
    return _ESCAPED.sub(_escape, json.dumps(manifest, ensure_ascii=False)).encode()


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{0xFFFD if 0xD800 <= code <= 0xDFFF else code:04x}"


def _decode(status: int, data: bytes, retry_after: str | None) -> dict[str, Any]:
    """The document in an answer. ApiError for a refusal, and for an answer that is not from the API server."""
    try:
        document = decode(data)
    except ValueError:
        document = None
    if status >= 400:
        known = document if isinstance(document, dict) else {"message": data[:200].decode(errors="replace")}
        delay = float(retry_after) if retry_after and retry_after.isdigit() else None
        raise ApiError(status, known.get("reason") or "Error", known.get("message") or "no message", delay)
    if not isinstance(document, dict):
        text = data[:200].decode(errors="replace")
        raise ApiError(0, "BadAnswer", f"the API server returned no JSON object: {text!r}")
    return document
