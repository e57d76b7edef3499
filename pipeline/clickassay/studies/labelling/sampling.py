"""How often to draw each query: the distributions of Derivation 1 and their variants (Sawade et al. 2012)."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, sqrt
from types import MappingProxyType

import numpy as np

from clickassay.core.errors import ActiveError
from clickassay.core.records import Floats
from clickassay.studies.labelling.moments import ROUNDING, Moments, measure_moments
from clickassay.studies.labelling.pool import Pool

VARIANTS: Mapping[str, str] = MappingProxyType(
    {
        "active": "chances and costs",
        "uniform relevance": "costs alone: every grade is as likely as any other",
        "uniform cost": "chances alone: every query costs the same",
        "passive": "neither: queries are drawn as often as they are asked",
    }
)
"""What each sampling distribution makes use of."""


@dataclass(frozen=True)
class Sampling:
    """How likely each query is to be the next one drawn.

    Attributes
    ----------
    q
        (m,) chances of the queries; they add up to 1.
    spreads
        (m,) sqrt(E[(L - R)^2|x]) by the model of the variant, with R its own mean over the pool.
    flat
        Whether no spread is above 0, so that all distributions are as good, and q is p.
    """

    q: Floats
    spreads: Floats
    flat: bool


@dataclass(frozen=True)
class Expected:
    """What a budget is expected to buy, by the model of grades, when many queries are drawn.

    Attributes
    ----------
    value
        R or Delta by the model.
    sigma
        sqrt(sum p^2 / q E[(L - R)^2]): the error of the estimate times the root of the draws.
    draws
        n* = budget / sum q cost (9), if every draw is paid.
    error
        sigma / sqrt(n*), the standard error.
    passive_budget
        What drawing with q = p would cost for the same error; NaN if there is no error at all.
    """

    value: float
    sigma: float
    draws: float
    error: float
    passive_budget: float


def sampling_distribution(
    pool: Pool, measure: str, variant: str = "active", *, defence: float = 0.0, moments: Moments | None = None
) -> Sampling:
    """Return q proportional to p sqrt(E[(L - R)^2] / cost) for one ranking, the same with L1 - L2 for two.

    A share `defence` of the draws, 0..1, is made with p: it keeps q above 0 wherever p is, and no weight
    p / q is above 1 / defence. Without it, a query of which the model is sure that it has the mean of the
    pool is never drawn, however wrong the model: as one whose two lists are the same, when Delta is 0.
    `moments` are those of the pool by `measure_moments`, if they are known.
    Raises ActiveError for an unknown measure or variant, or a share out of range.
    """
    if variant not in VARIANTS:
        raise ActiveError(f"variant {variant!r} is unknown: give one of {', '.join(VARIANTS)}")
    if not 0 <= defence <= 1:
        raise ActiveError(f"a share of {defence:g} of the draws for defence: give 0..1")
    if variant == "uniform relevance":
        moments = measure_moments(pool.uninformed(), measure)
    spreads = _spreads(pool, moments or measure_moments(pool, measure))
    best = pool.weights * _pulls(variant, spreads, pool.costs)
    total = float(best.sum())
    if total <= 0:
        return Sampling(pool.weights, spreads, flat=True)
    return Sampling((1 - defence) * best / total + defence * pool.weights, spreads, flat=False)


def expected_error(pool: Pool, moments: Moments, q: Floats, budget: float) -> Expected:
    """Return what a budget buys with (m,) chances q, and what it would take with q = p.

    `moments` are those of the pool by `measure_moments`: what is expected is as good as the chances of
    grades. Labels that are looked up again make it cheaper than this. Raises ActiveError for a budget of 0
    or below.
    """
    check_budget(budget)
    squares = _spreads(pool, moments) ** 2
    variance = _asymptotic(pool.weights, q, squares)
    draws = budget / float(q @ pool.costs)
    passive = _asymptotic(pool.weights, pool.weights, squares) * float(pool.weights @ pool.costs)
    return Expected(
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
    """Return R or Delta by the model of grades (Derivation 1); 0 if it is what rounding leaves of 0."""
    value = float(pool.weights @ moments.mean)
    return value if abs(value) > ROUNDING * sqrt(pool.weights @ moments.second) else 0.0


def _spreads(pool: Pool, moments: Moments) -> Floats:
    return np.sqrt(moments.around(introspective(pool, moments)))


def _asymptotic(p: Floats, q: Floats, squares: Floats) -> float:
    """Return sum p^2 / q E[(L - R)^2]: infinite if a query that matters is never drawn."""
    matters = (p > 0) & (squares > 0)
    if (q[matters] <= 0).any():
        return inf
    return float(np.sum(p[matters] ** 2 / q[matters] * squares[matters]))


def _pulls(variant: str, spreads: Floats, costs: Floats) -> Floats:
    """Return by how much more often than p a variant draws each query."""
    if variant == "passive":
        return np.ones_like(spreads)
    return spreads if variant == "uniform cost" else spreads / np.sqrt(costs)
