"""Times of a cron expression, in UTC. Times are RFC 3339."""

from datetime import UTC, datetime, timedelta

from cronsim import CronSim, CronSimError


def problem(expression: str, now: str) -> str:
    """What is wrong with an expression, empty if nothing is."""
    try:
        found = next(CronSim(expression, _utc(now)), None)
    except CronSimError as error:
        return str(error)
    return "" if found else "it names no time in the next 50 years"


def latest(expression: str, now: str) -> str | None:
    """The last time up to now."""
    found = next(CronSim(expression, _utc(now) + timedelta(seconds=1), reverse=True), None)
    return _text(found) if found else None


def following(expression: str, now: str) -> str:
    """The next time after now. `problem` must have found none."""
    return _text(next(CronSim(expression, _utc(now))))


def _utc(time: str) -> datetime:
    return datetime.fromisoformat(time).astimezone(UTC).replace(microsecond=0)


def _text(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
