"""Access to a running control plane. The process that started it owns its processes."""

import json
import os
import subprocess
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from testbed.control_plane.audit import AuditLog
from testbed.control_plane.credentials import ADMIN, write_kubeconfig
from testbed.kube import Kube
from testbed.lustre.client import LustreAPIClient
from testbed.lustre.csi_driver import LustreService

_TOKEN_SECONDS = 12 * 3600


@dataclass(frozen=True)
class LustreURLs:
    """The two URLs of the simulated Managed Lustre: the steering port of the CSI driver, and the API."""

    csi: str
    api: str


class KubectlError(RuntimeError):
    """kubectl ended with an error; the text is what it wrote to stderr."""


class Cluster:
    """Access to a control plane through its directory. Several processes may share one."""

    def __init__(
        self, directory: Path, url: str, lustre: LustreURLs, binaries: Path, tokens: dict[str, str]
    ) -> None:
        self.directory = directory
        self.url = url
        self.ca_file = directory / "certs" / "ca.crt"
        self.kubeconfig = directory / "kubeconfigs" / "admin"
        self.binaries = binaries
        self._lustre = lustre
        self._tokens = tokens

    def save(self, path: Path) -> None:
        """Write a file, atomically, that ``load`` reads in another process."""
        scratch = path.with_suffix(".tmp")
        scratch.touch(mode=0o600)
        description = {
            "directory": str(self.directory),
            "url": self.url,
            "lustre": asdict(self._lustre),
            "binaries": str(self.binaries),
            "tokens": self._tokens,
        }
        scratch.write_text(json.dumps(description))
        scratch.rename(path)

    @staticmethod
    def load(path: Path) -> "Cluster":
        """The cluster that another process has saved."""
        known = json.loads(path.read_text())
        directory, binaries = Path(known["directory"]), Path(known["binaries"])
        return Cluster(directory, known["url"], LustreURLs(**known["lustre"]), binaries, known["tokens"])

    @cached_property
    def kube(self) -> Kube:
        """The administrator's client."""
        return self.client(ADMIN)

    @cached_property
    def lustre(self) -> LustreService:
        """The simulated Managed Lustre service behind the CSI driver."""
        return LustreService(self._lustre.csi)

    @cached_property
    def lustre_api(self) -> LustreAPIClient:
        """The simulated Managed Lustre API; its ``url`` is the endpoint."""
        return LustreAPIClient(self._lustre.api)

    @property
    def audit(self) -> AuditLog:
        """The requests to the API server, without those of the test bed's own components."""
        return AuditLog(self.directory / "audit.log")

    def client(self, user: str) -> Kube:
        """A client under the identity of one of the static users."""
        return Kube(self.url, self._tokens[user], self.ca_file)

    def service_account_token(self, namespace: str, name: str) -> str:
        """A token of a service account, as in a Pod with it."""
        path = self.kube.path("v1", "ServiceAccount", namespace, name, "token")
        request = {"spec": {"expirationSeconds": _TOKEN_SECONDS}}
        return str(self.kube.request("POST", path, json=request)["status"]["token"])

    def service_account_kubeconfig(self, namespace: str, name: str, url: str = "") -> Path:
        """A kubeconfig of a service account, with the permissions of its RBAC. ``url`` is a proxy of the API server."""
        token = self.service_account_token(namespace, name)
        path = self.kubeconfig.parent / f"{namespace}.{name}{'.proxied' if url else ''}"
        return write_kubeconfig(path, url or self.url, self.ca_file, token, namespace)

    def kubectl(
        self, *args: str, input: str | None = None, check: bool = True, timeout: float = 60.0
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as the administrator; a failure raises ``KubectlError`` unless ``check`` is off."""
        env = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self.directory),
            "KUBECONFIG": str(self.kubeconfig),
        }
        command = [str(self.binaries / "kubectl"), *args]
        done = subprocess.run(
            command, check=False, input=input, text=True, capture_output=True, env=env, timeout=timeout
        )
        if check and done.returncode != 0:
            raise KubectlError(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
        return done
