"""Whether corrected means keep their promise: people judge few queries of rankings, a judge judges all.

    python -m benchmarks.promises.corrected [--worlds N] [--seed N] [--processes N] [--out FILE]

A pool of 20,000 queries has grades by people and by a judge of some kind for all documents, and three
rankings: one, a better one, and one as good as the first. A judge errs often and little, or is right except
in 1 to 10% of the queries, where it turns grades around, takes everything for perfect, or what the first
ranking shows alone. A world draws 2,000 queries from the pool, of which people judged some. One row per kind
of judge, number of queries that people judged, measure, and mean or difference: how often 95% CIs hold
the mean of the pool by people (`corrected`, `by_judge`, `by_people`: of the corrected mean, and of each side
alone), the median width of the corrected interval by that of people's alone (`width`) and the number of
queries by people alone that are worth one judged by both (`worth`), and how often two rankings that are
equally good differ with p < 0.05 (`alarms`).
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.lib.measuring import ROOT
from benchmarks.lib.processes import in_processes
from benchmarks.lib.tables import measure
from clickassay.core.records import Floats
from clickassay.core.seeds import child
from clickassay.core.settings import load_settings
from clickassay.correlation.uncertainty.intervals import ALPHA
from clickassay.metrics.lists import Lists, measure_values
from clickassay.metrics.names import parse_measures, spell_out
from clickassay.studies.evaluation.corrected import MIN_BOTH, Corrected, corrected_means

REPORT = ROOT / "reports" / "calibration" / "corrected.csv"
POOL, QUERIES, DOCUMENTS, SHOWN = 20_000, 2_000, 30, 10
SIZES = (MIN_BOTH, 40, 100, 400)
MEASURES = parse_measures("nDCG@10 ERR@10 RR(rel=3) P(rel=3)@5")
Grades = NDArray[np.int64]
Judge = Callable[[Grades, Grades, np.random.Generator], Grades]
"""Turns grades, and the first ranking's order of them, into its own."""


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return the table."""
    return in_processes(partial(of_judge, worlds, seed), list(JUDGES), processes)


def true_grades(rng: np.random.Generator) -> Grades:
    """Draw grades 0..4 of the documents of each query; some queries have hardly any good one."""
    ease = rng.normal(-0.6, 0.9, (POOL, 1))
    return np.clip(np.round(1.2 + ease + 1.3 * rng.standard_normal((POOL, DOCUMENTS))), 0, 4).astype(int)


def noisy(grades: Grades, _order: Grades, rng: np.random.Generator) -> Grades:
    """Err by a grade either way in 30% of the grades."""
    off = rng.choice([-1, 0, 1], grades.shape, p=[0.15, 0.7, 0.15])
    return np.clip(grades + off, 0, 4)


def generous(grades: Grades, _order: Grades, rng: np.random.Generator) -> Grades:
    """Give a grade or two too much in half of the cases."""
    return np.clip(grades + rng.choice([0, 1, 2], grades.shape, p=[0.5, 0.35, 0.15]), 0, 4)


def of_easy_queries(grades: Grades, order: Grades, rng: np.random.Generator) -> Grades:
    """Be right on queries with good results, and generous on the others."""
    return np.where(
        grades.mean(axis=1, keepdims=True) > 1, grades, generous(generous(grades, order, rng), order, rng)
    )


def careless(grades: Grades, _order: Grades, rng: np.random.Generator) -> Grades:
    """Draw 40% of the grades by lot."""
    return np.where(rng.random(grades.shape) < 0.4, rng.integers(0, 5, grades.shape), grades)


def constant(grades: Grades, _order: Grades, _rng: np.random.Generator) -> Grades:
    """Give every document grade 3."""
    return np.full_like(grades, 3)


def turned(grades: Grades, _order: Grades) -> Grades:
    """Take the best for the worst."""
    return 4 - grades


def perfect(grades: Grades, _order: Grades) -> Grades:
    """Take everything for perfect."""
    return np.full_like(grades, 4)


def partial_to_one(grades: Grades, order: Grades) -> Grades:
    """Take what the first ranking shows for perfect, and the rest for bad."""
    judged = np.zeros_like(grades)
    np.put_along_axis(judged, order[:, :SHOWN], 4, axis=1)
    return judged


def rarely(
    share: float,
    wrong: Callable[[Grades, Grades], Grades],
    grades: Grades,
    order: Grades,
    rng: np.random.Generator,
) -> Grades:
    """Be right except in a share of the queries."""
    return np.where(rng.random((len(grades), 1)) < share, wrong(grades, order), grades)


JUDGES: dict[str, Judge] = {
    "errs either way": noisy,
    "generous": generous,
    "generous on hard queries": of_easy_queries,
    "careless": careless,
    "constant": constant,
    **{
        f"{name} in {share:.0%}": partial(rarely, share, wrong)
        for name, wrong in (("turned", turned), ("perfect", perfect), ("partial to one", partial_to_one))
        for share in (0.01, 0.02, 0.05, 0.1)
    },
}


def of_judge(worlds: int, seed: int, name: str) -> pl.DataFrame:
    """Return the rows of a kind of judge."""
    rng = child(np.random.default_rng(seed), "corrected", name)
    grades = true_grades(rng)
    orders = [np.argsort(-weight * grades - rng.standard_normal(grades.shape)) for weight in (0.5, 0.8, 0.5)]
    judged = JUDGES[name](grades, orders[0], rng)
    people, judge = (np.stack([values(of, order) for order in orders]) for of in (grades, judged))
    sizes = ({"judge": name, "both": both} for both in SIZES)
    return pl.DataFrame(
        [same | row for same in sizes for row in cells(same["both"], people, judge, worlds, rng)]
    )


def values(grades: Grades, order: Grades) -> Floats:
    """Return the (POOL, E) values of the measures of a ranking."""
    shown = np.take_along_axis(grades, order[:, :SHOWN], axis=1).astype(np.int16)
    pool = np.stack([(grades == grade).sum(axis=1) for grade in range(5)], axis=1)
    names = tuple(f"q{at:05d}" for at in range(len(grades)))
    lists = Lists(names, shown.ravel(), np.arange(0, shown.size + 1, SHOWN), pool)
    settings = load_settings()
    spelled = [spell_out(one, settings) for one in MEASURES]
    return np.column_stack([measure_values(one, lists, settings) for one in spelled])


def cells(
    both: int, people: Floats, judge: Floats, worlds: int, rng: np.random.Generator
) -> Iterator[dict[str, object]]:
    """Yield a row for each measure, of means and of differences."""
    null = people[2] - people[0]
    h = np.hstack([people[0], people[1] - people[0], null - null.mean(axis=0)])
    f = np.hstack([judge[0], judge[1] - judge[0], judge[2] - judge[0]])
    truth, reach = h.mean(axis=0), np.ones(h.shape[1])  # of the last, both are equally good in the pool
    found = []
    for _ in range(worlds):
        drawn = rng.integers(0, POOL, QUERIES)
        chosen = np.sort(rng.choice(QUERIES, both, replace=False))
        found.append(held(corrected_means(f[drawn], h[drawn][chosen], chosen, reach), truth))
    shares, (width, worth) = np.mean(found, axis=0)[:4], np.median(found, axis=0)[4:]
    for place, one in product(range(2), range(len(MEASURES))):
        column = place * len(MEASURES) + one
        corrected, by_judge, by_people = shares[:3, column]
        yield {
            "measure": str(MEASURES[one]), "quantity": ("mean", "difference")[place], "worlds": worlds,
            "corrected": corrected, "by_judge": by_judge, "by_people": by_people, "width": width[column],
            "worth": worth[column] / both, "alarms": shares[3, column + len(MEASURES)] if place else None,
        }  # fmt: skip


def held(found: Corrected, truth: Floats) -> Floats:
    """Return (6, E): whether intervals hold the truth, whether 0 is refused, the width, and the worth."""
    ends = ((found.low, found.high), found.judge[1:], found.people[1:])
    width = (found.high - found.low) / (found.people[2] - found.people[1])
    holds = ((low <= truth) & (truth <= high) for low, high in ends)
    return np.stack([*holds, found.p_value < ALPHA, width, found.worth])


if __name__ == "__main__":
    measure(measured, __doc__, REPORT, 1000)
