"""A bucket as the last tier: what kvtier renders, with vLLM's object tier and NIXL, and a server on this machine.

Replaced: the bucket, by a small server (bucket.py). The copies of a GPU are left out, because nothing here needs them.
"""
