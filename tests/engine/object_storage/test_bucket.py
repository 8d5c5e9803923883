"""A bucket as the last tier: the rendered settings keep blocks correct, and which failures end an engine."""

from typing import Any

import pytest

from engine.object_storage.bucket import BUSY, Bucket, serving
from engine.object_storage.engine import SECRET, pool_with, run, started, transfer
from engine.worker import Worker
from kvtier.data.engines import ENGINES
from kvtier.engines.fingerprint import directory
from unit.builders import model_cache
from unit.tables import table

pytestmark = pytest.mark.timeout(300)
NO_ACCESS = "start: RuntimeError: Object store tier connectivity probe failed"
NO_TELEMETRY = "store: nixlNoTelemetryError"
FOUND = ["HIT", "HIT", "MISS"]
LOOKUP_SECONDS = 10.0
"""Limit for a lookup at a stopped endpoint: 1 to 3 s with AWS_RETRY_MODE as rendered, 25.6 s without."""


def test_loaded_chunks_are_equal_to_stored_chunks(engine: Worker, bucket: Bucket) -> None:
    found = run(engine, bucket, "store", "lookup", "load")
    assert (found["ended"], found["store"], found["lookup"], found["load"]) == (None, True, FOUND, True)
    assert found["same"]


def test_all_objects_have_the_prefix_of_the_pool(engine: Worker, bucket: Bucket) -> None:
    run(engine, bucket, "store")
    of = pool_with(bucket, engine.version)
    extra = transfer(started(bucket, engine.version))["kv_connector_extra_config"]
    prefix = directory(of, model_cache(of.spec.models[0], extra["blocks_per_chunk"]))
    assert prefix.startswith("team-a/chat/")
    assert [key.startswith(f"{prefix}/") for key in bucket.objects] == [True, True]


def test_without_the_variable_loaded_blocks_are_wrong_without_an_error(
    engine: Worker, bucket: Bucket
) -> None:
    changed = {"AWS_REQUEST_CHECKSUM_CALCULATION": None}
    found = run(engine, bucket, "store", "lookup", "load", **changed)
    assert (found["ended"], found["store"], found["lookup"], found["load"]) == (None, True, FOUND, True)
    assert not found["same"]


@table(
    "last, steps, results",
    {
        "after the engine's start": (1, ("lookup", "store"), (["MISS"] * 3, False)),
        "after blocks were found": (6, ("store", "lookup", "load"), (True, FOUND, False)),
    },
)
def test_an_endpoint_that_stops_does_not_end_an_engine(
    engine: Worker, bucket: Bucket, last: int, steps: tuple[str, ...], results: tuple[Any, ...]
) -> None:
    bucket.last = last
    found = run(engine, bucket, *steps)
    assert found["ended"] is None
    assert tuple(found[step] for step in steps) == results
    assert found["seconds"]["lookup"] < LOOKUP_SECONDS


def test_denied_access_ends_an_engine_at_start(engine: Worker, bucket: Bucket) -> None:
    """The server knows one key, so in all other tests the key came from the variable of the Secret."""
    assert run(engine, bucket, "store", AWS_ACCESS_KEY_ID="OTHER")["ended"].startswith(NO_ACCESS)


def test_a_missing_endpoint_ends_an_engine_at_start(engine: Worker) -> None:
    with serving() as gone:
        pass
    assert run(engine, gone, "store")["ended"].startswith(NO_ACCESS)


def test_arguments_do_not_contain_credentials(bucket: Bucket) -> None:
    rendered = started(bucket, "0.33")
    given = " ".join([*rendered.command, *rendered.arguments])
    assert bucket.endpoint in given
    assert [value in given for value in SECRET.values()] == [False, False]
    assert rendered.variables.items() >= SECRET.items()


def test_telemetry_is_enabled_for_the_version_that_needs_it(engine: Worker, bucket: Bucket) -> None:
    found = run(engine, bucket, "store", NIXL_TELEMETRY_ENABLE=None)
    needed = "NIXL_TELEMETRY_ENABLE" in ENGINES.versions[engine.version].object_tier.environment
    assert (found["ended"] or "").startswith(NO_TELEMETRY) is needed


def test_disabled_telemetry_ends_every_version(engine: Worker, bucket: Bucket) -> None:
    assert run(engine, bucket, "store", NIXL_TELEMETRY_ENABLE="n")["ended"].startswith(NO_TELEMETRY)


def test_a_failed_store_may_continue_with_the_bytes_of_other_blocks(engine: Worker, bucket: Bucket) -> None:
    """docs/explanation/shared-tier.md warns of it: NIXL reports failure after one failed upload, and continues."""
    bucket.faults = {"00.bin": [403], "01.bin": [BUSY]}
    found = run(engine, bucket, "store", "reuse", "appear")
    assert (found["ended"], found["store"], found["appear"]) == (None, False, ["MISS", "HIT", "MISS"])
    assert [any(content) for content in bucket.objects.values()] == [False]
