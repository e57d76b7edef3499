"""Runs in the order of their means, with a letter for each group that the tests do not tell apart."""

from collections.abc import Sequence

import polars as pl

from clickassay.correlation.uncertainty.intervals import ALPHA
from clickassay.findings.ranking import groups, letters
from clickassay.metrics.definition import Measure
from clickassay.studies.evaluation.forms import LEADERBOARD, in_form

FEWEST = 3
"""Runs that a leaderboard needs: of two, the comparison says all."""

MOST = 30
"""Of so many runs letters show every pair; for more the number of groups could grow without bound."""


def leaderboard(measures: Sequence[Measure], means: pl.DataFrame, comparisons: pl.DataFrame) -> pl.DataFrame:
    """Order runs by each measure, the best mean first; two that share a letter do not differ significantly.

    Two that do not differ share one, if there are at most `MOST` runs; of more, if they also differ from none
    between them.

    measures: the measures.
    means, comparisons: Tables of the evaluation; `comparisons` of every two runs.

    Returns rows of LEADERBOARD; none with fewer than `FEWEST` runs.
    """
    if means["run"].n_unique() < FEWEST:
        return LEADERBOARD.empty()
    return pl.concat([_of_measure(one, means, comparisons) for one in measures])


def _of_measure(measure: Measure, means: pl.DataFrame, comparisons: pl.DataFrame) -> pl.DataFrame:
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
    return in_form(LEADERBOARD, frame)


def _ranges(runs: Sequence[str], different: Sequence[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return the largest ranges of neighbouring runs of which no two differ."""
    place = {run: at for at, run in enumerate(runs)}
    pairs = [sorted((place[one], place[two])) for one, two in different]
    ends = [min((two for one, two in pairs if one >= at), default=len(runs)) for at in range(len(runs))]
    return [tuple(runs[at:end]) for at, end in enumerate(ends) if at == 0 or end > ends[at - 1]]
