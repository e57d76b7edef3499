"""What labelled draws say of the pool: a ratio of weighted sums, and how far to trust it."""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from clickassay.core.errors import ActiveError
from clickassay.core.records import Floats

FEW = 30
"""Draws, as many as the weights are worth, below which an interval is cautioned."""

HEAVY = 0.2
"""Share of all weight in one draw above which an interval is cautioned."""


@dataclass(frozen=True)
class Estimate:
    """A value estimated from draws with unequal chances.

    Attributes
    ----------
    value
        The ratio estimate (Sawade et al. 2012, 6).
    error
        Its standard error.
    ci_low, ci_high
        Ends of the interval.
    above_zero
        Confidence that the true value is above 0, 0..1: of a difference, that the first ranking is better.
    draws
        n.
    worth
        (sum w)^2 / sum w^2: draws with equal weights that would tell as much, 1..n.
    heaviest
        Largest share of one draw in the weights, 1/n..1.
    cautions
        Sentences about what makes the interval doubtful; mostly none.
    """

    value: float
    error: float
    ci_low: float
    ci_high: float
    above_zero: float
    draws: int
    worth: float
    heaviest: float
    cautions: tuple[str, ...]


def estimate(values: Floats, ratios: Floats, *, level: float = 0.95) -> Estimate:
    """Estimate the mean over the pool from draws with replacement.

    `values` (n,) are L or L1 - L2 of each draw by its labels, `ratios` (n,) its p / q. The error is the
    jackknife's of a ratio; the interval is Student's with `worth` - 1 degrees of freedom, at least 1.
    benchmarks/promises/labelling/honest.py shows how often it holds the truth. Raises ActiveError for fewer
    than two draws, values or ratios that are no numbers, values that are all the same, one draw that has all
    the weight, or a level that is not between 0 and 1.
    """
    _check(values, ratios, level)
    share = np.asarray(ratios / ratios.sum())
    value = float(share @ values)
    worth, heaviest = float(1 / (share @ share)), float(share.max())
    if heaviest == 1:
        raise ActiveError("one draw has all the weight, which gives no error: defend q with a share of p")
    error = _jackknife_error(values - value, share)
    freedom = max(worth - 1, 1.0)
    reach = float(stdtrit(freedom, (1 + level) / 2)) * error
    return Estimate(
        value=value,
        error=error,
        ci_low=value - reach,
        ci_high=value + reach,
        above_zero=float(stdtr(freedom, value / error)),
        draws=len(values),
        worth=worth,
        heaviest=heaviest,
        cautions=_cautions(worth, heaviest),
    )


def _check(values: Floats, ratios: Floats, level: float) -> None:
    if not 0 < level < 1:
        raise ActiveError(f"an interval of level {level:g} cannot be made: give one between 0 and 1")
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
    """Return the root of (n - 1) / n of the sum of squares by which the ratio moves without each draw."""
    moves = share * deviations / (1 - share)
    return float(np.sqrt((1 - 1 / len(share)) * (moves @ moves)))


def _cautions(worth: float, heaviest: float) -> tuple[str, ...]:
    found = []
    if worth < FEW:
        found.append(f"The draws are worth {worth:.1f} with equal weights, fewer than {FEW}.")
    if heaviest > HEAVY:
        found.append(f"One draw has {heaviest:.0%} of the weight, more than {HEAVY:.0%}.")
    return tuple(found)
