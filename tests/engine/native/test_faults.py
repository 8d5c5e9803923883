"""A broken shared tier costs cache hits. It never causes a failed request or a wrong answer."""

import os
from pathlib import Path

import pytest

from engine.native.shared import STORED, TOKENS, Shared, look_up, pod
from engine.replica import Replica
from engine.server import Server
from engine.small import prompt
from testbed.process import ComponentError
from testbed.waiting import eventually
from unit.tables import table

pytestmark = pytest.mark.timeout(900)
Second = tuple[Replica, Server]


def test_a_deleted_file_is_computed_again(shared: Shared, second: Second) -> None:
    for file in shared.files["deleted"]:
        file.unlink()
    answer, found = look_up(second[1], "deleted")
    assert (answer.tokens, found) == (shared.answers["deleted"].tokens, 0)


def test_a_truncated_file_is_computed_again(shared: Shared, second: Second) -> None:
    """The first file that is read is replaced. The other files of the prompt are not read, and do not change."""
    sizes = {file: file.stat().st_size for file in shared.files["truncated"]}
    for file, size in sizes.items():
        os.truncate(file, size // 2)
    answer, _ = look_up(second[1], "truncated")
    assert answer.tokens == shared.answers["truncated"].tokens
    short = [file for file, size in sizes.items() if file.exists() and file.stat().st_size < size]
    assert len(short) == len(sizes) - 1


@table(
    "name, breaks, heals",
    {
        "read-only": (
            "read-only",
            "mount -o remount,bind,ro $ROOT/kv/lustre",
            "mount -o remount,bind,rw $ROOT/kv/lustre",
        ),
        "full": (
            "full",
            "mount -t tmpfs -o size=64k,mode=777 tmpfs $ROOT/kv/lustre",
            "umount $ROOT/kv/lustre",
        ),
        "unmounted": (
            "unmounted",
            "mount --move $ROOT/kv/lustre $ROOT/away",
            "mount --move $ROOT/away $ROOT/kv/lustre",
        ),
    },
)
def test_a_prompt_is_computed_when_its_blocks_and_the_tier_were_deleted(
    name: str, breaks: str, heals: str, shared: Shared, second: Second
) -> None:
    running, server = second
    for file in shared.files[name]:
        file.unlink()
    running.pod.execute(breaks, server.container)
    failed = _not_stored(server)
    try:
        answer, found = look_up(server, name)
        again = server.ask(prompt(name, TOKENS))
        eventually(lambda: _not_stored(server) > failed, 60, "the engine could not store")
        left = list(server.container.path("/kv/lustre").rglob("*.tmp"))
    finally:
        running.pod.execute(heals, server.container)
    assert (answer.tokens, found) == (shared.answers[name].tokens, 0)
    assert again.tokens == answer.tokens
    assert left == []


def _not_stored(server: Server) -> float:
    """Stores to the shared tier that failed or were skipped after failures. vLLM reports them with the next request."""
    server.ask(prompt("any", 3), tokens=1)
    names = ("cascade_job_failures", "backpressure_stores_dropped")
    return sum(server.metric(f"vllm:kv_offload_tiering_{name}_total", tier="2:fs") for name in names)


def test_blocks_of_a_read_only_tier_are_still_found(shared: Shared, second: Second) -> None:
    running, server = second
    running.pod.execute("mount -o remount,bind,ro $ROOT/kv/lustre", server.container)
    try:
        with pytest.raises(OSError, match="Read-only"):
            server.container.path("/kv/lustre/new").touch()
        answer, found = look_up(server, "whole while read-only")
    finally:
        running.pod.execute("mount -o remount,bind,rw $ROOT/kv/lustre", server.container)
    assert (answer.tokens, found) == (shared.answers["whole while read-only"].tokens, STORED)


@pytest.mark.parametrize("shared", ["0.33"], indirect=True)
def test_an_engine_ends_at_start_when_a_tier_is_not_usable(shared: Shared, tmp_path: Path) -> None:
    """The second case is a control: kvtier renders a /dev/shm for the tier and some headroom.

    One version is enough, and parallel starts take half the time.
    """
    with (
        pod(shared, tmp_path / "read-only") as read_only,
        pod(shared, tmp_path / "narrow", shm="256Mi") as narrow,
    ):
        read_only.pod.execute("mount -t tmpfs -o ro tmpfs $ROOT/kv/lustre")
        started = {
            "Read-only file system": read_only.start(),
            "Insufficient space in /dev/shm": narrow.start(),
        }
        for cause, server in started.items():
            with pytest.raises(ComponentError, match=cause):
                server.wait_ready()
