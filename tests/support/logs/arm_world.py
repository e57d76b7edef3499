"""Small logs of A/B tests with several treatments or judges: what was planted is known."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from clickassay.core.settings import load_settings
from clickassay.inputs.frames import Frame
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns

K, DAYS, FOLDS = 5, 7, 16
START = datetime(2026, 1, 5, tzinfo=UTC)


@dataclass(frozen=True)
class Planted:
    """A test: what its treatments do to rankings."""

    name: str
    arms: tuple[str, ...] = ("control", "new")
    # Share of queries whose ranking each treatment puts in order; below 0: upside down.
    better: tuple[float, ...] = (0.0,)
    users: int = 400
    shares: tuple[float, ...] = (0.5, 0.5)
    unjudged: float = 0.0  # Share of queries where the treatment shows a result without a grade.


@dataclass(frozen=True)
class World:
    """A log with tests, its judgments, and its pattern table."""

    searches: pl.DataFrame
    clicks: pl.DataFrame
    judgments: pl.DataFrame
    table: object

    def sources(self, **others):
        """Return the judgments as a report takes them."""
        return Sources(judgments=Frame(self.judgments), **others)


def arm_world(*tests, seed=0, queries=60, judges=("",)):
    """Return the world of tests, each with users of its own who search one to four times on a day.

    judges: names of judges; the second sees good results as better than the first. One without a name: none.
    """
    rng = np.random.default_rng(seed)
    grades = rng.integers(0, 5, (queries, 2 * K))
    base = np.array([rng.permutation(2 * K)[:K] for _ in range(queries)])
    parts, number = [], 0
    for test in tests:
        arm = rng.choice(len(test.arms), test.users, p=test.shares)
        searches = rng.integers(1, 5, test.users)
        user = np.repeat(np.arange(test.users), searches)
        place = np.arange(len(user)) - np.repeat(searches.cumsum() - searches, searches)
        query = (rng.integers(0, queries, len(user)) * rng.random(len(user)) ** 0.5).astype(int)
        shown = {
            name: rankings(rng, better, test.unjudged, base, grades)
            for name, better in zip(test.arms[1:], test.better * len(test.arms), strict=False)
        } | {test.arms[0]: base}
        ranking = np.array([shown[test.arms[a]][q] for a, q in zip(arm[user], query, strict=True)])
        graded = np.where(ranking < 2 * K, grades[query[:, None], ranking % (2 * K)], 1)
        likely = (0.04 + 0.11 * graded) / np.arange(1, K + 1) ** 0.5
        day = rng.integers(0, DAYS, test.users)[user]
        parts += [
            {
                "experiment": test.name, "variant": test.arms[arm[one]], "user_id": f"{test.name}/{one}",
                "search_id": number + at, "query": f"query {q}",
                "timestamp": START + timedelta(days=int(day[at]), hours=2 * int(place[at])),
                "results": [f"r{q}-{result}" for result in ranking[at]],
                "mask": int((rng.random(K) < likely[at]) @ (1 << np.arange(K))),
            }
            for at, (one, q) in enumerate(zip(user, query, strict=True))
        ]  # fmt: skip
        number += len(user)
    sessions = pl.DataFrame(parts)
    clicks = [
        (one["search_id"], one["timestamp"] + timedelta(seconds=10 + at), one["results"][at])
        for one in parts
        for at in range(K)
        if one["mask"] >> at & 1
    ]
    clicks = pl.DataFrame(clicks, schema=["search_id", "timestamp", "url"], orient="row")
    searches = sessions.drop("mask")
    table = log_to_patterns(Sources(Frame(searches), Frame(clicks)), load_settings(depth=[K], folds=FOLDS))
    return World(searches, clicks, judged(grades, judges), table)


def rankings(rng, better, unjudged, base, grades):
    """Return the ranking of each query in a treatment, as numbers of results; the last one has no grade."""
    shown = base.copy()
    for query in range(len(base)):
        if rng.random() < abs(better):
            order = np.argsort(-np.sign(better) * grades[query][base[query]], kind="stable")
            shown[query] = base[query][order]
        if rng.random() < unjudged:
            shown[query, -1] = 2 * K
    return shown


def judged(grades, judges):
    """Return the grades of all results by each judge."""
    rows = []
    for place, judge in enumerate(judges):
        for (query, result), grade in np.ndenumerate(grades):
            own = int(grade) if place == 0 else 4 * int(grade >= 3)
            rows.append(
                {"query": f"query {query}", "url": f"r{query}-{result}", "grade": own, "judge": judge}
            )
    frame = pl.DataFrame(rows)
    return frame if judges != ("",) else frame.drop("judge")
