"""Whether `clickassay power` promises what other queries keep.

    python -m benchmarks.promises.promised_power [--worlds N] [--seed N] [--processes N] [--out FILE]

Pilots are drawn from pools of 100,000 queries. Each says how many queries detect the true difference of two
metrics with a power of 80%; the power that so many other queries of the pool have is measured with samples
of them, of several sizes. One row per kind of log, correlation and size of the pilot: the true difference,
the queries that truly have this power (`needed`), what pilots say on average (`promised`, logarithmic mean),
the power that the promised numbers have on average (`power`), the power of the numbers that take the error of
each pilot for the truth (`power_by_estimate`), the share of pilots whose 95% range holds `needed`
(`in_range`), and the share that says that other queries can need far more (`said`).
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from benchmarks.lib.measuring import ROOT
from benchmarks.lib.processes import in_processes
from benchmarks.lib.tables import measure
from benchmarks.promises.calibration.worlds import Pool
from benchmarks.promises.verdict.pools import KINDS, Kind, true_values
from clickassay.core.records import Sample
from clickassay.core.seeds import child
from clickassay.core.special import ndtr, ndtri
from clickassay.correlation.comparisons import queries_needed
from clickassay.correlation.uncertainty.intervals import ALPHA, p_value
from clickassay.correlation.uncertainty.power import Pilot, pilot_of, required_sizes, within_pilot
from clickassay.correlation.weighted import correlation_matrix

REPORT = ROOT / "reports" / "calibration" / "promised_power.csv"
NAMES = ("base", "few lists", "lognormal 1.5", "Pareto 1.5", "Pareto 1.2", "1 to 3 sessions a list")
PILOTS, POWER = (60, 200, 1000), 0.8
GRID = (100, 200, 400, 800, 1600, 3200)
"""Sizes of the samples that show what power a number of queries has."""

ONE = np.array([1])


@dataclass(frozen=True)
class Task:
    """One kind of log and one correlation."""

    kind: Kind
    is_within: bool
    worlds: int
    seed: int


def pilot(task: Task, sample: Sample, pair: tuple[str, str]) -> Pilot:
    """Return what a sample says of the difference."""
    click = sample.click_names[0]
    return within_pilot([sample], click, *pair) if task.is_within else pilot_of(sample, click, *pair)


def weighted_truth(pool: Pool) -> list[float]:
    """Return the weighted correlations of the pool, with the noise of its sessions."""
    n = pool.sessions
    values = correlation_matrix(pool.chances[:, None], pool.metrics, n).values[0]
    spread = n @ (pool.chances - n @ pool.chances / n.sum()) ** 2
    noise = (pool.chances * (1 - pool.chances)).sum()
    return list(values * np.sqrt(spread / (spread + noise)))


def of_task(task: Task) -> pl.DataFrame:
    """Return one row per size of the pilot."""
    pool = task.kind.pool(task.seed)
    truth = true_values(pool) if task.is_within else weighted_truth(pool)
    order = np.argsort(truth)
    first, second = int(order[-1]), int(order[-3])  # the best, and a metric that is not far below
    pair, true = (pool.names[first], pool.names[second]), float(truth[first] - truth[second])
    rng = child(np.random.default_rng(task.seed), "power", task.kind.name, str(task.is_within))
    slope, origin = power_curve(task, pool, pair, rng)

    def power_of(queries: float) -> float:
        return float(ndtr(slope * np.sqrt(queries) + origin))

    needed = float(((ndtri(POWER) - origin) / slope) ** 2)
    rows = []
    for size in PILOTS:
        found = []
        for _ in range(task.worlds):
            one = pilot(task, task.kind.drawn(pool, size, rng), pair)
            (promised,) = required_sizes(one, true, (1.0,), alpha=ALPHA, power=POWER)
            wanted = np.array([[true]])
            estimate = queries_needed(wanted, one.spread, one.queries, tests=ONE, power=POWER).item()
            scale = size / one.queries  # within queries, only those with two lists count
            each = (promised.queries, estimate, promised.fewest, promised.most)
            found.append((*(number * scale for number in each), one.heavy_tail))
        numbers, estimates, fewest, most, said = np.array(found).T
        rows.append({
            "log": task.kind.name,
            "correlation": "within queries" if task.is_within else "over all queries",
            "pilot": size,
            "difference": true,
            "needed": needed,
            "promised": float(np.exp(np.log(numbers).mean())),
            "power": float(np.mean([power_of(one) for one in numbers])),
            "power_by_estimate": float(np.mean([power_of(one) for one in estimates])),
            "in_range": float(((fewest <= needed) & (needed <= most)).mean()),
            "said": float(said.mean()),
        })  # fmt: skip
    return pl.DataFrame(rows)


def power_curve(
    task: Task, pool: Pool, pair: tuple[str, str], rng: np.random.Generator
) -> tuple[float, float]:
    """Return a and b of the power Φ(a √Q + b) that fit samples of the pool."""
    shares = []
    for size in GRID:
        tests = [pilot(task, task.kind.drawn(pool, size, rng), pair) for _ in range(task.worlds)]
        found = [
            one.difference > 0 and p_value(np.array([[one.difference]]), one.spread).item() < ALPHA
            for one in tests
        ]
        shares.append((sum(found) + 0.5) / (task.worlds + 1))
    known = [
        (np.sqrt(size), ndtri(share)) for size, share in zip(GRID, shares, strict=True) if 0.03 < share < 0.98
    ]
    slope, origin = np.polyfit(*zip(*known, strict=True), 1)
    return float(slope), float(origin)


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return the table of the page."""
    kinds = [kind for kind in KINDS if kind.name in NAMES]
    tasks = [Task(kind, is_within, worlds, seed) for kind in kinds for is_within in (True, False)]
    return in_processes(of_task, tasks, processes)


if __name__ == "__main__":
    measure(measured, __doc__, REPORT, 300)
