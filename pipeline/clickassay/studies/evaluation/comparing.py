"""Runs compared query by query: means with intervals, paired tests, the order of runs, classes of queries."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from clickassay.core.contracts.form import Table
from clickassay.core.errors import SettingsError
from clickassay.core.records import Floats
from clickassay.core.text.words import listed
from clickassay.correlation.uncertainty.intervals import ALPHA, half_width, holm, t_test
from clickassay.correlation.weighted import ROUNDING
from clickassay.findings.ranking import groups, letters
from clickassay.inputs.normalise import normalise_query
from clickassay.metrics.definition import Measure
from clickassay.studies.evaluation import forms

RESAMPLES = 10_000
"""Draws of signs in the randomisation test."""

_AT_ONCE = 2_000_000


def mean_with_interval(values: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Return (E,) means of (Q, E) values with 95% CIs: Student's t, in ranges; NaN below two queries."""
    mean = values.mean(axis=0) if len(values) else np.full(values.shape[1], np.nan)
    half = half_width(values)
    return mean, np.maximum(mean - half, low), np.minimum(mean + half, high)


def pairs_of_runs(runs: Iterable[str], baseline: str | None) -> list[tuple[str, str]]:
    """Return every two runs, or `baseline` and each other one; SettingsError if no run has the name."""
    names = list(runs)
    if baseline is None:
        return list(combinations(names, 2))
    if baseline not in names:
        raise SettingsError(f"--baseline: no run is called {baseline!r}; there are {listed(names)}")
    return [(baseline, name) for name in names if name != baseline]


def comparison_table(
    names: tuple[str, ...], values: dict[str, Floats], *, seed: int = 0, baseline: str | None = None
) -> pl.DataFrame:
    """Compare every two runs, or all with `baseline`, by every measure, in the form of `forms.COMPARISONS`.

    names, values: of E measures; by run: (Q, E), for the same queries in the same order.
    `p_value` is of the paired t test, `p_randomised` of a paired randomisation test (signs of the differences
    drawn `RESAMPLES` times, by `seed`). `p_holm` is `p_value` corrected for all rows of the table (Holm
    1979). There is no t test with fewer than two queries, or where all differences are equal.
    """
    rows = [forms.COMPARISONS.empty()]
    for number, (one, two) in enumerate(pairs_of_runs(values, baseline)):
        apart = values[two] - values[one]
        columns = _differences(names, apart) | {
            "p_randomised": _randomisation_test(apart, np.random.default_rng((seed, number))),
            "better": (apart > 0).sum(axis=0), "worse": (apart < 0).sum(axis=0),
            "equal": len(apart) - (apart > 0).sum(axis=0) - (apart < 0).sum(axis=0),
        }  # fmt: skip
        rows.append(rows_of(forms.COMPARISONS, columns, baseline=one, run=two))
    return _with_holm(rows)


def _differences(names: Sequence[str], apart: Floats) -> dict[str, object]:
    mean, half = apart.mean(axis=0), half_width(apart)
    return {
        "measure": list(names), "difference": mean, "ci_low": mean - half, "ci_high": mean + half,
        "p_value": t_test(apart), "p_holm": np.full(len(names), np.nan),
    }  # fmt: skip


def rows_of(table: Table, columns: Mapping[str, object], **same: object) -> pl.DataFrame:
    """Return rows of a table, NaN as null, with the same values in each."""
    frame = pl.DataFrame(columns).with_columns(pl.col(pl.Float64).fill_nan(None))
    return forms.in_form(table, frame.with_columns(**{name: pl.lit(value) for name, value in same.items()}))


