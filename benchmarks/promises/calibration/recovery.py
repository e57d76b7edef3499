"""Whether runs name the metric that was planted, and no other.

A run claims a best metric when that metric correlates better than every other of EDITORIAL_METRICS, each
difference with an adjusted p-value below 5%.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from benchmarks.lib.processes import in_processes
from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import Sample
from clickassay.core.settings import load_settings
from clickassay.correlation.comparisons import comparisons
from clickassay.inputs.columns import JUDGMENTS
from clickassay.inputs.simulate.simulation import simulate
from clickassay.inputs.simulate.worlds import WORLDS
from clickassay.inputs.tables import read_input
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns
from clickassay.judgments.join import cut_to_depth, look_up_grades
from clickassay.judgments.prepare import prepare_judgments
from clickassay.metrics.editorial import EDITORIAL_METRICS
from clickassay.metrics.scoring import compute_metrics, formed_sessions
from clickassay.patterns.lists import log_lists

DEPTH = 10
ALPHA = 0.05
SIZES = ((20_000, 100), (100_000, 500))
"""Searches and queries of a log."""

SELDOM = 0.1
"""Share of the worlds of other questions: here each is a whole log."""

PLANTED = {name: world.law for name, world in WORLDS.items() if world.law.editorial_metric}
NULL = "null"


@dataclass(frozen=True)
class Log:
    """A log to simulate."""

    world: str
    searches: int
    queries: int
    seed: int


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return one row per planted world, size and click metric: how often runs name which metric."""
    seeds = max(1, round(SELDOM * worlds))
    logs = [
        Log(world, searches, queries, seed + number)
        for world in (*PLANTED, NULL)
        for searches, queries in SIZES
        for number in range(1, seeds + 1)
    ]
    return summary(in_processes(of_log, logs, processes))


def of_log(log: Log) -> pl.DataFrame:
    """Return what a run finds by each click metric of its world: the first and the claimed metric."""
    pairs = comparisons(sample_of(log))
    rows = [(log.world, log.searches, log.queries, *row) for row in _findings(log.world, pairs)]
    schema = {"world": pl.String, "searches": pl.Int64, "queries": pl.Int64, "click_metric": pl.String,
              "planted": pl.String, "first": pl.String, "claimed": pl.String}  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def _findings(world: str, pairs: pl.DataFrame) -> Iterator[tuple[str, str | None, str | None, str | None]]:
    laws = [PLANTED[world]] if world in PLANTED else list(PLANTED.values())
    clicks = dict.fromkeys(law.click_metric for law in laws if law.click_metric)
    planted = PLANTED[world].editorial_metric if world in PLANTED else None
    for click in clicks:
        rows = pairs.filter(click_metric=click)
        yield click, planted, better_than_all(rows, alpha=None), better_than_all(rows, alpha=ALPHA)


def better_than_all(pairs: pl.DataFrame, *, alpha: float | None) -> str | None:
    """Return the metric that is better than each other one of EDITORIAL_METRICS, or None.

    Parameters
    ----------
    pairs
        Rows of contracts.COMPARISONS of one click metric; those of other metrics play no part.
    alpha
        Adjusted p-values that tell metrics apart lie below it; None = any positive difference will do.
    """
    wins = Counter[str]()
    proper = pl.all_horizontal(pl.col("metric_a", "metric_b").is_in(EDITORIAL_METRICS))
    for row in pairs.filter(proper).iter_rows(named=True):
        significant = alpha is None or (row["p_adjusted"] is not None and row["p_adjusted"] < alpha)
        if row["difference"] and significant:
            wins[row["metric_a"] if row["difference"] > 0 else row["metric_b"]] += 1
    return next((name for name, won in wins.items() if won == len(EDITORIAL_METRICS) - 1), None)


def sample_of(log: Log) -> Sample:
    """Simulate a log and take it through the pipeline to the judged configurations at one depth."""
    settings = load_settings(depth=[DEPTH], threads=1)
    with tempfile.TemporaryDirectory() as folder:
        made = simulate(
            log.world, n_searches=log.searches, n_queries=log.queries, seed=log.seed, out=Path(folder) / "log"
        )
        table = log_to_patterns(Sources(made / "searches.parquet", made / "clicks.parquet"), settings)
        rows = read_input("judgments", str(made / "judgments.parquet"), JUDGMENTS).frame.collect()
    graded = prepare_judgments(rows, table.queries, settings, by_market=False)
    graded_lists = look_up_grades(log_lists(table.staged()), graded, judge=EVERY, deepest=DEPTH)
    judged = cut_to_depth(graded_lists, depth=DEPTH, max_grade=settings.max_grade)
    formed = formed_sessions(table.funnel)
    return compute_metrics(judged, formed, settings, judge=EVERY, depth=DEPTH).samples[0]


def summary(runs: pl.DataFrame) -> pl.DataFrame:
    """Count what runs claim.

    Parameters
    ----------
    runs
        Columns world, searches, queries, click_metric, planted, first and claimed (null = none).

    Returns
    -------
    One row per world, size and click metric. `claims` is the share of runs that claim a best metric, `right`
    and `wrong` the shares that claim the planted one and another; `right_of_claims` is right / claims;
    `first` the share in which the planted one has the highest correlation. In the null world any claim is
    wrong.
    """
    right = pl.col("claimed").eq_missing(pl.col("planted")) & pl.col("claimed").is_not_null()
    claims = pl.col("claimed").is_not_null()
    keys = ["world", "searches", "queries", "click_metric", "planted"]
    return runs.group_by(keys, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("runs"),
        claims.mean().alias("claims"),
        right.mean().alias("right"),
        (claims & ~right).mean().alias("wrong"),
        right.filter(claims).mean().alias("right_of_claims"),
        pl.col("first")
        .eq_missing(pl.col("planted"))
        .filter(pl.col("planted").is_not_null())
        .mean()
        .alias("first"),
    )
