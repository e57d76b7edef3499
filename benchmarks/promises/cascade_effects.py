"""Examples of the cascade effect in logs whose clicks do not depend on what stands above.

    python -m benchmarks.promises.cascade_effects [--logs N] [--seed N] [--out FILE]

In the worlds without the effect the chance of a click is that of the position x the result x the click level:
independent sessions; users who keep one list, come back 6 to 30 times and mostly click what they clicked
before; lists whose click levels differ; rankings with the good results at the bottom. In the worlds with it,
users go down the list until they are satisfied. One row per world and number of queries: the share of logs
with any row in `cascade_effects`, and with any if pairs were tested without the test of all queries together.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.lib.measuring import ROOT, machine
from clickassay.click_models.cascade_effects import cascade_effects, clearest_pairs
from clickassay.core.records import Floats, Integers, JudgedConfigurations

REPORT = ROOT / "reports" / "calibration" / "cascade_effects.csv"
DEPTH, RESULTS, MAX_GRADE = 5, 8, 4
GRADE_SHARES = (0.35, 0.25, 0.2, 0.12, 0.08)
ATTRACTION = np.array([0.15, 0.25, 0.4, 0.55, 0.75])
SATISFACTION = np.array([0.0, 0.05, 0.1, 0.3, 0.7])
EXAMINATION = 1 / np.arange(1, DEPTH + 1) ** 0.8
SESSIONS = 400
"""Median number of sessions of a query; lognormal with sigma 1.15, as on the log CLARA 2."""


@dataclass(frozen=True)
class World:
    """How users click.

    Attributes
    ----------
    name
        In words.
    repeats
        Least and most sessions of a user, all with one list.
    habit
        Intraclass correlation of a user's clicks on a result; 0..1.
    level
        Standard deviation of the logarithm of the level of clicks between lists.
    upside_down
        Whether rankings put results of low grade on top.
    cascade
        Whether satisfied users stop.
    """

    name: str
    repeats: tuple[int, int] = (1, 1)
    habit: float = 0.0
    level: float = 0.0
    upside_down: bool = False
    cascade: bool = False


WORLDS = (
    World("independent sessions"),
    World("users who repeat a query", repeats=(6, 30), habit=0.5),
    World("click level of lists, log sd 0.2", level=0.2),
    World("click level of lists, log sd 0.4", level=0.4),
    World("both, log sd 0.4", repeats=(6, 30), habit=0.5, level=0.4),
    World("independent sessions, good results at the bottom", upside_down=True),
    World("users stop when satisfied", cascade=True),
    World("users stop when satisfied; both, log sd 0.4", (6, 30), 0.5, 0.4, cascade=True),
)
QUERIES = (20, 100)


def main() -> None:
    """Simulate, count, write the table and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--logs", type=int, default=60, help="of each world")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=REPORT)
    options = parser.parse_args()
    print(f"# {machine()}")
    tasks = [(world, queries, options.logs, options.seed) for world in WORLDS for queries in QUERIES]
    with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
        rows = list(pool.map(counted, *zip(*tasks, strict=True)))
    pl.DataFrame(rows).write_csv(options.out, float_precision=4)
    print(pl.read_csv(options.out))


def counted(world: World, queries: int, logs: int, seed: int) -> dict[str, str | int | float]:
    """Return the row of a world: shares of its logs."""
    found = [
        outcome(log_of(world, queries, np.random.default_rng([seed, WORLDS.index(world), queries, number])))
        for number in range(logs)
    ]
    any_row, any_pair = np.array(found).T
    return {
        "world": world.name,
        "effect": world.cascade,
        "queries": queries,
        "logs": logs,
        "any_example": float(any_row.mean()),
        "any_pair": float(any_pair.mean()),
    }


def outcome(judged: JudgedConfigurations) -> tuple[bool, bool]:
    """Return whether a log has an example, and whether it has one without the test of all queries."""
    pairs = clearest_pairs(judged, judge="all", depth=DEPTH)
    return not cascade_effects(judged, judge="all", depth=DEPTH).is_empty(), not pairs.is_empty()


