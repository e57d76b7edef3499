"""The rows of a period's searches and clicks, with the noise of a real log, and counts of both."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Self, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clickassay.inputs.columns import OUTCOMES, arrow_schema
from clickassay.inputs.simulate.corpus import Corpus, pages_of
from clickassay.inputs.simulate.indices import firsts_of_runs, rows_and_columns, stable_order
from clickassay.inputs.simulate.tests import Results
from clickassay.inputs.simulate.traffic import CLICKS_ALL, CLICKS_NONE, HUMAN, Traffic
from clickassay.inputs.simulate.worlds import Noise, World, satisfied

Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]

NULL = -1
LATE_MS = 2 * 60 * 60 * 1000

WHOLE, EMPTY, NULL_INSIDE = 0, 1, 2

CLICKED, ADDED_TO_CART, BOUGHT = 0, 1, 2


@dataclass(frozen=True)
class _Rows:
    search: Integers

    def __len__(self) -> int:
        return len(self.search)

    def take(self, rows: Integers | Bools) -> Self:
        """Select rows."""
        places = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        return type(self)(*(getattr(self, column.name).take(places, axis=0) for column in fields(self)))


@dataclass(frozen=True)
class SearchRows(_Rows):
    """Rows of ``searches`` as indices into the corpus; each array but `documents` is (rows,)."""

    # search, user, time_ms: As in the log; user NULL is a null.
    user: Integers
    time_ms: Integers
    # query, market: Index of the text; query NULL is a null.
    query: Integers
    market: Integers
    documents: NDArray[np.int32]  # (rows, DEPTH) documents shown, best first.
    # draft, teams: Number of the interleaved test, -1 = none, and the mask of the places of its new ranker.
    draft: Integers
    teams: Integers
    state: NDArray[np.int8]  # WHOLE, EMPTY (no results) or NULL_INSIDE (the first result is a null).


@dataclass(frozen=True)
class ClickRows(_Rows):
    """Rows of ``clicks``, in order of time; each array is (rows,)."""

    time_ms: Integers  # This and the search are as in the log.
    document: Integers  # Index of the URL; NULL is a null.
    action: NDArray[np.int8]  # CLICKED, ADDED_TO_CART or BOUGHT.

    @classmethod
    def clicks(cls, search: Integers, time_ms: Integers, document: Integers) -> Self:
        """Return rows that are all clicks."""
        return cls(search, time_ms, document, np.full(len(search), CLICKED, dtype=np.int8))

    def then(self, others: "ClickRows") -> "ClickRows":
        """Concatenate clicks and order them by time."""
        joined = join([self, others])
        return joined.take(stable_order(joined.time_ms))

    @classmethod
    def none(cls) -> Self:
        """No clicks."""
        return cls.clicks(*(np.empty(0, dtype=np.int64) for _ in range(3)))


Rows = TypeVar("Rows", SearchRows, ClickRows)


def join(parts: Sequence[Rows]) -> Rows:
    """Rows of all `parts`, one after the other; at least one part."""
    columns = (np.concatenate([getattr(part, column.name) for part in parts]) for column in fields(parts[0]))
    return type(parts[0])(*columns)


def draw_rows(
    traffic: Traffic, shown: Results, world: World, orphan_offset: int, rng: np.random.Generator
) -> tuple[SearchRows, ClickRows, Counter[str]]:
    """Show every search its page, draw its clicks, and add noise at the rates of the world.

    traffic, shown: the searches, and their results.
    world: how users click, and how noisy the log is.
    orphan_offset: added to the search id of orphan clicks; at least the number of searches.

    Returns rows of searches, rows of clicks ordered by time, and counts of what was planted, named as in the
    ``planted`` part of ``truth.json``.
    """
    clicked = world.clicks(pages_of(shown.looks), rng)
    clicked[traffic.actor == CLICKS_ALL] = True
    clicked[(traffic.actor == CLICKS_NONE) | ~shown.clicks] = False
    searches, usable, planted = _search_rows(traffic, shown, world.noise, rng)
    # one click on every clicked result, roughly from the top down
    place, position = rows_and_columns(clicked)
    mean_reading_ms, mean_dwelling_ms, longest_ms = 8_000, 20_000, 15 * 60_000
    delay = 2_000 + mean_reading_ms * position + rng.exponential(mean_dwelling_ms, len(place))
    time_ms = traffic.time_ms[place] + np.minimum(delay, longest_ms).astype(np.int64)
    document = shown.documents[place, position].astype(np.int64)
    clicks = ClickRows.clicks(traffic.search[place], time_ms, document)
    first_search = int(traffic.search[0]) if len(traffic.search) else 0
    clicks, orphan_clicks, more = _add_click_noise(clicks, usable, first_search, world.noise, rng)
    planted.update(more)
    orphan_clicks = replace(orphan_clicks, search=orphan_clicks.search + orphan_offset)
    return searches, clicks.then(orphan_clicks), planted


def _search_rows(
    traffic: Traffic, shown: Results, noise: Noise, rng: np.random.Generator
) -> tuple[SearchRows, Bools, Counter[str]]:
    shares = (noise.null_user, noise.null_query, noise.empty_results, noise.null_in_results)
    drawn = rng.random(len(traffic.search))
    flaw = np.asarray(np.sum([drawn >= end for end in np.cumsum(shares)], axis=0, dtype=np.int8))
    no_user, no_query, empty, null_inside = (flaw == kind for kind in range(4))
    again = rng.random(len(drawn)) < noise.delivered_again
    usable = (flaw == len(shares)) & ~shown.is_empty
    rows = SearchRows(
        traffic.search,
        np.where(no_user, NULL, traffic.user),
        traffic.time_ms,
        np.where(no_query, NULL, traffic.query),
        traffic.market,
        shown.documents,
        shown.draft,
        shown.teams,
        np.where(empty | shown.is_empty, EMPTY, NULL_INSIDE * null_inside).astype(np.int8),
    )
    if again.any():
        rows = rows.take(np.repeat(np.arange(len(rows)), 1 + again))
    # A visit lasts at most half an hour and has one market: (visit, query) is a session (method 3).
    pairs = traffic.visit[usable] * (int(traffic.query.max(initial=0)) + 1) + traffic.query[usable]
    times, rejected_as_empty = 1 + again, (flaw >= 2) & (empty | shown.is_empty)
    return (
        rows,
        usable,
        Counter(
            {
                "searches": len(usable),
                "search rows": int(times.sum()),
                "search rows rejected: null user_id": int(times[flaw == 0].sum()),
                "search rows rejected: null query": int(times[flaw == 1].sum()),
                "search rows rejected: empty results": int(times[rejected_as_empty].sum()),
                "search rows rejected: null in results": int(times[null_inside & ~shown.is_empty].sum()),
                "search rows delivered again": int((again & usable).sum()),
                "searches that repeat a query on purpose": int(traffic.repeated.sum()),
                "searches by bots": int((traffic.actor != HUMAN).sum()),
                "sessions": int(firsts_of_runs(np.sort(pairs)).sum()),
            }
        ),
    )


def _add_click_noise(
    clicks: ClickRows, usable: Bools, first_search: int, noise: Noise, rng: np.random.Generator
) -> tuple[ClickRows, ClickRows, Counter[str]]:
    again = clicks.take(rng.random(len(clicks)) < noise.repeated_click)
    mean_return_ms = 60_000
    back_ms = again.time_ms + rng.exponential(mean_return_ms, len(again)).astype(np.int64)
    clicks = clicks.then(replace(again, time_ms=back_ms))
    orphan_clicks = clicks.take(rng.random(len(clicks)) < noise.orphan_click)
    null_url = rng.random(len(clicks)) < noise.null_url
    late = rng.random(len(clicks)) < noise.late_click
    matched = usable[clicks.search - first_search] & ~null_url
    planted = Counter(
        {
            "click rows": len(clicks) + len(orphan_clicks),
            "click rows rejected: null url": int(null_url.sum()),
            "click rows without a usable search": len(orphan_clicks) + int((~matched & ~null_url).sum()),
            "click rows two hours late": int((matched & late).sum()),
            "clicks made again": len(again),
        }
    )
    document = np.where(null_url, NULL, clicks.document)
    late_clicks = ClickRows.clicks(clicks.search, clicks.time_ms + LATE_MS * late, document)
    return late_clicks, orphan_clicks, planted


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
