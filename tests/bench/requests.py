"""Arithmetic on the API server's audit log, whose times are in microseconds."""

from collections.abc import Iterable
from datetime import datetime

from kvtier.api.kinds import POOL
from kvtier.kube.client import CHILDREN
from testbed.control_plane.audit import Request
from testbed.operator_process import USER

_CHILDREN = {resource.plural for resource in CHILDREN}


def writes(requests: Iterable[Request]) -> list[Request]:
    """Writes of the operator, without Lease renewals."""
    return [one for one in requests if one.user == USER and one.is_write and not one.is_lease]


def lease_writes(requests: Iterable[Request]) -> list[Request]:
    """Lease renewals of the operator."""
    return [one for one in requests if one.user == USER and one.is_write and one.is_lease]


def child_writes(requests: Iterable[Request]) -> list[Request]:
    """Writes of the operator to children of pools."""
    return [one for one in writes(requests) if one.resource in _CHILDREN]


def creations(requests: Iterable[Request]) -> list[Request]:
    """Creations of pools by any client."""
    return [one for one in requests if one.verb == "create" and one.resource == POOL.plural]


def seconds(first: Iterable[Request], last: Iterable[Request]) -> float:
    """Seconds from the receipt of the earliest of `first` to the response of the latest of `last`."""
    begin = min(datetime.fromisoformat(one.time) for one in first)
    end = max(datetime.fromisoformat(one.answered) for one in last)
    return (end - begin).total_seconds()
