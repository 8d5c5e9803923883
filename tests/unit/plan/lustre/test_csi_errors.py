"""Parsing of an error that a sidecar or kubelet quotes."""

import pytest

from kvtier.facts.model import Event
from kvtier.plan.lustre.csi_errors import DriverError, mount_hint, parse
from unit.tables import table

RPC = "rpc error: code = Internal desc = "


@table(
    "message, code, words",
    {
        "an error of the provisioner": (
            'failed to provision volume with StorageClass "c": rpc error: code = ResourceExhausted desc = no room',
            "ResourceExhausted",
            "no room",
        ),
        "an infeasible error of the provisioner": (
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
        "a long text, which is cut": (RPC + "x" * 5000, "Internal", "x" * 300 + "..."),
    },
)
def test_the_code_and_the_words_are_parsed(message: str, code: str, words: str) -> None:
    assert parse(message) == DriverError(code, words)


@pytest.mark.parametrize(
    "varying",
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
def test_parts_that_differ_between_attempts_are_left_out(varying: str) -> None:
    words = parse(RPC + varying).words
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
        "an instance that the node does not reach": ([MGS], "a firewall rule allows TCP 988 and 6988"),
        "a file system name that is already mounted on the node": (
            [TAKEN],
            "a node can mount a name only once",
        ),
        "a file system name that is wrong": (
            [f"{DEVICE}Internal desc = mount failed: exit status 2: Is the filesystem name correct?"],
            "no file system of this name",
        ),
        "modules that the kernel refuses": (
            [f"{DEVICE}Internal desc = insmod: Operation not permitted"],
            "Upgrade the node pool",
        ),
        "missing modules": (
            [f"{DEVICE}Internal desc = mount: unknown filesystem type 'lustre'"],
            "kernel modules",
        ),
        "a driver that does not run there": ([NO_DRIVER], "The Lustre CSI driver does not run on the node"),
        "the reason of the kubelet before its summary": ([SUMMARY, MGS], "TCP 988"),
        "an unknown error, which is quoted": (
            [SUMMARY, f"{DEVICE}Internal desc = out of cheese"],
            "The Pod cannot mount a volume. The kubelet reports: Internal: out of cheese.",
        ),
        "an error that is not from the driver": (
            ['MountVolume.SetUp failed for volume "x" : secret "hf" not found'],
            'secret "hf" not found',
        ),
        "an error without a text": (["rpc error: code = Internal desc = "], "reports: Internal: no details."),
        "nothing": ([""], "The kubelet reports: no details."),
        "only the summary of the kubelet": ([SUMMARY], "unattached volumes=[lustre]: timed out"),
    },
)
def test_the_hint_names_the_cause(messages: list[str], words: str) -> None:
    events = [_event(message) for message in messages]
    hint = mount_hint(events, OWNER)
    assert words in str(hint)
    assert str(hint)[0].isupper()
    assert str(hint).endswith(".")
    assert mount_hint(events[::-1], OWNER) == hint


@table(
    "events",
    {
        "of a Pod that mounts": [],
        "of another owner": [_event(MGS, pod="chat-llama-12345-a")],
        "with another problem": [_event(MGS, reason="Unhealthy")],
    },
)
def test_there_is_no_hint_with_events(events: list[Event]) -> None:
    assert mount_hint(events, OWNER) is None
