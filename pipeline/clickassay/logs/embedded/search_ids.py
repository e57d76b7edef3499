"""Search ids over a whole log: which are repeated, which are ambiguous, which an orphan click may mean."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from clickassay.logs.embedded.scan import id_fingerprint
from clickassay.logs.engine import Engine, Ids, Value
from clickassay.logs.steps import check

_CHUNK_ROWS = 1_000_000
_SORTED_AT_ONCE = 100_000_000
"""Ids that are sorted in memory at a time: 0.8 GB."""


def repeated_ids(searches: pl.LazyFrame) -> pl.Series:
    """Return the fingerprints of search ids that more than one row has (nulls aside).

    Ascending ids, or blocks of them that do not overlap, are recognised without sorting anything.
    """
    ids = searches.select(id_fingerprint(searches, "search_id").alias("search_fp")).drop_nulls()
    dtype = ids.collect_schema()["search_fp"]
    if _ascending(ids):
        return pl.Series("search_fp", [], dtype=dtype)
    rows = int(ids.select(pl.len()).collect().item())
    parts = -(-rows // _SORTED_AT_ONCE)
    found = [_repeated(ids.filter(pl.col("search_fp").hash(1) % parts == part)) for part in range(parts)]
    return pl.Series("search_fp", np.concatenate(found), dtype=dtype) if found else pl.Series(dtype=dtype)


def _ascending(ids: pl.LazyFrame) -> bool:
    """Return whether no id can be repeated: each chunk ascends strictly, and their ranges are disjoint."""
    ranges: list[tuple[int, int]] = []
    in_order = True

    def each(chunk: pl.DataFrame) -> bool:
        nonlocal in_order
        values = chunk["search_fp"].to_numpy()
        if len(values):
            in_order = bool((values[1:] > values[:-1]).all())
            ranges.append((int(values[0]), int(values[-1])))
        return not in_order  # True stops the reading

    ids.sink_batches(each, chunk_size=_CHUNK_ROWS, maintain_order=True)
    ranges.sort()
    return in_order and all(last < first for (_, last), (first, _) in pairwise(ranges))


def _repeated(ids: pl.LazyFrame) -> Ids:
    values: Ids = np.sort(ids.collect()["search_fp"].to_numpy())
    return np.unique(values[1:][values[1:] == values[:-1]])


def find_ambiguous_ids(
    engine: Engine,
    searches: pl.LazyFrame,
    repeated: pl.Series,
    values: Mapping[str, Value],
    before: Sequence[object] = (),
) -> pl.Series:
    """Make tables `repeated_ids` and `known_ambiguous_ids` of a log, which a batch alone cannot know.

    Parameters
    ----------
    searches
        All searches of the log.
    repeated
        Fingerprints of ids that more than one row has.
    before
        Search ids that were found ambiguous in earlier parts of the log.

    Returns
    -------
    The search ids of this log that are ambiguous, as they are read.

    Raises
    ------
    EngineError
        If two search ids share a fingerprint.
    """
    engine.register("repeated_read", repeated.alias("search_fp").to_frame())
    engine.table("repeated_ids", "embedded/repeated_ids")
    _check_fingerprints(engine, searches, repeated)
    _register_usable(engine, rows_with_ids(searches, _with_differing_rows(searches, repeated)), values)
    found = engine.fetch("steps/0_search_ids/ambiguous_ids")["search_fp"]
    ambiguous = rows_with_ids(searches.select("search_id"), found).unique().collect()["search_id"].sort()
    known = pl.concat([ambiguous, pl.Series("search_id", before, dtype=ambiguous.dtype)]).unique().to_frame()
    fingerprints = known.lazy().select(id_fingerprint(known.lazy(), "search_id").alias("search_fp"))
    engine.register("ambiguous_read", fingerprints.collect())
    engine.table("known_ambiguous_ids", "embedded/known_ambiguous_ids")
    return ambiguous


def _check_fingerprints(engine: Engine, searches: pl.LazyFrame, repeated: pl.Series) -> None:
    if not len(repeated):
        return
    ids = rows_with_ids(searches.select("search_id"), repeated)
    fingerprints = ids.with_columns(id_fingerprint(ids, "search_id").alias("search_fp"))
    engine.register("search_id_fingerprints", fingerprints.collect())
    check(engine, "checks/search_id_fingerprint_collisions")


def _register_usable(engine: Engine, searches: pl.LazyFrame, values: Mapping[str, Value]) -> None:
    engine.read("searches", searches.with_columns(carried=pl.lit(False)), lambda _rows: None)
    engine.table("rejected_searches", "steps/3_clean_searches/rejected_searches", **values)
    engine.view("usable_searches", "steps/3_clean_searches/usable_searches")


def _with_differing_rows(searches: pl.LazyFrame, repeated: pl.Series) -> pl.Series:
    """Return those of the repeated ids whose rows differ in user or time, so that they are not one search."""
    if not len(repeated):
        return repeated
    rows = rows_with_ids(searches.select("search_id", "user_id", "timestamp"), repeated)
    fingerprint = id_fingerprint(rows, "search_id").alias("search_fp")
    distinct = rows.select(fingerprint, "user_id", "timestamp").unique().collect()
    return distinct.filter(pl.col("search_fp").is_duplicated())["search_fp"].unique()


def rows_with_ids(searches: pl.LazyFrame, fingerprints: pl.Series) -> pl.LazyFrame:
    """Return the rows whose search_id has one of these fingerprints."""
    if not len(fingerprints):
        return searches.clear().lazy()
    return searches.filter(id_fingerprint(searches, "search_id").is_in(fingerprints.implode()))


def ids_of_usable_searches(
    engine: Engine, searches: pl.LazyFrame, wanted: pl.Series, values: Mapping[str, Value]
) -> pl.Series:
    """Return those of the wanted search ids (as they are read) that a usable search has."""
    ids = wanted.alias("search_id").to_frame().lazy()
    rows = rows_with_ids(searches, ids.select(id_fingerprint(ids, "search_id")).collect().to_series())
    _register_usable(engine, rows, values)
    found = engine.fetch("embedded/ids_of_usable_searches")["search_fp"]
    known = ids.with_columns(known=id_fingerprint(ids, "search_id").is_in(found.implode())).collect()
    return known.filter("known")["search_id"]
