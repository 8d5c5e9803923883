"""How often the operator looks at what no watch tells it, and how long it waits after a failure.

One value for the whole operator, given to it at start: tests run it faster. Nothing else holds a number of seconds
after which something is looked at again.
"""

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Pace:
    """All in seconds.

    `moving`: an instance, an operation or a claim on its way is looked at again. `settled`: what is as it should be.
    `waiting`: what lacks something that may take long. `missing`: a Secret or ConfigMap that is not there. `pods`: Pods
    that do not start. `young`: how old something must be before its Events are read. `probe`: a write probe that runs;
    `probe_retry`: from one that failed to the next. `first_retry`, `last_retry`: a failed operation of the Lustre API,
    doubling. `fresh`: how long an answer of Google's APIs stands that shows nothing moving.
    """

    moving: float = 15.0
    settled: float = 300.0
    waiting: float = 60.0
    missing: float = 10.0
    young: float = 5.0
    pods: float = 20.0
    probe: float = 30.0
    probe_retry: float = 300.0
    first_retry: float = 60.0
    last_retry: float = 1800.0
    fresh: float = 240.0

    def times(self, factor: float) -> "Pace":
        """The same with every wait multiplied."""
        return Pace(**{one.name: getattr(self, one.name) * factor for one in fields(self)})


DEFAULT = Pace()
"""The pace of an operator that nobody has asked for another one."""
