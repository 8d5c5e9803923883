"""Runs in the engines' Python: imports vLLM, and nothing of kvtier or of its tests."""
