"""Search ids of a new batch, compared with those of earlier runs: they must be unique over the whole log.

Ids are kept as digests in ascending order, 8 bytes each, so a year of them cannot be read every night. Days
that lie back further are compared in part: an id is used again because a counter starts anew or rows are
delivered under a new name, and then many are. `clickassay store verify` compares all.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from clickassay.core.errors import InputError
from clickassay.logs.engine import Ids
from clickassay.patterns.store.batches import StoredBatch
from clickassay.patterns.store.files import undo_runs
from clickassay.patterns.store.store import PatternStore

COMPARED_DAYS = 7
"""All ids are compared with those of batches that end so many days, or less, before the newest one."""

ONE_IN = 64
"""Of the ids of a batch, one in so many is compared with batches that are older."""

_DAY_MS = 86_400_000
_CHUNK = 1_000_000
"""Ids compared at a time."""


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
        """Return those of the ids that a batch has."""
        used = Used()

        def each(chunk: pl.DataFrame) -> None:
            if chunk.height:
                used.add(_in_both(batch, chunk["id"].to_numpy()))

        self._ids.sink_batches(each, chunk_size=_CHUNK, maintain_order=True)
        return used

    def some_used_in(self, batch: StoredBatch) -> "Used":
        """Return those of one id in 64 that a batch has: of a block of ids from its lowest on.

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
    """Return those of some sorted ids that a batch has."""
    known: Ids = batch.frame("ids", pl.col("id").is_between(ids[0], ids[-1]))["id"].to_numpy()
    both = np.concatenate([known, ids])
    both.sort(kind="stable")  # merges two sorted runs
    twice: Ids = both[1:][both[1:] == both[:-1]]
    return twice


def refuse_used(store: PatternStore, run: int, ids: NewIds) -> None:
    """Refuse search ids that an earlier run used: clicks counted then could belong to either search.

    Raises
    ------
    InputError
        If ids of the run that begins with batch `run` were used before.
    """
    history = store.history()
    for batch in history:
        known = batch.info["ids"]
        if batch.info["run"] == run or not known or ids.span is None:
            continue
        is_disjoint = known[1] < ids.span[0] or known[0] > ids.span[1]
        if is_disjoint or batch.number < store.settings["forgotten_before"]:
            continue
        is_old = batch.watermark_ms < history[-1].watermark_ms - COMPARED_DAYS * _DAY_MS
        used = ids.some_used_in(batch) if is_old else ids.used_in(batch)
        if used.number:
            raise InputError(_message(store, batch, used, is_part=is_old))


def _message(store: PatternStore, batch: StoredBatch, used: Used, *, is_part: bool) -> str:
    compared = f"of one in {ONE_IN}, " if is_part else ""
    return (
        f"searches: {compared}{used.number:,} search ids of the new files were used before, in batch "
        f"{batch.number} of {store.folder} (digest of one: {used.example}); ids must be unique over the "
        "whole log. If only few are not, make the batches again: "
        f"{undo_runs(store.folder, int(batch.info['run']))}"
    )
