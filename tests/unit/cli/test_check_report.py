"""What `kvtier check` prints."""

from typing import Any

import pytest

from kvtier.api.quantities import GIB
from kvtier.checks import run
from kvtier.cli.check_report import Checked, rows, show
from unit.builders import context, model, pool
from unit.tables import table

UNTESTED = {"type": "EngineSupported", "reason": "Untested"}
LARGE: dict[str, Any] = {"model": "meta-llama/Llama-3.3-70B-Instruct"}
LIMITS = {"maxModelLen": 32768, "maxNumSeqs": 16, "maxNumBatchedTokens": 8192}
HOLD_40 = "50.0Gi of cache per GPU hold 40 sequences of 32768 tokens at 1.25Gi each"
NO_DATA = "kvtier has no data for this architecture, kvCacheDtype, tensorParallelSize or these extraArgs"


def test_every_prerequisite_and_every_model_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    look = context(pool(models=[model(), model(name="other")]))
    found = run(look)
    show([Checked(look, tuple(found.values()))], gpu_cache=None)
    text = capsys.readouterr().out
    assert [name for name in (*found, "team-a/chat", "llama", "other") if name not in text] == []
    statuses = [condition.status for condition in found.values()]
    passed, unknown = statuses.count("True"), statuses.count("Unknown")
    assert f"{passed} passed, 0 failed, {unknown} unknown" in text


@table(
    "accepted, strict, fails",
    {
        "a fault": ([], False, True),
        "not one for which the user vouches": ([UNTESTED], False, False),
        "not even with --strict": ([UNTESTED], True, False),
    },
)
def test_a_prerequisite_fails(accepted: list[Any], strict: bool, fails: bool) -> None:
    engine = {"version": "0.34"}
    look = context(
        pool(tiers={"lustre": None}, models=[model(engine=engine)], acknowledgedConditions=accepted)
    )
    statuses = {"False", "Unknown"} if strict else {"False"}
    assert Checked(look, tuple(run(look).values())).fails(statuses) == fails


def _rows(gpu_cache: int | None = None, tiers: Any = None, **changes: Any) -> dict[str, str]:
    look = context(pool(tiers=tiers or {}, models=[model(**changes)]))
    return dict(rows(look, look.models[0], gpu_cache))


@table(
    "found, expected",
    {
        "of attention alone": (
            _rows(tiers={"localSSD": {"capacity": "1Ti"}}, **LARGE),
            {
                "one token": "327,680 bytes in a tier, for all GPUs of a Pod",
                "one file": "chunks of 256 tokens in files of 80Mi",
                "cpu tier, per Pod": "100Gi holds 327,680 tokens",
                "localSSD tier, per Pod": "1Ti holds 3,355,443 tokens",
                "lustre tier, all Pods": "18000Gi holds 58,982,400 tokens",
            },
        ),
        "of states and attention": (
            _rows(
                model="nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
                tensorParallelSize=1,
                tiers={"lustre": None},
            ),
            {
                "one token": "30,720 bytes in a tier, for all GPUs of a Pod",
                "one file": "chunks of 2096 tokens in files of 12576Ki",
                "cpu tier, per Pod": "100Gi holds 3,495,253 tokens",
            },
        ),
    },
)
def test_estimates_for_a_known_model(found: dict[str, str], expected: dict[str, str]) -> None:
    assert found == expected


@table(
    "changes, why",
    {
        "a model without a config.json": (
            {"model": "a/b"},
            "kvtier has no config.json for this model and revision; set modelConfigFrom",
        ),
        "a document that is not a config.json": (
            {"modelConfigFrom": {"inline": "[]"}},
            "modelConfigFrom.inline is JSON, but not an object. It must be the model's whole config.json.",
        ),
        "a document that may not be read": (
            {"modelConfigFrom": {"configMapKeyRef": {"name": "configs"}}},
            "kvtier may not read the ConfigMap of modelConfigFrom",
        ),
        "a document of an unknown architecture": (
            {"modelConfigFrom": {"inline": '{"model_type": "odd", "num_attention_heads": 8}'}},
            NO_DATA,
        ),
        "arguments that change the model": ({"extraArgs": ["--hf-overrides={}"]}, NO_DATA),
    },
)
def test_the_reason_is_shown_when_the_size_is_unknown(changes: dict[str, Any], why: str) -> None:
    assert _rows(gpu_cache=38 * GIB, **changes) == {
        "one token": f"size unknown: {why}",
        "one file": "chunks of 16 blocks; their size is unknown for this model",
    }


@table(
    "changes, text",
    {
        "limits that can rise": (
            LIMITS,
            f"{HOLD_40}. maxNumSeqs may rise from 16 to 40. maxNumBatchedTokens 8192 can stay.",
        ),
        "limits that are reached": (
            LIMITS | {"maxNumSeqs": 40},
            f"{HOLD_40}. That is maxNumSeqs.",
        ),
        "limits that are too high": (
            LIMITS | {"maxNumSeqs": 41},
            f"{HOLD_40}. maxNumSeqs 41 is higher: vLLM preempts some sequences if all of them are that long.",
        ),
        "limits that are not set": (
            {},
            "Set maxModelLen, maxNumSeqs and maxNumBatchedTokens for an estimate; otherwise vLLM chooses them.",
        ),
    },
)
def test_sequences_that_fit_into_the_memory_of_a_gpu(changes: dict[str, Any], text: str) -> None:
    assert _rows(gpu_cache=50 * GIB, **LARGE, **changes)["GPU memory"] == text


def test_a_smaller_kv_cache_dtype_allows_more_sequences() -> None:
    assert (
        "256 sequences with fp8 fit in the memory of 128 with auto."
        in _rows(maxNumSeqs=128, **LARGE)["maxNumSeqs"]
    )
