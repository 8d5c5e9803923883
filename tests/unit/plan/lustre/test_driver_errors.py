"""What is read out of an error that a sidecar or kubelet quotes."""

import pytest

from kvtier.plan.lustre.csi_errors import DriverError, parse
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
            "rpc error: code = Aborted desc = rpc error: code = Internal desc = x",
            "Aborted",
            "rpc error: code = Internal desc = x",
        ),
        "a code as Go spells it": ("rpc error: code = Canceled desc = x", "Cancelled", "x"),
        "no code": ('storageclass "c" not found', "", 'storageclass "c" not found'),
        "nothing": ("", "", ""),
        "several lines": (f"{RPC}a\n  b\tc", "Internal", "a b c"),
        "an empty description": (f"{RPC}", "Internal", ""),
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


def test_long_words_are_cut() -> None:
    assert len(parse(RPC + "x" * 5000).words) == 303
