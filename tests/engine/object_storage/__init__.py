"""A bucket as the last tier: what kvtier renders, through vLLM's tier of objects and NIXL to a server of this machine.

Replaced: the bucket, by a server of ours (bucket.py), and the copies of a GPU, which nothing here needs.
"""
