"""Numbers that these tests come by, kept for `make bench`."""

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median

FILE = Path(__file__).parents[2] / "build" / "engine.json"


def write(name: str, seconds: Sequence[float], baseline: Sequence[float]) -> None:
    """Keep the medians of both, in milliseconds, in place of an earlier run's."""
    FILE.parent.mkdir(exist_ok=True)
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    known[name] = {"value": 1e3 * median(seconds), "unit": "ms", "baseline": 1e3 * median(baseline)}
    FILE.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")
