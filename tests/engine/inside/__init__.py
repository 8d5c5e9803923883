"""Runs in the engines' Python: imports vLLM, and no module of kvtier or of its tests."""
