"""The configuration of vLLM's own tiering."""

from typing import Any

import pytest

from kvtier.api.v1alpha1 import Tiers
from kvtier.api.v1alpha1.engine import VERSIONS
from kvtier.api.v1alpha1.tiers import FIXED
from kvtier.data.engines import ENGINES
from kvtier.engines.native import connector_config
from unit.tables import table

HERE = "team-a/chat/0123456789abcdef"
SSD = {"localSSD": {"capacity": "1Ti"}}
SLOW = {"backpressure": {"backpressure_cls": "EMABackpressureDetector"}}
ON_SSD = {
    "type": "fs",
    "root_dir": f"/kv/ssd/{HERE}",
    "n_read_threads": 16,
    "n_write_threads": 8,
    "locality": "LOCAL",
    **SLOW,
}
ON_LUSTRE = {
    "type": "fs",
    "root_dir": f"/kv/lustre/{HERE}",
    "n_read_threads": 32,
    "n_write_threads": 16,
    "locality": "REMOTE",
    **SLOW,
}


def _in_bucket(**store: str) -> dict[str, Any]:
    return {"type": "obj", "store_config": store, "prefix": HERE, "locality": "REMOTE", **SLOW}


IN_BUCKET = _in_bucket(bucket="blocks", endpoint_override="storage.googleapis.com", scheme="https")


@pytest.mark.parametrize("version", VERSIONS)
@table(
    "tiers, with_lustre, secondary",
    {
        "a CPU tier alone needs no tiering": ({}, False, None),
        "Local SSD is a file tier": (SSD, False, [ON_SSD]),
        "mounted Lustre is a file tier": ({}, True, [ON_LUSTRE]),
        "Local SSD comes before Lustre": (SSD, True, [ON_SSD, ON_LUSTRE]),
        "a bucket comes last": (
            {**SSD, "objectStorage": {"bucket": "blocks"}},
            True,
            [ON_SSD, ON_LUSTRE, IN_BUCKET],
        ),
        "a bucket at another endpoint": (
            {
                "objectStorage": {
                    "bucket": "blocks",
                    "endpoint": "minio:9000",
                    "scheme": "http",
                    "region": "us-east-1",
                }
            },
            False,
            [_in_bucket(bucket="blocks", endpoint_override="minio:9000", scheme="http", region="us-east-1")],
        ),
        "arguments do not contain credentials from a Secret": (
            {"objectStorage": {"bucket": "blocks", "credentialsSecretRef": {"name": "hmac"}}},
            False,
            [IN_BUCKET],
        ),
    },
)
def test_a_configuration(
    version: str, tiers: dict[str, Any], with_lustre: bool, secondary: list[dict[str, Any]] | None
) -> None:
    of = Tiers.model_validate({"cpu": {"capacity": "100Gi"}, **tiers})
    config = connector_config(of, with_lustre, HERE, 64, ENGINES.versions[version])
    lower = {"secondary_tiers": secondary, "spec_name": "TieringOffloadingSpec"} if secondary else {}
    own = {"cpu_bytes_to_use": 100 << 30, "blocks_per_chunk": 64, "eviction_policy": "lru"}
    assert config == {**own, **lower}


def test_uploads_are_plain_and_retries_few() -> None:
    older, newer = (ENGINES.versions[version].object_tier.environment for version in ("0.32", "0.33"))
    assert newer == {"AWS_REQUEST_CHECKSUM_CALCULATION": "when_required", "AWS_RETRY_MODE": "standard"}
    assert older == newer | {"NIXL_TELEMETRY_ENABLE": "y"}
    assert set(FIXED) == set(older) - {"AWS_RETRY_MODE"}
