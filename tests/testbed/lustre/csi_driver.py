"""Steers the simulated Managed Lustre service behind the CSI driver."""

from dataclasses import dataclass
from typing import Any

import requests

_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True)
class State:
    """The state of the service: instances by name, and the calls of the sidecars."""

    config: dict[str, Any]
    scoped: dict[str, dict[str, Any]]
    instances: dict[str, dict[str, Any]]
    calls: list[dict[str, Any]]
    faults: list[dict[str, Any]]


class LustreService:
    """The steering port. With a namespace, everything applies only to the PVCs of that namespace."""

    def __init__(self, url: str, namespace: str = "") -> None:
        self._url = url
        self._namespace = namespace

    def scoped(self, namespace: str) -> "LustreService":
        """The same service, restricted to one namespace. It does not affect other tests."""
        return LustreService(self._url, namespace)

    def configure(
        self,
        create_seconds: float | None = None,
        resize_seconds: float | None = None,
        delete_seconds: float | None = None,
        quota_gib: int | None = None,
        resize_state: str | None = None,
    ) -> None:
        """Change how long operations take, the quota (0: none), and the state during a resize.

        The quota of a namespace counts only the instances of that namespace.
        """
        settings = {
            "createSeconds": create_seconds,
            "resizeSeconds": resize_seconds,
            "deleteSeconds": delete_seconds,
            "quotaGib": quota_gib,
            "resizeState": resize_state,
        }
        self._post("/config", {key: value for key, value in settings.items() if value is not None})

    def fail(self, method: str, code: str, message: str, times: int = 1, match: str = "") -> None:
        """Make the next calls fail; ``times=-1`` is always, ``match`` a pattern for the request.

        ``method`` is an RPC (CreateVolume, DeleteVolume, ControllerExpandVolume) or an operation of the service
        (CreateInstance, UpdateInstance, DeleteInstance). A failed CreateInstance is final: every retry for the same
        PersistentVolume gets the same response.
        """
        self._post(
            "/fault", {"method": method, "code": code, "message": message, "times": times, "match": match}
        )

    def reset(self) -> None:
        """Return to instant operations without quota or faults. Instances are kept."""
        self._post("/reset", {})

    def state(self) -> State:
        """A snapshot; with a namespace, only its instances and calls."""
        response = requests.get(self._url + "/state", timeout=_TIMEOUT_SECONDS)
        response.raise_for_status()
        shown = response.json()
        return State(
            config=shown["config"],
            scoped=shown["scoped"],
            instances={name: one for name, one in shown["instances"].items() if self._owns(one)},
            calls=[call for call in shown["calls"] or [] if self._namespace in ("", call.get("namespace"))],
            faults=shown["faults"] or [],
        )

    def _owns(self, instance: dict[str, Any]) -> bool:
        owner = instance.get("labels", {}).get("kubernetes_io_created-for_pvc_namespace")
        return self._namespace in ("", owner)

    def _post(self, path: str, body: dict[str, Any]) -> None:
        scope = {"namespace": self._namespace} if self._namespace else {}
        response = requests.post(self._url + path, json=body | scope, timeout=_TIMEOUT_SECONDS)
        if not response.ok:
            raise ValueError(f"{path}: {response.text.strip()}")
