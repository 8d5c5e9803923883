"""What `make test-engine` measured the last time here: engines take minutes to start, and it starts them anyway."""

import json
import sys
from collections.abc import Iterator

from bench.rows import Row
from engine.measured import FILE


def rows() -> Iterator[Row]:
    """Rows of build/engine.json, none where it is missing."""
    if not FILE.exists():
        print("the engines are not measured: make test-engine does that", file=sys.stderr)
        return
    for name, found in sorted(json.loads(FILE.read_text()).items()):
        yield Row(name, found["value"], found["unit"], found["baseline"])
