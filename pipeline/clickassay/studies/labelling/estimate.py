"""Estimate of the mean over a pool from labelled draws: a ratio of weighted sums, its error and interval."""

from dataclasses import dataclass

import numpy as np

from clickassay.core.errors import ActiveError
from clickassay.core.records import Floats
from clickassay.core.special import stdtr, stdtrit

MIN_EFFECTIVE_DRAWS = 30
"""Effective number of draws below which an interval carries a caution."""

MAX_WEIGHT_SHARE = 0.2
"""Share of all weight in one draw above which an interval carries a caution."""


@dataclass(frozen=True)
class WeightedEstimate:
    """A value estimated from draws with unequal probabilities."""

    value: float  # The ratio estimate (Sawade et al. 2012, 6).
    error: float  # Its standard error.
    # ci_low, ci_high: Ends of the interval.
    ci_low: float
    ci_high: float
    # Confidence that the true value is above 0, 0..1: of a difference, that the first ranking is better.
    above_zero: float
    draws: int  # n.
    # (sum w)^2 / sum w^2: Kish's effective sample size, the number of draws with equal weights that would
    # give the same error; 1..n.
    effective_draws: float
    largest_share: float  # Largest share of one draw in the sum of weights, 1/n..1.
    cautions: tuple[str, ...]  # Sentences on why the interval may be unreliable; none in most cases.


def estimate(
    values: Floats, ratios: Floats, *, confidence_level: float = 0.95, known: float = 0.0
) -> WeightedEstimate:
    """Estimate the mean over the pool from draws with replacement.

    `values` (n,) are L or L1 - L2 of each draw by its labels, `ratios` (n,) its p / q. The error is that of
    the jackknife for a ratio; the interval is Student's t with `effective_draws` - 1 degrees of freedom, at
    least 1. `known` is added: a mean over the pool that the values are differences from.
    benchmarks/promises/labelling/honest.py measures how often it holds the true value. Raises ActiveError for
    fewer than two draws, values or ratios that are no numbers, values that are all the same, one draw that
    has all the weight, or a confidence level that is not between 0 and 1.
    """
    _check(values, ratios, confidence_level)
    share = np.asarray(ratios / ratios.sum())
    rest = float(share @ values)
    value = known + rest
    effective_draws, largest_share = float(1 / (share @ share)), float(share.max())
    if largest_share == 1:
        raise ActiveError("one draw has all the weight, which gives no error: raise the defensive share")
    error = _jackknife_error(values - rest, share)
    freedom = max(effective_draws - 1, 1.0)
    reach = float(stdtrit(freedom, (1 + confidence_level) / 2)) * error
    return WeightedEstimate(
        value=value,
        error=error,
        ci_low=value - reach,
        ci_high=value + reach,
        above_zero=float(stdtr(freedom, value / error)),
        draws=len(values),
        effective_draws=effective_draws,
        largest_share=largest_share,
        cautions=_cautions(effective_draws, largest_share),
    )


def _check(values: Floats, ratios: Floats, confidence_level: float) -> None:
    if not 0 < confidence_level < 1:
        raise ActiveError(f"a confidence level of {confidence_level:g}: give one between 0 and 1")
    if len(values) != len(ratios):
        raise ActiveError(f"{len(values)} values have {len(ratios)} ratios: give one for each draw")
    if len(values) < 2:
        raise ActiveError(f"labelled draws: {len(values)}. An estimate needs two: raise the budget")
    if not np.isfinite(values).all():
        raise ActiveError("a draw has no value: label every listed document of its query, or leave it out")
    if not (np.isfinite(ratios) & (ratios > 0)).all():
        raise ActiveError("a ratio p / q is not above 0: give that of the distribution that was drawn from")
    if (values == values[0]).all():
        raise ActiveError("all draws have the same value, which gives no error: raise the budget")


def _jackknife_error(deviations: Floats, share: Floats) -> float:
    """Return the root of (n - 1) / n times the sum of squared changes of the ratio without each draw."""
    moves = share * deviations / (1 - share)
    return float(np.sqrt((1 - 1 / len(share)) * (moves @ moves)))


def _cautions(effective_draws: float, largest_share: float) -> tuple[str, ...]:
    reasons = []
    if effective_draws < MIN_EFFECTIVE_DRAWS:
        reasons.append(
            f"The effective number of draws is {effective_draws:.1f}, fewer than {MIN_EFFECTIVE_DRAWS}."
        )
    if largest_share > MAX_WEIGHT_SHARE:
        reasons.append(f"One draw has {largest_share:.0%} of the weight, more than {MAX_WEIGHT_SHARE:.0%}.")
    return tuple(reasons)
