"""Messages for machines that cannot run the engines."""

from pathlib import Path

import pytest

from engine.machine import platform_fault, require_room
from unit.tables import table


@table(
    "system, machine, python, words",
    {
        "the oldest Python": ("Linux", "x86_64", (3, 11), None),
        "the newest Python": ("Linux", "x86_64", (3, 13), None),
        "a newer Python": ("Linux", "x86_64", (3, 14), "Python 3.14"),
        "another processor": ("Linux", "aarch64", (3, 12), "Linux aarch64"),
        "another system": ("Darwin", "x86_64", (3, 12), "Darwin x86_64"),
    },
)
def test_machines_with_and_without_wheels(
    system: str, machine: str, python: tuple[int, int], words: str | None
) -> None:
    found = platform_fault(system, machine, python)
    assert found is None if words is None else found and words in found


def test_the_message_for_a_small_disk_contains_the_sizes(tmp_path: Path) -> None:
    require_room(tmp_path, 1)
    with pytest.raises(RuntimeError, match=r"take 1000000000\.0 GB, and .* GB left"):
        require_room(tmp_path, 10**18)
