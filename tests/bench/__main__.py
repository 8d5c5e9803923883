"""Measure everything, or what the arguments name. Fails only if a count is wrong."""

import sys
from collections.abc import Callable, Iterator

from rich.console import Console

from bench import apply, control_plane, engine, render, thousand
from bench.rows import Row, broken, document, table
from testbed.operator_process import ROOT

_BENCHES: dict[Callable[[], Iterator[Row]], tuple[str, ...]] = {
    render.rows: ("render_pool",),
    control_plane.rows: ("control_plane_ready", "control_plane_whole"),
    apply.rows: ("apply_one_pool", "apply_one_pool_raw"),
    thousand.rows: (
        "create_1000", "converge_1000", "converge_1000_cpu", "writes_per_pool",
        "restart_1000", "restart_1000_process", "restart_1000_cpu", "restart_writes",
        "operator_rss", "operator_rss_idle", "idle_writes", "idle_lease_renewals",
    ),
    engine.rows: (
        "ttft_shared_tier_cpu_0.32", "ttft_shared_tier_cpu_0.33",
        "shm_beside_tier_0.32", "shm_beside_tier_0.33",
    ),
}  # fmt: skip
NAMES = {name for measured in _BENCHES.values() for name in measured}


def main(names: list[str]) -> int:
    """Run the benches that measure `names` (all by default); each reports every row that it measures."""
    if unknown := sorted(set(names) - NAMES):
        print(f"unknown name: {', '.join(unknown)}. Use {', '.join(sorted(NAMES))}", file=sys.stderr)
        return 2
    console = Console(stderr=True)
    rows = []
    for bench, measured in _BENCHES.items():
        if not names or set(names) & set(measured):
            for row in bench():
                console.print(f"{row.name}: {row.value:.3g} {row.unit}", highlight=False)
                rows.append(row)
    return _report(rows)


def _report(rows: list[Row]) -> int:
    path = ROOT / "build" / "bench.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(document(rows))
    Console(width=110).print(table(rows))
    failed = broken(rows)
    for name in failed:
        print(f"{name} must be exactly its goal", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
