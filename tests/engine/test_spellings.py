"""Which extraArgs set a flag of kvtier in vLLM's own parser: abbreviations, underscores, keys, attached values."""

from collections.abc import Iterator

import pytest

from engine.worker import Worker
from kvtier.api.v1alpha1 import ServedModel
from kvtier.api.v1alpha1.engine import VERSIONS
from kvtier.data.cache_rules import CACHE_RULES, spellings
from kvtier.data.vllm_flags import MANAGED_FLAGS, managed_flag
from kvtier.engines.fingerprint import first_names
from unit.builders import model, model_cache

pytestmark = pytest.mark.timeout(300)
Reached = list[tuple[list[str], set[str]]]
"""Lists of arguments that vLLM accepts, and what each sets."""


@pytest.fixture(scope="module")
def options(real: Worker) -> dict[str, str]:
    found: dict[str, str] = real.ask("spellings.options")
    return found


@pytest.fixture(scope="module")
def reached(real: Worker, options: dict[str, str]) -> Reached:
    """All options in all spellings, and every abbreviation of managed options and of those of the first cache rules."""
    watched = (*MANAGED_FLAGS, *CACHE_RULES.first.flags)
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


def test_a_spelling_changes_the_directory_unless_all_that_it_sets_is_harmless(
    reached: Reached, options: dict[str, str]
) -> None:
    """Also for abbreviations: if the parser finds another option than a harmless one, the directory changes."""
    harmless = {options[flag] for flag in CACHE_RULES.harmless_flags(CACHE_RULES.newest) if flag in options}
    reaching = [line for line, sets in reached if not sets <= harmless and not any(map(managed_flag, line))]
    assert len(reaching) > 1000
    assert [line for line in reaching if _directory(*line) == _directory()] == []


def test_a_harmless_flag_does_not_change_the_directory(reached: Reached, options: dict[str, str]) -> None:
    harmless = CACHE_RULES.harmless_flags(CACHE_RULES.newest) & set(options)
    whole = [line for line, _ in reached if line[0] in harmless]
    assert len({line[0] for line in whole}) > 100
    assert [line for line in whole if _directory(*line) != _directory()] == []


def test_spellings_of_the_first_rules_change_the_first_name(
    reached: Reached, options: dict[str, str]
) -> None:
    layout = {options[flag] for flag in CACHE_RULES.first.flags if flag in options}
    reaching = [line for line, sets in reached if sets & layout and not any(map(managed_flag, line))]
    assert len(reaching) > 100
    assert [line for line in reaching if first_names(_model(*line), 16) == first_names(_model(), 16)] == []


def test_harmless_flags_exist(real: Worker, options: dict[str, str]) -> None:
    """In the newest version. An older one may lack some, and the forms of a switch."""
    groups = [one for row in CACHE_RULES.harmless.values() for one in row.flags]
    listed = {flag for group in groups for flag in group}
    missing = listed - set(options)
    assert missing == set() if real.version == VERSIONS[0] else len(missing) < len(listed) / 10


def test_the_forms_of_a_harmless_switch_set_the_same_option(options: dict[str, str]) -> None:
    listed = {flag for row in CACHE_RULES.harmless.values() for group in row.flags for flag in group}
    forms = [(flag, form) for flag in listed & set(options) for form in spellings(flag) if form in options]
    assert len(forms) > len(listed)
    assert [pair for pair in forms if options[pair[0]] != options[pair[1]]] == []


def test_no_option_is_both_harmless_and_in_the_first_rules(options: dict[str, str]) -> None:
    harmless = {options[flag] for flag in CACHE_RULES.harmless_flags(CACHE_RULES.newest) if flag in options}
    assert harmless & {options[flag] for flag in CACHE_RULES.first.flags if flag in options} == set()


def test_listed_variables_exist(vllm: Worker) -> None:
    known = set(vllm.ask("variables.answer"))
    assert CACHE_RULES.harmless_variables(CACHE_RULES.newest) | set(CACHE_RULES.first.variables) <= known


def _directory(*arguments: str) -> str:
    return model_cache(_model(*arguments)).fingerprint


def _model(*arguments: str) -> ServedModel:
    return ServedModel.model_validate(model(extraArgs=list(arguments)))


@pytest.mark.parametrize("line", [["--kv-transfer-confg", "7"], ["--m", "7"], ["-tq", "2"], ["--port8000"]])
def test_the_parser_does_not_accept_everything(real: Worker, line: list[str]) -> None:
    """A control: the parser refuses misspelled or ambiguous arguments."""
    assert real.ask("spellings.reached", lines=[line]) == [None]
