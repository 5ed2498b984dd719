"""A moment as people write it. Without a zone it is UTC, as all times that are shown."""

from __future__ import annotations


def parse_time(text: str) -> int:
    """Milliseconds since 1970. Raises ValueError."""
    from datetime import UTC, datetime, timedelta

    given = datetime.fromisoformat(text)
    moment = given if given.tzinfo else given.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def encode_time(time_ms: int) -> str:
    """Its inverse, to the millisecond."""
    from datetime import UTC, datetime, timedelta

    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=time_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
