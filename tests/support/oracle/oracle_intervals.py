"""Intervals and p-values from values without one query each, in plain Python.

A value that does not exist is None. Student's distribution is worked from the incomplete beta function.
"""

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

from scipy.special import betainc, betaincinv

ROUNDING = 1e-12
"""Correlations that differ by no more are one; values that differ by no more than this part are one."""

PERFECT = 1e-9
"""A correlation so near to -1 or 1 counts as perfect: artanh would tell nothing but its rounding."""

MIN_QUERIES = 50

Interval = tuple[float | None, float | None]
Error = tuple[float, float | None]
"""A standard error and its degrees of freedom; None where nothing varies."""

Widen = Callable[[Error | None], Error | None]
"""Turns the error of leaving out queries into the one that counts."""

NONE: Interval = (None, None)


def as_is(error: Error | None) -> Error | None:
    """Return an error that nothing is known to add to."""
    return error


def student_quantile(p: float, degrees: float) -> float:
    """Return the quantile of Student's t for p > 1/2: I_x(n/2, 1/2) = 2 (1 - p), x = n / (n + t^2)."""
    x = float(betaincinv(degrees / 2, 0.5, 2 * (1 - p)))
    return math.sqrt(degrees * (1 / x - 1))


def student_two_sided(t: float, degrees: float) -> float:
    """Return the chance that Student's t lies further from 0 than t."""
    return float(betainc(degrees / 2, 0.5, degrees / (degrees + t * t)))


def jackknife(left_out: Sequence[float | None]) -> Error | None:
    """Return the jackknife error of a statistic from its values without each of the Q queries.

    error^2 = (Q - 1)/Q sum (v - mean v)^2, and degrees of freedom by Satterthwaite: 2/degrees is the
    relative variance of the sum, estimated from fourth powers. None where a value is missing.
    """
    values = [value for value in left_out if value is not None and math.isfinite(value)]
    q = len(left_out)
    if len(values) < max(q, 2):
        return None
    mean = math.fsum(values) / q
    squares = [(value - mean) ** 2 for value in values]
    total = math.fsum(squares)
    if math.sqrt(total) <= ROUNDING * max(1.0, abs(mean)):
        return 0.0, None
    return math.sqrt((q - 1) / q * total), degrees_of_freedom(values)


def degrees_of_freedom(values: Sequence[float]) -> float:
    """Return Satterthwaite's degrees of freedom of the spread of values around their mean."""
    q, mean = len(values), math.fsum(values) / len(values)
    squares = [(value - mean) ** 2 for value in values]
    variance = math.fsum(square * square for square in squares) / math.fsum(squares) ** 2 - 1 / q
    return 2 / max(variance, 2 / (q - 1))


def widened(error: Error | None, factor: float, added: Error | None = None) -> Error | None:
    """Return an error whose square is `factor` times as large, and has `added` (with its degrees) added.

    The degrees of a sum of squared errors V = a + b are V^2 / (a^2 / degrees of a + b^2 / degrees of b).
    """
    if error is None or error[1] is None:
        return error
    own = factor * error[0] ** 2
    if added is None or added[1] is None:
        return math.sqrt(own), error[1]
    whole = own + added[0]
    return math.sqrt(whole), whole**2 / (own**2 / error[1] + added[0] ** 2 / added[1])


def of_difference(error: Error | None, queries: int) -> Error | None:
    """Return the same error with twice the degrees of freedom, at most Q - 1: those of a test."""
    if error is None or error[1] is None:
        return error
    return error[0], min(2 * error[1], queries - 1)


def margin(error: Error, tests: int = 1) -> float | None:
    """Return half the width of the interval of Student's t; None where nothing varies.

    It holds in 95% of samples for each of several tests at once (Bonferroni).
    """
    return None if error[1] is None else student_quantile(1 - 0.05 / 2 / tests, error[1]) * error[0]


def fisher_transform(correlation: float | None) -> float | None:
    """Return artanh r; None where there is no correlation or it is -1 or 1 but for rounding."""
    if correlation is None or abs(correlation) >= 1 - PERFECT:
        return None
    return math.atanh(correlation)


def is_perfect(value: float | None, left_out: Sequence[float | None]) -> bool:
    """Whether a correlation is -1 or 1, and the same without any of several queries."""
    if value is None or abs(value) < 1 - PERFECT or len(left_out) < 2:
        return False
    return all(one is not None and abs(one - value) <= PERFECT for one in left_out)


def fisher_interval(
    value: float | None, left_out: Sequence[float | None], tests: int = 1, widen: Widen = as_is
) -> tuple[Interval, float | None]:
    """Return tanh(artanh r -+ t error of artanh r), and the degrees of freedom; r to r if it is always 1."""
    if is_perfect(value, left_out):
        return (value, value), None
    z = fisher_transform(value)
    error = widen(jackknife([fisher_transform(one) for one in left_out]))
    width = None if error is None else margin(error, tests)
    if z is None or error is None or width is None:
        return NONE, None
    return (math.tanh(z - width), math.tanh(z + width)), error[1]


