"""Runs in the order of their means, in groups of runs that the tests do not tell apart from the best."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from clickassay.correlation.uncertainty.multiplicity import ALPHA
from clickassay.metrics.definition import Measure
from clickassay.studies.evaluation.forms import LEADERBOARD, in_form

FEWEST = 3
"""Runs that a leaderboard needs: of two, the comparison says all."""


def leaderboard(measures: Sequence[Measure], means: pl.DataFrame, comparisons: pl.DataFrame) -> pl.DataFrame:
    """Order runs by each measure, the best first, and group them.

    A group is led by the best run that no group has yet, and has all others of these that it does not differ
    from significantly (p_holm of `comparisons`). Where two runs of a group differ from each other, or a run
    does not differ from some of the group above, `comparisons` says so.

    Parameters
    ----------
    measures
        The measures.
    means, comparisons
        Tables of the evaluation; `comparisons` of every two runs.

    Returns
    -------
    Rows of LEADERBOARD; none with fewer than `FEWEST` runs.
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
    frame = own.with_columns(
        place=pl.int_range(1, pl.len() + 1),
        below_best=(pl.col("mean") - pl.col("mean").first()).abs(),
        p_best=pl.Series(best, dtype=pl.Float64),
        group=pl.Series(_groups(runs, p_holm), dtype=pl.Int64),
    )
    return in_form(LEADERBOARD, frame)


def _groups(runs: Sequence[str], p_holm: dict[frozenset[str], float | None]) -> list[int]:
    """Return the number of the group of each run; the runs are in the order of their means."""
    group = np.zeros(len(runs), np.int64)
    while not group.all():
        leader = int(np.flatnonzero(group == 0)[0])
        number = int(group.max()) + 1
        for place in np.flatnonzero(group == 0).tolist():
            p = p_holm.get(frozenset((runs[leader], runs[place])))
            if p is None or p >= ALPHA:
                group[place] = number
    return group.tolist()
