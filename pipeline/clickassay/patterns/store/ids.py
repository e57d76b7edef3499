"""Search ids of a store, as digests by batch: whether it has an id, and which ids two runs used."""

import hashlib
from collections.abc import Sequence

import polars as pl

from clickassay.patterns.store.batches import StoredBatch
from clickassay.patterns.store.files import read_frame

_AT_ONCE = 50_000_000
"""Ids that are compared in memory at a time."""


def id_digest(search_id: object) -> int:
    """Return the digest by which a store knows a search id: an integer itself, or 64 bits of a text's md5."""
    if isinstance(search_id, int):
        return search_id
    return int(hashlib.md5(str(search_id).encode(), usedforsecurity=False).hexdigest()[:16], 16)


def known_ids(search_ids: pl.Series, batches: Sequence[StoredBatch]) -> pl.Series:
    """Return for each id whether one of the batches has read it."""
    if search_ids.is_empty():
        return pl.Series([], dtype=pl.Boolean)
    digests = [id_digest(search_id) for search_id in search_ids]
    wanted = pl.Series("id", digests, dtype=batches[0].frame("ids").schema["id"])
    wanted_ids = pl.col("id").is_in(wanted.implode())
    found = pl.concat([read_frame(batch.folder / "ids.parquet", wanted_ids) for batch in batches])["id"]
    return wanted.is_in(found.implode())


def ids_of_several_runs(batches: Sequence[StoredBatch]) -> list[tuple[int, int]]:
    """Return for each run how many of its search ids an earlier run had used; runs without any are left out.

    A run that grows a store compares its ids with all of the last days, but with older ones only a part.
    """
    if len({batch.info["run"] for batch in batches}) < 2:
        return []
    total = sum(batch.rows("ids") for batch in batches)
    parts = max(1, -(-total // _AT_ONCE))
    used: dict[int, int] = {}
    for part in range(parts):
        for run, count in _used_again(batches, pl.col("id").hash(1) % parts == part):
            used[run] = used.get(run, 0) + count
    return sorted(used.items())


def _used_again(batches: Sequence[StoredBatch], chosen: pl.Expr) -> list[tuple[int, int]]:
    frames = [
        batch.frame("ids", chosen).with_columns(run=pl.lit(int(batch.info["run"]), pl.Int32))
        for batch in batches
    ]
    every = pl.concat(frames).unique().sort("id", "run")
    return every.filter(pl.col("id") == pl.col("id").shift()).group_by("run").len().rows()
