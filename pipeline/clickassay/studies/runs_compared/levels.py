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
    without = [sample_without(run, key, fold) for fold in folds]
    few = FEW_FOLDS if len(folds) < MIN_FOLDS else None
    found = [(sample, mean_intervals(sample, without))]
    for rated in sample.each_rating():
        parts = [rated, *(one.rated(rated.click_names[0]) for one in without)]
        own, *others = [one.narrowed(one.click_names, ()) for one in parts]
        found.append((own, mean_intervals(own, others)))
    cautions = tuple(
        caution or (few if place < len(one.click_names) and np.isfinite(own.low[place]) else None)
        for one, own in found
        for place, caution in enumerate(own.cautions)
    )
    names = tuple(name for one, _ in found for name in (*one.click_names, *one.editorial_names))
    means, low, high = (np.concatenate([getattr(own, of) for _, own in found]) for of in ("b", "low", "high"))
    return Levels(names, means, low, high, cautions)
