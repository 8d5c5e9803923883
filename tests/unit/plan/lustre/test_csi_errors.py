"""What is read out of an error that a sidecar or kubelet quotes."""

import pytest

from kvtier.facts.model import Event
from kvtier.plan.lustre.csi_errors import DriverError, mount_hint, parse
from unit.tables import table

RPC = "rpc error: code = Internal desc = "


@table(
    "message, code, words",
    {
        "the provisioner's words": (
            'failed to provision volume with StorageClass "c": rpc error: code = ResourceExhausted desc = no room',
            "ResourceExhausted",
            "no room",
        ),
        "the provisioner's words about what is infeasible": (
            "Volume provisioning failed with infeasible error. Retries will be delayed. failed to provision volume: "
            "rpc error: code = InvalidArgument desc = bad",
            "InvalidArgument",
            "bad",
        ),
        "the outermost of several codes": (
            f"rpc error: code = Aborted desc = {RPC}x",
            "Aborted",
            f"{RPC}x",
        ),
        "a code as Go spells it": ("rpc error: code = Canceled desc = x", "Cancelled", "x"),
        "no code": ('storageclass "c" not found', "", 'storageclass "c" not found'),
        "nothing": ("", "", ""),
        "several lines": (f"{RPC}a\n  b\tc", "Internal", "a b c"),
        "an empty description": (RPC, "Internal", ""),
        "long words, which are cut": (RPC + "x" * 5000, "Internal", "x" * 300 + "..."),
    },
)
def test_parsed(message: str, code: str, words: str) -> None:
    assert parse(message) == DriverError(code, words)


@pytest.mark.parametrize(
    "fleeting",
    [
        "googleapi: Error 403: denied\nDetails:\n[\n {'requestId': '1'} ]",
        "denied (Help Token: AbC-12_x)",
        "denied, request id: 5f3a-77",
        'denied requestID: "5f3a-77"',
        "denied at 2026-11-29T12:00:00.123Z",
        "denied 0xc000123456",
        "denied.",
    ],
)
def test_what_differs_from_one_try_to_the_next_is_left_out(fleeting: str) -> None:
    words = parse(RPC + fleeting).words
    assert words.rstrip(" at").endswith("denied")
    assert "5f3a" not in words


OWNER = "chat-llama-1234"
DEVICE = 'MountVolume.MountDevice failed for volume "pvc-1" : rpc error: code = '
SUMMARY = (
    "Unable to attach or mount volumes: unmounted volumes=[lustre], unattached volumes=[kube-api-access-x7k2p lustre]: "
    "timed out waiting for the condition"
)
MGS = f"{DEVICE}Internal desc = mount failed: exit status 5 mount.lustre: Input/output error Is the MGS running?"
TAKEN = f'{DEVICE}AlreadyExists desc = A mountpoint with the same lustre filesystem name "kv" already exists on "n"'
NO_DRIVER = "MountVolume.MountDevice failed: driver name x not found in the list of registered CSI drivers"


def _event(message: str, pod: str = f"{OWNER}-a", reason: str = "FailedMount") -> Event:
    return Event("Pod", pod, reason, message, "Warning")


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
        "a driver that does not run there": ([NO_DRIVER], "the Lustre CSI driver does not run on the node"),
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
    events = [_event(message) for message in messages]
    hint = mount_hint(events, OWNER)
    assert words in str(hint)
    assert mount_hint(events[::-1], OWNER) == hint


@table(
    "events",
    {
        "that mounts": [],
        "of another owner": [_event(MGS, pod="chat-llama-12345-a")],
        "with another trouble": [_event(MGS, reason="Unhealthy")],
    },
)
def test_no_hint_about_a_pod(events: list[Event]) -> None:
    assert mount_hint(events, OWNER) is None
