"""How a Job that tries the shared tier out has ended."""

import re
from dataclasses import dataclass

from kvtier.facts.objects import Object
from kvtier.plan.lustre.operations import elapsed

_PODLESS_SECONDS = 30.0
_ENDED = {"Complete": True, "SuccessCriteriaMet": True, "Failed": False, "FailureTarget": False}
# pkg/controller/job/pod_failure_policy.go of Kubernetes 1.36
_EXIT = re.compile(r"Container (?P<container>\S+) for pod \S+ failed with exit code (?P<code>\d+)")


@dataclass(frozen=True)
class Outcome:
    """`container` and `code` are of what failed, empty and 0 where the Job does not name it."""

    succeeded: bool
    at: str
    reason: str = ""
    message: str = ""
    container: str = ""
    code: int = 0


def outcome(job: Object) -> Outcome | None:
    """How a Job ended, None while it has not.

    Its verdict stands before its last Pod is gone, and a Pod that hangs on a dead mount may stay for ever.
    """
    conditions = job.get("status", {}).get("conditions") or []
    ended = next((c for c in conditions if c["type"] in _ENDED and c["status"] == "True"), None)
    if ended is None:
        return None
    message = ended.get("message", "")
    exited = _EXIT.search(message)
    return Outcome(
        succeeded=_ENDED[ended["type"]],
        at=ended.get("lastTransitionTime") or job["metadata"]["creationTimestamp"],
        reason=ended.get("reason", ""),
        message=message,
        container=exited["container"] if exited else "",
        code=int(exited["code"]) if exited else 0,
    )


def podless(job: Object, now: str) -> bool:
    """Whether no Pod of a started Job could be made: the Job controller tells that in Events alone."""
    status = job.get("status", {})
    started = status.get("startTime")
    pods = any(status.get(count) for count in ("active", "terminating", "succeeded", "failed"))
    return bool(started) and not pods and elapsed(started, now) > _PODLESS_SECONDS
