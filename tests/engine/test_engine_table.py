"""Every flag, key and value of data/engines.yaml, compared with its version of vLLM."""

from typing import Any

import pytest

from engine.worker import Worker
from kvtier.api.v1alpha1 import Tiers
from kvtier.data.cache_rules import CACHE_RULES
from kvtier.data.engines import ENGINES, EngineFacts
from kvtier.data.vllm_flags import MANAGED_FLAGS
from kvtier.engines.native import connector_config

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def known(real: Worker) -> EngineFacts:
    """The row of a version."""
    return ENGINES.versions[real.version]


@pytest.fixture
def options(real: Worker) -> dict[str, str]:
    """The options of its `vllm serve`, and the destinations that they set."""
    found: dict[str, str] = real.ask("spellings.options")
    return found


@pytest.fixture
def keys(known: EngineFacts, real: Worker) -> dict[str, Any]:
    """The keys of its offloading connector."""
    kinds = [known.file_tier.type, known.object_tier.type]
    found: dict[str, Any] = real.ask("keys.answer", tiers=kinds)
    return found


@pytest.fixture
def rendered(known: EngineFacts) -> dict[str, Any]:
    """The connector configuration of a pool with all tiers."""
    lower = {"localSSD": {"capacity": "1Ti"}, "objectStorage": {"bucket": "blocks"}}
    tiers = Tiers.model_validate({"cpu": {"capacity": "1Gi"}, **lower})
    return connector_config(tiers, True, "team-a/chat/0123456789abcdef", 16, known)


def test_flags_exist_in_the_newest_version(vllm: Worker) -> None:
    """Older versions may not have all of them."""
    known = ENGINES.versions[vllm.version]
    listed = {*CACHE_RULES.first.flags, *known.geometry_flags, *MANAGED_FLAGS}
    assert listed <= set(vllm.ask("spellings.options"))


def test_a_short_or_long_form_of_a_listed_flag_is_listed_too(
    known: EngineFacts, options: dict[str, str]
) -> None:
    for listed in (CACHE_RULES.first.flags, known.geometry_flags):
        destinations = {options[flag] for flag in listed if flag in options}
        others = {flag for flag, sets in options.items() if sets in destinations} - set(listed)
        assert {flag for flag in others if not flag.startswith(("--no-", "--enable-"))} == set()


def test_all_element_types_are_listed(known: EngineFacts, real: Worker) -> None:
    assert set(known.kv_cache_dtypes) == set(real.ask("keys.cache_dtypes"))


def test_every_element_type_is_accepted(known: EngineFacts, real: Worker) -> None:
    """float16 needs a model of that type, which vLLM also checks."""
    for dtype in known.kv_cache_dtypes:
        more = ["--dtype=float16"] if dtype == "float16" else []
        found = real.serve(["vllm", "serve", "m", f"--kv-cache-dtype={dtype}", *more])
        assert (found["refused"], found["configured"]["dtype"]) == (None, dtype), found["why"]


def test_an_unknown_element_type_is_refused(real: Worker) -> None:
    assert real.serve(["vllm", "serve", "m", "--kv-cache-dtype=fp9"])["refused"] in ("parse", "configure")


def test_secondary_tiers_have_the_keys_that_are_rendered(
    rendered: dict[str, Any], keys: dict[str, Any]
) -> None:
    """An unknown key ends the engine at start."""
    for tier in rendered["secondary_tiers"]:
        known, given = keys["tiers"][tier["type"]], set(tier) - {"type"}
        required = {name for name, is_required in known.items() if is_required}
        assert required <= given <= set(known)
        assert {"backpressure_cls"} <= set(tier["backpressure"]) <= set(keys["pressure"])


def test_the_types_of_secondary_tiers_are_registered(rendered: dict[str, Any], keys: dict[str, Any]) -> None:
    assert {tier["type"] for tier in rendered["secondary_tiers"]} == {"fs", "obj"} & set(keys["registered"])


def test_the_connector_reads_the_keys_that_are_rendered(
    rendered: dict[str, Any], keys: dict[str, Any]
) -> None:
    """vLLM silently ignores other keys."""
    assert set(rendered) <= set(keys["connector"])


def test_the_default_block_size_is_that_of_the_table(known: EngineFacts, real: Worker) -> None:
    assert real.ask("keys.default_block_size") == known.block_size
