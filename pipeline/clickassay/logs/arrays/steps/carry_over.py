"""What the next batch, or the next run into a store, needs of a batch: open visits and late clicks."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from clickassay.core.numbering import Rows
from clickassay.logs.arrays import columns
from clickassay.logs.arrays.actions import Actions
from clickassay.logs.arrays.shown import LogTexts
from clickassay.logs.arrays.steps.teams import NO_DRAFT, NumberedDrafts
from clickassay.patterns.digests import id_digests


@dataclass(frozen=True)
class CarryOver:
    """Searches of open visits, their clicks, and clicks whose search may still come, as numbers."""

    searches: columns.Searches
    clicks: columns.ReadClicks


def searches_as_read(
    searches: columns.Searches,
    shown: LogTexts,
    arms: pl.DataFrame | None = None,
    drafts: NumberedDrafts | None = None,
) -> pl.DataFrame:
    """Return searches as rows of their input, sorted, with what `arms` and `drafts` hold of them."""
    frame = shown.rows(searches)
    rows = frame.select(
        ids_as_read(searches.id, searches.id_text).alias("search_id"),
        ids_as_read(searches.user, searches.user_text).alias("user_id"),
        "query",
        pl.Series("timestamp", searches.time),
        "results",
        "market",
        "page",
    )
    if searches.arm is not None and arms is not None:
        named = arms.select("variant", "experiment")
        rows = rows.with_columns(
            column.gather(searches.arm.clip(min=0)).scatter(np.flatnonzero(searches.arm < 0), None)
            for column in named
        )
    if drafts is not None and searches.draft is not None:
        is_kept = shown.lists.query.values.take(searches.list) >= 0  # other lists are not kept
        own = drafts.as_read(np.where(is_kept, searches.draft, NO_DRAFT))
        experiment = own["experiment"]
        if "experiment" in rows.columns:
            experiment = rows["experiment"].zip_with(rows["experiment"].is_not_null(), experiment)
        rows = rows.with_columns(own["teams"], experiment)
    return rows.sort("timestamp", "search_id", "user_id", "page")


def clicks_as_read(read: columns.ReadClicks, shown: LogTexts, actions: Actions | None = None) -> pl.DataFrame:
    """Return clicks as rows of their input, sorted; with their actions where there are others than clicks."""
    clicks = read.clicks
    texts = pl.concat([shown.urls.texts, read.unknown, pl.Series([None], dtype=pl.String)])
    known = shown.urls.normal.count
    at = np.where(clicks.url >= 0, clicks.url, known + columns.UNKNOWN - clicks.url.astype(np.int64))
    at[clicks.url == columns.UNKNOWN + 1] = len(texts) - 1
    rows = pl.DataFrame(
        {
            "search_id": ids_as_read(clicks.id, clicks.id_text),
            "timestamp": clicks.time,
            "url": texts.gather(at),
            "position": clicks.place,
        }
    )
    order = ["timestamp", "search_id", "url", "position"]
    if actions is not None and clicks.action is not None and clicks.dwell is not None:
        dwell = pl.Series(clicks.dwell)
        rows = rows.with_columns(
            action=actions.texts.gather(clicks.action),
            dwell_seconds=dwell.set(dwell == columns.NOT_GIVEN, None),
        )
        order += ["action", "dwell_seconds"]
    position = pl.when(pl.col("position") != columns.NO_PLACE).then("position")
    return rows.with_columns(position).sort(order)


def ids_as_read(ids: Rows, texts: pl.Series | None) -> pl.Series:
    """Return ids as they were read: whole numbers, or texts."""
    return pl.Series(ids) if texts is None else texts


def orphan_clicks(orphans: columns.Clicks, open_ms: int) -> pl.DataFrame:
    """Return search_id, is_open (the search may still come) and clicks of clicks without a search."""
    ids = ids_as_read(orphans.id, orphans.id_text)
    table = pl.DataFrame({"search_id": ids, "is_open": orphans.time >= open_ms})
    return table.group_by("search_id", "is_open").agg(pl.len().cast(pl.Int64).alias("clicks"))


def new_search_ids(searches: columns.Searches) -> pl.Series:
    """Return the digests of search ids that no earlier batch has read, sorted, each once."""
    new = ~searches.carried
    carried = searches.take(np.flatnonzero(searches.carried))
    known = set(zip(carried.id.tolist(), carried.user.tolist(), carried.time.tolist(), strict=True))
    again = np.flatnonzero(new & columns.is_in(searches.id, columns.distinct(carried.id)))
    for row in again:
        key = int(searches.id[row]), int(searches.user[row]), int(searches.time[row])
        new[row] = key not in known
    rows = np.flatnonzero(new)
    texts = searches.id_text
    ids = searches.id[rows] if texts is None else id_digests(texts.gather(rows))
    return pl.Series("id", columns.distinct(ids))
