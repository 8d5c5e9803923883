"""The command line of every component."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from testbed.gke import PROJECT, ZONE

PACKAGES = Path(__file__).parents[2]
KWOK_STAGES = PACKAGES / "testbed" / "gke" / "kwok_stages.yaml"

Command = Callable[["Layout"], list[str]]


@dataclass(frozen=True)
class Ports:
    """Loopback ports of one control plane."""

    api: int
    etcd: int
    etcd_peer: int
    steering: int
    provisioner: int
    resizer: int
    lustre_api: int


@dataclass(frozen=True)
class Layout:
    """Where the files and ports of one control plane are."""

    directory: Path
    binaries: Path
    ports: Ports
    version: str
    csi_timeout: float
    csi: bool

    @property
    def socket(self) -> Path:
        """The socket of the CSI driver. Sidecars accept only an absolute path."""
        return self.directory / "csi.sock"

    def file(self, name: str) -> str:
        """The absolute path of a file of the control plane."""
        return str(self.directory / name)

    def kubeconfig(self, user: str) -> str:
        """The kubeconfig of one of the static users."""
        return self.file(f"kubeconfigs/{user}")


def etcd(layout: Layout) -> list[str]:
    """Without fsync: the data need not survive a crash of the machine."""
    client, peer = (f"http://127.0.0.1:{port}" for port in (layout.ports.etcd, layout.ports.etcd_peer))
    return [
        "--data-dir=etcd",
        "--unsafe-no-fsync",
        "--log-level=warn",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
    ]


def kube_apiserver(layout: Layout) -> list[str]:
    """With RBAC and an audit log. It publishes no endpoints, because it serves on loopback."""
    return [
        f"--version={layout.version}",
        f"--etcd-servers=http://127.0.0.1:{layout.ports.etcd}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={layout.ports.api}",
        "--endpoint-reconciler-type=none",
        "--tls-cert-file=certs/apiserver.crt",
        "--tls-private-key-file=certs/apiserver.key",
        "--authorization-mode=RBAC",
        "--token-auth-file=tokens.csv",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-account-key-file=certs/sa.key",
        "--service-account-signing-key-file=certs/sa.key",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--allow-privileged",
        "--profiling=false",
        "--audit-policy-file=audit-policy.yaml",
        "--audit-log-path=audit.log",
        *_aggregation(),
    ]


def _aggregation() -> list[str]:
    """Options that let an aggregated API, such as the metrics server of a test, trust the API server."""
    return [
        "--requestheader-client-ca-file=certs/front-proxy-ca.crt",
        "--requestheader-allowed-names=",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--proxy-client-cert-file=certs/front-proxy.crt",
        "--proxy-client-key-file=certs/front-proxy.key",
    ]


_CLIENT = ["--leader-elect=false", "--secure-port=0", "--kube-api-qps=200", "--kube-api-burst=400"]


def kube_controller_manager(layout: Layout) -> list[str]:
    """Periods are short, so that tests do not wait for the next round."""
    return [
        f"--kubeconfig={layout.kubeconfig('system:kube-controller-manager')}",
        "--service-account-private-key-file=certs/sa.key",
        "--root-ca-file=certs/ca.crt",
        "--use-service-account-credentials",
        "--node-monitor-grace-period=24h",  # kwok's nodes send heartbeats rarely
        "--pvclaimbinder-sync-period=2s",
        "--horizontal-pod-autoscaler-sync-period=2s",
        "--horizontal-pod-autoscaler-downscale-stabilization=5s",
        "--horizontal-pod-autoscaler-initial-readiness-delay=1s",
        "--horizontal-pod-autoscaler-cpu-initialization-period=1s",
        *_CLIENT,
    ]


def kube_scheduler(layout: Layout) -> list[str]:
    """Without leader election, because there is only one."""
    return [f"--kubeconfig={layout.kubeconfig('system:kube-scheduler')}", *_CLIENT]


def kwok(layout: Layout) -> list[str]:
    """Plays the kubelet of the annotated nodes, with our stages.

    It uses no node Leases: with them, kwok 0.8 ignores a Pod forever if it sees the Pod between the creation of the
    Lease of its node and the event of that Lease.
    """
    return [
        f"--kubeconfig={layout.kubeconfig('testbed:kwok')}",
        f"--config={KWOK_STAGES}",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
        "--node-ip=10.128.0.1",
        "--cidr=10.8.0.0/16",
        "--node-lease-duration-seconds=0",
        "-v=WARN",
    ]


def lustre_csi(layout: Layout) -> list[str]:
    """The driver, with its steering port."""
    return [
        f"--socket={layout.socket}",
        f"--steering-address=127.0.0.1:{layout.ports.steering}",
        "--state-file=lustre.json",
        f"--project={PROJECT}",
        f"--zone={ZONE}",
    ]


def lustre_api(layout: Layout) -> list[str]:
    """The Managed Lustre API, which also serves the instances of the CSI driver."""
    driver = [f"--csi-url=http://127.0.0.1:{layout.ports.steering}", f"--csi-project={PROJECT}"]
    return [f"--port={layout.ports.lustre_api}", *(driver if layout.csi else [])]


def csi_provisioner(layout: Layout) -> list[str]:
    """With the options of the driver's own manifests."""
    options = ["--extra-create-metadata", "--feature-gates=Topology=true"]
    return [*options, *_sidecar(layout, layout.ports.provisioner)]


def csi_resizer(layout: Layout) -> list[str]:
    """With the options of the driver's own manifests."""
    return ["--handle-volume-inuse-error=false", *_sidecar(layout, layout.ports.resizer)]


def _sidecar(layout: Layout, port: int) -> list[str]:
    return [
        f"--kubeconfig={layout.kubeconfig('testbed:csi')}",
        f"--csi-address={layout.socket}",
        f"--timeout={layout.csi_timeout:g}s",
        "--retry-interval-start=500ms",
        "--retry-interval-max=3s",
        f"--http-endpoint=127.0.0.1:{port}",
        "--kube-api-qps=100",
        "--kube-api-burst=200",
        "--v=2",
    ]


COMMANDS: dict[str, Command] = {
    "etcd": etcd,
    "kube-apiserver": kube_apiserver,
    "kube-controller-manager": kube_controller_manager,
    "kube-scheduler": kube_scheduler,
    "kwok": kwok,
    "lustre-csi": lustre_csi,
    "lustre-api": lustre_api,
    "csi-provisioner": csi_provisioner,
    "csi-resizer": csi_resizer,
}

_MODULES = {"lustre-api": "testbed.lustre.server"}


def command(name: str, layout: Layout) -> list[str]:
    """The command line of a component. Our own components need ``PACKAGES`` in their PYTHONPATH."""
    module = _MODULES.get(name)
    program = [sys.executable, "-m", module] if module else [str(layout.binaries / name)]
    return [*program, *COMMANDS[name](layout)]
