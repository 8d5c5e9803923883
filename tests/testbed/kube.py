"""A small synchronous client of the API server, for tests."""

import time
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import requests

from testbed.waiting import eventually

Object = dict[str, Any]
Objects = list[Object]

_PATIENCE = 10
_TIMEOUT_SECONDS = 30.0
_CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
FIELD_MANAGER = "testbed"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class ApiError(Exception):
    """The API server refused a request; the text is the message of its Status."""

    def __init__(self, response: requests.Response) -> None:
        try:
            status = response.json()
        except ValueError:
            status = {}
        self.code = response.status_code
        self.reason: str = status.get("reason", "")
        self.status: Object = status
        super().__init__(status.get("message") or f"{response.status_code} {response.text}")


class NotFoundError(ApiError):
    """The object does not exist."""


class Kube:
    """Reads and writes objects as plain dictionaries, under the identity of one bearer token.

    Kinds are named as in manifests (``"apps/v1", "Deployment"``); their paths come from discovery.
    """

    def __init__(self, url: str, token: str, ca_file: Path, user_agent: str = "testbed") -> None:
        self._url = url
        self._resources: dict[tuple[str, str], Object] = {}
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.verify = str(ca_file)
        self._session.headers.update({"Authorization": f"Bearer {token}", "User-Agent": user_agent})

    def request(self, method: str, path: str, timeout: float = _TIMEOUT_SECONDS, **options: Any) -> Any:
        """One HTTP request to the API server; raises ``ApiError`` unless it succeeds.

        Repeated, as every Kubernetes client does, while the server asks for it: custom resources are not served for a
        moment after a restart, and after a change of their definitions.
        """
        for _ in range(_PATIENCE):
            response = self._session.request(method, self._url + path, timeout=timeout, **options)
            if response.status_code != 429 or "Retry-After" not in response.headers:
                break
            time.sleep(float(response.headers["Retry-After"]))
        if response.status_code == 404:
            raise NotFoundError(response)
        if not response.ok:
            raise ApiError(response)
        return response.json() if "json" in response.headers.get("Content-Type", "") else response.text

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object:
        """The object, or ``NotFoundError``."""
        found: Object = self.request("GET", self.path(api_version, kind, namespace, name))
        return found

    def find(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """The object, or None."""
        try:
            return self.get(api_version, kind, name, namespace)
        except NotFoundError:
            return None

    def list(self, api_version: str, kind: str, namespace: str | None = None, **selectors: str) -> Objects:
        """Objects of one kind, of all namespaces by default.

        ``selectors`` are query parameters such as ``labelSelector`` and ``fieldSelector``. Items carry
        ``apiVersion`` and ``kind``, which the API server leaves out of lists.
        """
        listed = self.request("GET", self.path(api_version, kind, namespace), params=selectors)
        return [{"apiVersion": api_version, "kind": kind} | item for item in listed["items"]]

    def create(self, manifest: Object) -> Object:
        """Create an object from its manifest."""
        path = self.path(manifest["apiVersion"], manifest["kind"], manifest["metadata"].get("namespace"))
        created: Object = self.request("POST", path, json=manifest)
        return created

    def apply(self, manifest: Object, field_manager: str = FIELD_MANAGER, force: bool = True) -> Object:
        """Server-side apply."""
        headers = {"Content-Type": APPLY_PATCH}
        query = {"fieldManager": field_manager, "force": str(force).lower()}
        path = self._object_path(manifest)
        applied: Object = self.request("PATCH", path, json=manifest, params=query, headers=headers)
        return applied

    def replace(self, manifest: Object, subresource: str = "") -> Object:
        """Replace a whole object, or its ``subresource`` (such as ``status``)."""
        replaced: Object = self.request("PUT", self._object_path(manifest, subresource), json=manifest)
        return replaced

    def patch(
        self,
        api_version: str,
        kind: str,
        name: str,
        patch: Object | Objects,
        namespace: str | None = None,
        *,
        subresource: str = "",
    ) -> Object:
        """Merge patch (an object) or JSON patch (a list of operations)."""
        path = self.path(api_version, kind, namespace, name, subresource)
        headers = {"Content-Type": JSON_PATCH if isinstance(patch, list) else MERGE_PATCH}
        patched: Object = self.request("PATCH", path, json=patch, headers=headers)
        return patched

    def delete(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
        propagation: str = "Background",
    ) -> None:
        """Request the deletion of an object. It is not an error if the object does not exist."""
        try:
            path = self.path(api_version, kind, namespace, name)
            self.request("DELETE", path, json={"propagationPolicy": propagation})
        except NotFoundError:
            pass

    def delete_collection(
        self, api_version: str, kind: str, namespace: str | None = None, **selectors: str
    ) -> None:
        """Request the deletion of all objects of a kind, in a namespace or with selectors as for `list`."""
        path = self.path(api_version, kind, namespace)
        self.request("DELETE", path, json={"propagationPolicy": "Background"}, params=selectors)

    def events(self, namespace: str, name: str, reason: str | None = None) -> Objects:
        """Events about the object of that name, the oldest first."""
        found = self.list("v1", "Event", namespace, fieldSelector=f"involvedObject.name={name}")
        matching = [event for event in found if reason in (None, event["reason"])]
        return sorted(matching, key=lambda event: str(event["metadata"]["creationTimestamp"]))

    def wait_gone(
        self, api_version: str, kind: str, name: str, namespace: str | None = None, timeout: float = 20.0
    ) -> None:
        """Wait until an object does not exist."""
        what = f"{kind} {name} does not exist"
        eventually(lambda: self.find(api_version, kind, name, namespace) is None, timeout, what)

    def path(
        self, api_version: str, kind: str, namespace: str | None = None, name: str = "", subresource: str = ""
    ) -> str:
        """The URL path of a collection, an object or a subresource."""
        resource = self._resource(api_version, kind)
        parts = [_group_path(api_version)]
        if namespace and resource["namespaced"]:
            parts += ["namespaces", namespace]
        return "/".join([*parts, resource["name"], *filter(None, (name, subresource))])

    def _object_path(self, manifest: Mapping[str, Any], subresource: str = "") -> str:
        meta = manifest["metadata"]
        return self.path(
            manifest["apiVersion"], manifest["kind"], meta.get("namespace"), meta["name"], subresource
        )

    def _resource(self, api_version: str, kind: str) -> Object:
        if (api_version, kind) not in self._resources:
            for resource in self.request("GET", _group_path(api_version))["resources"]:
                if "/" not in resource["name"]:
                    self._resources[api_version, resource["kind"]] = resource
        try:
            return self._resources[api_version, kind]
        except KeyError:
            raise LookupError(f"the API server has no {kind} in {api_version}") from None


def _group_path(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def install_crds(kube: Kube, definitions: Iterable[Object]) -> None:
    """Apply CustomResourceDefinitions and wait until the API server serves them."""
    names = [kube.apply(definition)["metadata"]["name"] for definition in definitions]
    for name in names:
        eventually(partial(crd_served, kube, name), what=f"{name} is served")


def crd_served(kube: Kube, name: str) -> bool:
    """Whether a custom resource can be used. It is Established a moment before its paths are served."""
    definition = kube.get(*_CRD, name)
    conditions = definition.get("status", {}).get("conditions") or []  # null at first
    established = any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
    versions = [version["name"] for version in definition["spec"]["versions"] if version["served"]]
    return established and all(_is_known(kube, definition["spec"], version) for version in versions)


def _is_known(kube: Kube, spec: Object, version: str) -> bool:
    try:
        known = kube.request("GET", f"/apis/{spec['group']}/{version}")["resources"]
    except NotFoundError:
        return False
    plural = spec["names"]["plural"]
    if not any(one["name"] == plural for one in known):
        return False
    kube.request("GET", f"/apis/{spec['group']}/{version}/{plural}?limit=1")  # waits for its storage
    return True
