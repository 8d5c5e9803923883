"""Settings that kvtier refuses because they conflict with its own: the real vLLM refuses them too."""

from collections.abc import Callable
from typing import Any

import pytest

from engine import kubelet
from engine.rendering import deployments
from engine.worker import Worker
from kvtier.api.v1alpha1.engine import VERSIONS
from kvtier.data.cache_rules import CACHE_RULES
from kvtier.data.engines import ENGINES
from kvtier.engines.conflicts import setting_conflict
from unit.builders import model, pool
from unit.tables import table

pytestmark = pytest.mark.timeout(300)
EXPANDABLE = [{"name": "PYTORCH_CUDA_ALLOC_CONF", "value": "expandable_segments:True"}]
WHOLE = {"extraArgs": ["--no-enable-chunked-prefill"], "maxNumBatchedTokens": 2048, "maxModelLen": 4096}


@pytest.fixture(params=VERSIONS)
def real(request: pytest.FixtureRequest, workers: Callable[[str], Worker]) -> Worker:
    """A vLLM that users can choose."""
    return workers(request.param)


def _serve(real: Worker, tiers: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    engine = {"image": f"vllm/vllm-openai:v{real.version}.0"}
    of = pool(tiers={"lustre": None, **tiers}, models=[model(engine=engine, **fields)])
    ((_, deployment),) = deployments(of)
    started = kubelet.started(deployment, {})
    return real.serve(started.arguments, started.variables)


def test_flags_exist(real: Worker) -> None:
    flags = {flag for row in ENGINES.conflicts for flag in (*row.flags, *row.unless)}
    assert flags | {"--no-enable-chunked-prefill"} <= set(real.ask("spellings.options"))


def test_variables_that_decide_the_directory_exist(real: Worker) -> None:
    assert set(CACHE_RULES.first.variables) <= set(real.ask("variables.answer"))


@table(
    "fields, words",
    {
        "expandable segments": ({"env": EXPANDABLE}, "expandable_segments:True"),
        "steps that are too short for whole prompts": (WHOLE, "is smaller than max_model_len"),
    },
)
def test_it_refuses_what_kvtier_refuses(real: Worker, fields: dict[str, Any], words: str) -> None:
    served = pool(models=[model(**fields)]).spec.models[0]
    assert setting_conflict(served, tiered=True) is not None
    found = _serve(real, {}, fields)
    assert found["refused"] == "configure"
    assert words in found["why"]


def test_expandable_segments_are_allowed_without_a_tier(real: Worker) -> None:
    assert _serve(real, {"cpu": None}, {"env": EXPANDABLE})["refused"] is None
