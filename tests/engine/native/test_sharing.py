"""A Pod finds what another Pod computed: which bytes, in which tier, and what remains after a crash."""

import os

import pytest

from engine import measured, small
from engine.native.shared import LONG, LONG_PROMPTS, STORED, Shared, look_up, offload_files
from engine.replica import Replica
from engine.server import Server
from engine.small import CHUNK
from kvtier.api.quantities import GIB
from kvtier.data.engines import ENGINES

pytestmark = pytest.mark.timeout(900)
Second = tuple[Replica, Server]


def test_a_cold_pod_finds_what_another_computed(shared: Shared, second: Second) -> None:
    _, server = second
    answer, found = look_up(server, "found")
    assert answer.tokens == shared.answers["found"].tokens
    assert found == STORED
    assert server.metric("vllm:prompt_tokens_cached_by_source_total", source="disk") >= STORED
    assert server.metric("vllm:kv_offload_tiering_chunk_hits_total", tier="2:fs") >= STORED // CHUNK


def test_blocks_that_are_found_on_lustre_are_not_copied_to_local_ssd(shared: Shared, second: Second) -> None:
    running, server = second
    _, found = look_up(server, "not promoted")
    assert found == STORED
    blocks = {path.name for path in shared.files["not promoted"]}
    assert blocks & {path.name for path in running.pod.path("/kv/ssd").rglob("*.bin")} == set()


def test_the_bytes_of_found_blocks_are_used(shared: Shared, second: Second) -> None:
    """A control: without it, equal tokens would prove nothing."""
    for file in shared.files["spoiled"]:
        file.write_bytes(os.urandom(file.stat().st_size))
    answer, found = look_up(second[1], "spoiled")
    assert found == STORED
    assert answer.tokens != shared.answers["spoiled"].tokens


def test_a_killed_engine_leaves_shared_memory_and_the_next_start_deletes_it(
    shared: Shared, second: Second
) -> None:
    """The first start was without the Deployment's shell line, the second with it."""
    assert len(shared.left) == 1
    assert len(shared.stale) == 2, "vLLM now deletes these files, so the shell line is not needed any more"
    assert [name for name in offload_files(second[0]) if "stale" in name] == []


def test_shared_memory_contains_the_whole_tier_and_little_else(shared: Shared, second: Second) -> None:
    """The engine allocates the whole tier at start, so a /dev/shm that is large enough then stays large enough."""
    running, _ = second
    tier = small.pool().spec.tiers.cpu
    assert tier
    place = running.pod.path("/dev/shm")
    files = [place / name for name in offload_files(running)]
    taken = sum(file.stat().st_blocks * 512 for file in files)
    stats = os.statvfs(place)
    beside = (stats.f_blocks - stats.f_bfree) * stats.f_frsize - taken
    assert taken == pytest.approx(tier.capacity.bytes, rel=0.02)
    assert 0 <= beside < ENGINES.versions[shared.image.version].shm_headroom_gib * GIB
    measured.keep(f"shm_beside_tier_{shared.image.version}", beside / (1 << 20), "MiB")


def test_the_time_to_the_first_token_is_measured(shared: Shared, second: Second) -> None:
    """The same prompts in one run: loaded here, computed by the first Pod. No bound is asserted."""
    look_up(second[1], "warm")
    loaded = [look_up(second[1], name, LONG) for name in LONG_PROMPTS]
    assert {found for _, found in loaded} == {LONG // CHUNK * CHUNK}
    assert [answer.tokens for answer, _ in loaded] == [shared.answers[name].tokens for name in LONG_PROMPTS]
    measured.ratio(
        f"ttft_shared_tier_cpu_{shared.image.version}",
        [answer.seconds for answer, _ in loaded],
        [shared.answers[name].seconds for name in LONG_PROMPTS],
    )
