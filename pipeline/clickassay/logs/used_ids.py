"""Search ids of a new batch, compared with ids of earlier runs: they must be unique over the whole log.

Ids are kept as digests in ascending order, 8 bytes each, so a year of them cannot be read every night. Days
that lie back further are compared in part: an id is used again because a counter starts anew or rows are
delivered under a new name, and then many are. `clickassay store verify` compares all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from clickassay.core.errors import InputError
from clickassay.core.files.tables import scan_parquet
from clickassay.logs.engine import Ids
from clickassay.patterns.store.batches import StoredBatch
from clickassay.patterns.store.files import undo_runs
from clickassay.patterns.store.store import PatternStore

COMPARED_DAYS = 7
"""All ids are compared with batches that end so many days, or less, before the newest batch."""

ONE_IN = 64
"""Of the ids of a batch, one in so many is compared with batches that are older."""

_DAY_MS = 86_400_000
_CHUNK = 1_000_000
"""Ids compared at a time."""
_SCANNED = 64
"""Old batches that are read in one scan."""


class NewIds:
    """Digests of the search ids that are new in a batch.

    Attributes
    ----------
    span
        The lowest and the highest; None where there is no id.
    """

    def __init__(self, ids: pl.LazyFrame) -> None:
        """Take a frame with one column, id, sorted, each once."""
        self._ids = ids
        number, first, last = ids.select(
            pl.len(), first=pl.col("id").first(), last=pl.col("id").last()
        ).collect().row(0)  # fmt: skip
        self.span: tuple[int, int] | None = None if first is None else (first, last)
        self._block_size = -(-number // ONE_IN)
        self._first_block = ids.head(self._block_size).collect()["id"].to_numpy()

    def used_in(self, batch: StoredBatch) -> "Used":
        """Return the ids that a batch has."""
        used = Used()

        def each(chunk: pl.DataFrame) -> None:
            if chunk.height:
                used.add(_in_both(batch, chunk["id"].to_numpy()))

        self._ids.sink_batches(each, chunk_size=_CHUNK, maintain_order=True)
        return used

    def some_used_in(self, batch: StoredBatch) -> "Used":
        """Return, of one id in 64, the ids that a batch has: of a block of ids from its lowest on.

        Digests of texts are spread evenly over all numbers, so a block of them is a sample.
        """
        used, lowest = Used(), batch.info["ids"][0]
        block = self._first_block
        if lowest > block[-1]:
            later = self._ids.filter(pl.col("id") >= lowest)
            block = later.head(self._block_size).collect()["id"].to_numpy()
        if len(block):
            used.add(_in_both(batch, block))
        return used

    def unused_in(self, batches: Sequence[StoredBatch]) -> frozenset[int]:
        """Return the numbers of old batches that `some_used_in` would find nothing in, in few scans.

        Nearly all batches begin below the first block, so that they are asked about the same ids. A file that
        cannot be read is left to `some_used_in`, which says so.
        """
        asked = [batch for batch in batches if batch.info["ids"][0] <= self._first_block[-1]]
        clear = (self._unused(asked[first : first + _SCANNED]) for first in range(0, len(asked), _SCANNED))
        return frozenset(batch.number for found in clear for batch in found)

    def _unused(self, batches: Sequence[StoredBatch]) -> Sequence[StoredBatch]:
        block = pl.Series("id", self._first_block)
        files = [batch.folder / "ids.parquet" for batch in batches]
        try:
            known = (
                scan_parquet(files)
                .filter(pl.col("id").is_between(self._first_block[0], self._first_block[-1]))
                .collect()["id"]
            )
        except (pl.exceptions.PolarsError, OSError):
            return ()
        return () if known.is_in(block.implode()).any() else batches


@dataclass
class Used:
    """Number of ids that were used before, and one of them."""

    number: int = 0
    example: int | None = None

    def add(self, ids: Ids) -> None:
        """Add ids that were used."""
        self.number += len(ids)
        if self.example is None and len(ids):
            self.example = int(ids[0])


def _in_both(batch: StoredBatch, ids: Ids) -> Ids:
    """Return the sorted ids that a batch has."""
    known: Ids = batch.frame("ids", pl.col("id").is_between(ids[0], ids[-1]))["id"].to_numpy()
    both = np.concatenate([known, ids])
    both.sort(kind="stable")  # merges two sorted runs
    twice: Ids = both[1:][both[1:] == both[:-1]]
    return twice


def refuse_used(store: PatternStore, run: int, ids: NewIds) -> None:
    """Refuse search ids that an earlier run used: clicks counted then could belong to either search.

    Raises InputError if ids of the run that begins with batch `run` were used before.
    """
    history = store.history()
    asked = [batch for batch in history if _may_share(store, batch, run, ids)]
    newest = history[-1].watermark_ms if history else 0
    old = [batch for batch in asked if batch.watermark_ms < newest - COMPARED_DAYS * _DAY_MS]
    of_old, unused = {batch.number for batch in old}, ids.unused_in(old)
    for batch in asked:
        if batch.number in unused:
            continue
        is_old = batch.number in of_old
        used = ids.some_used_in(batch) if is_old else ids.used_in(batch)
        if used.number:
            raise InputError(_message(store, batch, used, is_part=is_old))


def _may_share(store: PatternStore, batch: StoredBatch, run: int, ids: NewIds) -> bool:
    """Return whether a batch of another run has ids in the range of the new ones."""
    known = batch.info["ids"]
    if batch.info["run"] == run or not known or ids.span is None:
        return False
    is_disjoint = known[1] < ids.span[0] or known[0] > ids.span[1]
    return not is_disjoint and batch.number >= store.settings["forgotten_before"]


def _message(store: PatternStore, batch: StoredBatch, used: Used, *, is_part: bool) -> str:
    compared = f"of one in {ONE_IN}, " if is_part else ""
    return (
        f"searches: {compared}{used.number:,} search ids of the new files were used before, in batch "
        f"{batch.number} of {store.folder} (digest of one: {used.example}); ids must be unique over the "
        "whole log. If only few are not, make the batches again: "
        f"{undo_runs(store.folder, int(batch.info['run']))}"
    )
