"""Whether correlations within queries keep their promises where all queries share what moves clicks.

    python -m benchmarks.promises.verdict.shared [--worlds N] [--seed N] [--processes N] [--out FILE]

Logs are those of `logs`. One row per world and number of queries. `off_zero`: the share of logs in which any
of six metrics is significantly off 0 (Holm), by the first click metric, and by each (`off_uctr` and its
like); `any_pair`: in which any of the 15 pairs is. Where clicks ignore grades, both are errors; where they do
not, `pairs` counts the pairs found, `pairs_of_none` those of the same log where times and users are not
known, and `held` says how often 95% CIs hold the value that the same world has without drift.
`moments` and `beside` are medians; `one_change` is the share of logs that changed in one way. Decisions are
as in `decisions`, by the first two click metrics.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import polars as pl

from benchmarks.lib.measuring import ROOT
from benchmarks.lib.processes import in_processes
from benchmarks.lib.tables import measure
from benchmarks.promises.verdict.decisions import SAID, decisions_of, false_share
from benchmarks.promises.verdict.logs import CLICKS, NAMES, World, logs_of
from clickassay.core.records import ByFold, Floats, Sample
from clickassay.core.seeds import child
from clickassay.correlation.comparisons import within_comparisons
from clickassay.correlation.tables import within
from clickassay.correlation.uncertainty.intervals import ALPHA
from clickassay.correlation.within.groups import QueryGroups, all_markets, query_groups

REPORT = ROOT / "reports" / "calibration" / "shared.csv"
SIZES = (60, 100, 200, 1000)
MOST, FEWER_OF_MANY, AT_ONCE = 500, 5, 25
DECIDING = CLICKS[:2]
ONE_WAY, APART = 2.0, 0.5
HEAVY = {"sessions": 200.0, "a_user": 20.0, "habits": 1.5}
FIVE, UNEQUAL = (0.2,) * 5, (0.6, 0.2, 0.1, 0.06, 0.04)

WORLDS = (
    World("release, middle third, sale then", "third", "trend then", sessions=200),
    World("release, half", "half", "trend sale", sessions=200, size=2),
    World("release, roll-out", "ramp", "trend sale", sessions=200, size=2),
    World("three releases, random walk", "releases", "walk", sessions=200),
    World("A/B, Zipf 0.7", "users", users=("zipf", 0.7), **HEAVY),
    World("A/B, Zipf 1", "users", users=("zipf", 1.0), a_user=10, habits=1.5),
    World("A/B, Pareto 1.5", "users", users=("pareto", 1.5), **HEAVY),
    World("A/B, Zipf 1, sale", "users", "trend sale", ("zipf", 1.0), a_user=10, habits=1.5),
    World("release, Zipf 1, sale", "third", "trend then", ("zipf", 1.0), a_user=10, habits=1.5),
    World("five markets, own walks", "releases", "walk", markets=FIVE, sessions=200),
    World("markets of unequal size, own walks", "third", "walk then", markets=UNEQUAL, sessions=200),
    World("churn, walk, sale", "churn", "walk sale", sessions=200),
    World("side by side", "beside"),
    World("depth 1, sale", "third", "trend then", depth=1),
    World("depth 10, sale", "third", "trend then", depth=10),
    World("lists seen once", "once", "trend sale", sessions=12),
    World("judged by grade and clicks", "beside", missing=0.15),
    World("release, clicks follow", "half", "trend sale", effect=1.5),
    World("releases, clicks follow", "releases", "trend sale", effect=1.5),
    World("churn, clicks follow", "churn", "trend sale", effect=1.5),
    World("side by side, clicks follow", "beside", "trend sale", effect=1.5),
    World("A/B, clicks follow", "users", "trend sale", effect=1.5),
    World("releases, each query drifts", "releases", "own", effect=1.5),
    World("release, no shock", "half", effect=1.5),
    World("churn, no shock", "churn", effect=1.5),
    World("side by side, no shock", "beside", effect=1.5),
    World("A/B, even users, no shock", "users", effect=1.5),
)


@dataclass(frozen=True)
class Task:
    """Samples of one world and size, from one number on, of `worlds` in all."""

    world: World
    queries: int
    first: int
    number: int
    worlds: int
    seed: int


def place_of(samples: Sequence[Sample]) -> QueryGroups:
    """Return the groups of a log, of all its markets together."""
    places = query_groups(samples)
    return places[0] if len(places) == 1 else all_markets(places)


def first_clicks(sample: Sample, number: int) -> Sample:
    """Keep the first click metrics alone."""
    cells = sample.by_fold
    return replace(
        sample,
        click_names=sample.click_names[:number],
        click_values=sample.click_values[:, :number],
        click_variances=sample.click_variances[:, :number],
        by_fold=cells and ByFold(cells.rows, cells.folds, cells.sessions, cells.values[:, :number]),
    )


@cache
def true_values(world: World, queries: int, seed: int, worlds: int) -> Floats:
    """Return the (E,) values of the first click metric without drift: of the sums of as many logs."""
    if not world.effect:
        return np.zeros(len(NAMES))
    total: Floats | float = 0.0
    for number in range(worlds):
        rng = child(np.random.default_rng(seed), "truth", world.name, str(queries), str(number))
        samples = [first_clicks(one, 1) for one in logs_of(world, queries, rng, drifts=False)]
        place = place_of(samples)
        total = total + place.groups.values.sum(axis=0)
    return place.correlations(np.asarray(total))[0]


def of_task(task: Task) -> pl.DataFrame:
    """Return one row per sample."""
    names = "shared", task.world.name, str(task.queries)
    truth = dict(zip(NAMES, true_values(task.world, task.queries, task.seed, task.worlds), strict=True))
    rows = []
    for number in range(task.first, task.first + task.number):
        rng = child(np.random.default_rng(task.seed), *names, str(number))
        samples = logs_of(task.world, task.queries, rng)
        place = place_of(samples)
        found, every = within(place), within_comparisons(place)
        off = {name: _any(found.filter(click_metric=name)) for name in CLICKS}
        pairs = every.filter(click_metric=CLICKS[0])
        apart = place_of([replace(first_clicks(one, 1), shown=None, by_fold=None) for one in samples])
        deciding = pl.col("click_metric").is_in(DECIDING)
        tables = {"within": found.filter(deciding), "within_comparisons": every.filter(deciding)}
        ways, beside = place.moments
        first = found.filter(click_metric=CLICKS[0])
        true = pl.col("editorial_metric").replace_strict(truth, return_dtype=pl.Float64)
        rows.append(
            {
                "off_zero": off[CLICKS[0]],
                **{f"off_{name.lower()}": off[name] for name in CLICKS[1:]},
                "off_zero_of_none": _any(within(apart)),
                "any_pair": _any(pairs),
                "pairs": _significant(pairs).height,
                "pairs_of_none": _significant(within_comparisons(apart)).height,
                "held": first.select(true.is_between("ci_low", "ci_high").mean()).item(),
                "moments": ways,
                "beside": beside[0],
                "one_change": ways < ONE_WAY and beside[0] < APART,
                **decisions_of(place.key, tables, DECIDING, truth),
            }
        )
    labels = (pl.lit(task.world.name).alias("world"), pl.lit(task.queries, pl.Int64).alias("queries"))
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return frame.select(*labels, pl.all().cast(pl.Float64))


def _significant(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("p_adjusted") < ALPHA)


def _any(rows: pl.DataFrame) -> bool:
    return _significant(rows).height > 0


SHARES = (
    "off_zero", "off_uctr", "off_plc", "off_ss", "off_zero_of_none", "any_pair", "pairs", "pairs_of_none",
    "held", "one_change", "switch", "switch_wrong", "keep", "keep_wrong", "use", "use_wrong", "use_any",
    "use_any_wrong",
)  # fmt: skip


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return the table of the page: one row per world and number of queries.

    Of the largest size a fifth as many.
    """
    tasks = [
        Task(world, queries, first, min(AT_ONCE, several - first), several, seed)
        for world in WORLDS
        for queries in SIZES
        for several in [worlds // FEWER_OF_MANY if queries > MOST else worlds]
        for first in range(0, several, AT_ONCE)
    ]
    rows = in_processes(of_task, tasks, processes)
    return rows.group_by("world", "queries", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("samples"),
        pl.col(*SHARES).mean(),
        pl.col("moments", "beside").fill_nan(None).median(),
        *(false_share(kind) for kind in SAID),
    )


if __name__ == "__main__":
    measure(measured, __doc__, REPORT, 300)
