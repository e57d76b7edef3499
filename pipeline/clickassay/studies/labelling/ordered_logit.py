"""Ordered logit: probabilities of grades from a score (McCullagh 1980)."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from clickassay.core.errors import ActiveError
from clickassay.core.records import Floats, Integers
from clickassay.core.special import expit, log_expit

MIN_JUDGED = 20
"""Judged documents below which nothing is fitted."""

RIDGE = 1e-3
"""Weight of the squared slope and squared logarithms of the steps: keeps them finite where data lack."""


@dataclass(frozen=True)
class OrderedLogit:
    """P(grade <= g | score) = 1 / (1 + exp(slope score - threshold[g]))."""

    slope: float  # What one unit of the score adds to the log-odds of every higher grade.
    thresholds: Floats  # (G - 1,) ascending.

    def probabilities(self, scores: Floats) -> Floats:
        """Return (N, G) probabilities of the grades."""
        at_most = expit(self.thresholds - self.slope * scores[:, None])
        edges = np.hstack([np.zeros((len(scores), 1)), at_most, np.ones((len(scores), 1))])
        return np.asarray(np.diff(edges, axis=1))


def fit_ordered_logit(scores: Floats, grades: Integers, *, grades_of_scale: int) -> OrderedLogit:
    """Fit slope and thresholds by penalised maximum likelihood.

    scores, grades: (N,) of judged documents; grades 0..grades_of_scale - 1, not all of which need occur.
      ActiveError for fewer than `MIN_JUDGED`, a score that is no number, or scores or grades that are all the
      same.
    """
    if len(scores) < MIN_JUDGED:
        raise ActiveError(
            f"{len(scores)} scored documents are judged; ordered logit needs {MIN_JUDGED}: judge more, or "
            "give probabilities of grades"
        )
    if not np.isfinite(scores).all():
        raise ActiveError("a score is missing or infinite; give a number for each document")
    if scores.min() == scores.max() or grades.min() == grades.max():
        raise ActiveError(
            "all judged documents have the same score or the same grade: judge others, or give probabilities"
        )
    centre, spread = float(scores.mean()), float(scores.std())
    own = (scores - centre) / spread

    def loss(point: Floats) -> float:
        # log P(grade): log of F(u) - F(l) = log F(u) + log(1 - F(l)) + log(1 - e^(l - u))
        edges = np.concatenate([[-np.inf], _thresholds(point[1:]), [np.inf]])
        upper, lower = edges[grades + 1] - point[0] * own, edges[grades] - point[0] * own
        both = log_expit(upper) + log_expit(-lower) + np.log(-np.expm1(lower - upper))
        return -float(both.sum()) + RIDGE * float(np.sum(point**2))

    at_most = (np.cumsum(np.bincount(grades, minlength=grades_of_scale))[:-1] + 0.5) / (len(grades) + 1)
    first = np.log(at_most / (1 - at_most))
    start = np.concatenate([[0.0], first[:1], np.log(np.maximum(np.diff(first), 1e-2))])
    point = np.asarray(minimize(loss, start, method="BFGS").x)
    slope = float(point[0]) / spread
    return OrderedLogit(slope, _thresholds(point[1:]) + slope * centre)


def _thresholds(point: Floats) -> Floats:
    """Return ascending thresholds: the first, and logarithms of the steps."""
    return np.asarray(np.cumsum(np.concatenate([point[:1], np.exp(point[1:])])))