def log_of(world: World, queries: int, rng: np.random.Generator) -> JudgedConfigurations:
    """Draw the lists of a log and all clicks on them."""
    grades = rng.choice(MAX_GRADE + 1, (queries, RESULTS), p=GRADE_SHARES)
    attraction = np.clip(ATTRACTION[grades] * rng.lognormal(0, 0.3, grades.shape), 0, 0.95)
    query, shown = lists_of(grades, world, rng)
    own_grades = grades[query[:, None], shown]
    level = rng.lognormal(0, world.level, len(query)) if world.level else np.ones(len(query))
    chance = np.clip(attraction[query[:, None], shown] * level[:, None], 0, 0.98)
    share = rng.lognormal(0, 0.7, len(query))
    total = SESSIONS * rng.lognormal(0, 1.15, queries)
    wanted = total[query] * share / np.bincount(query, share)[query]
    who, sessions = users_of(np.maximum(1, wanted.round().astype(np.int64)), world, rng)
    if world.cascade:
        masks = cascading(chance[who], own_grades[who], sessions, world, rng)
    else:
        masks = ignoring(chance[who], sessions, world, rng)
    return judged_log(query, shown, own_grades, np.repeat(who, sessions), masks)


def lists_of(grades: Integers, world: World, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Return the query of each list, and the results that it shows: up to six lists a query."""
    sign = -1 if world.upside_down else 1
    noise = rng.gumbel(0, 1.2, (len(grades), 6, RESULTS))
    shown = np.argsort(-(sign * grades[:, None, :] + noise), axis=2)[:, :, :DEPTH]
    query = np.repeat(np.arange(len(grades)), 6)
    rows = np.unique(np.column_stack([query, shown.reshape(-1, DEPTH)]), axis=0)
    return rows[:, 0], rows[:, 1:]


def users_of(wanted: Integers, world: World, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Return the list of each user, and how often the user comes; about as many sessions as wanted."""
    least, most = world.repeats
    number = np.maximum(1, np.round(wanted * 2 / (least + most)).astype(np.int64))
    who = np.repeat(np.arange(len(wanted)), number)
    return who, rng.integers(least, most + 1, len(who))


def with_habit(chance: Floats, world: World, rng: np.random.Generator) -> Floats:
    """Return each user's own chances of a click: beta around `chance` with the intraclass correlation."""
    if not world.habit:
        return chance
    certain = (1 - world.habit) / world.habit
    return rng.beta(np.maximum(chance * certain, 1e-9), (1 - chance) * certain)


def ignoring(chance: Floats, sessions: Integers, world: World, rng: np.random.Generator) -> Integers:
    """Return the mask of every session of users who look at each position by itself."""
    own = np.repeat(with_habit(chance * EXAMINATION, world, rng), sessions, axis=0)
    return (rng.random(own.shape) < own) @ (1 << np.arange(DEPTH))


def cascading(
    chance: Floats, grades: Integers, sessions: Integers, world: World, rng: np.random.Generator
) -> Integers:
    """Return the mask of every session of users who go down the list until a clicked result satisfies."""
    own = np.repeat(with_habit(chance, world, rng), sessions, axis=0)
    clicked = rng.random(own.shape) < own
    stops = clicked & (rng.random(own.shape) < SATISFACTION[np.repeat(grades, sessions, axis=0)])
    before = np.cumsum(stops, axis=1) - stops
    return (clicked & (before == 0)) @ (1 << np.arange(DEPTH))


def judged_log(
    query: Integers, shown: Integers, grades: Integers, rows: Integers, masks: Integers
) -> JudgedConfigurations:
    """Put lists and sessions into the form that the table is computed from."""
    names = [f"q{number:05d}" for number in query]
    lists = pl.DataFrame(
        {
            "market": ["all"] * len(query),
            "query": names,
            "configuration_id": [f"{number:08d}" for number in range(len(query))],
            "results": [[f"d{one}" for one in row] for row in shown],
            "n": np.arange(len(query)),
        }
    )
    pairs, counts = np.unique(np.column_stack([rows, masks]), axis=0, return_counts=True)
    patterns = pl.DataFrame({"n": pairs[:, 0], "click_mask": pairs[:, 1], "sessions": counts})
    return JudgedConfigurations(
        rows=lists,
        grades=grades.astype(np.int8),
        urls=query[:, None] * RESULTS + shown,
        filled=np.zeros(grades.shape, dtype=np.bool_),
        pool=np.zeros((len(query), MAX_GRADE + 1), dtype=np.int64),
        patterns=patterns,
        too_short={},
        not_judged={},
    )


if __name__ == "__main__":
    main()
