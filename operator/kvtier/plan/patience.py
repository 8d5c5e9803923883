"""How long a teardown is tried for."""

from datetime import datetime, timedelta

from kvtier.api.conditions import DELETING
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Observed

_PATIENCE = timedelta(minutes=30)
_MAKING = timedelta(hours=2)
"""No instance takes longer than that to be made (the Terraform provider waits as long)."""


def over(pool: KVCachePool, observed: Observed, now: str) -> bool:
    """Whether nothing has got on for 30 minutes since the teardown began, as the condition Deleting tells.

    Time in which no operator ran does not count. A deletion that is tried again and again is no progress.
    """
    told = next((c.last_transition_time for c in pool.status.conditions if c.type == DELETING), None)
    if told is None:
        return False
    began = datetime.fromisoformat(told)
    ends = [_time(one.progress_time) for one in pool.status.operations if one.kind != "Delete"]
    made = [min(time, began + _MAKING) for time in _signs(observed, now)]
    latest = max([began, *(time for time in (*ends, *made) if time)])
    return datetime.fromisoformat(now) - latest > _PATIENCE


def _signs(observed: Observed, now: str) -> list[datetime]:
    """When an instance was last seen being made: by the driver's Events, or in the Lustre API now."""
    lustre = observed.facts.lustre
    creating = lustre is not None and lustre.instance is not None and lustre.instance.state == "CREATING"
    heard = [_time(news.last) for news in observed.claim_news[:1]]
    return [time for time in heard if time] + ([datetime.fromisoformat(now)] if creating else [])


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