def p_of_null(
    value: float | None, null: float | None, left_out: Sequence[float | None], widen: Widen = as_is
) -> float | None:
    """Return the two-sided p-value of a correlation of `null`, on Fisher's scale; 0 if it is always 1."""
    z, z_null = fisher_transform(value), fisher_transform(null)
    if z_null is None:
        return None
    if is_perfect(value, left_out):
        return 0.0
    error = widen(jackknife([fisher_transform(one) for one in left_out]))
    if z is None or error is None or error[1] is None:
        return None
    return student_two_sided((z - z_null) / error[0], error[1])


def ratio_interval(
    above: float,
    below: float,
    above_left_out: Sequence[float | None],
    below_left_out: Sequence[float | None],
    factor: float = 1.0,
    added: Error | None = None,
) -> Interval:
    """Return the v for which |above - v below| <= t error(above - v below): Fieller's theorem.

    (a - v b)^2 = t^2 (s_aa - 2 v s_ab + v^2 s_bb) is a quadratic equation in v; its solutions are the
    ends where b is more than t errors from 0. The degrees of freedom are those of a / b; all variances are
    multiplied by `factor`, and that of `above` has `added` (with its degrees) added.
    """
    pairs = [
        (a, b) for a, b in zip(above_left_out, below_left_out, strict=True) if a is not None and b is not None
    ]
    q = len(above_left_out)
    of_ratio = None if added is None else (added[0] / below**2, added[1])
    error = widened(jackknife([a / b for a, b in pairs]), factor, of_ratio) if len(pairs) == q else None
    if error is None or error[1] is None:
        return NONE
    mean_a, mean_b = (math.fsum(part) / q for part in zip(*pairs, strict=True))
    square = student_quantile(0.975, error[1]) ** 2
    part = square * (q - 1) / q * factor
    s_aa = part * math.fsum((a - mean_a) ** 2 for a, _ in pairs) + (square * added[0] if added else 0.0)
    s_bb = part * math.fsum((b - mean_b) ** 2 for _, b in pairs)
    s_ab = part * math.fsum((a - mean_a) * (b - mean_b) for a, b in pairs)
    return quadratic_roots(below**2 - s_bb, s_ab - above * below, above**2 - s_aa)


def quadratic_roots(a: float, half_b: float, c: float) -> Interval:
    """Return the solutions of a v^2 + 2 half_b v + c = 0, the lower first; none for a <= 0."""
    inner = half_b * half_b - a * c
    if a <= 0 or inner < 0:
        return NONE
    far = -half_b - math.copysign(math.sqrt(inner), half_b)  # no cancellation
    roots = [far / a, c / far if far else 0.0]
    return min(roots), max(roots)


def p_value(difference: float, error: Error | None) -> float | None:
    """Return the two-sided p-value of no difference; 1 where two metrics are one."""
    if error is None:
        return None
    if error[1] is None:
        return 1.0 if difference == 0 else None
    return student_two_sided(difference / error[0], error[1])


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values adjusted over the family: the i-th smallest of m times m - i + 1, never falling."""
    order = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, place) in enumerate(order):
        highest = max(highest, min(1.0, p * (len(order) - rank)))
        adjusted[place] = highest
    return adjusted


def queries_needed(difference: float, error: Error | None, queries: int, tests: int) -> float | None:
    """Return for how many queries the difference is t + z errors wide, tested at 0.05 / tests; not rounded.

    80% of the time a normal value lies above z = -0.84 errors below its mean.
    """
    if error is None or error[1] is None or difference == 0:
        return None
    t = student_quantile(1 - 0.05 / 2 / tests, error[1])
    z = NormalDist().inv_cdf(0.8)
    return queries * ((t + z) * error[0] / difference) ** 2


def caution(value: float | None, low: float | None, queries: int, *, heavy: bool = False) -> str | None:
    """Return why an interval is not to be relied on."""
    if value is None:
        return None
    if low is None:
        return "no interval: too few queries vary"
    if queries < MIN_QUERIES:
        return f"fewer than {MIN_QUERIES} queries"
    return (
        "a few very frequent queries dominate, and similar ones may be missing from the log"
        if heavy
        else None
    )


def is_heavy(sessions: Sequence[int], least: float) -> bool:
    """Return whether the upper half of sessions per query falls like a power law of a lower index."""
    if not sessions:
        return False
    threshold = sorted(sessions)[len(sessions) // 2]
    if sum(n >= 5 for n in sessions) >= 50:
        threshold = max(threshold, 5)
    tail = [n for n in sessions if n >= threshold]
    if len(set(tail)) < 2:
        return False
    logs = [math.log(n / (min(tail) - 0.5)) for n in tail]
    mean = sum(logs) / len(logs)
    deviation = math.sqrt(sum((one - mean) ** 2 for one in logs) / len(logs))
    return deviation >= 0.87 * mean and 1 / mean < least
