"""Judged logs in which all queries share releases, sales, drift and busy users.

A query has eight documents with a relevance of 0..4, which judges and rankers see with errors. A session
has a day, a user and a list, the best results by one version of the ranker; its user clicks on each result
with a chance whose logit is that of the query, the list, the day, the user and, unless clicks ignore grades,
the relevance of the result.
"""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import USER_FOLDS, Floats, Integers, Sample, SampleKey, Shown
from clickassay.metrics.clicks import null_success
from clickassay.metrics.scoring import measured_clicks

DAYS, DOCUMENTS, TOP_GRADE, GOOD = 60, 8, 4, 3
CLICKS = ("MeanRR", "UCTR", "PLC", "SS")
NAMES = ("ERR", "DCG", "NDCG", "RBP", "RR", "P")
MOST_LISTS, LEAST_USERS = 12, 50

Masks = NDArray[np.bool_]


@dataclass(frozen=True)
class World:
    """A kind of log."""

    name: str
    # How lists change: "third", "half" and "ramp" are one release (live in the middle third, from the middle
    # on, rolled out over the middle third), "releases" three at random days, "users" an A/B test, "churn"
    # three changes at days of each query's own, "beside" lists drawn for each session, "once" with few of it.
    lists: str
    # What moves all clicks: words of "trend", "sale" (a week), "then" (a sale in the middle third), "walk" (a
    # random walk of the market), "own" (one of each query).
    drift: str = ""
    users: tuple[str, float] = ("even", 0.0)  # Law of the sessions of a user, and its exponent or index.
    effect: float = 0.0  # By how much a click's logit rises with the relevance of the result; 0: none.
    sessions: float = 60.0  # Sessions of a query on average.
    a_user: float = 4.0  # Sessions of a user on average.
    habits: float = 0.8  # Standard deviation of the logits of users.
    size: float = 1.0  # Of the drift.
    markets: tuple[float, ...] = (1.0,)  # Shares of the queries.
    depth: int = 5
    # Chance that a result is judged is lower by so much where its grade is low, and where it is not clicked.
    missing: float = 0.0


def logs_of(world: World, queries: int, rng: np.random.Generator, *, drifts: bool = True) -> list[Sample]:
    """Draw a log: a sample of each market with judged lists; `drifts=False`: the same without drift."""
    market = np.sort(rng.choice(len(world.markets), queries, p=world.markets))
    popularity = rng.lognormal(sigma=1.15, size=queries)
    size = int(queries * world.sessions)
    query = rng.choice(queries, size, p=popularity / popularity.sum())
    day = rng.integers(0, DAYS, size)
    n_users = max(int(size / world.a_user), LEAST_USERS)
    user = rng.choice(n_users, size, p=_activity(world, n_users, rng))
    version, errors = _versions(world, query, day, rng.integers(0, 2, n_users)[user], queries, rng)
    relevance, judged, order = _ranked(world, queries, errors, rng)
    shown = query * len(errors) + version
    seen = np.take_along_axis(relevance[:, None], order, 2).reshape(-1, order.shape[2])
    grades = np.take_along_axis(judged[:, None], order, 2).reshape(seen.shape)
    logit = 0.7 * rng.standard_normal(queries)[query] - 0.3 + 0.2 * rng.standard_normal(len(seen))[shown]
    logit += world.habits * rng.standard_normal(n_users)[user]
    drift = _drift(world, market, rng)
    logit += drift[query, day] if drifts else 0.0
    ranks = np.arange(seen.shape[1])
    results = world.effect * (2.0**seen - 1) / 2**TOP_GRADE - 0.5 * ranks
    clicked = rng.random((size, len(ranks))) < 1 / (1 + np.exp(-(logit[:, None] + results[shown] - 0.5)))
    table = pl.DataFrame(
        {
            "list": shown,
            "day": day,
            "fold": rng.integers(0, USER_FOLDS, n_users)[user],
            "click_mask": clicked @ (1 << ranks),
        }
    )
    kept = _judged(world, grades, clicked, shown, rng)
    of_lists = np.repeat(np.arange(queries), len(errors))
    values = _metrics(grades, np.repeat(judged, len(errors), axis=0))
    return [_sample(world, number, np.flatnonzero(kept & (market == number)[of_lists]), of_lists,
                    (table, grades, values)) for number in np.unique(market)]  # fmt: skip


