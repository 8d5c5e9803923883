"""kvtier: a KV cache beyond GPU memory for vLLM on GKE."""
