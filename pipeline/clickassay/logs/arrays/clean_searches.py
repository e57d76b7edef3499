"""Which searches are usable, each counted once however often it was delivered (method 2)."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.logs.arrays.columns import Searches
from clickassay.logs.arrays.numbers import Flags, Rows, among, distinct, repeated
from clickassay.logs.steps import END_MS, FIRST_MS

if TYPE_CHECKING:
    from clickassay.logs.arrays.read_searches import Shown

Codes = NDArray[np.uint8]

SEARCH_FAULTS = (
    *("null search_id", "null user_id", "null query", "null timestamp", "time out of range"),
    *("null results", "empty results", "null in results", "null market", "null page"),
)
"""Reasons for which a search is unusable; the first that applies counts."""


def faults_of_searches(rows: pl.DataFrame) -> Codes | None:
    """Return for each search 0 if it is usable, else the place of the reason from 1; None if all are."""
    lengths = rows["results"].list.len()
    times = rows["timestamp"]
    found = {
        "null search_id": nulls(rows["search_id"]),
        "null user_id": nulls(rows["user_id"]),
        "null query": nulls(rows["query"]),
        "null timestamp": nulls(times),
        "time out of range": out_of_range(times),
        "null results": nulls(lengths),
        "empty results": _where(lengths == 0) if lengths.min() == 0 else None,
        "null in results": _lists_with_a_null(rows["results"]),
        "null market": nulls(rows["market"]),
        "null page": nulls(rows["page"]),
    }
    return first_faults(rows.height, SEARCH_FAULTS, found)


def first_faults(height: int, faults: tuple[str, ...], found: Mapping[str, Flags | None]) -> Codes | None:
    """Return the place, from 1, of the first fault of each row; 0 where it has none; None if no row has one.

    Parameters
    ----------
    found
        By fault the rows that have it, or None.
    """
    codes = None
    for place, fault in reversed(list(enumerate(faults, 1))):
        concerned = found.get(fault)
        if concerned is not None:
            codes = np.zeros(height, np.uint8) if codes is None else codes
            codes[concerned] = place
    return codes


def count_faults(codes: Codes | None, faults: tuple[str, ...]) -> Counter[str]:
    """Return the number of rows by fault."""
    if codes is None:
        return Counter()
    counts = np.bincount(codes, minlength=len(faults) + 1)
    return Counter({fault: int(rows) for fault, rows in zip(faults, counts[1:], strict=True) if rows})


def nulls(values: pl.Series) -> Flags | None:
    """Return where a column is null; None if nowhere."""
    return values.is_null().to_numpy() if values.null_count() else None


def out_of_range(times: pl.Series) -> Flags | None:
    """Return which times lie outside 1990 to 2100; None if none does."""
    low, high = times.min(), times.max()
    if low is None or (low >= FIRST_MS and high < END_MS):  # type: ignore[operator]
        return None
    return _where((times < FIRST_MS) | (times >= END_MS))


def _where(condition: pl.Series) -> Flags:
    return condition.fill_null(False).to_numpy()


def _lists_with_a_null(lists: pl.Series) -> Flags | None:
    """Return which lists hold a null; Arrow counts the nulls of all lists, mostly none, at no cost."""
    level = pl.CompatLevel.newest()
    chunks = [chunk.to_arrow(compat_level=level) for chunk in lists.get_chunks()]
    if not any(chunk.values.null_count for chunk in chunks):
        return None
    return _where(lists.list.eval(pl.element().is_null()).list.any())


def counted_once(searches: Searches, shown: "Shown") -> Flags:
    """Return which searches count: of several deliveries (equal id, user and time) the first by content.

    The content is market, query and results in normal form, then the page, results and query as read.
    """
    counts = np.ones(len(searches), bool)
    ids = searches.id.view(np.uint64)
    again = repeated(ids)
    if not len(again):
        return counts
    rows = among(ids, again)
    rows = rows[np.lexsort((searches.time[rows], searches.user[rows], searches.id[rows]))]
    begins = _changes(rows, searches.id, searches.user, searches.time)
    counts[rows[~begins]] = False
    differs = _changes(rows, searches.query, searches.list, searches.page) & ~begins
    group, starts = np.cumsum(begins) - 1, np.append(np.flatnonzero(begins), len(rows))
    for number in distinct(group[differs]):
        deliveries = rows[starts[number] : starts[number + 1]]
        contents = shown.contents(searches.take(deliveries))
        counts[deliveries] = False
        counts[deliveries[contents.index(min(contents))]] = True
    return counts


def _changes(rows: Rows, *columns: NDArray[Any]) -> Flags:
    """Return which rows differ from the one before in one of the columns."""
    changed = np.ones(len(rows), bool)
    changed[1:] = False
    for column in columns:
        values = column[rows]
        changed[1:] |= values[1:] != values[:-1]
    return changed
