"""A planted world of position bias: a result is clicked if its position is examined and it attracts."""

from dataclasses import dataclass

import numpy as np
import polars as pl

START_MS, DAYS_MS = 1_700_000_000_000, 20 * 86_400_000
GRADES = 5


@dataclass(frozen=True)
class PositionWorld:
    """Tables of a log, and for each list its query, and the attraction of its results.

    searches, clicks, judgments: As a run reads them; every session has a user of its own.
    query: (L,) number of the query of each list.
    attraction: (L, K) of its results.
    """

    searches: pl.DataFrame
    clicks: pl.DataFrame
    judgments: pl.DataFrame
    query: np.ndarray
    attraction: np.ndarray


def position_world(
    sessions, *, seed, theta, queries=60, per_query=6, documents=8, same_results=False, cascade=False
):
    """Draw a world in which position r is examined with chance `theta[r]`, whatever a list shows.

    same_results: Whether all lists of a query show the same results, each in another order.
    cascade: Whether a session ends with its first click.
    """
    rng = np.random.default_rng(seed)
    depth, lists = len(theta), queries * per_query
    grades = rng.integers(0, GRADES, (queries, documents))
    attraction = 0.02 + 0.7 * (2.0**grades - 1) / 2 ** (GRADES - 1)
    pool = depth if same_results else documents
    shown = np.stack([rng.permutation(pool)[:depth] for _ in range(lists)])
    query = np.repeat(np.arange(queries), per_query)
    own = attraction[query[:, None], shown]
    of = rng.integers(0, lists, sessions)
    clicked = rng.random((sessions, depth)) < own[of] * np.array(theta)
    session, place = np.nonzero(clicked & (clicked.cumsum(axis=1) == 1) if cascade else clicked)
    times = START_MS + np.sort(rng.integers(0, DAYS_MS, sessions))
    urls = pl.Series([[f"http://x/{q}/{d}" for d in row] for q, row in zip(query, shown, strict=True)])
    searches = {"search_id": np.arange(sessions), "user_id": np.arange(sessions), "timestamp": times}
    clicked = urls.explode().gather(of[session] * depth + place)
    rows = [(f"q{q}", f"http://x/{q}/{d}", int(g)) for (q, d), g in np.ndenumerate(grades)]
    return PositionWorld(
        pl.DataFrame({**searches, "query": [f"q{one}" for one in query[of]], "results": urls.gather(of)}),
        pl.DataFrame({"search_id": session, "timestamp": times[session] + 1000, "url": clicked}),
        pl.DataFrame(rows, schema=["query", "url", "grade"], orient="row"),
        query,
        own,
    )
