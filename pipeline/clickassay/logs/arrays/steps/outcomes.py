"""Outcomes of the sessions of a batch, given or derived (contract, section 11)."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from clickassay.core.numbering import Rows, Small
from clickassay.core.settings import Settings
from clickassay.logs.arrays.routes import SearchIds
from clickassay.logs.arrays.steps.sessions import Formed

Found = dict[str, tuple[pl.DataFrame, Rows, Small]]
"""By outcome: all of its rows, those whose search lies in a part, and the rows of these searches."""


class GivenOutcomes:
    """Outcomes by search id: names; ids, values and rows (as in `logs.outcomes.Outcomes`) of each."""

    def __init__(self, rows: pl.DataFrame) -> None:
        is_text = rows.schema["search_id"] == pl.String
        ids = rows["search_id"].hash() if is_text else rows["search_id"]
        columns = rows.with_columns(ids.cast(pl.UInt64, wrap_numerical=True).alias("key"))
        self._by_name = columns.partition_by("outcome", as_dict=True) if rows.height else {}

    def by_part(self, ids: SearchIds) -> list[Found]:
        """Return the outcomes that were given for the searches of each part."""
        parts: list[Found] = [{} for _ in range(ids.parts)]
        for (name,), rows in sorted(self._by_name.items()):
            order, ends, searches = ids.by_part(rows["key"].to_numpy().view(np.int64))
            for part, own, found in zip(parts, np.split(order, ends), searches, strict=False):
                part[str(name)] = rows, own, found
        return parts

    def of_sessions(self, formed: Formed, found: Found) -> Iterator[tuple[str, Rows, Rows, dict[bool, int]]]:
        """Yield name, first searches of sessions, their values, and rows that were given, by open or not."""
        for name, (rows, kept, search) in found.items():
            first = formed.sessions.first_of.take(search).astype(np.int64)
            given = rows["given_rows"].to_numpy()[kept]
            distinct, place = np.unique(first, return_inverse=True)
            values = np.zeros(len(distinct), np.int64)
            np.add.at(values, place, rows["value"].to_numpy()[kept])
            if rows["is_rating"][0]:
                values = np.floor(values / np.bincount(place, given, len(values)) + 0.5).astype(np.int64)
            is_open = formed.visits.is_open.take(first)
            yield name, distinct, values, {now: int(given[is_open == now].sum()) for now in (False, True)}


def derived_outcomes(formed: Formed, settings: Settings) -> Iterator[tuple[str, Rows]]:
    """Yield name, and first searches of the sessions that have it: the outcome is 1 there."""
    if "abandoned" in settings.outcome:
        is_clicked = np.zeros(len(formed.searches), bool)
        is_clicked[formed.sessions.search] = True
        yield "abandoned", formed.sessions.first[~is_clicked[formed.sessions.first]]
    if "reformulated" in settings.outcome:
        yield "reformulated", _reformulated(formed, settings.reformulation_ms)


def _reformulated(formed: Formed, reformulation_ms: int) -> Rows:
    """Return the sessions that soon go on with another query, without a click on the session between."""
    order, sessions, time = formed.visits.order, formed.sessions, formed.searches.time
    place = np.full(len(time), -1, np.int64)  # of the last search of a session, in the order of visits
    np.maximum.at(place, sessions.first_of.take(order), np.arange(len(order)))
    first = sessions.first
    last = place[first]
    has_next = last + 1 < len(order)
    following = order.take(np.minimum(last + 1, len(order) - 1)) if len(order) else last
    ends, begins = time[order.take(last)], time[following]
    visit = formed.visits.visit
    is_soon = has_next & (visit[following] == visit[first]) & (begins - ends <= reformulation_ms)
    until = np.full(len(time), np.iinfo(np.int64).min)
    since = np.full(len(time), np.iinfo(np.int64).max)
    until[first[is_soon]], since[first[is_soon]] = begins[is_soon], ends[is_soon]
    clicked = formed.read.clicks.time.take(formed.placed.click)
    is_between = (clicked >= since.take(sessions.search)) & (clicked <= until.take(sessions.search))
    is_clicked = np.zeros(len(time), bool)
    is_clicked[sessions.search[is_between]] = True
    reformulated: Rows = first[is_soon & ~is_clicked[first]]
    return reformulated
