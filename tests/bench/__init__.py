"""What kvtier costs, measured: `python -m bench [name ...]` prints a table and writes build/bench.json."""
