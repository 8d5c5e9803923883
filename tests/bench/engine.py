"""The results of the last `make test-engine` on this machine: it starts engines anyway, which takes minutes."""

import json
import sys
from collections.abc import Iterator

from bench.rows import Row
from engine.measured import FILE


def rows() -> Iterator[Row]:
    """Rows of build/engine.json, none where it is missing."""
    if not FILE.exists():
        print("engines were not measured; run make test-engine", file=sys.stderr)
        return
    for name, found in sorted(json.loads(FILE.read_text()).items()):
        yield Row(name, found["value"], found["unit"], found["baseline"])