def _activity(world: World, users: int, rng: np.random.Generator) -> Floats:
    law, spread = world.users
    ranks = np.arange(1, users + 1.0)
    match law:
        case "zipf":
            weights = ranks**-spread
        case "pareto":
            weights = rng.random(users) ** (-1 / spread)
        case _:
            weights = np.ones(users)
    shares: Floats = weights / weights.sum()
    return shares


def _versions(
    world: World, query: Integers, day: Integers, arm: Integers, queries: int, rng: np.random.Generator
) -> tuple[Integers, Floats]:
    """Return the version of the list of each session, and the error of the ranker of each version."""
    third, several = DAYS // 3, np.linspace(2.4, 0.5, 4)
    one, beside = np.array([2.4, 0.3]), np.full(MOST_LISTS, 1.2)
    if world.lists == "releases":
        days = np.sort(rng.choice(np.arange(5, DAYS - 5), 3, replace=False))
        return np.searchsorted(days, day, side="right"), several
    if world.lists == "churn":
        own = rng.integers(1, DAYS, (queries, 3))
        return (day[:, None] >= own[query]).sum(axis=1), several
    if world.lists == "once":
        return rng.integers(0, MOST_LISTS, len(query)), beside
    if world.lists == "beside":
        return _drawn(query, queries, rng), beside
    is_new = {
        "third": lambda: (day >= third) & (day < 2 * third),
        "half": lambda: day >= DAYS // 2,
        "ramp": lambda: rng.random(len(day)) < (day - third) / third,
        "users": lambda: arm,
    }[world.lists]
    return is_new().astype(np.int64), one


def _drawn(query: Integers, queries: int, rng: np.random.Generator) -> Integers:
    """Return a list of its query for each session: two to twelve lists, with shares of their own."""
    shares = rng.gamma(0.7, size=(queries, MOST_LISTS))
    sizes = np.clip(1 + rng.geometric(0.2, queries), 2, MOST_LISTS)
    shares[np.arange(MOST_LISTS) >= sizes[:, None]] = 0
    ends = (shares / shares.sum(axis=1, keepdims=True)).cumsum(axis=1)
    return np.minimum((rng.random(len(query))[:, None] > ends[query]).sum(axis=1), MOST_LISTS - 1)


def _ranked(
    world: World, queries: int, errors: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats, Integers]:
    """Return relevance and grades of documents, and the documents of the list of each version."""
    documents = max(DOCUMENTS, world.depth + 3)
    relevance = np.clip(np.round(rng.normal(1.3, 1.3, (queries, documents))), 0, TOP_GRADE)
    judged = np.clip(np.round(relevance + rng.normal(0, 0.8, relevance.shape)), 0, TOP_GRADE)
    seen = relevance[:, None] + errors[:, None] * rng.standard_normal((queries, len(errors), documents))
    return relevance, judged, np.argsort(-seen, axis=2)[:, :, : world.depth]


