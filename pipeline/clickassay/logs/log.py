"""A log: its two halves, checked to belong together."""

from dataclasses import dataclass

from clickassay.core.errors import InputError
from clickassay.inputs.tables import Input, as_text_ids


@dataclass(frozen=True)
class Log:
    """Searches and clicks that belong together: both name searches by ids of one type."""

    searches: Input
    clicks: Input

    @property
    def by_url(self) -> bool:
        """Whether clicks name a URL, or else a position."""
        return "url" in self.clicks.columns


def checked_log(searches: Input, clicks: Input) -> Log:
    """Put both halves of a log together.

    Raises
    ------
    InputError
        If clicks name neither URL nor position.
    """
    if not {"url", "position"} & clicks.columns:
        has = ", ".join(sorted(clicks.columns))
        raise InputError(
            f"clicks: neither column url nor column position in {clicks.files[0]}; it has: {has}"
        )
    types = {table.frame.collect_schema()["search_id"] for table in (searches, clicks)}
    if len(types) == 1:
        return Log(searches, clicks)
    return Log(as_text_ids(searches, "search_id"), as_text_ids(clicks, "search_id"))
