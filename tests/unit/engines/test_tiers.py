"""Secondary tiers: what kvtier renders, and what a version would end on."""

from typing import Any

import pytest

from kvtier.engines.tiers import PRESSURE, fault, file_tier
from kvtier.engines.versions import facts_of, known_versions
from unit.tables import table

BUCKET = {"bucket": "b", "endpoint_override": "storage.googleapis.com"}


@pytest.mark.parametrize("version", known_versions())
@pytest.mark.parametrize("name", ["localSSD", "lustre"])
def test_every_version_takes_the_tiers_that_it_gets(version: str, name: str) -> None:
    engine = facts_of(version)
    tier = file_tier("/kv/ssd/team-a/chat/0123456789abcdef", engine.fs_tier[name])
    assert list(tier) == ["type", "root_dir", "n_read_threads", "n_write_threads", "locality", "backpressure"]
    assert fault(tier, engine) is None


@table(
    "tier, says",
    {
        "a tier of objects is known": ({"type": "obj", "store_config": BUCKET}, None),
        "a type by its old name": (
            {"type": "fs_python", "root_dir": "/x"},
            "vLLM 0.33 has no secondary tier 'fs_python': it is called fs",
        ),
        "a type that never was": (
            {"type": "gcs"},
            "vLLM 0.33 has no secondary tier 'gcs': it knows fs, obj",
        ),
        "a key that is missing": ({"type": "fs"}, "secondary tier fs lacks root_dir"),
        "a capacity, which no tier has": (
            {"type": "fs", "root_dir": "/x", "capacity_bytes": 1},
            "secondary tier fs of vLLM 0.33 does not know capacity_bytes",
        ),
        "a setting of backpressure that is not known": (
            {"type": "fs", "root_dir": "/x", "backpressure": {**PRESSURE, "limit": 1}},
            "backpressure of vLLM 0.33 does not know limit",
        ),
        "backpressure without a class": (
            {"type": "fs", "root_dir": "/x", "backpressure": {"alpha": 0.1}},
            "backpressure lacks backpressure_cls",
        ),
        "a number of failures": (
            {"type": "fs", "root_dir": "/x", "backpressure": {**PRESSURE, "failure_threshold": 3}},
            None,
        ),
    },
)
def test_faults(tier: dict[str, Any], says: str | None) -> None:
    assert fault(tier, facts_of("0.33")) == says


def test_the_older_version_counts_no_failures() -> None:
    tier = {"type": "fs", "root_dir": "/x", "backpressure": {**PRESSURE, "failure_threshold": 3}}
    assert fault(tier, facts_of("0.32")) == "backpressure of vLLM 0.32 does not know failure_threshold"
