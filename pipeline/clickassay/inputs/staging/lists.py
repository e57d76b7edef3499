"""Rows of results shown, to the searches and clicks that they stand for: the arithmetic, without any file."""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from clickassay.core.errors import EngineError
from clickassay.core.numbering import Growing, Keys, Numbers
from clickassay.inputs.columns import ACTIONS_SHOWN, TEAMS

REPEATED = "delivered again"
GAP = "below a missing position"
OTHER_PAGE = "of another page of the search"
TWO_RESULTS = "another result at its position"
AMBIGUOUS = "ambiguous search_id"

NO_COPY = pl.CompatLevel.newest()
"""Texts go to Arrow as Polars holds them, as views."""

LISTS = pl.List(pl.Categorical)
"""Lists of which each text is held once."""

_SOME = 10_000
_MOST = 1 << 62
_ODD = np.uint64(0x9E3779B97F4A7C15)

Bools = NDArray[np.bool_]
Integers = NDArray[np.int64]


class DistinctLists:
    """Lists of results, each once, by number from 0."""

    def __init__(self) -> None:
        self._numbers, self._others = Numbers(), Growing(np.uint64)
        self._lists = [pl.Series("results", [], dtype=LISTS)]

    def numbers_of(
        self, keys: Keys, others: Keys, lists: Callable[[Integers], pl.Series]
    ) -> NDArray[np.uint32]:
        """Return the number of each list, by two keys that equal lists share; EngineError if others do."""

        def learn(new: Integers) -> None:
            order = np.argsort(new)
            self._lists.append(lists(new[order]).cast(LISTS).gather(np.argsort(order)))
            self._others.append(others[new])

        numbers = self._numbers.get_or_add(keys, learn)
        if (self._others.values[numbers] != others).any():
            raise EngineError("two lists share a fingerprint; nothing was written")
        return numbers.astype(np.uint32)

    @property
    def lists(self) -> pl.Series:
        """All lists, by number."""
        return pl.concat(self._lists).rechunk()


