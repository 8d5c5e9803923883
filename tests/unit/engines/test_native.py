"""What vLLM's own tiering is told."""

from typing import Any

from kvtier.api.quantities import GIB
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.engines.fingerprint import directory
from kvtier.engines.native import transfer_config
from unit.builders import pool
from unit.tables import table

ONLY_CPU = {"lustre": None}
SSD = {"localSSD": {"capacity": "1Ti"}}
BLOCKS = 16


def _config(of: KVCachePool, with_lustre: bool) -> dict[str, Any]:
    config = transfer_config(of, of.spec.models[0], with_lustre, BLOCKS)
    extra = config.pop("kv_connector_extra_config")
    assert config == {
        "kv_connector": "OffloadingConnector",
        "kv_role": "kv_both",
        "kv_load_failure_policy": "recompute",
    }
    assert extra["cpu_bytes_to_use"] == 100 * GIB
    return dict(extra)


@table(
    "tiers, with_lustre, roots",
    {
        "Local SSD is a file tier": ({**SSD, **ONLY_CPU}, False, ["/kv/ssd"]),
        "Lustre is a file tier once it is mounted": ({}, True, ["/kv/lustre"]),
        "Local SSD is looked at before Lustre": (SSD, True, ["/kv/ssd", "/kv/lustre"]),
        "Lustre that is not mounted is not named": (SSD, False, ["/kv/ssd"]),
    },
)
def test_file_tiers(tiers: dict[str, Any], with_lustre: bool, roots: list[str]) -> None:
    of = pool(tiers=tiers)
    extra = _config(of, with_lustre)
    assert extra["spec_name"] == "TieringOffloadingSpec"
    here = directory(of, of.spec.models[0], BLOCKS)
    assert [tier["root_dir"] for tier in extra["secondary_tiers"]] == [f"{root}/{here}" for root in roots]
    assert {tier["type"] for tier in extra["secondary_tiers"]} == {"fs"}


def test_only_the_shared_tier_is_remote() -> None:
    secondary = _config(pool(tiers=SSD), with_lustre=True)["secondary_tiers"]
    assert [tier["locality"] for tier in secondary] == ["LOCAL", "REMOTE"]


def test_a_cpu_tier_alone_needs_no_tiering() -> None:
    extra = _config(pool(tiers=ONLY_CPU), with_lustre=False)
    assert "spec_name" not in extra
    assert "secondary_tiers" not in extra


def test_the_bucket_is_looked_at_last_and_holds_the_same_directory_as_the_file_tiers() -> None:
    of = pool(tiers={**SSD, "objectStorage": {"bucket": "blocks"}})
    secondary = _config(of, with_lustre=True)["secondary_tiers"]
    assert [tier["type"] for tier in secondary] == ["fs", "fs", "obj"]
    assert secondary[2]["prefix"] == directory(of, of.spec.models[0], BLOCKS)


def test_another_number_of_blocks_is_another_directory_for_every_file_tier() -> None:
    of = pool(tiers=SSD)
    served = of.spec.models[0]
    extra = transfer_config(of, served, True, 64)["kv_connector_extra_config"]
    assert extra["blocks_per_chunk"] == 64
    here = directory(of, served, 64)
    assert here != directory(of, served, BLOCKS)
    assert [tier["root_dir"] for tier in extra["secondary_tiers"]] == [
        f"/kv/ssd/{here}",
        f"/kv/lustre/{here}",
    ]
