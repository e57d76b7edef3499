"""Search ids over a whole log: which different searches use, and which an orphan click may mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from clickassay.core.errors import EngineError
from clickassay.core.numbering import Keys, Rows
from clickassay.logs.arrays.columns import among, distinct, is_in, numbers_in
from clickassay.logs.arrays.steps.clean_searches import faults_of_searches
from clickassay.patterns.sums import sorted_values

_CHUNK_ROWS = 1_000_000
_AT_ONCE = 100_000_000
"""Ids that are sorted in memory at a time: 0.8 GB."""


@dataclass(frozen=True)
class AmbiguousIds:
    """Search ids that different searches use: a click on one could belong to any of them."""

    found: pl.Series  # Ids of this log, as they are read, sorted.
    known: Rows  # Fingerprints of these and of ids of earlier parts of the log, sorted.
    repeated: Rows  # Fingerprints of all ids of this log that several searches have, different or not.
    keeps_new: bool = False  # Whether later parts of the log need the ids of this one.


def ambiguous_ids(
    searches: pl.LazyFrame, before: Sequence[object] = (), carried: pl.DataFrame | None = None, *, end_ms: int
) -> AmbiguousIds:
    """Find the ambiguous ids of a log, which a batch alone cannot know.

    before, carried: ids ambiguous in earlier parts; searches of these that may be delivered again.
    end_ms: the first time that is too late. Raises EngineError if two ids share a fingerprint.
    """
    repeated = repeated_ids(searches)
    if carried is not None and carried.height:
        again = _with_ids(searches.select("search_id"), _fingerprints(carried["search_id"]))
        repeated = np.union1d(repeated, _fingerprints(again["search_id"]))
        searches = pl.concat([searches, carried.lazy()], how="diagonal_relaxed")
    # of the repeated ids those whose usable searches differ in user or time
    named = ("search_id", "user_id", "timestamp")
    rows = _with_ids(searches.select(named), repeated).unique()
    texts = rows["search_id"].drop_nulls().unique()
    if len(distinct(_fingerprints(texts))) < len(texts):
        raise EngineError("two search ids share a fingerprint; nothing was written")
    differing = rows.filter(pl.col("search_id").is_duplicated())["search_id"].unique()
    whole = _with_ids(searches, _fingerprints(differing))
    faults = faults_of_searches(whole, end_ms)
    usable = whole if faults is None else whole.filter(pl.Series(faults == 0))
    searched = usable.select(named).unique()
    ids = searched.filter(pl.col("search_id").is_duplicated())["search_id"].unique().sort()
    known = pl.concat([ids, pl.Series("search_id", before, dtype=ids.dtype)]).unique()
    return AmbiguousIds(ids, np.sort(_fingerprints(known)), repeated)


def repeated_ids(searches: pl.LazyFrame) -> Rows:
    """Return fingerprints of ids of several rows; ascending ids, or blocks of them, need no sorting."""
    ids = searches.select(_fingerprint(searches).alias("id")).drop_nulls()
    rows = int(searches.select(pl.len()).collect().item())
    if rows > _AT_ONCE and _ascending(ids):
        return np.zeros(0, np.int64)
    parts = max(1, -(-rows // _AT_ONCE))
    return np.concatenate([_repeated(ids, rows, part, parts) for part in range(parts)])


def _repeated(ids: pl.LazyFrame, rows: int, part: int, parts: int) -> Rows:
    chosen = ids if parts == 1 else ids.filter(pl.col("id").hash(1) % parts == part)
    values, end = np.empty(rows // parts + rows // 8, np.int64), 0

    def each(chunk: pl.DataFrame) -> None:
        nonlocal end
        values[end : end + chunk.height] = chunk["id"].to_numpy().view(np.int64)
        end += chunk.height

    chosen.sink_batches(each, chunk_size=_CHUNK_ROWS, maintain_order=True)
    values = values[:end]
    if not (values[1:] > values[:-1]).all():
        values = sorted_values(values)
    return distinct(values[1:][values[1:] == values[:-1]])


def _ascending(ids: pl.LazyFrame) -> bool:
    """Return whether no id can be repeated: each chunk ascends strictly, and their ranges are disjoint."""
    ranges: list[tuple[int, int]] = []
    in_order = True

    def each(chunk: pl.DataFrame) -> bool:
        nonlocal in_order
        values = chunk["id"].to_numpy()
        if len(values):
            in_order = bool((values[1:] > values[:-1]).all())
            ranges.append((int(values[0]), int(values[-1])))
        return not in_order  # True stops the reading

    ids.sink_batches(each, chunk_size=_CHUNK_ROWS, maintain_order=True)
    ranges.sort()
    return in_order and all(last < first for (_, last), (first, _) in pairwise(ranges))


def usable_ids(searches: pl.LazyFrame, wanted: pl.Series, rejected: pl.Series) -> pl.Series:
    """Return the wanted ids, distinct and as read, that a search has which is not `rejected`."""
    present = _with_ids(searches.select("search_id"), _fingerprints(wanted))["search_id"].value_counts()
    unusable = rejected.drop_nulls().value_counts(name="unusable")
    both = present.join(unusable, on="search_id", how="left")
    return both.filter(pl.col("count") > pl.col("unusable").fill_null(0))["search_id"]


def _with_ids(searches: pl.LazyFrame, fingerprints: Rows) -> pl.DataFrame:
    fingerprints = sorted_values(fingerprints)
    parts = [searches.clear().collect()]

    def each(chunk: pl.DataFrame) -> None:
        keys = numbers_in(chunk["key"])
        rows = among(keys.view(np.uint64), fingerprints.view(np.uint64))
        rows = rows[is_in(keys[rows].view(np.int64), fingerprints)]
        parts.append(chunk[rows].drop("key").drop_nulls("search_id"))

    if len(fingerprints):
        wanted = searches.with_columns(_fingerprint(searches).alias("key"))
        wanted.sink_batches(each, chunk_size=_CHUNK_ROWS, maintain_order=False)
    return pl.concat(parts)


def _fingerprint(frame: pl.LazyFrame) -> pl.Expr:
    ids = pl.col("search_id")
    is_text = frame.collect_schema()["search_id"] == pl.String
    return pl.when(ids.is_not_null()).then(ids.hash().reinterpret(signed=True)) if is_text else ids


def _fingerprints(ids: pl.Series) -> Rows:
    keys: Keys | Rows = (ids.hash() if ids.dtype == pl.String else ids).to_numpy()
    return keys.view(np.int64)
