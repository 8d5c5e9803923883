"""Most pools name no cluster: their operator does not pay for Google's clients."""

import subprocess
import sys

PROGRAM = """
import asyncio, sys
import kvtier.control.operator
from kvtier.facts.gke import GKEReader
asyncio.run(GKEReader().read(None))
loaded = [name for name in sys.modules if name.startswith(("google.cloud", "google.api_core", "grpc"))]
assert not loaded, loaded
"""


def test_the_client_is_imported_only_when_a_pool_names_a_cluster() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=60)
