"""A planted world of satisfied clicks and purchases: a cascade of users who stop at what satisfies them."""

from dataclasses import dataclass

import numpy as np
import polars as pl

import clickassay as ca
from clickassay.correlation.uncertainty.intervals import ALPHA

START_MS = 1_700_000_000_000
DAY_MS = 86_400_000
GRADES, DEPTH = 5, 5
GAIN = (2.0 ** np.arange(GRADES) - 1) / 2 ** (GRADES - 1)


@dataclass(frozen=True)
class SignalWorld:
    """Tables of a log, and the chance that a session of each list ends satisfied, which is Σ R Π(1 - R).

    searches, clicks, judgments: As a run reads them.
    stops: (lists,) these chances.
    lists: (lists, DEPTH) grades.
    """

    searches: pl.DataFrame
    clicks: pl.DataFrame
    judgments: pl.DataFrame
    stops: np.ndarray
    lists: np.ndarray


def signal_world(sessions, *, seed, queries=40, per_query=6, noise=0.0, bought=0.0):
    """Draw a world: the last click of a satisfied user is long, clicks of noise are short.

    noise: Chance of a short click on a bad result that is examined.
    bought: Share of satisfied users who buy what satisfied them.
    """
    rng = np.random.default_rng(seed)
    n = queries * per_query
    pool = np.stack([rng.permutation(np.repeat(np.arange(GRADES), 2)) for _ in range(queries)])
    shown = np.stack([rng.permutation(10)[:DEPTH] for _ in range(n)])
    query = np.repeat(np.arange(queries), per_query)
    grades = pool[query[:, None], shown]
    chance = GAIN[grades]
    of = rng.integers(0, n, sessions)
    satisfied = rng.random((sessions, DEPTH)) < chance[of]
    stopped = satisfied.any(axis=1)
    stop = np.where(stopped, satisfied.argmax(axis=1), DEPTH)
    examined = np.arange(DEPTH)[None, :] <= stop[:, None]
    promising = noise * (grades[of] <= 1)  # what promises most helps least
    noisy = (rng.random((sessions, DEPTH)) < promising) & examined & (np.arange(DEPTH) != stop[:, None])
    urls = np.array([[f"q{q}d{d}" for d in one] for q, one in zip(query, shown, strict=True)])
    time = START_MS + rng.integers(0, 20 * DAY_MS, sessions)
    searches = pl.DataFrame(
        {
            "search_id": np.arange(sessions),
            "user_id": np.arange(sessions),  # one session each
            "query": pl.Series([f"query {q}" for q in range(queries)]).gather(query[of]),
            "timestamp": time,
            "results": pl.Series(urls.tolist()).gather(of),
        }
    )
    parts = [events(np.flatnonzero(stopped), stop[stopped], 60.0, "click", time, of, urls)]
    session, place = np.nonzero(noisy)
    parts.append(events(session, place, 2.0, "click", time, of, urls))
    buys = np.flatnonzero(stopped & (rng.random(sessions) < bought))
    parts.append(events(buys, stop[buys], None, "purchase", time, of, urls))
    judged = {(f"query {q}", f"q{q}d{d}"): int(pool[q, d]) for q in range(queries) for d in range(10)}
    rows = [(*key, grade) for key, grade in judged.items()]
    left = np.cumprod(1 - chance, axis=1)
    before = np.concatenate([np.ones((n, 1)), left[:, :-1]], axis=1)
    return SignalWorld(
        searches,
        pl.concat(parts),
        pl.DataFrame(rows, schema=["query", "url", "grade"], orient="row"),
        (chance * before).sum(axis=1),
        grades,
    )


def events(session, place, dwell, action, time, of, urls):
    """Return rows of clicks."""
    return pl.DataFrame(
        {
            "search_id": session,
            "timestamp": time[session] + 1000,
            "url": urls[of[session], place] if len(session) else np.zeros(0, urls.dtype),
            "action": pl.repeat(action, len(session), dtype=pl.String, eager=True),
            "dwell_seconds": pl.repeat(dwell, len(session), dtype=pl.Float64, eager=True),
        }
    )


def alarms_of_signals(worlds, seed=11):
    """Return in how many worlds a signal that knows nothing of grades correlates with some metric."""
    rng, alarms = np.random.default_rng(seed), 0
    for number in range(worlds):
        world = signal_world(3000, seed=1000 + number)
        chosen = world.searches.filter(pl.Series(rng.random(world.searches.height) < 0.3))
        place = pl.Series(rng.integers(0, DEPTH, chosen.height))
        urls = chosen.select(pl.col("results").list.get(place)).to_series()
        rows = {"search_id": chosen["search_id"], "timestamp": chosen["timestamp"] + 2000, "url": urls}
        noise = pl.DataFrame(rows).with_columns(
            action=pl.lit("noise"), dwell_seconds=pl.lit(None, pl.Float64)
        )
        run = ca.run(
            world.searches, pl.concat([world.clicks, noise]), world.judgments,
            depth=[DEPTH], click_models="none", iterations=2, progress=False,
        )  # fmt: skip
        own = run.within.filter(click_metric="MeanRR(signal='noise')", split="all")
        alarms += bool((own["p_adjusted"] < ALPHA).any())
    return alarms
