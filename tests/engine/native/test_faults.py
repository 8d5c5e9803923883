"""A shared tier that is broken costs hits. It never costs a request, nor a right answer."""

import os
from pathlib import Path

import pytest

from engine.native.shared import STORED, TOKENS, Shared, look_up, pod
from engine.replica import Replica
from engine.server import Server
from engine.small import prompt
from testbed.process import ComponentError
from unit.tables import table

pytestmark = pytest.mark.timeout(900)
Second = tuple[Replica, Server]


def test_a_deleted_file_is_computed_again(shared: Shared, second: Second) -> None:
    for file in shared.files["deleted"]:
        file.unlink()
    answer, found = look_up(second[1], "deleted")
    assert (answer.tokens, found) == (shared.answers["deleted"].tokens, 0)


def test_a_truncated_file_is_computed_again(shared: Shared, second: Second) -> None:
    """The first that is read is replaced. The rest of the prompt is not read any more, and stays as it is."""
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
def test_a_prompt_is_computed_when_its_blocks_are_gone_and_the_tier_is(
    name: str, breaks: str, heals: str, shared: Shared, second: Second
) -> None:
    running, server = second
    for file in shared.files[name]:
        file.unlink()
    running.pod.execute(breaks)
    try:
        answer, found = look_up(server, name)
        again = server.ask(prompt(name, TOKENS))
    finally:
        running.pod.execute(heals)
    assert (answer.tokens, found) == (shared.answers[name].tokens, 0)
    assert again.tokens == answer.tokens


def test_a_tier_that_is_read_only_still_gives_what_it_has(shared: Shared, second: Second) -> None:
    running, server = second
    running.pod.execute("mount -o remount,bind,ro $ROOT/kv/lustre")
    try:
        answer, found = look_up(server, "whole while read-only")
    finally:
        running.pod.execute("mount -o remount,bind,rw $ROOT/kv/lustre")
    assert (answer.tokens, found) == (shared.answers["whole while read-only"].tokens, STORED)


def test_an_engine_does_not_start_on_a_new_tier_that_it_cannot_write(shared: Shared, tmp_path: Path) -> None:
    if shared.image.version != "0.33":
        pytest.skip("one version is enough for another start")
    with pod(shared, tmp_path) as running:
        running.pod.execute("mount -t tmpfs -o ro tmpfs $ROOT/kv/lustre")
        with pytest.raises(ComponentError, match="Read-only file system"):
            running.start().wait_ready()
