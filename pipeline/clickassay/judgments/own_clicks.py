"""Judgments that are made of the clicks of the same log: they would be held against themselves."""

from collections.abc import Iterable

import polars as pl

from clickassay.click_models.click_log import click_log
from clickassay.core.errors import JudgmentError
from clickassay.core.text.words import visible
from clickassay.judgments.prepare import normal_judgments
from clickassay.patterns.lists import LogLists

COUNTS = ("sessions", "clicks")
"""Columns that say how often a result was shown, and clicked, where clicks made its grade."""

LEAST_CLICKS, LEAST_RESULTS, LEAST_SHARE = 3, 5, 0.2
"""Results with fewer clicks have the same counts by chance; of fewer results nothing is concluded.

Of another log about one result in 50 has the same counts. Of the same log not all have, if its lists were
looked at further down than here.
"""


def refuse_own_clicks(rows: pl.DataFrame, lists: Iterable[LogLists | None], *, normalise_urls: bool) -> None:
    """Refuse judgments whose results have just the sessions and the clicks that this log has of them.

    rows: judgments as read; without `COUNTS` nothing is checked.
    lists: the sessions of the log, in parts.
    normalise_urls: as the log has it.

    Raises JudgmentError if more than `LEAST_SHARE` of the results that can be compared have both counts.
    """
    told = _told(rows, normalise_urls=normalise_urls)
    if told.height < LEAST_RESULTS:
        return
    both = told.join(_counted(told, lists), on=["query", "url"])
    is_same = (pl.col("seen") == pl.col("sessions")) & (pl.col("clicked") == pl.col("clicks"))
    same = both.filter(is_same).unique(["query", "url"]).height
    known = both.unique(["query", "url"]).height
    if same >= LEAST_RESULTS and same > LEAST_SHARE * known:
        first = both.filter(is_same).sort("query", "url").row(0, named=True)
        result, query = visible(first["url"])[:80], visible(first["query"])[:60]
        raise JudgmentError(
            f"judgments: {same:,} of {known:,} results have just the sessions and clicks that this log has "
            f"({result!r} for {query!r}: {first['sessions']:,} and {first['clicks']:,}): they are made of "
            "the clicks that they would be compared with; give judgments from the clicks of another time, or "
            "--click-judge DBN, which is made of the clicks of other users; if people gave the grades, leave "
            "out the columns sessions and clicks"
        )


def _told(rows: pl.DataFrame, *, normalise_urls: bool) -> pl.DataFrame:
    """Return the results that say how often they were shown and clicked: query, url and `COUNTS`."""
    if not all(name in rows.columns for name in COUNTS):
        return rows.head(0)
    if any(rows[name].dtype.is_nested() for name in COUNTS):
        return rows.head(0)
    numbers = rows.with_columns(pl.col(*COUNTS).cast(pl.Int64, strict=False))  # of a CSV file they are text
    usable = numbers.drop_nulls(["query", "url", *COUNTS]).filter(pl.col("clicks") >= LEAST_CLICKS)
    normal = normal_judgments(usable, normalise_urls=normalise_urls)
    return normal.select("query", "url", *COUNTS).unique()


def _counted(told: pl.DataFrame, lists: Iterable[LogLists | None]) -> pl.DataFrame:
    """Return rows (query, url, seen, clicked) for each depth down to which lists can be looked at."""
    parts = [part for part in lists if part is not None]
    patterns = pl.concat([part.patterns_by_id for part in parts])
    named = [
        part.configurations.join(told.select("query").unique(), on="query", how="semi") for part in parts
    ]
    own = pl.concat(named).unique("configuration_id").join(patterns, on="configuration_id", how="semi")
    if own.is_empty():
        return pl.DataFrame(
            schema={**told.select("query", "url").schema, "seen": pl.Float64, "clicked": pl.Float64}
        )
    deepest = int(own.select(pl.col("results").list.len().max()).item())
    log = click_log(own, patterns, depth=deepest)
    shown, clicked = (counts.cumsum(axis=1) for counts in log.by_document())
    results = log.documents.select("query", "url")
    at = (results.with_columns(seen=shown[:, k], clicked=clicked[:, k]) for k in range(deepest))
    return pl.concat(at)
