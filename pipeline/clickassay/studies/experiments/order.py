"""Does a metric tell better tests from worse: pairs in order, calls, and metrics compared (method 11)."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.experiments import AB, EXPERIMENT_ORDER, EXPERIMENTS
from clickassay.core.errors import SettingsError
from clickassay.core.records import Floats
from clickassay.core.special import ndtri, stdtrit
from clickassay.core.text.words import visible
from clickassay.correlation.uncertainty.intervals import (
    ALPHA,
    CONFIDENCE,
    Deviations,
    Spread,
    benjamini_hochberg,
    difference_interval,
    holm,
    p_value,
)

CHANGED = "changed"
"""The baseline: the share of rankings that a test changed. Metrics have other names, since it is a column."""

FEWEST_GROUPS = 10
"""With fewer groups of tests there are calls alone."""

COIN, NEAR_COIN = 0.5, 0.6
"""Pairs in order without any relation, and what is too little to choose by."""

POWER = 0.8


@dataclass(frozen=True)
class PastTests:
    """Past tests: what each did to users, and what offline metrics said; all are treatment minus control."""

    names: tuple[str, ...]  # The T tests.
    ideas: tuple[str, ...]  # The group of each, tests of one idea; its own name where it is alone.
    difference: Floats  # (T,) of what users did; NaN = not given.
    error: Floats  # (T,) its standard error, > 0; NaN = none that can be used.
    p_value: Floats  # (T,) of no difference, 0..1; NaN = not known.
    metrics: tuple[str, ...]  # The M offline metrics.
    values: Floats  # (T, M) their differences; NaN = not given.
    changed: Floats | None = None  # (T,) share of rankings that changed, NaN = not given; None = no column.

    @property
    def groups(self) -> NDArray[np.int64]:
        """The number of each test's group, (T,), from 0."""
        return np.unique(np.array(self.ideas, dtype=object).astype(str), return_inverse=True)[1]

    @property
    def p_adjusted(self) -> Floats:
        """The p-values adjusted for all tests, (T,); NaN = not known."""
        return benjamini_hochberg(self.p_value)

    @property
    def moved(self) -> NDArray[np.bool_]:
        """Whether a test significantly changed what users did, (T,)."""
        moved: NDArray[np.bool_] = self.p_adjusted < ALPHA  # false for NaN
        return moved

    def experiments(self) -> pl.DataFrame:
        """Return all differences in the form of EXPERIMENTS."""
        half = ndtri((1 + CONFIDENCE) / 2) * self.error
        key = {"experiment": self.names, "group": self.ideas}
        users = pl.DataFrame(key | {
            "kind": "click", "metric": "difference", "difference": self.difference, "error": self.error,
            "ci_low": self.difference - half, "ci_high": self.difference + half, "p_value": self.p_value,
            "p_adjusted": self.p_adjusted, "moved": self.moved,
        }).with_columns(moved=pl.when(pl.col("p_adjusted").is_not_nan()).then("moved"))  # fmt: skip
        values = dict(zip(self.metrics, self.values.T, strict=True))
        values |= {} if self.changed is None else {CHANGED: self.changed}
        said = pl.DataFrame(key | values).unpivot(
            index=[*key], variable_name="metric", value_name="difference"
        )
        is_baseline = pl.col("metric") == CHANGED
        kind = pl.when(is_baseline).then(pl.lit("baseline")).otherwise(pl.lit("editorial")).alias("kind")
        every = pl.concat([users, said.with_columns(kind)], how="diagonal")
        unknown = {one.name: None for one in EXPERIMENTS.columns if one.name not in every.columns}
        every = every.with_columns(pl.col(pl.Float64).fill_nan(None), **unknown)
        labels = {"kind_of_test": pl.lit(AB), "judge": pl.lit(EVERY)}
        return EXPERIMENTS.canonical(every.with_columns(**labels, counts=True))


def joined(parts: Sequence[PastTests]) -> PastTests:
    """Return the tests of several sheets and logs, whose differences of users are of one metric.

    A metric that a part lacks has no difference there.

    Raises SettingsError if two tests have the same name.
    """
    names = [name for part in parts for name in part.names]
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise SettingsError(f"test “{visible(twice)}” is there twice; remove or rename one")
    metrics = tuple(dict.fromkeys(name for part in parts for name in part.metrics))
    values, changed = np.full((len(names), len(metrics)), np.nan), np.full(len(names), np.nan)
    first = 0
    for part in parts:
        own = slice(first, first + len(part.names))
        values[own, [metrics.index(name) for name in part.metrics]] = part.values
        changed[own] = np.nan if part.changed is None else part.changed
        first += len(part.names)
    difference, error, p = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("difference", "error", "p_value")
    )
    ideas = tuple(idea for part in parts for idea in part.ideas)
    has_changed = any(part.changed is not None for part in parts)
    return PastTests(
        tuple(names), ideas, difference, error, p, metrics, values, changed if has_changed else None
    )


