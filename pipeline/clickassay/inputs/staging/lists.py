"""Rows of results shown, to the searches and clicks that they stand for: the arithmetic, without any file."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from clickassay.inputs.columns import ACTIONS_SHOWN

REPEATED = "delivered again"
GAP = "below a missing position"
OTHER_PAGE = "of another page of the search"
TWO_RESULTS = "another result at its position"
AMBIGUOUS = "ambiguous search_id"

NO_COPY = pl.CompatLevel.newest()
"""Texts go to Arrow as Polars holds them, as views."""

_SOME = 10_000

Bools = NDArray[np.bool_]
Integers = NDArray[np.int64]


def changes(values: pl.Series) -> Bools:
    """Return where a value differs from the value before it; true at first."""
    changed: Bools = values.ne_missing(values.shift()).to_numpy().copy()
    changed[:1] = True
    return changed


def lie_together(ids: pl.Series, starts: Bools) -> bool:
    """Return whether equal ids lie together, where their runs begin at `starts`."""
    runs = ids.filter(pl.Series(starts))
    some = runs.head(_SOME)  # where ids come back, they mostly do so soon
    return len(some) == some.n_unique() and len(runs) == runs.n_unique()


def ordered(rows: pl.DataFrame, *, has_pages: bool) -> tuple[pl.DataFrame, Bools]:
    """Return rows by search, page, position and result, searches as they come; and where a search begins."""
    starts = changes(rows["search_id"])
    position = rows["position"].to_numpy()
    after = position[1:] > position[:-1]
    if has_pages:
        page = _pages(rows)
        after = (page[1:] > page[:-1]) | ((page[1:] == page[:-1]) & after)
    if np.all(after | starts[1:]) and lie_together(rows["search_id"], starts):
        return rows, starts
    rows = rows.with_row_index("order").with_columns(pl.col("order").min().over("search_id"))
    by = ("order", pl.col("page").fill_null(1), "position", "url", "timestamp")
    rows = rows.sort(*by, maintain_order=True).drop("order")
    return rows, changes(rows["search_id"])


def _pages(rows: pl.DataFrame) -> Integers:
    return rows["page"].fill_null(1).to_numpy()


@dataclass(frozen=True)
class ShownRows:
    """Rows in the order of `ordered`, and what follows from their places."""

    rows: pl.DataFrame  # Impressions.
    at: Integers  # Where each search begins.
    search: Integers  # Number of the search of each row.
    # here, repeated, disputed: Whether a row is of the first page of its search; is there once more; has a
    # position that rows of the search give to several results.
    here: Bools
    repeated: Bools
    disputed: Bools

    @classmethod
    def of(cls, rows: pl.DataFrame, starts: Bools, *, has_pages: bool) -> "ShownRows":
        """Compare each row with the row before it."""
        at, search = np.flatnonzero(starts), np.cumsum(starts, dtype=np.int64) - 1
        alike = ~starts & _same(rows["position"].to_numpy())
        here = np.ones(rows.height, bool)
        if has_pages:
            page = _pages(rows)
            here = page == page[at][search]
            alike &= here & _same(page)
        if not alike.any():
            return cls(rows, at, search, here, alike, alike)
        is_other = changes(rows["url"])
        place = np.cumsum(~alike)
        disputed = np.bincount(place, weights=alike & is_other).astype(bool)[place]
        return cls(rows, at, search, here, alike & ~is_other & ~disputed, disputed)

    def searches(
        self, first: int, *, has_pages: bool, shared: Sequence[str]
    ) -> tuple[pa.Table, dict[tuple[str, str], int]]:
        """Return a row for each search with its list, and rows by step and reason of the funnel.

        first: the first position, 0 or 1.
        shared: the columns of the input in which all rows of a search agree.
        """
        ambiguous = self._ambiguous(shared)
        kept = self.here & ~self.repeated & ~self.disputed
        # listed are rows that have as many kept rows of their search before them as their position says
        position = self.rows["position"].to_numpy()
        begin: Integers = np.full(len(self.at), first)
        if has_pages:  # on a later page positions begin anew, or go on
            begin = np.where(_pages(self.rows)[self.at] > 1, position[self.at], first)
        before: Integers = np.cumsum(kept) - kept
        listed: Bools = kept & (position == before - (before[self.at] - begin)[self.search])
        good = ~ambiguous
        of_good = good[self.search]
        counts = {("rejected", AMBIGUOUS): int((~of_good).sum())}
        counts["rejected", TWO_RESULTS] = int((of_good & self.disputed).sum())
        counts["left out", OTHER_PAGE] = int((of_good & ~self.here).sum())
        counts["left out", GAP] = int((of_good & kept & ~listed).sum())
        counts["repeated", REPEATED] = int((of_good & self.repeated).sum())
        counts["kept", ""] = int((of_good & listed).sum())
        page = ["page"] if has_pages else []
        late = np.iinfo(np.int64).max
        times = self.rows["timestamp"].fill_null(late).to_numpy()
        earliest = pl.Series("timestamp", np.minimum.reduceat(times, self.at) if len(self.at) else times)
        earliest = earliest.set(earliest == late, None)
        found = self.rows[self.at].select("search_id", *shared, *page).with_columns(earliest)
        for name in shared:
            if self.rows[name].null_count():
                # some rows of a search may have no value
                found = found.with_columns(self._of_each(pl.col(name).drop_nulls().first()))
        if ambiguous.any():
            found = found.filter(pl.Series(good))
        table = found.to_arrow(compat_level=NO_COPY)
        return table.append_column("results", self._lists(listed & of_good, good)), counts

    def _ambiguous(self, shared: Sequence[str]) -> Bools:
        ambiguous, inside = np.zeros(len(self.at), bool), np.ones(self.rows.height, bool)
        inside[self.at] = False
        for name in shared:
            if (changes(self.rows[name]) & inside).any():
                values = self._of_each(pl.col(name).drop_nulls().n_unique())
                ambiguous |= values.to_numpy() > 1
        return ambiguous

    def _of_each(self, value: pl.Expr) -> pl.Series:
        each = self.rows.group_by("search_id", maintain_order=True).agg(value.alias("value"))
        return each["value"].alias(value.meta.output_name())

    def _lists(self, listed: Bools, good: Bools) -> pa.LargeListArray:
        urls = self.rows["url"]
        if listed.all():
            offsets = np.append(self.at, len(urls))
        else:
            sizes = np.bincount(self.search[listed], minlength=len(self.at))[good]
            offsets = np.concatenate([[0], np.cumsum(sizes)])
            urls = urls.filter(pl.Series(listed))
        texts = urls.to_arrow(compat_level=NO_COPY)
        return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), texts)

    def clicks(self, columns: Collection[str]) -> pl.DataFrame:
        """Return the clicks: each result of a search once for each time of a click.

        Where `columns` of the input tell other actions too, each is a row with its name, at the same time.
        """
        if self.rows["clicked"].null_count() == self.rows.height:
            clicked = self.rows.drop_nulls("clicked_at")
        else:
            clicked = self.rows.filter(pl.coalesce("clicked", pl.col("clicked_at").is_not_null()))
        time = pl.coalesce("clicked_at", "timestamp").alias("timestamp")
        found = clicked.select("search_id", time, "url")
        told = {name: action for name, action in ACTIONS_SHOWN.items() if name in columns}
        if told:
            acted = [
                self.rows.filter(name).select("search_id", time, "url", action=pl.lit(action))
                for name, action in told.items()
            ]
            found = pl.concat([found.with_columns(action=pl.lit("click")), *acted])
        return found.unique(maintain_order=True)


def _same(numbers: Integers) -> Bools:
    return np.concatenate([np.zeros(min(1, len(numbers)), bool), numbers[1:] == numbers[:-1]])