def _drift(world: World, market: Integers, rng: np.random.Generator) -> Floats:
    """Return the (queries, days) logits that drift adds."""
    days, words = np.arange(DAYS), world.drift.split()
    moved = np.zeros((len(world.markets), DAYS))
    for number in range(len(moved)):
        own = np.zeros(DAYS)
        if "trend" in words:
            wave = np.sin(2 * np.pi * (days / DAYS * rng.uniform(0.5, 2) + rng.uniform()))
            own += rng.choice([-0.3, 0.3]) * np.linspace(-1, 1, DAYS) + 0.2 * wave
        if "sale" in words:
            first = rng.integers(DAYS // 3, 2 * DAYS // 3 - 7)
            own[first : first + 7] += 0.6
        if "then" in words:
            own[DAYS // 3 : 2 * DAYS // 3] += 0.6
        if "walk" in words:
            own += rng.normal(0, 0.1, DAYS).cumsum()
        moved[number] = own
    alone = rng.normal(0, 0.08, (len(market), DAYS)).cumsum(axis=1) if "own" in words else 0.0
    drift: Floats = world.size * (moved[market] + alone)
    return drift


def _judged(world: World, grades: Floats, clicked: Masks, shown: Integers, rng: np.random.Generator) -> Masks:
    """Return which lists have sessions, and all of their results judged."""
    sessions = np.bincount(shown, minlength=len(grades))
    kept = sessions > 0
    if not world.missing:
        return kept
    sums = [np.bincount(shown, own, len(grades)) for own in clicked.T]
    rates = np.stack(sums, axis=1) / np.maximum(sessions, 1)[:, None]
    few, low = rates < np.median(rates[kept], axis=0), grades <= 1
    return kept & (rng.random(grades.shape) >= world.missing * (few + low)).all(axis=1)


def _metrics(grades: Floats, judged: Floats) -> Floats:
    """Return (n, 6) values of `NAMES` of (n, k) grades, with the grades of all documents of each query."""
    depth = grades.shape[1]
    ranks = np.arange(1, depth + 1)
    discounts, stops = 1 / np.log2(ranks + 1), (2**grades - 1) / 2**TOP_GRADE
    reached = np.cumprod(np.hstack([np.ones((len(grades), 1)), 1 - stops[:, :-1]]), axis=1)
    dcg, best = (2**grades - 1) @ discounts, (2 ** (-np.sort(-judged, axis=1)[:, :depth]) - 1) @ discounts
    good = grades >= GOOD
    return np.stack([
        (reached * stops) @ (1 / ranks),
        dcg,
        np.divide(dcg, best, out=np.zeros(len(dcg)), where=best > 0),
        stops @ (0.2 * 0.8 ** (ranks - 1)),
        np.where(good.any(axis=1), 1 / (good.argmax(axis=1) + 1), 0.0),
        (grades >= 2).mean(axis=1),
    ], axis=1)  # fmt: skip


def _sample(
    world: World, number: int, lists: Integers, of_lists: Integers, log: tuple[pl.DataFrame, Floats, Floats]
) -> Sample:
    """Return the sample of some lists: their patterns are counted and measured as those of a log are."""
    table, grades, values = log
    place = pl.DataFrame({"list": lists, "n": np.arange(len(lists))})
    rows = table.join(place, on="list")
    patterns = rows.group_by("n", "fold", "click_mask").agg(pl.len().alias("sessions"))
    patterns = patterns.sort("n", "fold", "click_mask")
    days = rows.group_by("n", "day").agg(pl.len().alias("sessions")).sort("n", "day")
    good = (grades[lists] >= GOOD) @ (1 << np.arange(grades.shape[1]))
    clicks = measured_clicks(patterns, {}, None, good, (), depth=world.depth)
    chosen = [clicks.names.index(name) for name in CLICKS]
    by_fold = clicks.by_fold and replace(clicks.by_fold, values=clicks.by_fold.values[:, chosen])
    present, index = np.unique(of_lists[lists], return_inverse=True)
    name = EVERY if len(world.markets) == 1 else f"m{number}"
    masks, sessions = (patterns[of].to_numpy().astype(np.int64) for of in ("click_mask", "sessions"))
    return Sample(
        key=SampleKey(name, world.depth, EVERY),
        queries=tuple(f"{query:06}" for query in present),
        query_index=index.astype(np.int64),
        sessions=clicks.sessions,
        click_names=CLICKS,
        click_values=clicks.means[:, chosen],
        click_variances=clicks.variances[:, chosen],
        null_success=null_success(good, masks, sessions),
        editorial_names=NAMES,
        editorial_values=values[lists],
        configuration_ids=pl.Series(lists).cast(pl.String),
        click_entropy=np.zeros(len(present)),
        shown=Shown(*(days[of].to_numpy().astype(np.int64) for of in ("n", "day", "sessions"))),
        by_fold=by_fold,
    )
