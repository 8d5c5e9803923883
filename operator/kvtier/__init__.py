"""kvtier: a KV cache beyond GPU memory for vLLM on GKE."""

__version__ = "0.1.0"
