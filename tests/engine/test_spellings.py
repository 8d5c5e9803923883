"""Which extraArgs set a flag of kvtier in vLLM's own parser: abbreviations, underscores, keys, attached values."""

from collections.abc import Iterator

import pytest

from engine.worker import Worker
from kvtier.api.v1alpha1 import ServedModel
from kvtier.data.engines import ENGINES
from kvtier.data.vllm_flags import MANAGED_FLAGS, managed_flag
from kvtier.engines.fingerprint import fingerprint
from unit.builders import model

pytestmark = pytest.mark.timeout(300)
Reached = list[tuple[list[str], set[str]]]
"""Lists of arguments that vLLM accepts, and what each sets."""


@pytest.fixture(scope="module")
def options(real: Worker) -> dict[str, str]:
    found: dict[str, str] = real.ask("spellings.options")
    return found


@pytest.fixture(scope="module")
def reached(real: Worker, options: dict[str, str]) -> Reached:
    """All options in all spellings, and every abbreviation of the options that kvtier checks."""
    watched = (*MANAGED_FLAGS, *ENGINES.versions[real.version].layout_flags)
    abbreviated = {flag[:length] for flag in watched for length in range(2, len(flag))}
    lines = [line for flag in (*options, *sorted(abbreviated)) for line in _spelled(flag)]
    sets = real.ask("spellings.reached", lines=lines)
    return [(line, set(found)) for line, found in zip(lines, sets, strict=True) if found]


def _spelled(flag: str) -> Iterator[list[str]]:
    """Lists of arguments that a parser could read as `flag`."""
    dashes = "--" if flag.startswith("--") else "-"
    for name in dict.fromkeys((flag, dashes + flag.removeprefix(dashes).replace("-", "_"))):
        yield from ([name], [name, "7"], [f"{name}=7"], [f"{name}7"])
        yield from ([f"{name}.key", "7"], [f"{name}.key=7"], [f"{name}.key+", "7"], [f"{name}.a_b.c=7"])


def _managed(options: dict[str, str]) -> set[str]:
    """Destinations of managed flags. An older version may not have all of them."""
    return {options[flag] for flag in MANAGED_FLAGS if flag in options}


def test_spellings_of_a_managed_flag_are_refused(reached: Reached, options: dict[str, str]) -> None:
    managed = _managed(options)
    reaching = [(line, sets & managed) for line, sets in reached if sets & managed]
    assert {name for _, sets in reaching for name in sets} == managed, "else this proves nothing"
    assert [line for line, _ in reaching if not any(map(managed_flag, line))] == []


def test_spellings_of_other_flags_are_accepted(reached: Reached, options: dict[str, str]) -> None:
    managed = _managed(options)
    whole = [line for line, sets in reached if not sets & managed and line[0] in options]
    assert len({line[0] for line in whole}) > 300
    assert [line for line in whole if any(map(managed_flag, line))] == []


def test_spellings_of_a_layout_flag_change_the_directory(
    real: Worker, reached: Reached, options: dict[str, str]
) -> None:
    layout = {options[flag] for flag in ENGINES.versions[real.version].layout_flags if flag in options}
    reaching = [line for line, sets in reached if sets & layout]
    assert len(reaching) > 100
    assert [line for line in reaching if _directory(*line) == _directory()] == []


def _directory(*arguments: str) -> str:
    return fingerprint(ServedModel.model_validate(model(extraArgs=list(arguments))), 16)


@pytest.mark.parametrize("line", [["--kv-transfer-confg", "7"], ["--m", "7"], ["-tq", "2"], ["--port8000"]])
def test_the_parser_does_not_accept_everything(real: Worker, line: list[str]) -> None:
    """A control: the parser refuses misspelled or ambiguous arguments."""
    assert real.ask("spellings.reached", lines=[line]) == [None]