def _with_holm(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    frame = pl.concat(frames)
    corrected = holm(frame["p_value"].fill_null(np.nan).to_numpy())
    return frame.with_columns(pl.Series("p_holm", corrected).fill_nan(None))


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


FEWEST = 3
"""Runs that a leaderboard needs: of two, the comparison says all."""

MOST = 30
"""Of so many runs letters show every pair; for more the number of groups could grow without bound."""


def leaderboard(measures: Sequence[Measure], means: pl.DataFrame, comparisons: pl.DataFrame) -> pl.DataFrame:
    """Order runs by each measure, the best mean first; two that share a letter do not differ significantly.

    Two that do not differ share one, if there are at most `MOST` runs; of more, if they also differ from none
    between them. `comparisons` are of every two runs.
    Returns rows of LEADERBOARD; none with fewer than `FEWEST` runs.
    """
    if means["run"].n_unique() < FEWEST:
        return forms.LEADERBOARD.empty()
    frames = []
    for measure in measures:
        own = means.filter(measure=str(measure)).sort(
            "mean", descending=not measure.metric.less_is_better, nulls_last=True, maintain_order=True
        )
        tests = comparisons.filter(measure=str(measure)).select("baseline", "run", "p_holm").rows()
        p_holm = {frozenset((one, two)): p for one, two, p in tests}
        runs = own["run"].to_list()
        best = [p_holm.get(frozenset((runs[0], run))) for run in runs]
        different = [(one, two) for one, two, p in tests if p is not None and p < ALPHA]
        lettered = letters(groups(runs, different) if len(runs) <= MOST else _ranges(runs, different))
        frame = own.with_columns(
            place=pl.int_range(1, pl.len() + 1),
            below_best=(pl.col("mean") - pl.col("mean").first()).abs(),
            p_best=pl.Series(best, dtype=pl.Float64),
            group=pl.Series([lettered[run] for run in runs], dtype=pl.String),
        )
        frames.append(forms.in_form(forms.LEADERBOARD, frame))
    return pl.concat(frames)


def _ranges(runs: Sequence[str], different: Sequence[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return the largest ranges of neighbouring runs of which no two differ."""
    place = {run: at for at, run in enumerate(runs)}
    pairs = [sorted((place[one], place[two])) for one, two in different]
    ends = [min((two for one, two in pairs if one >= at), default=len(runs)) for at in range(len(runs))]
    return [tuple(runs[at:end]) for at, end in enumerate(ends) if at == 0 or end > ends[at - 1]]


UNKNOWN = "unknown"
"""The class of a query that the table of classes does not have."""


def by_class(
    measures: Sequence[Measure],
    values: Mapping[str, Floats],
    queries: Sequence[str],
    classes: pl.DataFrame,
    *,
    baseline: str | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compute means, and differences of runs, of E measures within classes of Q queries.

    values, classes: by run (Q, E); columns query (normalised), and a text for each kind of classes.
    Returns rows of CLASS_MEANS and of CLASS_COMPARISONS, whose p_holm is corrected for all its rows.
    """
    names = [str(one) for one in measures]
    ends = np.array([(one.metric.low, one.metric.high) for one in measures], np.float64).T
    means, pairs = [forms.CLASS_MEANS.empty()], [forms.CLASS_COMPARISONS.empty()]
    ours = pl.DataFrame({"query": [normalise_query(query) for query in queries]})
    joined = ours.join(classes, on="query", how="left", maintain_order="left").fill_null(UNKNOWN)
    every = [(name, part) for name in joined.columns[1:] for part in joined[name].unique().sort()]
    for name, part in every:
        rows = np.flatnonzero((joined[name] == part).to_numpy())
        same: dict[str, object] = {"by": name, "class": part, "n_queries": len(rows)}
        for run, own in values.items():
            mean, low, high = mean_with_interval(own[rows], *ends)
            columns: dict[str, object] = {"measure": names, "mean": mean, "ci_low": low, "ci_high": high}
            means.append(rows_of(forms.CLASS_MEANS, columns, run=run, **same))
        for one, two in pairs_of_runs(values, baseline):
            columns = _differences(names, (values[two] - values[one])[rows])
            pairs.append(rows_of(forms.CLASS_COMPARISONS, columns, baseline=one, run=two, **same))
    return pl.concat(means), _with_holm(pairs)
