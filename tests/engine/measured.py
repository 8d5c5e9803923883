"""Numbers that these tests measure, kept for `make bench`."""

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median

FILE = Path(__file__).parents[2] / "build" / "engine.json"


def ratio(name: str, seconds: Sequence[float], baseline: Sequence[float]) -> None:
    """Keep the medians of both, in milliseconds."""
    keep(name, 1e3 * median(seconds), "ms", 1e3 * median(baseline))


def keep(name: str, value: float, unit: str, baseline: float | None = None) -> None:
    """Keep a number instead of that of an earlier run."""
    FILE.parent.mkdir(exist_ok=True)
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    known[name] = {"value": value, "unit": unit, "baseline": baseline}
    FILE.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")
