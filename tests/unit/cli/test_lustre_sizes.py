"""`kvtier lustre sizes`: the capacities that Managed Lustre offers."""

import json
import re

import pytest
from click.testing import CliRunner, Result

from kvtier.api.quantities import parse
from kvtier.cli import main
from kvtier.data.lustre_limits import limits, tiers
from unit.tables import table


def sizes(arguments: str = "", columns: int = 120) -> Result:
    """Run the command in a terminal of this width."""
    runner = CliRunner(env={"COLUMNS": str(columns), "TERM": "dumb"})
    return runner.invoke(main, ["lustre", "sizes", *arguments.split()])


def printed(arguments: str) -> str:
    """What it prints, in one line."""
    done = sizes(arguments)
    assert (done.exit_code, done.stderr) == (0, "")
    return " ".join(done.stdout.split())


def capacities(arguments: str) -> list[str]:
    """The capacities that it offers."""
    found = json.loads(sizes(f"{arguments} -o json").stdout)
    return [size["capacity"] for tier in found["tiers"] for size in tier["sizes"]]


def test_without_a_tier_every_tier_is_a_line() -> None:
    lines = sizes().stdout.splitlines()
    for tier in tiers():
        (line,) = [line for line in lines if line.split()[:1] == [str(tier)]]
        numbers = (limits(tier).min, limits(tier).max, limits(tier).step)
        assert [f"{gib}Gi" for gib in numbers if f"{gib}Gi" not in line] == []


STEPS = "1000 MBps per TiB: 9000Gi to 10008000Gi, in steps of 9000Gi up to 1530000Gi and of 72000Gi above it"


@table(
    "tier, says",
    {
        "limits, steps and where they change": ("1000", STEPS),
        "what growth cannot pass": ("1000", "An instance of 1530000Gi or less cannot grow past that."),
        "one step where there is one": ("125", "72000Gi to 12240000Gi, in steps of 72000Gi Some"),
        "the Dynamic tier in any spelling": ("dYnamic", "472000Gi to 84016000Gi, in steps of"),
        "what a capacity delivers": ("1000", "144000Gi 140.6 GB/s 816k 788k 410k 115k 95k"),
        "a dash for what is not published": ("dynamic", "472000Gi 11.5 GB/s - - - - -"),
        "how old the numbers are": ("250", "as of 2026-11-29"),
    },
)
def test_a_tier_has(tier: str, says: str) -> None:
    assert says in printed(f"--tier {tier}")


@table(
    "arguments, says, offered",
    {
        "the two around a size that is not possible": (
            "--tier 1000 --near 10000Gi",
            "10000Gi is not possible: the nearest are 9000Gi and 18000Gi",
            "9000Gi 18000Gi",
        ),
        "what 9Ti is": ("--tier 1000 --near 9Ti", "9216Gi is not possible", "9000Gi 18000Gi"),
        "what 9T is": ("--tier 1000 --near 9T", "8381.9Gi is not possible: the smallest is 9000Gi", "9000Gi"),
        "that a size is possible": ("--tier 500 --near 36000Gi", "36000Gi is possible", "36000Gi 54000Gi"),
        "the largest": ("--tier 1000 --near 99Pi", "the largest is 10008000Gi", "10008000Gi"),
        "those of every tier": (
            "--near 10Ti",
            "Capacities next to 10240Gi",
            "72000Gi 36000Gi 18000Gi 9000Gi 18000Gi 472000Gi",
        ),
    },
)
def test_near(arguments: str, says: str, offered: str) -> None:
    assert says in printed(arguments)
    assert capacities(arguments) == offered.split()


@table(
    "arguments, says, first, last",
    {
        "up to the threshold": (
            "18000Gi",
            "An instance of 18000Gi can grow to 1530000Gi at most, and never shrink.",
            "27000Gi",
            "1530000Gi",
        ),
        "above it up to the largest": ("1584000Gi", "to 10008000Gi at most", "1656000Gi", "10008000Gi"),
        "in another unit": ("9437184000Ki", "9000Gi can grow", "18000Gi", "1530000Gi"),
        "by the next step near what is wanted": ("18000Gi --near 1Gi", "to 1530000Gi", "27000Gi", "36000Gi"),
        "to the ceiling where more is wanted": (
            "18000Gi --near 9000000Gi",
            "can grow to 1530000Gi",
            "1530000Gi",
            "1530000Gi",
        ),
    },
)
def test_growth(arguments: str, says: str, first: str, last: str) -> None:
    assert says in printed(f"--tier 1000 --from {arguments}")
    offered = capacities(f"--tier 1000 --from {arguments}")
    assert (offered[0], offered[-1]) == (first, last)


@pytest.mark.parametrize("have", ["1530000Gi", "10008000Gi"])
def test_an_instance_at_its_ceiling_cannot_grow(have: str) -> None:
    assert f"An instance of {have} cannot grow" in printed(f"--tier 1000 --from {have}")
    assert capacities(f"--tier 1000 --from {have}") == []


@pytest.mark.parametrize("tier", tiers())
def test_what_is_offered_is_possible_and_ascends(tier: int | str) -> None:
    offered = [parse(size) for size in capacities(f"--tier {tier}")]
    assert offered
    assert offered == sorted(set(offered))
    assert all(limits(tier).allows(size) for size in offered)


def test_json_has_all_numbers_with_their_units() -> None:
    found = json.loads(sizes("--tier 1000 --near 81000Gi -o json").stdout)
    assert set(found) == {"source", "asOf", "tiers"}
    (tier,) = found["tiers"]
    assert (tier["tier"], tier["minGiB"], tier["thresholdGiB"]) == ("1000", 9000, 1530000)
    assert tier["sizes"][0] == {
        "capacity": "81000Gi",
        "throughputMBps": 79101,
        "readIOPS": 458789,
        "writeIOPS": 442968,
        "metadata": {"stat": 410000, "create": 115000, "delete": 95000},
    }


NOBODY_HAS = "no instance at 1000 MBps per TiB has that size: the nearest are 9000Gi and 18000Gi"


@table(
    "arguments, says",
    {
        "a tier that does not exist": ("--tier 750", "they are 125, 250, 500, 1000, dynamic"),
        "a number without a unit": ("--near 10000", "write 10000Gi"),
        "a fraction": ("--near 9.5Ti", "is not a whole number with a unit"),
        "text": ("--near much", "is not a whole number with a unit"),
        "too many digits": ("--near " + "9" * 5000 + "Gi", "--near"),
        "growth without a tier": ("--from 9000Gi", "--from needs --tier"),
        "growth from a size that nobody has": ("--tier 1000 --from 10000Gi", NOBODY_HAS),
        "growth of a Dynamic tier that nobody has": (
            "--tier dynamic --from 9000Gi",
            "the smallest is 472000Gi",
        ),
        "another output": ("-o yaml", "json"),
    },
)
def test_refused(arguments: str, says: str) -> None:
    done = sizes(arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize(
    "arguments", ["", "--tier 1000", "--tier dynamic", "--near 10Ti", "--tier 250 --from 36000Gi"]
)
def test_no_number_is_cut_short(arguments: str, columns: int) -> None:
    text = sizes(arguments, columns).stdout
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= columns
    assert not re.search(r"^\s*(Gi|[GT]B/s)", text, re.MULTILINE), "a unit was parted from its number"


def test_help_shows_how_it_is_used() -> None:
    text = sizes("--help").stdout
    assert [words for words in ("--near 10Ti", "--from 18000Gi", "needs --tier") if words not in text] == []
