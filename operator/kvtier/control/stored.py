"""A stored pool: what can be read of it, whatever it contains, and its status while nothing is planned for it."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from kvtier.api.conditions import READY, Condition, false, find, stamp, unknown
from kvtier.api.kinds import Object
from kvtier.api.names import FINALIZER
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.api.v1alpha1 import KVCachePool, PoolSpec, PoolStatus
from kvtier.gcp.errors import tidy


def read(raw: Object) -> KVCachePool:
    """The pool. ValidationError if its spec is invalid. Unreadable parts of the status are left out."""
    return KVCachePool.model_validate({**raw, "status": {}}).model_copy(update={"status": _status(raw)})


def leaving(raw: Object) -> KVCachePool:
    """A deleted pool whose spec cannot be read. Only its deletionPolicy still matters."""
    written = raw.get("spec")
    policy = written.get("deletionPolicy") if isinstance(written, Mapping) else None
    fields: dict[str, Any] = {"deletion_policy": "Delete" if policy == "Delete" else "Retain", "models": []}
    return _pool(raw, spec=PoolSpec.model_construct(_fields_set=None, **fields))


def unread(raw: Object) -> KVCachePool:
    """Metadata and status of a pool, without its spec."""
    return _pool(raw)


def held(raw: Object) -> bool:
    """Whether the pool has the finalizer of kvtier."""
    return FINALIZER in raw["metadata"].get("finalizers", [])


def invalid(error: ValidationError) -> Condition:
    """Ready, for a spec that an older CRD accepted."""
    problem = error.errors()[0]
    where = ".".join(str(part) for part in problem["loc"])
    # The API server stores no pool without a spec. `kube.documents` left it out.
    unread = where == "spec" and problem["type"] == "missing"
    found = (
        "it is nested more than 200 levels deep" if unread else problem["msg"].removeprefix("Value error, ")
    )
    message = sentences(
        f"The field {where} is invalid: {found}", "Until you correct it, kvtier changes nothing"
    )
    return false(READY, Reason.INVALID_SPEC, message)


def unseen(why: str) -> Condition:
    """Ready, if objects that the pool depends on are unknown."""
    return unknown(READY, Reason.NOT_READABLE, why)


def failed(error: Exception) -> Condition:
    """Ready, after an error that kvtier did not expect."""
    message = sentences(
        f"kvtier could not reconcile this pool because of an error in kvtier: {type(error).__name__}: "
        f"{tidy(str(error))}",
        "Engines keep running, and kvtier retries. Report the error with its trace from the log: "
        "kubectl -n kvtier-system logs -l app.kubernetes.io/name=kvtier-operator --tail=-1",
    )
    return unknown(READY, Reason.INTERNAL_ERROR, message)


def stopped(pool: KVCachePool, ready: Condition, now: str) -> PoolStatus:
    """The status of a pool for which nothing is planned: as before, with `ready` as the condition Ready.

    The other conditions keep the generation and the time from which they are.
    """
    old = pool.status
    others = [one for one in old.conditions if one.type != READY]
    return old.model_copy(
        update={
            "observed_generation": pool.generation,
            "phase": _phase(pool, ready),
            "conditions": [*stamp([ready], old.conditions, pool.generation, now), *others],
        }
    )


def stopped_since(pool: KVCachePool) -> str | None:
    """Since when nothing could be planned for the pool, None if its last plan succeeded."""
    ready = find(pool.status.conditions, READY)
    return ready.last_transition_time if ready and ready.status == "Unknown" else None


def _phase(pool: KVCachePool, ready: Condition) -> str:
    if pool.deleting:
        return "Deleting"
    served = pool.status.phase in ("Ready", "Degraded")
    return "Degraded" if served and ready.status == "Unknown" else "Blocked"


def _pool(raw: Object, **fields: Any) -> KVCachePool:
    known: dict[str, Any] = {"metadata": dict(raw["metadata"]), "status": _status(raw), **fields}
    return KVCachePool.model_construct(_fields_set=None, **known)


def _status(raw: Object) -> PoolStatus:
    """The status without the fields and list items that cannot be read.

    Another version of kvtier may have written them. The rest must not be lost: it has the requests to Google's APIs.
    """
    found = raw.get("status")
    written = found if isinstance(found, Mapping) else {}
    return _parsed(written) or _parsed(dict(_readable(written))) or PoolStatus()


def _readable(written: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in written.items():
        if isinstance(value, list):
            yield name, [item for item in value if _parsed({name: [item]})]
        elif _parsed({name: value}):
            yield name, value


def _parsed(written: Mapping[str, Any]) -> PoolStatus | None:
    try:
        return PoolStatus.model_validate(written)
    except ValidationError:
        return None
