"""Every flag, key and value of data/engines.yaml, held against the vLLM version that it is about."""

from typing import Any

import pytest

from engine.worker import Worker
from kvtier.data import table as data
from kvtier.engines.versions import EngineFacts, facts_of

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def known(real: Worker) -> EngineFacts:
    """What the table says of a version."""
    return facts_of(real.version)


@pytest.fixture
def options(real: Worker) -> dict[str, str]:
    """The options of its `vllm serve`, and what they set."""
    found: dict[str, str] = real.ask("spellings.options")
    return found


@pytest.fixture
def keys(known: EngineFacts, real: Worker) -> dict[str, Any]:
    """The keys of its offloading connector."""
    found: dict[str, Any] = real.ask("keys.answer", tiers=list(known.secondary_tiers))
    return found


def test_flags_exist_in_the_newest_version(vllm: Worker) -> None:
    """An older one may lack some of them, which then change nothing."""
    known = facts_of(vllm.version)
    listed = {*known.layout_flags, *known.geometry_flags, *data("engines")["managed"]}
    assert listed <= set(vllm.ask("spellings.options"))


def test_a_short_or_long_form_of_a_listed_flag_is_listed_too(
    known: EngineFacts, options: dict[str, str]
) -> None:
    for listed in (known.layout_flags, known.geometry_flags):
        destinations = {options[flag] for flag in listed if flag in options}
        others = {flag for flag, sets in options.items() if sets in destinations} - set(listed)
        assert {flag for flag in others if not flag.startswith(("--no-", "--enable-"))} == set()


def test_no_element_type_is_left_out(known: EngineFacts, real: Worker) -> None:
    assert set(known.kv_cache_dtypes) == set(real.ask("keys.cache_dtypes"))


def test_every_element_type_is_taken(known: EngineFacts, real: Worker) -> None:
    """float16 is for models of that type, which vLLM checks too."""
    for dtype in known.kv_cache_dtypes:
        more = ["--dtype=float16"] if dtype == "float16" else []
        found = real.serve(["vllm", "serve", "m", f"--kv-cache-dtype={dtype}", *more])
        assert (found["refused"], found["configured"]["dtype"]) == (None, dtype), found["why"]


def test_an_unknown_element_type_is_refused_where_the_table_says(known: EngineFacts, real: Worker) -> None:
    found = real.serve(["vllm", "serve", "m", "--kv-cache-dtype=fp9"])
    assert found["refused"] == ("parse" if known.dtype_choices else "configure")


def test_secondary_tiers_have_these_keys(known: EngineFacts, keys: dict[str, Any]) -> None:
    for kind, of in known.secondary_tiers.items():
        required = {name for name, is_required in keys["tiers"][kind].items() if is_required}
        assert of.required == required
        assert of.optional == set(keys["tiers"][kind]) - required


def test_renamed_tiers_are_gone(known: EngineFacts, keys: dict[str, Any]) -> None:
    registered = set(keys["registered"])
    assert not registered & set(known.renamed_tiers)
    assert set(known.renamed_tiers.values()) | set(known.secondary_tiers) <= registered


def test_the_connector_reads_these_keys(known: EngineFacts, keys: dict[str, Any]) -> None:
    assert known.connector_keys <= set(keys["connector"])


def test_backpressure_has_these_keys(known: EngineFacts, keys: dict[str, Any]) -> None:
    assert known.backpressure_keys == set(keys["pressure"])


def test_the_usual_block_is_that_of_the_table(known: EngineFacts, real: Worker) -> None:
    assert real.ask("keys.default_block_size") == known.block_size
