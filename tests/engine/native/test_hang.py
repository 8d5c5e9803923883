"""A hanging shared tier, as Lustre in maintenance, only delays requests."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.native.between import between
from engine.native.shared import STORED, TOKENS, Shared, look_up
from engine.replica import Replica
from engine.server import Server
from engine.small import CHUNK, prompt
from testbed.waiting import eventually

pytestmark = pytest.mark.timeout(900)
Second = tuple[Replica, Server]
# This request uses only tiers of the Pod.
WITHOUT_LUSTRE = {"kv_load_tiers": [{"locality": "LOCAL"}]}


def test_requests_wait_for_a_hanging_tier_only_if_they_need_it(
    shared: Shared, second: Second, tmp_path: Path
) -> None:
    """vLLM has no deadline for a lookup. If a version adds one, update docs/evidence/engines.md and README.md."""
    running, server = second
    with ThreadPoolExecutor() as aside, between(running, server, tmp_path) as tier:
        tier.stop()
        cached = aside.submit(look_up, server, "hanging")
        unknown = aside.submit(server.ask, prompt("hanging and unknown", TOKENS))
        eventually(lambda: _deferred(server) == 2, 60, "both wait")
        server.ask(prompt("shorter than a chunk", CHUNK - 1))
        told = server.ask(prompt("told", TOKENS), kv_transfer_params=WITHOUT_LUSTRE)
        assert server.healthy(), "a failed liveness probe would lose the CPU tier without any benefit"
        assert _deferred(server) == 2
        tier.go_on()
        answer, found = cached.result()
        assert len(unknown.result().tokens) == len(answer.tokens)
    assert told.tokens == shared.answers["told"].tokens
    assert (answer.tokens, found) == (shared.answers["hanging"].tokens, STORED)


def _deferred(server: Server) -> float:
    """Requests that wait for a lookup of the connector."""
    return server.metric("vllm:num_requests_waiting_by_reason", reason="deferred")
