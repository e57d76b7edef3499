"""Whether intervals of the agreement of two judges keep their promise.

    python -m benchmarks.promises.agreement [--worlds N] [--seed N] [--processes N] [--out FILE]

A pool of 50,000 queries has 1 to 40 results each, whose grades two judges give: people, who err by a grade
now and then, and a judge of some kind. A world draws queries from the pool. One row per kind of judge, number
of queries and measure: how often the 95% CI holds the value of the pool (`held`), how often an
interval has no caution (`relied_on`), and, of two equal judges, how often their mean grades are said to
differ (`alarms`).
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.lib.measuring import ROOT
from benchmarks.lib.processes import in_processes
from benchmarks.lib.tables import measure
from clickassay.core.records import Floats
from clickassay.core.seeds import child
from clickassay.correlation.agreement import MEASURES, all_measures, ranges_of, tables_by_unit, with_intervals
from clickassay.correlation.uncertainty.intervals import cautions

REPORT = ROOT / "reports" / "calibration" / "agreement.csv"
POOL, MOST, SIZE = 50_000, 40, 5
QUERIES = (20, 50, 100, 300, 1_000)
Grades = NDArray[np.int64]
Judge = Callable[[Grades, Grades, np.random.Generator], Grades]


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return the table."""
    return in_processes(partial(of_judge, worlds, seed), list(JUDGES), processes)


def people(grades: Grades, query: Grades, rng: np.random.Generator) -> Grades:
    """Err by a grade either way in 30% of the grades of a usual query, more on a hard one."""
    hard = rng.beta(1.5, 3.5, POOL)[query]
    off = np.where(rng.random(len(grades)) < hard, rng.choice([-1, 1], len(grades)), 0)
    return np.clip(grades + off, 0, SIZE - 1)


def generous(grades: Grades, query: Grades, rng: np.random.Generator) -> Grades:
    """Give a grade or two too much, on some queries often and on others never."""
    often = rng.beta(0.6, 1.0, POOL)[query]
    more = np.where(rng.random(len(grades)) < often, rng.choice([1, 2], len(grades), p=[0.7, 0.3]), 0)
    return np.clip(people(grades, query, rng) + more, 0, SIZE - 1)


def careless(grades: Grades, query: Grades, rng: np.random.Generator) -> Grades:
    """Give one grade by lot to all results of a query, for 40% of the queries."""
    lot = rng.integers(0, SIZE, POOL)[query]
    return np.where((rng.random(POOL) < 0.4)[query], lot, people(grades, query, rng))


def of_two_grades(grades: Grades, query: Grades, rng: np.random.Generator) -> Grades:
    """Know bad and perfect only."""
    return np.where(people(grades, query, rng) >= 2, SIZE - 1, 0)


def constant(grades: Grades, _query: Grades, _rng: np.random.Generator) -> Grades:
    """Give every result grade 3."""
    return np.full_like(grades, 3)


JUDGES: dict[str, Judge] = {
    "equal": people,
    "generous": generous,
    "careless": careless,
    "two grades": of_two_grades,
    "constant": constant,
}


def of_judge(worlds: int, seed: int, name: str) -> pl.DataFrame:
    """Return the rows of a kind of judge."""
    rng = child(np.random.default_rng(seed), "agreement", name)
    tables = pool(JUDGES[name], rng)
    truth = all_measures(tables.sum(axis=0), SIZE)
    rows = [row for queries in QUERIES for row in cells(tables, truth, queries, worlds, rng)]
    return pl.DataFrame([{"judge": name} | row for row in rows])


def pool(judge: Judge, rng: np.random.Generator) -> Floats:
    """Return the (POOL, SIZE²) pairs of grades of the queries; most results are bad, of some queries all."""
    sizes = np.minimum(rng.geometric(0.12, POOL), MOST)
    query = np.repeat(np.arange(POOL), sizes)
    ease = rng.normal(0, 0.9, POOL)[query]
    grades = np.clip(np.round(0.8 + ease + 1.2 * rng.standard_normal(len(query))), 0, SIZE - 1).astype(int)
    sides = people(grades, query, rng), judge(grades, query, rng)
    return tables_by_unit(pl.Series(query), *map(pl.Series, sides), SIZE)


def cells(
    tables: Floats, truth: Floats, queries: int, worlds: int, rng: np.random.Generator
) -> list[dict[str, object]]:
    """Return a row for each measure."""
    ranges = ranges_of(tuple(MEASURES))
    held, relied, alarms = ([] for _ in range(3))
    for _ in range(worlds):
        drawn = tables[rng.integers(0, POOL, queries)]
        values, low, high = with_intervals(drawn, partial(all_measures, size=SIZE), ranges)
        held.append((low <= truth) & (truth <= high) | (np.isnan(truth) & np.isnan(values)))
        relied.append([one is None for one in cautions(values, low, queries)])
        alarms.append((low > 0) | (high < 0))
    shares = [np.mean(part, axis=0) for part in (held, relied, alarms)]
    return [
        {
            "queries": queries, "measure": name, "worlds": worlds, "truth": float(truth[at]),
            "held": float(shares[0][at]), "relied_on": float(shares[1][at]),
            "alarms": float(shares[2][at]) if name == "mean_difference" and truth[at] ** 2 < NULL else None,
        }
        for at, name in enumerate(MEASURES)
    ]  # fmt: skip


NULL = 0.02**2
"""Square of a mean difference in the pool that is chance: two equal judges."""

if __name__ == "__main__":
    measure(measured, __doc__, REPORT, 1500)
