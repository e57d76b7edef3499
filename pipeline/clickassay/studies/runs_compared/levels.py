"""Means of metrics over the sessions of one run, with intervals that take account of queries and users."""

from dataclasses import dataclass

import numpy as np

from clickassay.core.records import Floats, SampleKey
from clickassay.findings.arrays import folds_of, graded_sample, sample_without
from clickassay.findings.run import Run
from clickassay.studies.runs_compared.noise import mean_intervals
from clickassay.studies.runs_compared.numbers import FEW_FOLDS, MIN_FOLDS


@dataclass(frozen=True)
class Levels:
    """Means over sessions: of click metrics, then of editorial ones; arrays (P,), NaN where unknown."""

    names: tuple[str, ...]  # The P metrics.
    # means, low, high: Their means, and the ends of the 95 % intervals.
    means: Floats
    low: Floats
    high: Floats
    cautions: tuple[str | None, ...]  # Why an interval may be unreliable; None where there is no reason.


def mean_levels(run: Run, key: SampleKey) -> Levels:
    """Return the means of all metrics of one sample of a run.

    Queries are left out one at a time, and the folds of users too, if the run has several, as where two
    runs are compared.
    """
    sample = graded_sample(run, key).sample
    folds = folds_of(run) if len(folds_of(run)) > 1 else ()
    intervals = mean_intervals(sample, [sample_without(run, key, fold) for fold in folds])
    few = FEW_FOLDS if len(folds) < MIN_FOLDS else None
    of_clicks = len(sample.click_names)
    cautions = tuple(
        caution or (few if place < of_clicks and np.isfinite(intervals.low[place]) else None)
        for place, caution in enumerate(intervals.cautions)
    )
    names = (*sample.click_names, *sample.editorial_names)
    return Levels(names, intervals.b, intervals.low, intervals.high, cautions)
