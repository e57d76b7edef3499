"""Means with intervals, and runs compared query by query: paired tests, corrected for how many there are."""

from collections.abc import Iterable
from itertools import combinations

import numpy as np
import polars as pl

from clickassay.core.errors import SettingsError
from clickassay.core.records import Floats
from clickassay.core.text.words import listed
from clickassay.correlation.uncertainty.intervals import half_width, holm, t_test
from clickassay.correlation.weighted import ROUNDING
from clickassay.studies.evaluation.forms import COMPARISONS

RESAMPLES = 10_000
"""Draws of signs in the randomisation test."""

_AT_ONCE = 2_000_000


def mean_with_interval(values: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the (E,) means of (Q, E) values over the queries, and the ends of their 95 % intervals.

    The interval is Student's t, cut to the measures' ranges `low`..`high`, (E,) each; with fewer than two
    queries its ends are NaN.
    """
    mean = values.mean(axis=0) if len(values) else np.full(values.shape[1], np.nan)
    half = half_width(values)
    return mean, np.maximum(mean - half, low), np.minimum(mean + half, high)


def pairs_of_runs(runs: Iterable[str], baseline: str | None) -> list[tuple[str, str]]:
    """Return every two runs; with a baseline, the baseline and each other one.

    Raises SettingsError if no run has the name.
    """
    names = list(runs)
    if baseline is None:
        return list(combinations(names, 2))
    if baseline not in names:
        raise SettingsError(f"--baseline: no run is called {baseline!r}; there are {listed(names)}")
    return [(baseline, name) for name in names if name != baseline]


def comparison_table(
    names: tuple[str, ...], values: dict[str, Floats], *, seed: int = 0, baseline: str | None = None
) -> pl.DataFrame:
    """Compare every two runs by every measure, in the form of `forms.COMPARISONS`.

    names: the E measures.
    values: by run: (Q, E) values, for the same queries in the same order.
    seed: of the randomisation test.
    baseline: the run that each other one is compared with; None = every two.

    `p_value` is of the paired t test, `p_randomised` of a paired randomisation test (signs of the differences
    drawn `RESAMPLES` times). `p_holm` is `p_value` corrected for all rows of the table (Holm 1979). There is
    no t test with fewer than two queries, or where all differences are equal.
    """
    rows = [
        part
        for number, (one, two) in enumerate(pairs_of_runs(values, baseline))
        for part in _comparison_rows(names, (one, two), values[two] - values[one], (seed, number))
    ]
    frame = pl.DataFrame(rows, COMPARISONS.empty().schema, orient="row")
    corrected = holm(frame["p_value"].fill_null(np.nan).to_numpy())
    return frame.with_columns(pl.Series("p_holm", corrected).fill_nan(None))


def _comparison_rows(
    names: tuple[str, ...], runs: tuple[str, str], difference: Floats, seed: tuple[int, int]
) -> list[tuple[object, ...]]:
    mean, half = difference.mean(axis=0), half_width(difference)
    p_value = t_test(difference)
    randomised = _randomisation_test(difference, np.random.default_rng(seed))
    better, worse = (difference > 0).sum(axis=0), (difference < 0).sum(axis=0)
    return [
        (
            *runs,
            name,
            mean[place],
            _or_none(mean[place] - half[place]),
            _or_none(mean[place] + half[place]),
            _or_none(p_value[place]),
            randomised[place],
            None,
            int(better[place]),
            int(worse[place]),
            len(difference) - int(better[place]) - int(worse[place]),
        )
        for place, name in enumerate(names)
    ]


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _randomisation_test(difference: Floats, rng: "np.random.Generator") -> Floats:
    """Return the (E,) p values: shares of draws with a mean as far from 0; the data count as one draw."""
    observed = np.abs(difference.sum(axis=0))
    slack = ROUNDING * np.abs(difference).sum(axis=0)
    as_far, left = np.ones(difference.shape[1]), RESAMPLES
    while left:
        number = min(left, max(1, _AT_ONCE // max(1, len(difference))))
        signs = rng.integers(0, 2, (number, len(difference)), dtype=np.int8) * 2.0 - 1
        as_far += (np.abs(signs @ difference) >= observed - slack).sum(axis=0)
        left -= number
    share: Floats = as_far / (RESAMPLES + 1)
    return share
