"""How often the operator reads what no watch reports, and how long it waits after a failure.

The operator gets one value at start; tests use shorter times. All intervals between reconciliations are defined here.
"""

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Pace:
    """Times in seconds.

    Time between two reads: `moving` of an instance, an operation or a PVC in progress; `settled` of what is in its
    desired state; `waiting` of what needs something that may take long; `missing` of a Secret or ConfigMap that does
    not exist; `pods` of Pods that do not start; `probe` of a running write probe.

    Other times: `young` is the age from which Events of an object are read. `probe_retry` is the time from a failed
    write probe to the next. `first_retry` and `last_retry` limit the time after a failed operation of the Lustre API,
    which doubles. `fresh` is how long an answer of Google's APIs is used if it shows nothing in progress. `policy` is
    the time between two reads of the policy.
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
    policy: float = 5.0

    def times(self, factor: float) -> "Pace":
        """A copy with every time multiplied."""
        return Pace(**{one.name: getattr(self, one.name) * factor for one in fields(self)})


DEFAULT = Pace()
"""The pace of an operator without other settings."""