@dataclass(frozen=True)
class ShownRows:
    """Rows of whole searches by search, page and position, and what follows from their places."""

    rows: pl.DataFrame  # Impressions with `keys_of` them, as they were read.
    order: Integers | None  # The rows in order; None = as they lie.
    at: Integers  # Where each search begins.
    search: Integers  # Number of the search of each row.
    page: Integers
    position: Integers
    url: Keys
    # here, repeated, disputed: Whether a row is of the first page of its search; is there once more; has a
    # position that rows of the search give to several results.
    here: Bools
    repeated: Bools
    disputed: Bools

    @classmethod
    def of(cls, rows: pl.DataFrame, reach: int) -> tuple[Self, pl.DataFrame]:
        """Return the rows of ended searches, and others: a search with one of the last `reach` may go on."""
        ids = _values(rows, "search_id")
        starts = np.flatnonzero(_changes(ids))
        if are_distinct(ids[starts]):
            end = int(starts[-1]) if reach and len(starts) else len(ids)
            sizes = np.diff(starts, append=len(ids))
            search = np.repeat(np.arange(len(starts)), sizes)[:end]
            return cls._in_order(rows.head(end), None, search), rows.slice(end)
        by_id = np.argsort(ids, kind="stable")
        starts = np.flatnonzero(_changes(ids[by_id]))
        sizes = np.diff(starts, append=len(ids))
        has_ended = by_id[starts + sizes - 1] < len(ids) - reach
        is_whole = np.repeat(has_ended, sizes)
        search = np.repeat(np.arange(np.count_nonzero(has_ended)), sizes[has_ended])
        return cls._in_order(rows, by_id[is_whole], search), rows[np.sort(by_id[~is_whole])]

    @classmethod
    def _in_order(cls, rows: pl.DataFrame, order: Integers | None, search: Integers) -> Self:
        """Put rows in order, and compare each with the row before it."""
        page, position, url = (
            values if order is None else values[order]
            for values in (_values(rows, name) for name in ("page", "position", "url"))
        )
        sorting = _sorting(search, page, position)
        if sorting is not None:
            search, page, position, url = (values[sorting] for values in (search, page, position, url))
            order = sorting if order is None else order[sorting]
        starts = _changes(search)
        at = np.flatnonzero(starts)
        here = page == 1
        if not here.all():
            here = page == page[at][search]
        alike = here & ~(starts | _changes(position))
        if not alike.any():
            return cls(rows, order, at, search, page, position, url, here, alike, alike)
        alike &= ~_changes(page)
        first = np.flatnonzero(~alike)
        differ = np.minimum.reduceat(url, first) != np.maximum.reduceat(url, first)
        disputed = differ[np.cumsum(~alike) - 1]
        return cls(rows, order, at, search, page, position, url, here, alike & ~disputed, disputed)

    def searches(
        self, first: int, lists: DistinctLists, *, has_pages: bool, has_teams: bool, shared: Sequence[str]
    ) -> tuple[pa.Table, dict[tuple[str, str], int]]:
        """Return searches with the numbers of their lists, and rows by step and reason of the funnel.

        first: the first position, 0 or 1.
        has_pages, has_teams: whether the input has pages, and rankers of results.
        shared: the columns of the input in which all rows of a search agree.
        """
        kept = self.here & ~self.repeated & ~self.disputed
        before: Integers = np.arange(len(kept)) if kept.all() else np.cumsum(kept) - kept
        before -= before[self.at][self.search]
        # on a later page positions begin anew, or go on
        begin: Integers = np.where(self.page[self.at] > 1, self.position[self.at], first)
        begin = begin[self.search] if (begin != first).any() else np.full(1, first)
        # listed are rows that have as many kept rows of their search before them as their position says
        listed: Bools = kept & (self.position - begin == before)
        names = ["search_id", *shared, *(["page"] if has_pages else [])]
        found = self.rows.select(names)[self._rows(self.at)]
        good = np.ones(len(self.at), bool)
        for name in shared:
            varied = self._varied(name)
            if varied.height:
                good[varied.filter(pl.col("values") > 1)["search"].to_numpy()] = False
                found = found.with_columns(found[name].scatter(varied["search"], varied["value"]))
        late = np.iinfo(np.int64).max
        times = self.rows["timestamp"].fill_null(late).to_numpy()[self._rows()]
        earliest = np.minimum.reduceat(times, self.at) if len(self.at) else times
        found = found.with_columns(pl.Series("timestamp", earliest).set(pl.Series(earliest == late), None))
        of_good = good[self.search]
        counts = {("rejected", AMBIGUOUS): int((~of_good).sum())}
        counts["rejected", TWO_RESULTS] = int((of_good & self.disputed).sum())
        counts["left out", OTHER_PAGE] = int((of_good & ~self.here).sum())
        counts["left out", GAP] = int((of_good & kept & ~listed).sum())
        counts["repeated", REPEATED] = int((of_good & self.repeated).sum())
        counts["kept", ""] = int((of_good & listed).sum())
        usable = np.flatnonzero(good)
        # a sum of the results, each weighted by its place: an odd factor loses nothing of a hash
        results = self.url if listed.all() else np.where(listed, self.url, 0)
        tops = self._sums(np.where(before == 0, results, 0))[usable]
        before *= 2
        before += 1
        keys = self._sums(results * before.view(np.uint64))[usable]
        numbers = lists.numbers_of(
            keys, tops, lambda rows: self._lists(self.rows["url"], listed, usable[rows])
        )
        if has_teams:
            teams = self._lists(self._team(), listed, np.arange(len(self.at)))
            found = found.with_columns(teams.alias(TEAMS))
        return found[usable].with_columns(results=pl.Series(numbers)).to_arrow(compat_level=NO_COPY), counts

    def _sums(self, values: Keys) -> Keys:
        return np.add.reduceat(values, self.at) if len(self.at) else values

    def _rows(self, places: Integers | slice = slice(None)) -> Integers | slice:
        return places if self.order is None else self.order[places]

    def _varied(self, name: str) -> pl.DataFrame:
        """Return the searches whose rows differ in a column: number, values but nulls, the first of them."""
        changed = _changes(_values(self.rows, name)[self._rows()])
        if self.rows[name].null_count():
            changed |= _changes(self.rows[name].is_null().to_numpy()[self._rows()])
        changed[self.at] = False
        varied = self.search[changed]
        places = np.flatnonzero(self._are_among(varied)) if len(varied) else varied
        rows = pl.DataFrame({"search": self.search[places], "value": self.rows[name][self._rows(places)]})
        value = pl.col("value").drop_nulls()
        return rows.group_by("search").agg(values=value.n_unique(), value=value.first())

    def _are_among(self, searches: Integers) -> Bools:
        among = np.zeros(len(self.at), bool)
        among[searches] = True
        return among[self.search]

    def _team(self) -> pl.Series:
        """Return the ranker of each row; none where the rows of a result differ, whatever their order."""
        team = self.rows["team"]
        if not self.repeated.any():
            return team
        result = np.cumsum(~self.repeated) - 1
        again = np.flatnonzero(np.isin(result, result[self.repeated]))
        places = self._rows(again)
        named = pl.DataFrame({"result": result[again], "team": team[places], "row": places})
        differing = named.filter(pl.col("team").n_unique().over("result") > 1)
        return team.scatter(differing["row"], None)

    def _lists(self, column: pl.Series, listed: Bools, searches: Integers) -> pl.Series:
        places = np.flatnonzero(listed & self._are_among(searches))
        sizes = np.bincount(self.search[places], minlength=len(self.at))[searches]
        texts = column[self._rows(places)].to_arrow(compat_level=NO_COPY)
        ends = pl.Series(np.cumsum(np.append(0, sizes)))  # an array of NumPy makes Arrow import pandas
        return pl.Series(pa.LargeListArray.from_arrays(ends.to_arrow(), texts))

    def clicks(self, columns: Collection[str]) -> pl.DataFrame:
        """Return the clicks: each result of a search once for each time of a click.

        Where `columns` of the input tell other actions too, each is a row with its name, at the same time.
        """
        time = pl.coalesce("clicked_at", "timestamp").alias("timestamp")

        def where(told: pl.Expr) -> pl.DataFrame:
            is_told = self.rows.select(told.fill_null(value=False)).to_series().to_numpy()
            places = np.flatnonzero(is_told[self._rows()])
            rows = self.rows.select("search_id", "timestamp", "clicked_at", "url")[self._rows(places)]
            found = rows.select("search_id", time, "url")
            results = np.sort(self.url[places] + self.search[places].view(np.uint64) * _ODD)
            return found if _changes(results).all() else found.unique(maintain_order=True)

        has_times = pl.col("clicked_at").is_not_null()
        found = where(pl.coalesce("clicked", has_times) if "clicked" in columns else has_times)
        told = {name: action for name, action in ACTIONS_SHOWN.items() if name in columns}
        if told:
            acted = [where(pl.col(name)).with_columns(action=pl.lit(action)) for name, action in told.items()]
            found = pl.concat([found.with_columns(action=pl.lit("click")), *acted])
        return found


