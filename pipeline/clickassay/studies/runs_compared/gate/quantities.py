"""Numbers that a rule may limit, each read from a finished run with its interval."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np
import polars as pl

from clickassay.core.contracts import correlation
from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.experiments import EXPERIMENTS, INTERLEAVED, PREFERENCE
from clickassay.core.contracts.judges import AGREEMENT
from clickassay.core.contracts.run import STATISTICS
from clickassay.core.errors import SettingsError
from clickassay.core.records import SampleKey
from clickassay.core.settings import Settings
from clickassay.core.text.words import did_you_mean, listed, visible
from clickassay.correlation.changes import mean_intervals
from clickassay.findings.arrays import folds_of, graded_sample, without_fold
from clickassay.findings.run import Run
from clickassay.metrics.catalogue import named_measure
from clickassay.metrics.clicks import CLICK_METRICS, click_metric_named, refuse_ips, signal_metric, signal_of
from clickassay.metrics.names import spell_out
from clickassay.studies.runs_compared.numbers import FEW_FOLDS, MIN_FOLDS


@dataclass(frozen=True)
class RunQuantity:
    """A number of a run."""

    value: float | None  # The number; None where the run has none.
    # low, high: Ends of its 95% CI; None where there is none.
    low: float | None = None
    high: float | None = None
    caution: str | None = None  # Why the interval is not reliable, or missing; None when it is reliable.
    reason: str | None = None  # Why there is no number.
    is_exact: bool = False  # Whether it is a count or share, which is compared as it is.

    @property
    def ends(self) -> tuple[float, ...]:
        """Ends of the range that a rule is compared with; empty where there is none."""
        if self.value is None:
            return ()
        if self.is_exact:
            return (self.value,)
        return () if self.low is None or self.high is None else (self.low, self.high)


Read = Callable[[Run, SampleKey, tuple[str, ...]], RunQuantity]


@dataclass(frozen=True)
class Quantity:
    """What a rule may limit."""

    name: str  # Its name in rules.
    arguments: tuple[str, ...]  # What its names stand for, in words.
    meaning: str  # What it is.
    # low, high: The range of limits that a rule may give.
    low: float
    high: float
    read: Read  # Reads it from a run: one sample, names as written in the rule.

    @property
    def form(self) -> str:
        """How it is written, e.g. ``correlation(METRIC, CLICK METRIC)``."""
        return f"{self.name}({', '.join(self.arguments)})" if self.arguments else self.name


# ---- metrics of a run by the names that rules give them, in capitals or not ---------------------------


def click_metric(name: str) -> str | None:
    """Return the click metric of this name, or None; SettingsError if it is IPS, which compares nothing."""
    refuse_ips(name.upper())
    if signal_of(name) is not None:
        return click_metric_named(name)
    return {known.lower(): known for known in CLICK_METRICS}.get(name.lower())


def _required_click_metric(name: str) -> str:
    metric = click_metric(name)
    if metric is None:
        raise SettingsError(f"unknown click metric {name}; {did_you_mean(name, CLICK_METRICS)}")
    return metric


def editorial_metric(name: str, columns: Sequence[str], settings: Settings, run: str) -> str:
    """Return the column of a run that is the metric of this name: ``map`` may be ``AP(rel=1)``.

    settings: those of the run give what a name leaves open, so that ``AP(rel=3)`` is ``AP`` there.
    Raises SettingsError if there is no such metric, or the run, as messages call it, does not have it.
    """
    if name.strip() in columns:  # also a score that users brought
        return name.strip()
    if click_metric(name) is not None:
        raise SettingsError(f"{name} is a click metric, and an offline metric was expected, such as ERR")
    wanted = named_measure(name)
    for column in columns:
        try:
            spelled = spell_out(named_measure(column), settings)
        except SettingsError:  # a column that this version does not know
            spelled = None
        if column == str(wanted) or spelled == spell_out(wanted, settings):
            return column
    has = ", ".join(columns) or "none"
    raise SettingsError(
        f"{run} does not have the metric {wanted}; it has {has}: name one of these, or make the run again "
        f"with --metric '{wanted}'"
    )


def _size(run: Run, key: SampleKey, names: tuple[str, ...], *, column: str) -> RunQuantity:  # noqa: ARG001
    rows = key.rows(run.tables[STATISTICS.name])
    return RunQuantity(float(rows[column][0]), is_exact=True)


def _editorial(run: Run, name: str) -> str:
    metrics = run.tables[correlation.CORRELATIONS.name]["editorial_metric"].unique().sort().to_list()
    return editorial_metric(name, metrics, run.settings, run.called)


def _mean(run: Run, key: SampleKey, names: tuple[str, ...]) -> RunQuantity:
    """Read a mean over sessions: queries, and folds of users, are left out as where two runs are compared."""
    name = click_metric(names[0]) or _editorial(run, names[0])
    folds = folds_of(run) if len(folds_of(run)) > 1 else ()
    sample = graded_sample(run, key, 1 + max(folds, default=0)).sample
    own = sample.rated(name).narrowed((name,), ()) if name in sample.ratings else sample
    means = mean_intervals(own, [without_fold(own, fold) for fold in folds])
    place = (*own.click_names, *own.editorial_names).index(name)
    value, low, high = (
        None if math.isnan(ends[place]) else float(ends[place]) for ends in (means.b, means.low, means.high)
    )
    is_rough = len(folds) < MIN_FOLDS and name in own.click_names and np.isfinite(means.low[place])
    return RunQuantity(value, low, high, means.cautions[place] or (FEW_FOLDS if is_rough else None))


def _paired(
    run: Run, key: SampleKey, names: tuple[str, ...], *, table: str, column: str, what: str
) -> RunQuantity:
    """Read a number of a metric and a click metric from a table; `what` names it, with both in braces."""
    metric, click = _editorial(run, names[0]), _required_click_metric(names[1])
    rows = key.rows(run.tables[table]).filter(editorial_metric=metric, click_metric=click)
    if "split" in rows.columns:
        rows = rows.filter(split=EVERY)
    return _row_of(run, rows, column, what.format(metric, click), key)


def _difference(run: Run, key: SampleKey, names: tuple[str, ...], *, table: str) -> RunQuantity:
    first, second = (_editorial(run, name) for name in names[:2])
    click = _required_click_metric(names[2])
    if first == second:
        raise SettingsError(f"a difference is that of two metrics, and {names[0]} and {names[1]} are one")
    rows = key.rows(run.tables[table]).filter(click_metric=click)
    turned = rows.filter(metric_a=second, metric_b=first).with_columns(
        difference=-pl.col("difference"), ci_low=-pl.col("ci_high"), ci_high=-pl.col("ci_low")
    )
    own = pl.concat([rows.filter(metric_a=first, metric_b=second), turned])
    return _row_of(run, own, "difference", f"difference of {first} and {second} by {click}", key)


def _agreement(run: Run, key: SampleKey, names: tuple[str, ...]) -> RunQuantity:
    table = run.tables[AGREEMENT.name].filter(measure="kappa_quadratic")
    known = sorted({*table["judge_a"], *table["judge_b"]})
    names = tuple(name.strip('"') for name in names)
    for name in names:
        if name not in known:
            raise SettingsError(
                f"{run.called} has no judge {name!r} to compare; it has {listed(known) or 'one judge'}"
            )
    first, second = sorted(names)
    if first == second:
        raise SettingsError(f"agreement needs two judges, and {first} is named twice")
    pair = table.filter(judge_a=first, judge_b=second)
    rows = pair.filter(
        pl.col("market").is_in([key.market, EVERY])
    )  # one of them: judgments have markets or not
    return _row_of(run, rows, "value", f"agreement of {first} and {second}", key)


def _tests(run: Run, _key: SampleKey, names: tuple[str, ...]) -> RunQuantity:
    if run.past_tests is None:
        raise SettingsError("no past tests; give --past-tests FILE, or write past_tests = … under [inputs]")
    metrics, name = run.past_tests["editorial_metric"].to_list(), names[0].strip('"')
    if name not in metrics:
        raise SettingsError(f"past tests have no metric {name}; {did_you_mean(name, metrics)}")
    row = run.past_tests.filter(editorial_metric=name).row(0, named=True)
    return RunQuantity(row["in_order"], row["ci_low"], row["ci_high"], row["caution"], row["reason"])


def rows_of_test(run: Run, name: str, judge: str | None, *, kind: str | None = None) -> pl.DataFrame:
    """Return the rows of `experiments` of a test of the log, or of ``TEST: VARIANT``, by one judge's grades.

    judge: the judge; None = that of the headline, or the first where the test lacks its grades.
    kind: the kind of test; None = any.

    Raises SettingsError if there is no such test, or it lacks the judge's grades.
    """
    what = "interleaved test" if kind == INTERLEAVED else "test"
    rows = run.tables[EXPERIMENTS.name].filter(kind_of_test=kind) if kind else run.tables[EXPERIMENTS.name]
    of_variant, wanted = pl.format("{}: {}", "experiment", "variant"), name.strip('"')
    own = rows.filter((pl.col("experiment") == wanted) | (of_variant == wanted))
    if own.is_empty():
        known = rows["experiment"].unique().sort()
        has = did_you_mean(wanted, known) if len(known) else f"its log has no {what}"
        raise SettingsError(f"{run.called} has no {what} {visible(wanted)}; {has}")
    judges = own["judge"].unique().sort().to_list()
    if judge is not None and judge not in judges:
        raise SettingsError(f"test {visible(wanted)} has no judge {judge}; {did_you_mean(judge, judges)}")
    headline = None if run.headline is None else run.headline.judge
    return own.filter(judge=judge or (headline if headline in judges else judges[0]))


def _preference(run: Run, _key: SampleKey, names: tuple[str, ...]) -> RunQuantity:
    rows = rows_of_test(run, names[0], None, kind=INTERLEAVED)
    signal = signal_of(run.click)
    wanted = PREFERENCE if signal is None else signal_metric(PREFERENCE, signal)
    rows = rows.filter(metric=wanted if wanted in rows["metric"] else PREFERENCE)
    if rows.height > 1:
        arms = [f'"{row["experiment"]}: {row["variant"]}"' for row in rows.to_dicts()]
        raise SettingsError(f"test {names[0]} has several treatments; name {listed(arms, 'or')}")
    row = rows.row(0, named=True)
    reason = row["reason"] or ("an arm has no sessions" if row["difference"] is None else None)
    value = row["difference"] if row["counts"] else None
    return RunQuantity(value, row["ci_low"], row["ci_high"], row["caution"], reason)


def _row_of(run: Run, rows: pl.DataFrame, column: str, what: str, key: SampleKey) -> RunQuantity:
    if rows.is_empty():
        raise SettingsError(
            f"{run.called} has no {what} of {key.label}; remove the rule, or make the run again"
        )
    row = rows.with_columns(pl.col(pl.Float64).fill_nan(None)).row(0, named=True)
    reason = row.get("reason") or ("the run has no value" if row[column] is None else None)
    return RunQuantity(row[column], row["ci_low"], row["ci_high"], row["caution"], reason)


TESTS = "tests"
"""The quantity of past tests, which belong to no sample of the run."""

OF_TESTS = (TESTS, PREFERENCE)
"""Quantities of tests: of all markets, at the depth of the headline."""

_METRIC, _CLICK, _JUDGE, _TEST = "METRIC", "CLICK METRIC", "JUDGE", "TEST"
_ALL = (
    Quantity("coverage", (), "share of the market's sessions whose results all have a grade", 0, 1,
             partial(_size, column="coverage")),
    Quantity("sessions", (), "sessions whose results all have a grade", 0, math.inf,
             partial(_size, column="n_sessions")),
    Quantity("all_sessions", (), "all sessions of the market", 0, math.inf,
             partial(_size, column="n_all_sessions")),
    Quantity("queries", (), "judged queries", 0, math.inf, partial(_size, column="n_queries")),
    Quantity("configurations", (), "judged configurations: queries with their rankings", 0, math.inf,
             partial(_size, column="n_configurations")),
    Quantity("mean", ("METRIC or CLICK METRIC",), "mean of a metric or click metric over the sessions",
             -math.inf, math.inf, _mean),
    Quantity("correlation", (_METRIC, _CLICK), "weighted correlation of a metric with a click metric", -1, 1,
             partial(_paired, table=correlation.CORRELATIONS.name, column="correlation",
                     what="correlation of {} with {}")),
    Quantity("difference", (_METRIC, _METRIC, _CLICK),
             "correlation of the first metric with the click metric minus that of the second", -2, 2,
             partial(_difference, table=correlation.COMPARISONS.name)),
    Quantity("within", (_METRIC, _CLICK),
             "within-query correlation, all markets combined unless a market is named", -1, 1,
             partial(_paired, table=correlation.WITHIN.name, column="correlation",
                     what="correlation of {} with {} within queries")),
    Quantity("within_difference", (_METRIC, _METRIC, _CLICK),
             "within-query correlation of the first metric minus that of the second", -2, 2,
             partial(_difference, table=correlation.WITHIN_COMPARISONS.name)),
    Quantity("closed_form", (_METRIC, _CLICK),
             "correlation of differences between two rankings (closed form of Algorithm 3)", -1, 1,
             partial(_paired, table=correlation.DIFFERENCES.name, column="exact",
                     what="closed form of {} with {}")),
    Quantity("agreement", (_JUDGE, _JUDGE), "quadratic kappa of two judges, on what both judged", -1, 1,
             _agreement),
    Quantity(TESTS, (_METRIC,), "share of pairs of past tests that the metric puts in order; a coin: 0.5",
             0, 1, _tests),
    Quantity(PREFERENCE, (_TEST,),
             "share of sessions that prefer the treatment of an interleaved test minus that for control",
             -1, 1, _preference),
)  # fmt: skip

QUANTITIES: Mapping[str, Quantity] = MappingProxyType({one.name: one for one in _ALL})
"""Every quantity by its name."""

CORRELATION = "correlation"
"""The quantity whose intervals err where sessions per query are heavy-tailed."""

WITHIN_QUERIES = ("within", "within_difference")
"""Quantities that all markets together have."""

SIZES = frozenset(one.name for one in _ALL if not one.arguments or one.name in OF_TESTS)
"""Quantities that a run has even if nothing is judged."""


def read_quantity(name: str, run: Run, key: SampleKey, names: tuple[str, ...]) -> RunQuantity:
    """Return a number of one sample of a run.

    Raises SettingsError if the run does not have it: a metric that it lacks, or one that does not exist;
    ReportError if a table of the run is missing or broken.
    """
    rows = key.rows(run.tables[STATISTICS.name])
    if name not in SIZES and rows.height and not rows["n_sessions"][0]:
        return RunQuantity(None, reason="no session is usable: no ranking is fully graded")
    return QUANTITIES[name].read(run, key, names)
