"""Clicks drawn from a click model."""

import numpy as np
import polars as pl

from clickassay.click_models.click_log import Bools, ClickLog, Floats, Ints
from clickassay.click_models.model import ClickModel

_CHUNK = 1 << 18


def simulate(
    model: ClickModel, lists: Ints, rows: Ints, documents: pl.DataFrame, rng: np.random.Generator
) -> ClickLog:
    """Draw the clicks of one session on each of the lists that `rows` names.

    lists: (L, K) codes of documents, as in `ClickLog`.
    rows: (N,) the list of each session, 0..L-1.
    documents: What the codes stand for.

    Returns the sessions as counts of patterns, sorted by list and mask.
    """
    drawn = [_masks(model, lists[rows[first : first + _CHUNK]], rng) for first in range(0, len(rows), _CHUNK)]
    counted = (
        pl.DataFrame({"row": rows, "mask": np.concatenate(drawn)})
        .group_by("row", "mask")
        .agg(pl.len().cast(pl.Int64).alias("sessions"))
        .sort("row", "mask")
    )
    row, mask, sessions = (counted[name].to_numpy() for name in counted.columns)
    return ClickLog(lists, row, mask, sessions, documents)


def _masks(model: ClickModel, lists: Ints, rng: np.random.Generator) -> Ints:
    masks = np.zeros(len(lists), dtype=np.int64)

    def drawn(place: int, chances: Floats) -> Bools:
        clicked = rng.random(len(chances)) < chances
        masks[clicked] |= 1 << place
        return clicked

    model.conditional(lists, drawn)
    return masks
