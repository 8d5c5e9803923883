"""Names in the simulated Google APIs, and the clock of their readers."""

import asyncio

from testbed.lustre.client import InjectedFault
from testbed.waiting import eventually

LOCATION = "projects/p/locations/us-central1-a"
HOME, AWAY = f"{LOCATION}/instances/home", f"{LOCATION}/instances/away"
REQUEST = "8f8e1a34-6b3d-4c8e-9f0a-0d6a4b1c2d3e"


class Clock:
    """A clock that moves only when the test sets it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def reached(fault: InjectedFault, requests: int = 1) -> None:
    """Return when this number of requests has reached the fault."""
    await asyncio.to_thread(eventually, lambda: fault.hits() >= requests)
