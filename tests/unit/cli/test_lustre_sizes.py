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
    """The output in one line."""
    done = sizes(arguments)
    assert (done.exit_code, done.stderr) == (0, "")
    return " ".join(done.stdout.split())


def capacities(arguments: str) -> list[str]:
    """The capacities in its JSON."""
    found = json.loads(sizes(f"{arguments} -o json").stdout)
    return [size["capacity"] for tier in found["tiers"] for size in tier["sizes"]]


def test_without_a_tier_every_tier_has_one_line() -> None:
    lines = sizes().stdout.splitlines()
    for tier in tiers():
        (line,) = [line for line in lines if line.split()[:1] == [str(tier)]]
        numbers = (limits(tier).min, limits(tier).max, limits(tier).step)
        assert [f"{gib}Gi" for gib in numbers if f"{gib}Gi" not in line] == []
    assert [len(line) for line in sizes(columns=80).stdout.splitlines() if len(line) > 80] == []


STEPS = "1000 MBps per TiB: 9000Gi to 10008000Gi Step: 9000Gi up to 1530000Gi, 72000Gi above"


@table(
    "tier, says",
    {
        "limits, steps and where they change": ("1000", STEPS),
        "the limit of a resize": (
            "1000",
            "An instance of up to 1530000Gi cannot be resized beyond 1530000Gi.",
        ),
        "one step where there is one": ("125", "72000Gi to 12240000Gi Step: 72000Gi Some"),
        "the Dynamic tier in any spelling": ("dYnamic", "472000Gi to 84016000Gi Step: 472000Gi Some"),
        "what a capacity delivers": ("1000", "144000Gi 140.6 GB/s 816k 788k 410k 115k 95k"),
        "a dash for what is not published": ("dynamic", "472000Gi 11.5 GB/s - - - - -"),
        "how old the numbers are": ("250", "as of 2026-11-29"),
    },
)
def test_a_tier_shows(tier: str, says: str) -> None:
    assert says in printed(f"--tier {tier}")


@table(
    "arguments, says, offered",
    {
        "the two next to a size that is not valid": (
            "--tier 1000 --near 10000Gi",
            "10000Gi is not valid; the nearest are 9000Gi and 18000Gi",
            "9000Gi 18000Gi",
        ),
        "what 9Ti is": ("--tier 1000 --near 9Ti", "9216Gi is not valid", "9000Gi 18000Gi"),
        "what 9T is": ("--tier 1000 --near 9T", "8381.9Gi is not valid; the smallest is 9000Gi", "9000Gi"),
        "a valid size": ("--tier 500 --near 36000Gi", "36000Gi is valid.", "36000Gi 54000Gi"),
        "the largest": ("--tier 1000 --near 99Pi", "the largest is 10008000Gi", "10008000Gi"),
        "those of every tier": (
            "--near 10Ti",
            "Capacities next to 10240Gi",
            "72000Gi 36000Gi 18000Gi 9000Gi 18000Gi 472000Gi",
        ),
    },
)
def test_near_shows_the_valid_capacities_next_to_a_size(arguments: str, says: str, offered: str) -> None:
    assert says in printed(arguments)
    assert capacities(arguments) == offered.split()


@table(
    "arguments, says, first, last",
    {
        "up to the threshold": (
            "18000Gi",
            "An instance of 18000Gi can be resized to 1530000Gi at most. It cannot shrink.",
            "27000Gi",
            "1530000Gi",
        ),
        "above it up to the largest": ("1584000Gi", "to 10008000Gi at most", "1656000Gi", "10008000Gi"),
        "in another unit": ("9437184000Ki", "9000Gi can be resized", "18000Gi", "1530000Gi"),
        "by the next step, near a small size": ("18000Gi --near 1Gi", "to 1530000Gi", "27000Gi", "36000Gi"),
        "to the ceiling, near a larger size": (
            "18000Gi --near 9000000Gi",
            "can be resized to 1530000Gi",
            "1530000Gi",
            "1530000Gi",
        ),
    },
)
def test_from_shows_what_an_instance_can_be_resized_to(
    arguments: str, says: str, first: str, last: str
) -> None:
    assert says in printed(f"--tier 1000 --from {arguments}")
    offered = capacities(f"--tier 1000 --from {arguments}")
    assert (offered[0], offered[-1]) == (first, last)


@pytest.mark.parametrize("have", ["1530000Gi", "10008000Gi"])
def test_an_instance_at_its_ceiling_cannot_be_resized(have: str) -> None:
    assert f"An instance of {have} cannot be resized." in printed(f"--tier 1000 --from {have}")
    assert capacities(f"--tier 1000 --from {have}") == []


@pytest.mark.parametrize("tier", tiers())
def test_capacities_are_valid_and_ascend(tier: int | str) -> None:
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


NOT_VALID = "not a valid capacity at 1000 MBps per TiB; the nearest are 9000Gi and 18000Gi"


@table(
    "arguments, says",
    {
        "a tier that does not exist": ("--tier 750", "use one of 125, 250, 500, 1000, dynamic"),
        "a number without a unit": ("--near 10000", "write 10000Gi"),
        "text": ("--near much", "is not a quantity such as 512Mi, 9000Gi or 1.5Ti"),
        "a unit in small letters": ("--near 9ti", "is not a quantity"),
        "a resize without a tier": ("--from 9000Gi", "--from needs --tier"),
        "a resize from a capacity that is not valid": ("--tier 1000 --from 10000Gi", NOT_VALID),
        "a resize in the Dynamic tier from a capacity that is not valid": (
            "--tier dynamic --from 9000Gi",
            "the smallest is 472000Gi",
        ),
        "another output": ("-o yaml", "json"),
    },
)
def test_wrong_options_are_refused_with_the_reason(arguments: str, says: str) -> None:
    done = sizes(arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize(
    "arguments", ["", "--tier 1000", "--tier dynamic", "--near 10Ti", "--tier 250 --from 36000Gi"]
)
def test_no_number_is_wrapped_or_cut(arguments: str, columns: int) -> None:
    text = sizes(arguments, columns).stdout
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= columns
    assert not re.search(r"^\s*(Gi|[GT]B/s)", text, re.MULTILINE), "a unit is not in the line of its number"


def test_help_shows_how_it_is_used() -> None:
    text = sizes("--help").stdout
    assert [words for words in ("--near 10Ti", "--from 18000Gi", "Needs --tier") if words not in text] == []
