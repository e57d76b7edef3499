"""How often rules of `check` break by chance: numbers at their limit, and nights on which nothing changed.

    python -m benchmarks.promises.limits [--worlds N] [--seed N] [--processes N] [--out FILE]

Queries are drawn from a large pool, so the truth is the value over the whole pool. One row per kind of log
and number of queries. A rule says that a correlation is at least its true value: how often it is broken for a
correlation within queries (`within`) and over all queries (`correlation`), and how often the truth lies above
the interval of the latter (`above`), which `check` takes for broken only where sessions are not heavy-tailed.
Two nights have the same lists and other clicks (`same_lists`), or other queries (`other_queries`): how often
anything that `diff` compares fell beyond noise, so that `not worse than` breaks.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from benchmarks.lib.measuring import ROOT
from benchmarks.lib.processes import in_processes
from benchmarks.lib.tables import measure
from benchmarks.promises.promised_power import weighted_truth
from benchmarks.promises.verdict.pools import AT_ONCE, CLICKS, KINDS, SIZES, Kind, true_values, with_clicks
from clickassay.core.records import Sample
from clickassay.core.seeds import child
from clickassay.correlation.changes import closed_form_changes, mean_changes, weighted_changes, within_changes
from clickassay.correlation.classes import unsplit
from clickassay.correlation.tables import correlations, within
from clickassay.correlation.uncertainty.intervals import ALPHA, holm
from clickassay.correlation.within.groups import query_groups
from clickassay.studies.runs_compared.gate.check import RuleState, limit_state, state_of
from clickassay.studies.runs_compared.gate.quantities import CORRELATION, RunQuantity

REPORT = ROOT / "reports" / "calibration" / "limits.csv"
NOT_MEASURED = {"null", "reversed", "alike"}
"""Special kinds of logs whose truth over all queries is another than their pool's."""


@dataclass(frozen=True)
class Task:
    """Samples of one kind and size, from one number on."""

    kind: Kind
    queries: int
    first: int
    number: int
    seed: int


def of_task(task: Task) -> pl.DataFrame:
    """Return one row per sample."""
    pool, rows = task.kind.pool(task.seed), []
    truths = (true_values(pool), weighted_truth(pool))
    of_within, of_all = (dict(zip(pool.names, truth, strict=True)) for truth in truths)
    for number in range(task.first, task.first + task.number):
        names = "limits", task.kind.name, str(task.queries), str(number)
        rng = child(np.random.default_rng(task.seed), *names)
        sample = task.kind.drawn(pool, task.queries, rng)
        broken, _ = broken_at_limit("within", within(task.kind.place(sample)), of_within)
        table = correlations(sample, [unsplit(sample)])
        broken_of_all, above = broken_at_limit(CORRELATION, table, of_all)
        rows.append({
            "within": broken,
            "correlation": broken_of_all,
            "above": above,
            "same_lists": fell(sample, with_clicks(sample, pool, rng)),
            "other_queries": fell(sample, task.kind.drawn(pool, task.queries, rng)),
        })  # fmt: skip
    labels = (pl.lit(task.kind.name).alias("log"), pl.lit(task.queries, pl.Int64).alias("queries"))
    return pl.DataFrame(rows).select(*labels, pl.all())


def broken_at_limit(name: str, table: pl.DataFrame, truth: dict[str, float]) -> tuple[float, float]:
    """Return shares of metrics: whose rule is broken, and whose truth lies above the interval."""
    rows = table.filter(click_metric=CLICKS[0], split="all").to_dicts()
    numbers = [RunQuantity(row["correlation"], row["ci_low"], row["ci_high"], row["caution"]) for row in rows]
    limits = [truth[row["editorial_metric"]] for row in rows]
    pairs = list(zip(numbers, limits, strict=True))
    broken = [limit_state(name, number, ">=", limit) == RuleState.BROKEN for number, limit in pairs]
    above = [state_of(number, ">=", limit) == RuleState.BROKEN for number, limit in pairs]
    return float(np.mean(broken)), float(np.mean(above))


def fell(before: Sample, after: Sample) -> bool:
    """Return whether anything fell beyond noise, by Holm in each family and for all that changed."""
    tests = [
        mean_changes(before, after), weighted_changes(before, after), closed_form_changes(before, after),
        within_changes(*query_groups([before]), *query_groups([after]), users=False),
    ]  # fmt: skip
    clicks = len(before.click_names)
    families = [(one.b - one.a, one.p) for one in tests[1:]]
    means = tests[0].b - tests[0].a, tests[0].p
    families += [tuple(part[some] for part in means) for some in (slice(clicks), slice(clicks, None))]
    known = [(change, np.where(change == 0, np.nan, p)) for change, p in families]
    known = [(change, p) for change, p in known if np.isfinite(p).any()]
    return any(((len(known) * holm(p) < ALPHA) & (change < 0)).any() for change, p in known)


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return the table of the page: one row per kind of log and number of queries."""
    kinds = [kind for kind in KINDS if kind.special not in NOT_MEASURED]
    tasks = [
        Task(kind, queries, first, min(AT_ONCE, worlds - first), seed)
        for kind in kinds
        for queries in SIZES
        for first in range(0, worlds, AT_ONCE)
    ]
    rows = in_processes(of_task, tasks, processes)
    return rows.group_by("log", "queries", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("samples"), pl.exclude("log", "queries").cast(pl.Float64).mean()
    )


if __name__ == "__main__":
    measure(measured, __doc__, REPORT, 500)
