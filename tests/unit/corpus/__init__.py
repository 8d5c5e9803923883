"""Hostile and merely odd objects: whatever an API accepts has a value here, and a plan."""
