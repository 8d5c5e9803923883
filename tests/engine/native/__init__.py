"""vLLM's own tiering end to end: the container of the Deployment, on CPUs.

Replaced: the GPU's copies (by a plugin, shim/), the port, and the image: vLLM 0.32 built for CPUs, and the Python and
file I/O of 0.33 with the CPU kernels of 0.32. Everything else is what kvtier renders and the unmodified vLLM.
"""
