"""Sampling distributions of queries: Derivation 1 and variants (Sawade et al. 2012)."""

from dataclasses import dataclass, replace
from math import inf, sqrt

import numpy as np

from clickassay.core.errors import ActiveError
from clickassay.core.records import Floats
from clickassay.studies.labelling.moments import ROUNDING, Moments, measure_moments
from clickassay.studies.labelling.pool import Pool

CORRECTED = "corrected"
"""The variant whose estimate is the model's mean over all queries, corrected by labels."""

VARIANTS = ("active", "uniform relevance", "uniform cost", "passive", CORRECTED)
"""Distributions by grade probabilities and costs; by costs alone, as if all grades were equally likely; by
probabilities alone, as if all queries cost the same; by frequencies; as the first."""


@dataclass(frozen=True)
class Sampling:
    """The sampling distribution of queries."""

    q: Floats  # (m,) probabilities of the queries; they add up to 1.
    # (m,) sqrt(E[(L - R)^2|x]) by the model of the variant, with R its own mean over the pool; of
    # `corrected`, sqrt(Var[L|x]): what the model expects of a query is no error.
    spreads: Floats
    no_spread: bool  # Whether all spreads are 0: then all distributions are equally good, and q is p.


@dataclass(frozen=True)
class ExpectedEstimate:
    """Expected value and error of the estimate from a budget, by the model of grades, for many draws."""

    value: float  # R or Delta by the model.
    sigma: float  # sqrt(sum p^2 / q E[(L - R)^2]): the error of the estimate times the root of the draws.
    draws: float  # n* = budget / sum q cost (9), if every draw is paid.
    error: float  # sigma / sqrt(n*), the standard error.
    # Budget that drawing with q = p would need for the same error; NaN if the error is 0.
    passive_budget: float


def sampling_distribution(
    pool: Pool,
    measure: str,
    variant: str = "active",
    *,
    defensive_share: float = 0.0,
    moments: Moments | None = None,
) -> Sampling:
    """Return q proportional to p sqrt(E[(L - R)^2] / cost) for one ranking, the same with L1 - L2 for two.

    q is a defensive mixture: a share `defensive_share`, 0..1, of the draws is made with p. This keeps q above
      0 wherever p is, and importance weights p / q at most 1 / defensive_share. Without it, q is 0 for a
      query whose expected squared difference from R is 0, e.g. one whose two lists are the same when Delta is
      0, and the estimate is biased where the model is wrong. `moments`: known `measure_moments` of the pool.
      Raises ActiveError for an unknown measure or variant, or a share out of range.
    """
    if variant not in VARIANTS:
        raise ActiveError(f"variant {variant!r} is unknown: give one of {', '.join(VARIANTS)}")
    if not 0 <= defensive_share <= 1:
        raise ActiveError(f"a defensive share of {defensive_share:g}: give a number from 0 to 1")
    if variant == "uniform relevance":
        alike = np.full(pool.probabilities.shape, 1 / pool.probabilities.shape[1])
        moments = measure_moments(replace(pool, probabilities=alike), measure)
    spreads = _spreads(pool, moments or measure_moments(pool, measure), variant)
    # by how much a variant draws each query more often than p, up to a constant
    rates = {"passive": np.ones_like(spreads), "uniform cost": spreads}
    best = pool.weights * rates.get(variant, spreads / np.sqrt(pool.costs))
    total = float(best.sum())
    if total <= 0:
        return Sampling(pool.weights, spreads, no_spread=True)
    return Sampling(
        (1 - defensive_share) * best / total + defensive_share * pool.weights, spreads, no_spread=False
    )


def expected_error(
    pool: Pool, moments: Moments, q: Floats, budget: float, variant: str = "active"
) -> ExpectedEstimate:
    """Return the expected error with (m,) probabilities q, and the budget that q = p would need for it.

    Of the variant `corrected`, the error is of the corrected estimate, and the budget of an uncorrected one.
    It is as good as the probabilities of grades in `moments` (`measure_moments`). Repeated draws are free, so
    a budget buys more than this. Raises ActiveError for a budget of 0 or below.
    """
    check_budget(budget)
    squares = _spreads(pool, moments) ** 2
    variance = _asymptotic(pool.weights, q, _spreads(pool, moments, variant) ** 2)
    draws = budget / float(q @ pool.costs)
    passive = _asymptotic(pool.weights, pool.weights, squares) * float(pool.weights @ pool.costs)
    return ExpectedEstimate(
        value=introspective(pool, moments),
        sigma=sqrt(variance),
        draws=draws,
        error=sqrt(variance / draws),
        passive_budget=passive * draws / variance if variance else float("nan"),
    )


def check_budget(budget: float) -> None:
    """Raise ActiveError for a budget that buys nothing."""
    if not 0 < budget < inf:
        raise ActiveError(f"a budget of {budget:g} buys no label: give a number above 0")


def introspective(pool: Pool, moments: Moments) -> float:
    """Return R or Delta by the model of grades (Derivation 1); 0 where it is only rounding."""
    value = float(pool.weights @ moments.mean)
    return value if abs(value) > ROUNDING * sqrt(pool.weights @ moments.second) else 0.0


def _spreads(pool: Pool, moments: Moments, variant: str = "active") -> Floats:
    if variant == CORRECTED:
        return np.sqrt(moments.variance)
    return np.sqrt(moments.around(introspective(pool, moments)))


def _asymptotic(p: Floats, q: Floats, squares: Floats) -> float:
    """Return sum p^2 / q E[(L - R)^2]: infinite if a query with a positive term has q = 0."""
    matters = (p > 0) & (squares > 0)
    if (q[matters] <= 0).any():
        return inf
    return float(np.sum(p[matters] ** 2 / q[matters] * squares[matters]))
