"""What a volume that cannot be mounted is put down to."""

from dataclasses import replace

from kvtier.facts.model import Event, Observed
from kvtier.plan.lustre.csi_errors import mount_hint
from unit.builders import observed
from unit.tables import table

OWNER = "chat-llama-1234"
DEVICE = 'MountVolume.MountDevice failed for volume "pvc-1" : rpc error: code = '
SUMMARY = (
    "Unable to attach or mount volumes: unmounted volumes=[lustre], unattached volumes=[kube-api-access-x7k2p lustre]: "
    "timed out waiting for the condition"
)
MGS = f"{DEVICE}Internal desc = mount failed: exit status 5 mount.lustre: Input/output error Is the MGS running?"
TAKEN = f'{DEVICE}AlreadyExists desc = A mountpoint with the same lustre filesystem name "kv" already exists on "n"'


def _world(*messages: str, pod: str = f"{OWNER}-a", reason: str = "FailedMount") -> Observed:
    return replace(
        observed(), pod_events=tuple(Event("Pod", pod, reason, text, "Warning") for text in messages)
    )


@table(
    "messages, words",
    {
        "an instance that is not reached": ([MGS], "a firewall rule has to allow TCP 988 and 6988"),
        "a file system name that is taken on the node": ([TAKEN], "a node can mount a name only once"),
        "a file system name that is wrong": (
            [f"{DEVICE}Internal desc = mount failed: exit status 2: Is the filesystem name correct?"],
            "no file system of this name",
        ),
        "modules that may not be loaded": (
            [f"{DEVICE}Internal desc = insmod: Operation not permitted"],
            "upgrade the node pool",
        ),
        "modules that are missing": (
            [f"{DEVICE}Internal desc = mount: unknown filesystem type 'lustre'"],
            "kernel modules",
        ),
        "a driver that does not run there": (
            [
                "MountVolume.MountDevice failed for volume: driver name lustre.csi.storage.gke.io not found in the "
                "list of registered CSI drivers"
            ],
            "the Lustre CSI driver does not run on the node",
        ),
        "what the kubelet knows rather than that it has waited": ([SUMMARY, MGS], "TCP 988"),
        "something unknown, in its own words": (
            [SUMMARY, f"{DEVICE}Internal desc = out of cheese"],
            "a volume cannot be mounted: Internal: out of cheese",
        ),
        "something that is not the driver's": (
            ['MountVolume.SetUp failed for volume "x" : secret "hf" not found'],
            'secret "hf" not found',
        ),
        "nothing but that it has waited": ([SUMMARY], "unattached volumes=[lustre]: timed out"),
    },
)
def test_hint(messages: list[str], words: str) -> None:
    assert words in str(mount_hint(_world(*messages).pod_events, OWNER))
    assert mount_hint(_world(*messages[::-1]).pod_events, OWNER) == mount_hint(
        _world(*messages).pod_events, OWNER
    )


@table(
    "world",
    {
        "that mounts": observed(),
        "of another owner": _world(MGS, pod="chat-llama-12345-a"),
        "with another trouble": _world(MGS, reason="Unhealthy"),
    },
)
def test_no_hint_about_a_pod(world: Observed) -> None:
    assert mount_hint(world.pod_events, OWNER) is None
