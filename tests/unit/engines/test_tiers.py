"""Secondary tiers: what kvtier renders, and what a version would end on."""

from typing import Any

import pytest

from kvtier.api.v1alpha1 import ObjectStorageTier
from kvtier.api.v1alpha1.engine import VERSIONS
from kvtier.api.v1alpha1.tiers import FIXED
from kvtier.engines.native import PRESSURE, fault, file_tier, object_environment, object_tier
from kvtier.engines.versions import facts_of
from unit.tables import table

BUCKET = {"bucket": "b", "endpoint_override": "storage.googleapis.com"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["localSSD", "lustre"])
def test_every_version_takes_the_tiers_that_it_gets(version: str, name: str) -> None:
    engine = facts_of(version)
    tier = file_tier("/kv/ssd/team-a/chat/0123456789abcdef", engine.fs_tier[name])
    assert list(tier) == ["type", "root_dir", "n_read_threads", "n_write_threads", "locality", "backpressure"]
    assert fault(tier, engine) is None


@table(
    "given, store",
    {
        "a bucket of Cloud Storage": (
            {"bucket": "blocks"},
            {"bucket": "blocks", "endpoint_override": "storage.googleapis.com", "scheme": "https"},
        ),
        "a bucket elsewhere": (
            {"bucket": "blocks", "endpoint": "minio:9000", "scheme": "http", "region": "us-east-1"},
            {"bucket": "blocks", "endpoint_override": "minio:9000", "scheme": "http", "region": "us-east-1"},
        ),
        "a bucket whose keys are in a Secret, of which arguments tell nothing": (
            {"bucket": "blocks", "credentialsSecretRef": {"name": "hmac"}},
            {"bucket": "blocks", "endpoint_override": "storage.googleapis.com", "scheme": "https"},
        ),
    },
)
def test_a_tier_of_objects(given: dict[str, Any], store: dict[str, str]) -> None:
    tier = object_tier(ObjectStorageTier.model_validate(given), "team-a/chat/0123456789abcdef")
    assert tier == {
        "type": "obj",
        "store_config": store,
        "prefix": "team-a/chat/0123456789abcdef",
        "locality": "REMOTE",
        "backpressure": PRESSURE,
    }
    assert [fault(tier, facts_of(version)) for version in VERSIONS] == [None] * len(VERSIONS)


def test_uploads_are_plain_and_retries_few() -> None:
    plain = {"AWS_REQUEST_CHECKSUM_CALCULATION": "when_required", "AWS_RETRY_MODE": "standard"}
    assert object_environment("0.33") == plain
    assert object_environment("0.32") == plain | {"NIXL_TELEMETRY_ENABLE": "y"}
    assert set(FIXED) == set(object_environment("0.32")) - {"AWS_RETRY_MODE"}


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
