"""Times as people read them."""

from datetime import UTC, datetime


def utc_text(time_ms: int) -> str:
    """Return milliseconds since 1970 as date and time of day (UTC), e.g. 2026-06-01 12:00:00."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