@dataclass(frozen=True)
class Order:
    """Shares of pairs in order, and by how much each group of tests moves them."""

    value: Floats  # (M,) 0..1.
    deviations: Floats  # (G, M): the share without a group, less the share.

    @property
    def spread(self) -> Spread:
        """The spread by leaving out groups."""
        found = Deviations()
        found.add(self.deviations)
        return found.spread()

    def first_less_second(self) -> "Order":
        """Return by how much the share of the first metric exceeds that of the second."""
        return Order(self.value[:1] - self.value[1:], self.deviations[:, :1] - self.deviations[:, 1:])


def pairs_in_order(difference: Floats, values: Floats, groups: NDArray[np.int64]) -> Order:
    """Return the share of pairs of tests that metrics put in the order of users: (1 + Kendall's tau_a) / 2.

    Pairs within a group do not count; a tie counts half. Where all pairs are in order, or none is, nothing
    varies by leaving out: the spread is that of one pair out of order between two groups.

    difference: (T,) of what users did.
    values: (T, M) of the metrics.
    groups: (T,) numbers of groups, two or more of them.
    """
    number, sizes = np.unique(groups, return_inverse=True, return_counts=True)[1:]
    better = difference[:, None] > difference
    order = np.subtract(better, better.T, dtype=np.int8)
    order[groups[:, None] == groups] = 0
    of_group = np.empty((len(sizes), values.shape[1]))  # pairs in order less the others, of each group
    for column in range(values.shape[1]):
        above = order * (
            values[:, [column]] > values[:, column]
        )  # each pair once, at the test that the metric prefers
        of_group[:, column] = np.bincount(number, above.sum(axis=0) + above.sum(axis=1))
    pairs_of_group = sizes[:, None] * (len(groups) - sizes[:, None])
    pairs = pairs_of_group.sum() / 2
    total = of_group.sum(axis=0) / 2
    turned = np.where(np.abs(total) == pairs, 2 * np.sign(total), 0.0)
    of_group[:2] -= turned
    without = (total - turned - of_group) / (pairs - pairs_of_group)
    return Order((1 + total / pairs) / 2, (without - (total - turned) / pairs) / 2)


def detectable(groups: int) -> float:
    """Return the true share of pairs in order that so many groups find above a coin, 4 times out of 5.

    With k = (t_0.975 + t_0.8) sd, where 4 sd² = 2 (2n + 5) / (9 n (n - 1)) is the variance of tau without a
    relation (Kendall 1938), which falls by about half of tau² with one: ½ + k / √(1 + 2k²).
    """
    deviation = math.sqrt(2 * (2 * groups + 5) / (9 * groups * (groups - 1))) / 2
    k = deviation * float(stdtrit(groups - 1, (1 + CONFIDENCE) / 2) + stdtrit(groups - 1, POWER))
    return COIN + k / math.sqrt(1 + 2 * k * k)


MOST_GROUPS = 1_000


def groups_needed(share: float) -> int | None:
    """Return how many groups of one test detect a share of pairs in order; None if more than 1,000."""
    found = (number for number in range(FEWEST_GROUPS, MOST_GROUPS + 1) if detectable(number) <= share)
    return next(found, None)


