"""Arithmetic that ties sizes together: tiers, memory, probes. Pure."""
