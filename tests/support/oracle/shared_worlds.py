"""Random logs in which queries share something: a release, an A/B test, a sale, a busy user."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from support.oracle.oracle_log import Row, Settings

FIRST_DAY, DAY_MS = 1_700_006_400_000, 86_400_000  # from 2023-11-15T00:00Z, a Wednesday
DEPTH = 3
URLS = "abcdef"


@dataclass(frozen=True)
class SharedWorld:
    """What a log is drawn from."""

    markets: Mapping[str, int] = field(default_factory=lambda: {"m": 40})  # their queries
    lists: tuple[int, ...] = (1, 2, 3, 4)  # of a query: one of these numbers
    sessions: int = 9  # about so many of a list
    days: int = 40
    users: int = 300
    heavy: float = 0.0  # part of the searches of one user, who clicks on all that is good
    settings: Settings = field(default_factory=dict)
    groups: int = 0  # queries belong to so many groups, some to none; 0: there are none
    seed: int = 1


SharedLog = tuple[list[Row], list[Row], list[Row], list[Row] | None, Settings]


def shared_log(world: SharedWorld) -> SharedLog:
    """Draw searches, clicks, judgments, queries (None = not given) and settings.

    The lists of a query are shown in another part of the time each, or to another part of the users, or to
    all; on the days of a sale people click more.
    """
    rng = random.Random(world.seed)  # noqa: S311 - test data, not a secret
    searches: list[Row] = []
    clicks: list[Row] = []
    judgments: list[Row] = []
    names = [(market, f"{'w ' * (n % 3)}q{n}") for market, size in world.markets.items() for n in range(size)]
    for market, query in names:
        grades = {f"{query}{url}": rng.choice((0, 0, 1, 2, 3, 4)) for url in URLS}
        judgments += [
            {"query": query, "url": url, "grade": grade, "market": market} for url, grade in grades.items()
        ]
        shown = [rng.sample(sorted(grades), DEPTH) for _ in range(rng.choice(world.lists))]
        how = rng.choice(("release", "release", "users", "all"))
        for at, results in enumerate(shown):
            for _ in range(rng.randint(1, 2 * world.sessions - 1)):
                when = rng.random() if how != "release" else (at + rng.random() ** 0.7) / len(shown)
                user = rng.randrange(world.users)
                if how == "users":
                    user -= user % len(shown) - at
                is_heavy = rng.random() < world.heavy
                time = FIRST_DAY + int(when * world.days * DAY_MS)
                row = {
                    "search_id": len(searches), "user_id": -1 if is_heavy else user, "query": query,
                    "timestamp": time, "results": results, "market": market,
                }  # fmt: skip
                searches.append(row)
                likes = 0.45 + 0.3 * (0.3 < when < 0.6) + 0.02 * (user % 8)
                clicks += clicks_of(rng, row, grades, None if is_heavy else likes)
    attributes = None
    if world.groups:
        attributes = [
            {"query": query, "group": rng.choice((None, *map(str, range(world.groups))))}
            for query in sorted({query for _, query in names})
        ]
    settings = {"depth": (DEPTH,), "folds": 16, "iterations": 10, **world.settings}
    return searches, clicks, judgments, attributes, settings


def clicks_of(rng: random.Random, search: Row, grades: Mapping[str, int], likes: float | None) -> list[Any]:
    """Draw the clicks of a search; None: all that is good, and nothing else."""
    return [
        {"search_id": search["search_id"], "timestamp": search["timestamp"] + 1000 * place, "url": url}
        for place, url in enumerate(search["results"], start=1)
        if (
            grades[url] >= 3
            if likes is None
            else rng.random() < likes * (0.3 + 0.15 * grades[url]) / place**0.5
        )
    ]