def experiment_order(tests: PastTests, current: str, margin: float) -> pl.DataFrame:
    """Return what each metric says of tests, in the form of EXPERIMENT_ORDER; the baseline is a metric too.

    current: the metric that others are compared with.
    margin: difference of shares of pairs in order that is too small to matter, 0..1.
    """
    names, values = list(tests.metrics), tests.values
    if tests.changed is not None:
        names, values = [*names, CHANGED], np.column_stack([values, tests.changed])
    moved, groups, at = tests.moved, tests.groups, names.index(current)
    is_there = np.isfinite(values) & np.isfinite(tests.difference)[:, None]

    def ordered(rows: NDArray[np.bool_], *columns: int) -> Order:
        return pairs_in_order(tests.difference[rows], values[rows][:, list(columns)], groups[rows])

    found: list[dict[str, Any]] = []
    for column, name in enumerate(names):
        rows = is_there[:, column]
        both = rows & is_there[:, at]
        row = _calls(tests.difference[rows & moved], values[rows & moved, column]) | {
            "editorial_metric": name, "tests": int(rows.sum()), "left_out": int((~rows).sum()),
            "groups": len(np.unique(groups[rows])),
        }  # fmt: skip
        row["reason"] = _no_order(tests.difference[rows], values[rows, column], row["groups"])
        row["kind"] = "too_few" if row["groups"] < FEWEST_GROUPS else "cannot_tell"
        if row["reason"] is None:
            row |= _with_interval("in_order", ordered(rows, column))
            row["kind"] = _kind(row["ci_low"], row["ci_high"])
        is_compared = column != at and row["reason"] is None and len(np.unique(groups[both])) >= FEWEST_GROUPS
        if is_compared and _no_order(tests.difference[both], values[both, at], FEWEST_GROUPS) is None:
            row |= _with_interval("against", ordered(both, column, at).first_less_second())
        found.append(row)
    return _compared(pl.DataFrame(found, infer_schema_length=None), margin)


def _calls(difference: Floats, values: Floats) -> dict[str, Any]:
    better, worse = difference > 0, difference < 0
    return {
        "moved": len(difference), "always_better": int(better.sum()),
        "better_right": int((better & (values > 0)).sum()), "better_wrong": int((worse & (values > 0)).sum()),
        "worse_right": int((worse & (values < 0)).sum()), "worse_wrong": int((better & (values < 0)).sum()),
    }  # fmt: skip


def _no_order(difference: Floats, values: Floats, groups: int) -> str | None:
    """Return why there is no share of pairs in order; None if there is one."""
    if groups < FEWEST_GROUPS:
        return f"fewer than {FEWEST_GROUPS} groups of tests"
    if np.ptp(values) == 0:
        return "the metric has one and the same difference in all tests"
    return "all tests did the same to users" if np.ptp(difference) == 0 else None


def _with_interval(name: str, order: Order) -> dict[str, Any]:
    spread, (value,) = order.spread, order.value
    (low,), (high,) = difference_interval(order.value, spread)
    if name == "in_order":
        return {"in_order": float(value), "ci_low": max(0.0, float(low)), "ci_high": min(1.0, float(high))}
    (p,) = p_value(order.value, spread, spread.degrees)
    return {"against_current": float(value), "against_low": float(low), "against_high": float(high), "p": p}


def _kind(low: float, high: float) -> str:
    if low > COIN:
        return "follows"
    if high < COIN:
        return "opposes"
    return "chance" if high < NEAR_COIN else "cannot_tell"


def _compared(found: pl.DataFrame, margin: float) -> pl.DataFrame:
    """Add the adjusted p-values of the metrics against the current one, and what follows; in form."""
    missing = [name for name in (*_ENDS, "p") if name not in found.columns]
    found = found.with_columns(pl.lit(None, pl.Float64).alias(name) for name in missing)
    is_metric = pl.col("editorial_metric") != CHANGED
    tested = found.select(pl.when(is_metric).then("p"))["p"].fill_null(np.nan).to_numpy()
    low, high, is_clear = pl.col("against_low"), pl.col("against_high"), pl.col("p_adjusted") < ALPHA
    against = (
        pl.when(is_clear & (low > 0)).then(pl.lit("better"))
        .when(is_clear & (high < 0)).then(pl.lit("worse"))
        .when((low >= -margin) & (high <= margin)).then(pl.lit("equivalent"))
        .when(pl.col("p_adjusted").is_not_null()).then(pl.lit("inconclusive"))
    )  # fmt: skip
    found = found.with_columns(p_adjusted=pl.Series(holm(tested))).with_columns(
        pl.col("p_adjusted").fill_nan(None)
    )
    baseline = pl.col("in_order").filter(~is_metric).first()
    as_well = is_metric & (pl.col("kind") == "follows") & (baseline >= pl.col("in_order") - margin)
    caution = pl.when(as_well).then(pl.lit(BOLDNESS))
    found = found.with_columns(against=against, caution=caution)
    return EXPERIMENT_ORDER.canonical(found.select(one.name for one in EXPERIMENT_ORDER.columns))


_ENDS = ("in_order", "ci_low", "ci_high", "against_current", "against_low", "against_high")

BOLDNESS = "the share of rankings that changed does as well: the metric may measure boldness alone"
"""Caution of a metric that follows no better than the baseline."""
