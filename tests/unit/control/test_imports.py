"""Google's clients are imported only if a pool names a cluster or an instance, which most pools do not."""

import subprocess
import sys

PROGRAM = """
import asyncio, sys
import kvtier.control.operator
from kvtier.control.applier import LustreCaller
from kvtier.facts.gke import GKEReader
from kvtier.facts.lustre_api import LustreReader
asyncio.run(GKEReader().read(None))
asyncio.run(LustreReader().read(None))
asyncio.run(LustreCaller(LustreReader()).carry_out([]))
loaded = [name for name in sys.modules if name.startswith(("google.cloud", "google.api_core", "grpc"))]
assert not loaded, loaded
"""


def test_clients_are_imported_only_when_a_pool_needs_them() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=60)
