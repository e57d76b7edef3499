"""Which searches are usable, each counted once however often it was delivered (method 2)."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.numbering import Rows
from clickassay.logs.arrays.columns import (
    Flags,
    Searches,
    among,
    as_arrow,
    changes,
    distinct,
    nulls_in,
    numbers_in,
)
from clickassay.logs.sql.steps import FIRST_MS, MOST_BYTES
from clickassay.patterns.sums import order_of

if TYPE_CHECKING:
    from clickassay.logs.arrays.shown import LogTexts
    from clickassay.logs.arrays.steps.teams import NumberedDrafts

Codes = NDArray[np.uint8]

SEARCH_FAULTS = (
    *("null search_id", "null user_id", "null query", "query too long", "null timestamp"),
    *("time out of range", "null results", "empty results", "null in results", "null market", "null page"),
)
"""Reasons for which a search is unusable; the first that applies counts."""


def faults_of_searches(rows: pl.DataFrame, end_ms: int) -> Codes | None:
    """Return 0 for usable searches (before `end_ms`), else the reason's place from 1; None if all are."""
    times = rows["timestamp"]
    too_long = rows["query"].str.len_bytes() > MOST_BYTES
    empty, with_null = [], []
    for lists in (as_arrow(chunk) for chunk in rows["results"].to_physical().get_chunks()):
        ends = numbers_in(pl.Series(lists.offsets))  # where values begin, and where the last list ends
        empty.append(np.diff(ends) == 0)
        with_null.append(np.zeros(len(lists), bool))
        if lists.values.null_count:  # mostly there is none
            at = np.searchsorted(ends, np.flatnonzero(nulls_in(lists.values)), side="right") - 1
            with_null[-1][at[(at >= 0) & (at < len(lists))]] = True
    by_fault = {
        "null search_id": nulls(rows["search_id"]),
        "null user_id": nulls(rows["user_id"]),
        "null query": nulls(rows["query"]),
        "query too long": too_long.fill_null(value=False).to_numpy() if too_long.any() else None,
        "null timestamp": nulls(times),
        "time out of range": out_of_range(times, end_ms),
        "null results": nulls(rows["results"]),
        "empty results": np.concatenate(empty) if any(map(np.any, empty)) else None,
        "null in results": np.concatenate(with_null) if any(map(np.any, with_null)) else None,
        "null market": nulls(rows["market"]),
        "null page": nulls(rows["page"]),
    }
    return first_faults(rows.height, SEARCH_FAULTS, by_fault)


def first_faults(height: int, faults: tuple[str, ...], by_fault: Mapping[str, Flags | None]) -> Codes | None:
    """Return the place from 1 of each row's first fault, 0 = none; None if no row has one."""
    codes = None
    for place, fault in reversed(list(enumerate(faults, 1))):
        concerned = by_fault.get(fault)
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
    if not values.null_count():
        return None
    return np.concatenate([nulls_in(as_arrow(chunk)) for chunk in values.get_chunks()])


def out_of_range(times: pl.Series, end_ms: int) -> Flags | None:
    """Return which times lie before 1990 or not before `end_ms`; None if none does."""
    numbers = numbers_in(times, FIRST_MS)
    if not len(numbers) or (numbers.min() >= FIRST_MS and numbers.max() < end_ms):
        return None
    return (numbers < FIRST_MS) | (numbers >= end_ms)


def counted_once(
    searches: Searches, again: Rows, shown: "LogTexts", drafts: "NumberedDrafts | None"
) -> Flags:
    """Return which searches count: of several deliveries (equal id, user and time) the first by content.

    That is market, query and results in normal form, page, results as read, rankers that it names (of
    `drafts`), arm, query as read. `again`: ids that several searches of the log have.
    """
    counts = np.ones(len(searches), bool)
    rows = among(searches.id.view(np.uint64), again.view(np.uint64))
    if not len(rows):
        return counts
    named = (searches.id, searches.user, searches.time)
    with_arm = named if searches.arm is None else (*named, searches.arm)
    rows = rows[order_of(*(column[rows] for column in with_arm))]
    begins = changes(rows, *named)
    counts[rows[~begins]] = False
    drafted = () if searches.draft is None else (searches.draft,)
    differs = changes(rows, searches.query, searches.list, searches.page, *drafted) & ~begins
    group, starts = np.cumsum(begins) - 1, np.append(np.flatnonzero(begins), len(rows))
    for number in distinct(group[differs]):
        deliveries = rows[starts[number] : starts[number + 1]]
        contents = _contents(searches.take(deliveries), shown, drafts)
        counts[deliveries] = False
        counts[deliveries[contents.index(min(contents))]] = True
    return counts


def _contents(
    searches: Searches, shown: "LogTexts", drafts: "NumberedDrafts | None"
) -> list[tuple[Any, ...]]:
    """Return the contents of a few searches, to be compared."""
    none = [0] * len(searches)
    of_drafts = none if drafts is None or searches.draft is None else drafts.contents(searches.draft)
    of_arms = none if searches.arm is None else searches.arm.tolist()
    rows = zip(shown.contents(searches), of_drafts, of_arms, strict=True)
    return [(*content, draft, arm, query) for (*content, query), draft, arm in rows]
