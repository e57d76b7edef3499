"""The counts that a batch ends with (``sql/funnel``): their columns, and how they enter the funnel."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from clickassay.core.contracts.form import DataType
from clickassay.patterns.funnel import LogFunnel
from clickassay.patterns.health import LogCounts

_ORPHAN_CLICKS: dict[str, DataType] = {"is_open": pl.Boolean, "clicks": pl.Int64}
COUNT_FORMS: Mapping[str, Mapping[str, DataType]] = {
    "rows_read": {"searches": pl.Int64, "clicks": pl.Int64},
    "searches": dict.fromkeys(
        ("usable", "carried", "kept", "left_out", "shortened", "merged", "carried_clicks"), pl.Int64
    ),
    "rejected_searches": {"reason": pl.String, "rows_rejected": pl.Int64},
    "rejected_clicks": {"reason": pl.String, "rows_rejected": pl.Int64},
    "attributed_clicks": {
        "ambiguous": pl.Boolean,
        "in_time": pl.Boolean,
        "is_open": pl.Boolean,
        "is_misplaced": pl.Boolean,
        "clicks": pl.Int64,
    },
    "orphan_clicks": _ORPHAN_CLICKS,
    "click_positions": {
        "position": pl.Int64,
        "on_first_page": pl.Boolean,
        "is_open": pl.Boolean,
        "clicks": pl.Int64,
    },
    "health": {"name": pl.String, "key": pl.Int64, "value": pl.Int64},
    "sessions": {
        "market": pl.String,
        "is_kept": pl.Boolean,
        "on_first_page": pl.Boolean,
        "sessions": pl.Int64,
    },
}
"""Columns of each count, in their order."""

SIGNAL_FORMS: Mapping[str, Mapping[str, DataType]] = {
    "actions": {"step": pl.String, "reason": pl.String, "is_open": pl.Boolean, "actions": pl.Int64},
    "outcomes": {"outcome": pl.String, "is_open": pl.Boolean, "outcomes": pl.Int64},
    "dwell_times": {"step": pl.String, "is_open": pl.Boolean, "clicks": pl.Int64},
}
"""The same of logs whose clicks have actions, or whose dwell times count."""


def count_batch(funnel: LogFunnel, health: LogCounts, rows: Mapping[str, Sequence[tuple[Any, ...]]]) -> None:
    """Count a batch in a funnel, and what shows whether its log is sound.

    rows: the rows of each count but ``sessions``, in the forms of `COUNT_FORMS`; and of `SIGNAL_FORMS`, if
      any.

    Raises EngineError if the counts do not add up to the rows that were read.
    """
    searches, clicks = rows["rows_read"][0]
    usable, carried, kept, left_out, shortened, merged, carried_clicks = rows["searches"][0]
    funnel.count_searches(
        read=searches - carried,
        rejected=dict(rows["rejected_searches"]),
        usable=usable - carried,
        kept=kept - carried,
        left_out=left_out,
        shortened=shortened,
        merged=merged,
    )
    orphan_clicks = pl.DataFrame(rows["orphan_clicks"], schema=_ORPHAN_CLICKS, orient="row")
    funnel.count_clicks(
        read=clicks - carried_clicks,
        carried=carried_clicks,
        rejected=dict(rows["rejected_clicks"]),
        outcomes=rows["attributed_clicks"],
        orphan_clicks=orphan_clicks.with_columns(search_id=pl.lit(None)),
    )
    funnel.count_positions(rows["click_positions"])
    if "actions" in rows:
        funnel.count_actions(rows["actions"])
    funnel.count_dwell_times(rows.get("dwell_times", ()))
    funnel.count_outcomes(rows.get("outcomes", ()))
    health.add_rows(rows["health"])
