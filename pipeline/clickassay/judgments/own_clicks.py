"""Judgments that are made of the clicks of the same log: they would be held against themselves."""

from collections.abc import Iterable

import numpy as np
import polars as pl

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

    Parameters
    ----------
    rows
        Judgments as read; without `COUNTS` nothing is checked.
    lists
        The sessions of the log, in parts.
    normalise_urls
        As the log has it.

    Raises
    ------
    JudgmentError
        If more than `LEAST_SHARE` of the results that can be compared have both counts.
    """
    told = _told(rows, normalise_urls=normalise_urls)
    if told.height < LEAST_RESULTS:
        return
    parts = [_counted(part, told) for part in lists if part is not None]
    on = ["query", "url", "depth"]
    found = pl.concat(parts).group_by("market", *on).agg(pl.col("seen", "clicked").sum())
    both = told.join(found, on=["query", "url"])
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
            "--click-judge DBN, which is made of the clicks of other users"
        )


def _told(rows: pl.DataFrame, *, normalise_urls: bool) -> pl.DataFrame:
    """Return the results that say how often they were shown and clicked: query, url and `COUNTS`."""
    if not all(name in rows.columns for name in COUNTS):
        return rows.head(0)
    numbers = rows.with_columns(pl.col(*COUNTS).cast(pl.Int64, strict=False))  # of a CSV file they are text
    usable = numbers.drop_nulls(["query", "url", *COUNTS]).filter(pl.col("clicks") >= LEAST_CLICKS)
    normal = normal_judgments(usable, normalise_urls=normalise_urls)
    return normal.select("query", "url", *COUNTS).unique()


def _counted(lists: LogLists, told: pl.DataFrame) -> pl.DataFrame:
    """Return rows (market, query, url, depth, seen, clicked): a list is looked at down to each depth."""
    own = lists.configurations.join(told.select("query").unique(), on="query", how="semi")
    deepest = int(own["results"].list.len().max() or 0)  # type: ignore[arg-type]
    shown = (
        own.select(
            "configuration_id",
            "market",
            "query",
            pl.col("results").alias("url"),
            pl.int_ranges(pl.col("results").list.len()).alias("place"),
        )
        .explode("url", "place", empty_as_null=False)
        .join(told.select("query", "url").unique(), on=["query", "url"], how="semi")
    )
    by_list = lists.patterns_by_id.group_by("configuration_id", "click_mask").agg(pl.col("sessions").sum())
    rows = shown.join(by_list, on="configuration_id")
    is_clicked = (pl.col("click_mask") // pl.lit(2, pl.Int64).pow(pl.col("place"))) % 2
    at = rows.group_by("market", "query", "url", "place").agg(
        pl.col("sessions").sum().alias("seen"), (pl.col("sessions") * is_clicked).sum().alias("clicked")
    )
    depths = pl.DataFrame({"depth": np.arange(1, deepest + 1)})
    cut = at.join(depths, how="cross").filter(pl.col("place") < pl.col("depth"))
    return cut.group_by("market", "query", "url", "depth").agg(pl.col("seen", "clicked").sum())
