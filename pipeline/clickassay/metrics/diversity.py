"""ERR over the topics of a query (Chapelle et al. 2009, section 7.4, equation 6).

Not the ERR-IA of ndeval: grades are graded, and nothing is normalised.
"""

import numpy as np
from numpy.typing import NDArray

from clickassay.errors import JudgmentError
from clickassay.metrics.editorial import expected_reciprocal_rank, satisfaction
from clickassay.sample import Floats

_ROUNDING = 1e-9


def topic_err(grades: NDArray[np.integer], topics: Floats, *, max_rel: int) -> Floats:
    """Return sum over r of (1/r) sum over t of P(t|q) R(gr for t) prod_{i<r} (1 - R(gi for t)); 0..1.

    Parameters
    ----------
    grades
        (N, k, T) grade of each result for each topic, best position first.
    topics
        (N, T) P(t|q): the chance that who asks means topic t; each row adds up to 1.
    max_rel
        Top grade of the scale.

    Returns
    -------
    (N,) values: ERR for one topic; the mean of ERR by topic, weighted by P(t|q).

    Raises
    ------
    JudgmentError
        If shapes differ, a grade is off the scale, or a row of `topics` is no distribution.
    """
    _check(grades, topics)
    value = np.zeros(len(grades))
    for topic, share in enumerate(topics.T):
        value += share * expected_reciprocal_rank(satisfaction(grades[:, :, topic], max_rel))
    return value


def _check(grades: NDArray[np.integer], topics: Floats) -> None:
    if grades.ndim != 3 or topics.shape != (grades.shape[0], grades.shape[2]):
        raise JudgmentError(
            f"grades by topic have the shape {grades.shape} and P(t|q) {topics.shape}; "
            "expected (lists, positions, topics) and (lists, topics)"
        )
    if grades.size and grades.min() < 0:
        raise JudgmentError(f"grade {grades.min()} is below 0, the lowest of the scale")
    wrong = ~(np.abs(topics.sum(axis=1) - 1) <= _ROUNDING) | ~(topics >= 0).all(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        raise JudgmentError(
            f"P(t|q) of list {row} is {topics[row].tolist()}: expected chances of 0 or more that add up to 1"
        )
