"""Click logs as arrays: lists of documents, and how often each click pattern was seen on each."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.errors import ClickModelError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NO_DOCUMENT = -1
_CHUNK = 1 << 18


def summed(index: Ints, weights: Ints | Floats, size: int) -> Floats:
    """Return (size,) the sum of the weights that each index has."""
    return np.asarray(np.bincount(index, weights, size), dtype=np.float64)


def shown_values(values: Floats, documents: Ints) -> Floats:
    """Return the value, of (D,), of each document; 0 where there is none."""
    return np.asarray(np.where(documents == NO_DOCUMENT, 0.0, values[documents]))


def total(weights: Ints | Floats, values: Floats) -> float:
    """Return the sum of weights times values: the same to the last bit with any number of threads."""
    return float(np.sum(weights * values))


@dataclass(frozen=True)
class ClickLog:
    """Patterns of clicks as arrays."""

    # (L, K) codes of the documents shown, the first result first; `NO_DOCUMENT` past the end of a list.
    lists: Ints
    rows: Ints  # (P,) the list of each pattern.
    masks: Ints  # (P,) click mask: bit r - 1 is a click on position r; no bit past the end of the list.
    sessions: Ints  # (P,) how often it was seen.
    documents: pl.DataFrame  # Rows (market, query, url) by code: a document is a URL as an answer to a query.

    @property
    def depth(self) -> int:
        """Positions of a list, K."""
        return int(self.lists.shape[1])

    @property
    def clicks(self) -> Bools:
        """(P, K) whether each position was clicked."""
        return np.asarray(self.masks[:, None] >> np.arange(self.depth) & 1, dtype=np.bool_)

    @property
    def shown(self) -> Bools:
        """(L, K) whether there is a document."""
        return np.asarray(self.lists != NO_DOCUMENT)

    def chunks(self) -> Iterator["ClickLog"]:
        """Yield the log in pieces, so that (P, K) arrays of each stay small."""
        for first in range(0, len(self.rows), _CHUNK):
            yield self.some(slice(first, first + _CHUNK))

    def some(self, part: slice | Bools) -> "ClickLog":
        """Return the log with some of its patterns."""
        return replace(self, rows=self.rows[part], masks=self.masks[part], sessions=self.sessions[part])

    def by_list(self) -> tuple[Ints, Ints]:
        """Return (L,) sessions of each list, and (L, K) clicks on each of its positions."""
        size, depth = self.lists.shape
        sessions = summed(self.rows, self.sessions, size).astype(np.int64)
        clicks = np.zeros((size, depth), dtype=np.int64)
        for position in range(depth):
            weights = self.sessions * (self.masks >> position & 1)
            clicks[:, position] = summed(self.rows, weights, size)
        return sessions, clicks

    def by_document(self) -> tuple[Floats, Floats]:
        """Return (D, K) the sessions that showed each document at each position, and its clicks there."""
        sessions, clicks = self.by_list()
        spread = np.broadcast_to(sessions[:, None], self.shown.shape)
        cells = (self.lists * self.depth + np.arange(self.depth))[self.shown]
        size = len(self.documents) * self.depth
        counts = (summed(cells, of[self.shown], size).reshape(-1, self.depth) for of in (spread, clicks))
        shown, clicked = counts
        return shown, clicked

    def impressions(self) -> Floats:
        """Return (D,) the sessions that showed each document, once for each place that it had."""
        return np.asarray(self.by_document()[0].sum(axis=1))

    def first_clicks(self) -> Ints:
        """Return (P,) the first position clicked, 0 where there is none."""
        below = (self.masks & -self.masks) - 1  # the bits below the lowest one that is set
        return np.where(self.masks > 0, np.bitwise_count(below).astype(np.int64) + 1, 0)

    def last_clicks(self) -> Ints:
        """Return (P,) the last position clicked, 0 where there is none."""
        places = np.zeros(len(self.masks), dtype=np.int64)
        for position in range(self.depth):
            places[self.masks >> position & 1 == 1] = position + 1
        return places


def click_log(configurations: pl.DataFrame, patterns: pl.DataFrame, *, depth: int) -> ClickLog:
    """Cut lists and their patterns to a depth.

    configurations: configuration_id, market, query, results (best first).
    patterns: configuration_id, click_mask, sessions; rows of other configurations are left out.
    depth: K; lists may be shorter. Lists that become the same by the cut stay apart: no model looks below it.

    Raises ClickModelError if there is no session, a list is empty or has a hole, or a mask has a click where
    its list has no result.
    """
    known = pl.col("results").list.drop_nulls().list.len()
    whole = (known > 0) & (known == pl.col("results").list.len())
    wrong = configurations.filter(~whole.fill_null(value=False))
    if wrong.height:
        first = wrong.row(0, named=True)
        what = "null among its results" if first["results"] else "no results"
        raise ClickModelError(
            f"configurations.parquet: configuration {first['configuration_id']} has {what}; rebuild the "
            "pattern table"
        )
    configurations = configurations.with_row_index("row")
    length = pl.col("results").list.len().cast(pl.Int64).alias("length")
    rows = patterns.join(configurations.select("configuration_id", "row", length), on="configuration_id")
    past = pl.col("click_mask") >= pl.lit(2, pl.Int64).pow(pl.col("length"))
    wrong = rows.filter(past | (pl.col("click_mask") < 0) | (pl.col("sessions") < 1))
    if wrong.height:
        first = wrong.row(0, named=True)
        raise ClickModelError(
            f"patterns.parquet: click_mask {first['click_mask']} with sessions {first['sessions']} does not "
            f"fit the {first['length']} results of configuration {first['configuration_id']}; rebuild the "
            "pattern table"
        )
    lengths = pl.col("results").list.len().clip(upper_bound=depth)
    shown = (
        configurations.select(
            "row", "market", "query", pl.col("results").list.head(depth).alias("url"),
            pl.int_ranges(lengths).alias("place"),
        )
        .explode("url", "place", empty_as_null=False)
    )  # fmt: skip
    documents = shown.select("market", "query", "url").unique(maintain_order=True)
    coded = shown.join(documents.with_row_index("code"), on=["market", "query", "url"], maintain_order="left")
    lists = np.full((configurations.height, depth), NO_DOCUMENT, dtype=np.int64)
    lists[coded["row"].to_numpy(), coded["place"].to_numpy()] = coded["code"].to_numpy()
    counted = (
        rows.select("row", pl.col("click_mask") & ((1 << depth) - 1), "sessions")
        .group_by("row", "click_mask")
        .agg(pl.col("sessions").sum())
        .sort("row", "click_mask")
    )
    if counted.is_empty():
        raise ClickModelError("click models: there are no sessions to fit on")
    row, mask, sessions = (counted[name].cast(pl.Int64).to_numpy() for name in counted.columns)
    return ClickLog(lists, row, mask, sessions, documents)


def check_clicked(log: ClickLog) -> None:
    """Refuse a log without clicks: every model would fit it, with values that the pseudo-counts set.

    Raises ClickModelError if nothing was clicked.
    """
    if not log.masks.any():
        raise ClickModelError(
            f"click models: there are {log.sessions.sum():,} sessions to fit on but no click; nothing to fit"
        )
