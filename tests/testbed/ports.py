"""Free loopback ports."""

import random
import socket

# Below the range from which the kernel takes the ports of outgoing connections: nothing grabs one of
# ours while a component restarts on it.
_RANGE = range(20000, 32000)


def free_ports(count: int) -> list[int]:
    """Return ``count`` distinct ports on which nothing listens now."""
    candidates = iter(random.SystemRandom().sample(_RANGE, len(_RANGE)))
    return [next(port for port in candidates if _is_free(port)) for _ in range(count)]


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
