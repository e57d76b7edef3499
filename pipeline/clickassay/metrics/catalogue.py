"""Every offline metric that a name can ask a run for, and their values (method 6)."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickassay.core.errors import JudgmentError, SettingsError
from clickassay.core.records import Floats
from clickassay.core.settings import Settings
from clickassay.metrics.definition import Measure, Metric
from clickassay.metrics.editorial import EDITORIAL, PLAIN, Grades
from clickassay.metrics.names import parse, without_aliases
from clickassay.metrics.ranked import RANKED

CLICK_MODELS = "click_models"
"""Name of the array in `Metric.needs` that has the fitted models."""

Expectation = Callable[[NDArray[np.integer]], Floats]
"""(N, k) grades -> (N,) the MeanRR that a model expects."""

_NAMES = {
    "PBM": "position-based model",
    "CM": "cascade model",
    "DCM": "dependent click model",
    "SDBN": "simplified dynamic Bayesian network",
    "DBN": "dynamic Bayesian network",
    "UBM": "user browsing model",
    "CCM": "click chain model",
}


def _expected(grades: NDArray[np.integer], fitted: Mapping[str, Expectation], *, model: str) -> Floats:
    if model not in fitted:
        raise SettingsError(
            f"metric {model} needs a fitted click model, and none was fitted: build the pattern table with "
            "--folds 2 or more (16 by default)"
        )
    return fitted[model](grades)


MODEL_METRICS = tuple(
    Metric(
        name, f"MeanRR that the {words} expects", 0, 1, "ours, after Chapelle et al. 2009, section 7",
        partial(_expected, model=name), ("grades", CLICK_MODELS),
    )
    for name, words in _NAMES.items()
)  # fmt: skip
"""One for each click model that separates examination from attraction."""


METRICS = EDITORIAL + PLAIN + RANKED + MODEL_METRICS
"""Every offline metric that a name can ask for."""


BASELINES = ("MeanGrade", "MeanGrade@1", "P@1")
"""Plain metrics that any other must beat: the first ignores the order, the others use the first result."""


def report_measures(settings: Settings) -> tuple[Measure, ...]:
    """Return EDITORIAL, AP and RR with one more grade relevant, BASELINES, and what settings name.

    Raises SettingsError if a name is no metric, or the metric does not fit the scale or a depth of the run.
    """
    lower = settings.relevant_grade - 1
    variants = [Measure(metric, (("rel", lower),)) for metric in EDITORIAL if metric.name in ("AP", "RR")]
    plain = [parse(name, METRICS) for name in BASELINES]
    own = (*(Measure(metric) for metric in EDITORIAL), *(variants if lower >= 1 else ()), *plain)
    named = (*settings.metric, *(() if settings.current is None else (settings.current,)))
    requested = [named_measure(name) for name in named]
    for measure in requested:
        if measure.depth is not None and measure.depth > min(settings.depth):
            raise SettingsError(
                f"metric {measure}: the run has depth {min(settings.depth)}; add --depth {measure.depth}, "
                f"or write {replace(measure, depth=None)}, which is cut at every depth of the run"
            )
        _check_fits(measure, measure.depth or max(settings.depth), settings)
    return tuple(dict.fromkeys((*own, *requested)))


def named_measure(name: str) -> Measure:
    """Return the measure of a name or alias in any letter case; SettingsError if it names no metric."""
    return parse(without_aliases(name.strip(), METRICS), METRICS)


def editorial_values(
    grades: Grades,
    pool: Grades | None,
    settings: Settings,
    measures: tuple[Measure, ...] | None = None,
    click_models: Mapping[str, Expectation] = MappingProxyType({}),
) -> tuple[tuple[str, ...], Floats]:
    """Compute offline metrics of N configurations.

    grades: (N, k) grades 0..g_max, best position first.
    pool: (N, g_max + 1) number of judged results of the query by grade. Not used (may be None) when
      settings.pool is "shown": then the pool is the results shown. A list that shows a result again, which no
      log leaves, can bring NDCG and AP above 1.
    measures: what to compute, see `clickassay.metrics.names.parse`; None = `report_measures`.
    click_models: by name: what a fitted click model expects of (N, k) grades; for the measures of that name.

    Returns the names of the E measures, and their (N, E) values.

    Raises JudgmentError if a grade is off the scale, or the pool does not fit the grades and the scale;
    SettingsError if a measure is to be cut deeper than k, or its relevant grade is above the scale.
    """
    measures = report_measures(settings) if measures is None else measures
    (number, deepest), top = grades.shape, settings.max_grade
    if grades.size and not 0 <= grades.min() <= grades.max() <= top:
        raise JudgmentError(f"grades {grades.min()}..{grades.max()} are off the scale 0..{top}")
    if settings.pool == "judged" and (pool is None or pool.shape != (len(grades), top + 1)):
        shape = "none" if pool is None else str(pool.shape)
        raise JudgmentError(f"counts of judged results: found {shape}, expected {(len(grades), top + 1)}")
    columns = []
    for measure in measures:
        depth = deepest if measure.depth is None else measure.depth
        if depth > deepest:
            raise SettingsError(f"metric {measure}: the results are only {deepest} deep")
        _check_fits(measure, depth, settings)
        cut = grades[:, :depth]
        arrays = {  # of lists that end at their cut, every result with a grade
            "grades": cut,
            "pool": pool if settings.pool == "judged" and pool is not None else shown_pool(cut, top),
            CLICK_MODELS: click_models,
            "judged": np.ones((number, depth), dtype=bool),
            "pooled": np.zeros((number, depth), dtype=bool),
            "returned": np.full(number, depth),
            "size": depth,
            "deepest": depth,
        }
        columns.append(measure.compute(arrays, settings))
    values = np.array(columns, dtype=np.float64).reshape(len(measures), len(grades))
    return tuple(str(measure) for measure in measures), np.ascontiguousarray(values.T)


def _check_fits(measure: Measure, depth: int, settings: Settings) -> None:
    """Refuse parameters that the scale does not have, or that end above the depth of computation."""
    given, top = dict[str, Any](measure.arguments), settings.max_grade
    if given.get("rel", 1) > top:
        raise SettingsError(f"metric {measure}: no grade of the scale 0..{top} is relevant")
    if "gains" in given and len(given["gains"]) != top + 1:
        raise SettingsError(
            f"metric {measure}: gains has {len(given['gains'])} values, but the scale 0..{top} has "
            f"{top + 1} grades; give one gain for each grade"
        )
    if "utilities" in given and len(given["utilities"]) < depth:
        raise SettingsError(
            f"metric {measure}: utilities ends at position {len(given['utilities'])}, but the metric is "
            f"computed to position {depth}; give more utilities, or cut the metric with "
            f"@{len(given['utilities'])}"
        )


def shown_pool(grades: Grades, max_grade: int) -> NDArray[np.int64]:
    """Count the results shown by grade: (N, max_grade + 1)."""
    return np.stack([(grades == grade).sum(axis=1) for grade in range(max_grade + 1)], axis=1)
