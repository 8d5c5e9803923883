"""Measures what kvtier costs: `python -m bench [name ...]` prints a table and writes build/bench.json."""
