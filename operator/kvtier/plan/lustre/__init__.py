"""The shared tier: `shared_tier.py` has the order of its steps, every other file one of them or what they share."""
