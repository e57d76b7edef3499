"""What would show up anyway: order-blind baselines, and SS when clicks ignore the grades.

Two yardsticks beside the correlations (contract 5; *ours*, not in Chapelle et al. 2009):

- the mean grade and the grade of the first result know nothing of discounts or cascades;
- SS looks at the grades itself, so it correlates with editorial metrics even when the click
  patterns of a sample are dealt to its configurations at random.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.contracts import CLICK_METRICS, EDITORIAL_METRICS
from pipeline.report.model import HEADLINE_CLICK, Estimate, Run, SampleKey, in_order

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NO_VARIANCE = "no variance"
BASELINES = ("mean grade", "grade of the first result")
PATTERNS_USED = 20_000
"""Most frequent click patterns that stand for all: bounds the work at great depths."""
_CELLS_AT_ONCE = 10_000_000
_ROUNDING = 1e-20
"""A weighted sum of squares below this part of the raw one is rounding: (1e-10)² of the scale."""


@dataclass(frozen=True)
class SampleBaselines:
    """The yardsticks of one sample.

    Attributes
    ----------
    order_blind
        Correlation of the headline click metric with each of `BASELINES`.
    random_ss
        Correlation with each editorial metric that SS shows when clicks ignore the grades.
    """

    order_blind: dict[str, Estimate]
    random_ss: dict[str, Estimate]


def weighted_correlation(x: Floats, y: Floats, weights: Floats, *, noise: float = 0.0) -> Estimate:
    """Return the weighted Pearson correlation of two (N,) arrays, -1..1, without interval.

    No value, with a reason, when there are fewer than two rows or one side does not vary.
    `noise` is added to the weighted sum of squares of `x`. Source: [C] 6.2.
    """
    if x.size < 2:
        return Estimate(None, reason="fewer than two configurations")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return Estimate(None, reason="a configuration without a value")
    total = weights.sum()
    dx, dy = x - weights @ x / total, y - weights @ y / total
    xx, yy = weights @ dx**2 + noise, weights @ dy**2
    if xx <= _ROUNDING * (weights @ x**2) or yy <= _ROUNDING * (weights @ y**2):
        return Estimate(None, reason=NO_VARIANCE)
    return Estimate(float(np.clip((weights * dx) @ dy / np.sqrt(xx * yy), -1.0, 1.0)))


def baselines(run: Run, sample: SampleKey) -> SampleBaselines | None:
    """Return the yardsticks of one sample, or None when it holds no configuration."""
    frame = sample.rows(run.frames["configurations"])
    if frame.is_empty():
        return None
    weights = frame["n_sessions"].cast(pl.Float64).to_numpy()
    patterns = run.frames["patterns"].join(
        frame.select("configuration_id"), on="configuration_id", how="semi"
    )
    success = random_success(frame, patterns, sample.depth, _success_grade(run))
    noise = success_noise(success, weights)
    return SampleBaselines(
        {
            name: weighted_correlation(values, _column(frame, HEADLINE_CLICK), weights)
            for name, values in zip(BASELINES, _order_blind(frame), strict=True)
        },
        {
            name: weighted_correlation(success, _column(frame, name), weights, noise=noise)
            for name in _editorial_columns(frame)
        },
    )


def random_success(frame: pl.DataFrame, patterns: pl.DataFrame, depth: int, success_grade: int) -> Floats:
    """Return the (N,) SS that each configuration would have if click patterns were dealt at random.

    The expectation over the pooled `patterns`, cut to `depth`: the share of sessions whose clicked
    positions meet a position with a grade of at least `success_grade`. Range 0..1.
    """
    masks, sessions = _pooled_patterns(patterns, depth)
    good, place = np.unique(_good_masks(frame, success_grade), return_inverse=True)
    rows = max(1, _CELLS_AT_ONCE // max(1, masks.size))
    parts = [
        ((good[start : start + rows, None] & masks[None, :]) != 0) @ sessions
        for start in range(0, good.size, rows)
    ]
    shares: Floats = np.concatenate(parts) / max(1.0, sessions.sum())
    return shares[place]


def success_noise(success: Floats, sessions: Floats) -> float:
    """Return what the chance of single sessions adds to the weighted sum of squares of a random SS.

    With v_i = s_i (1 - s_i) / n_i the variance of a mean of n_i sessions and weights n_i, the expected
    sum of squares around the weighted mean grows by sum(n_i v_i) - sum(n_i² v_i) / sum(n_i).
    """
    spread = success * (1 - success)
    return float(spread.sum() - (sessions @ spread) / sessions.sum())


def _pooled_patterns(patterns: pl.DataFrame, depth: int) -> tuple[Integers, Floats]:
    cut = pl.col("click_mask") & ((1 << depth) - 1)
    pooled = patterns.group_by(cut.alias("mask")).agg(pl.col("sessions").sum())
    pooled = pooled.sort(["sessions", "mask"], descending=[True, False]).head(PATTERNS_USED)
    return pooled["mask"].to_numpy(), pooled["sessions"].cast(pl.Float64).to_numpy()


def _good_masks(frame: pl.DataFrame, success_grade: int) -> Integers:
    """Bit (p-1) is set where position p has a grade of at least `success_grade`."""
    places = frame.select(
        pl.int_range(pl.len()).alias("row"),
        pl.col("grades"),
        pl.int_ranges(pl.col("grades").list.len()).alias("place"),
    ).explode("grades", "place")
    good = places.filter(pl.col("grades") >= success_grade)
    masks = np.zeros(frame.height, dtype=np.int64)
    np.bitwise_or.at(masks, good["row"].to_numpy(), np.int64(1) << good["place"].to_numpy())
    return masks


def _order_blind(frame: pl.DataFrame) -> tuple[Floats, Floats]:
    grades = pl.col("grades").cast(pl.List(pl.Float64))
    both = frame.select(mean=grades.list.mean(), first=grades.list.first())
    return both["mean"].to_numpy(), both["first"].to_numpy()


def _editorial_columns(frame: pl.DataFrame) -> tuple[str, ...]:
    metrics = [name for name, dtype in frame.schema.items() if dtype == pl.Float64]
    return in_order([name for name in metrics if name not in CLICK_METRICS], EDITORIAL_METRICS)


def _column(frame: pl.DataFrame, name: str) -> Floats:
    if name not in frame.columns:
        return np.zeros(frame.height)
    return frame[name].to_numpy()


def _success_grade(run: Run) -> int:
    return int(run.settings.get("success_grade", 2))