def keys_of(schema: pl.Schema, names: Sequence[str]) -> list[pl.Expr]:
    """Return the hashes of columns of text, which `ShownRows` compares."""
    return [pl.col(name).hash().alias(f"{name}_key") for name in names if schema[name] == pl.String]


def _values(rows: pl.DataFrame, name: str) -> NDArray[Any]:
    """Return a column of numbers, or of texts their keys; nulls are not told from one of the values."""
    key = f"{name}_key"
    column = rows[key] if key in rows.columns else rows[name].fill_null(1 if name == "page" else 0)
    return column.to_numpy()


def _changes(values: NDArray[Any]) -> Bools:
    changed = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=changed[1:])
    return changed


def are_distinct(ids: NDArray[Any]) -> bool:
    """Return whether no id comes back; mostly they ascend."""
    if (ids[1:] > ids[:-1]).all():
        return True
    some, every = pl.Series(ids[:_SOME]), pl.Series(ids)  # where ids come back, they mostly do so soon
    return len(some) == some.n_unique() and len(every) == every.n_unique()


def _sorting(search: Integers, page: Integers, position: Integers) -> Integers | None:
    """Return the order by search, page and position; None if they are in it."""
    after = position[1:] >= position[:-1]
    if (page != 1).any():
        after = (page[1:] > page[:-1]) | (after & (page[1:] == page[:-1]))
    if ((search[1:] > search[:-1]) | (after & (search[1:] == search[:-1]))).all():
        return None
    columns = (search, page, position)
    ranges = [(int(values.min()), int(values.max())) for values in columns]
    if math.prod(last - first + 1 for first, last in ranges) > _MOST:
        return np.lexsort(columns[::-1])
    place = np.zeros(len(search), np.int64)
    for values, (first, last) in zip(columns, ranges, strict=True):
        if last > first:
            place *= last - first + 1
            place += values - first
    return np.argsort(place, kind="stable")
