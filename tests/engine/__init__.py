"""What kvtier renders, run through the real vLLM and LMCache (`make test-engine`)."""
