"""Carts and purchases of simulated users: what they do on results beside clicking them."""

from collections import Counter

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clickassay.inputs.simulate.corpus import Corpus
from clickassay.inputs.simulate.rows import ADDED_TO_CART, BOUGHT, NULL, ClickRows
from clickassay.inputs.simulate.worlds import satisfied
from clickassay.inputs.types.columns import OUTCOMES, arrow_schema

BOUGHT_SHARE = 0.25
"""Chance that what is in the cart is bought."""

_MEAN_WAIT_MS = 30_000
_LONGEST_WAIT_MS = 10 * 60_000

OUTCOME_SCHEMA = arrow_schema(OUTCOMES, "name", value=pa.float64(), name=pa.string())
"""Columns of ``outcomes.parquet``."""


def with_actions(
    clicks: ClickRows, corpus: Corpus, rng: np.random.Generator
) -> tuple[ClickRows, Counter[str]]:
    """Add what users put into the cart, with the chance R(g) of the clicked result, and what of it they buy.

    Returns rows in order of time, and counts of what was planted.
    """
    known = clicks.take(clicks.document != NULL)
    carts = _later(known.take(satisfied(corpus.grades[known.document], rng)), ADDED_TO_CART, rng)
    bought = _later(carts.take(rng.random(len(carts)) < BOUGHT_SHARE), BOUGHT, rng)
    counts = Counter({"rows of carts": len(carts), "rows of purchases": len(bought)})
    return clicks.then(carts).then(bought), counts


def _later(rows: ClickRows, action: int, rng: np.random.Generator) -> ClickRows:
    wait = np.minimum(rng.exponential(_MEAN_WAIT_MS, len(rows)), _LONGEST_WAIT_MS).astype(np.int64)
    actions = np.full(len(rows), action, dtype=np.int8)
    return ClickRows(rows.search, rows.time_ms + wait, rows.document, actions)


def prices_of(corpus: Corpus, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the price of each document: log-normal, median about 20, to the cent."""
    return np.round(rng.lognormal(3.0, 0.8, len(corpus.grades)), 2)


def outcome_table(bought: ClickRows, prices: NDArray[np.float64]) -> pa.Table:
    """Return the revenue of purchases as an Arrow table of `OUTCOME_SCHEMA`."""
    values = {
        "search_id": pa.array(bought.search),
        "value": pa.array(prices[bought.document]),
        "name": pa.array(["revenue"] * len(bought), pa.string()),
    }
    return pa.table([values[name] for name in OUTCOME_SCHEMA.names], schema=OUTCOME_SCHEMA)
