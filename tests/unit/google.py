"""Google's APIs of the test's own: what tests call them by, and the clock of what reads them."""

import asyncio

from testbed.lustre.client import InjectedFault
from testbed.waiting import eventually

LOCATION = "projects/p/locations/us-central1-a"
HOME, AWAY = f"{LOCATION}/instances/home", f"{LOCATION}/instances/away"
REQUEST = "8f8e1a34-6b3d-4c8e-9f0a-0d6a4b1c2d3e"


class Clock:
    """Moves only when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def reached(fault: InjectedFault, requests: int = 1) -> None:
    """Return when so many requests have met a fault."""
    await asyncio.to_thread(eventually, lambda: fault.hits() >= requests)
