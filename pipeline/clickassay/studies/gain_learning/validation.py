"""Cross-validation of a learned map: intervals of its values, and its gain on held-out queries."""

from dataclasses import dataclass

import numpy as np

from clickassay.core.errors import LearningError
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.records import Floats
from clickassay.core.special import stdtrit
from clickassay.studies.gain_learning.gain_map import (
    OBJECTIVES,
    GainMap,
    LearnedMap,
    Observations,
    Positions,
    learn,
    numbers,
)

NOT_TOLD = (
    "this log cannot identify the gains: on queries that they were not learned from, their agreement with "
    "clicks is {value:.3f} (95% CI {low:.3f} to {high:.3f}), not significantly above 0"
)
"""Why nothing is learned."""

MAX_WIDTH = 0.5
"""An interval of R(g) wider than this carries a warning: it covers half of all possible values."""


@dataclass(frozen=True)
class Interval:
    """A value with its 95% CI."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class LearnedValue:
    """A learned value with its 95% CI; None where no configuration shows it."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Study:
    """A learned map with its cross-validation."""

    map: GainMap  # The map.
    # probabilities, utilities: R(0..g_max) and phi(1..K) with intervals, by leaving out one fold of the
    # queries at a time; empty where there is a `reason`.
    probabilities: tuple[LearnedValue, ...]
    utilities: tuple[LearnedValue, ...]
    gamma: LearnedValue | None  # gamma with its interval, where phi(r) = gamma^(r - 1); else None.
    # fitted, fixed: Agreement of the learned and of the fixed map on all queries: the first is overestimated.
    fitted: float
    fixed: float
    # held_out, held_out_fixed: Agreement of both on held-out folds, on average.
    held_out: Interval
    held_out_fixed: float
    gain: Interval  # held_out - held_out_fixed.
    # Why the log does not tell what grades are worth; None if it does. No value is given then.
    reason: str | None
    configurations: tuple[int, ...]  # (L,) number of configurations that show each grade.
    warnings: tuple[str, ...]  # Sentences on values that are unreliable.


@dataclass(frozen=True)
class LearnOptions:
    """Options of learning."""

    click_metric: str  # The click metric that the map is to agree with.
    objective: str  # A name in `OBJECTIVES`.
    positions: Positions = "fixed"  # Whether phi or its gamma is learned too; R(0) is then 0.
    # cv_folds, seed: Number of cross-validation folds, 2 or more; seed of the assignment of queries to folds.
    cv_folds: int = 20
    seed: int = 0


def study(
    observed: Observations, fixed: GainMap, options: LearnOptions, progress: Progress = silent
) -> Study:
    """Learn a map on all queries, and again without each fold of them, and compare it with `fixed`.

    observed: its clicks are values of `options.click_metric`.
    Raises LearningError if there are fewer than two queries per fold, or grades or clicks do not vary.
    """
    objective, folds = options.objective, options.cv_folds
    rows, agreement = OBJECTIVES[objective](observed)
    queries, index = np.unique(rows.queries, return_inverse=True)
    if len(queries) < 2 * folds:
        what = "queries with two configurations" if objective == "rankers" else "queries"
        raise LearningError(
            f"learn: {len(queries)} {what} are too few for {folds} folds; give a smaller --cv-folds, or a "
            "larger run"
        )
    progress(Event("learning"))
    whole = learn(rows.grades, agreement, fixed, positions=options.positions)
    if np.isnan(whole.rho):
        raise LearningError(
            f"learn: neither clicks nor grades may be the same everywhere (objective {objective})"
        )
    maps, gains = [], []
    # folds of nearly the same number of queries, assigned at random
    fold = (np.random.default_rng(options.seed).permutation(len(queries)) % folds)[index]
    for number in range(folds):
        progress(Event("learning without one fold", number / folds))
        kept, own = OBJECTIVES[objective](rows.select(fold != number))
        held_out = rows.select(fold == number)
        # started afresh: the map of all queries knows those that are held out
        learned = learn(kept.grades, own, fixed, positions=options.positions).map
        maps.append(numbers(learned))
        gains.append([_agreement(held_out, objective, map_) for map_ in (learned, fixed)])
    return _summarise(whole, fixed, rows, objective, np.array(maps), np.array(gains))


def _agreement(observed: Observations, objective: str, gain_map: GainMap) -> float:
    rows, agreement = OBJECTIVES[objective](observed)
    return agreement.rho(gain_map.values(rows.grades))[0]


def _summarise(
    whole: LearnedMap, fixed: GainMap, rows: Observations, objective: str, maps: Floats, gains: Floats
) -> Study:
    learned, known = whole.map, gains[~np.isnan(gains).any(axis=1)]
    if len(known) < 2:
        raise LearningError("learn: clicks do not vary within folds; give a smaller --cv-folds")
    held_out, reason = _mean(known[:, 0]), None
    if held_out.low <= 0:
        reason = NOT_TOLD.format(value=held_out.value, low=held_out.low, high=held_out.high)
    levels = len(learned.probabilities)
    shown = tuple(int((rows.grades == grade).any(axis=1).sum()) for grade in range(levels))
    values = () if reason else _values(whole, maps, shown)
    warnings = []
    for grade, one in enumerate(values[:levels]):
        if one.low is None or one.high is None:
            warnings.append(
                f"no configuration shows grade {grade}: R({grade}) is any number between its neighbours"
            )
        elif one.high - one.low > MAX_WIDTH:
            span = f"{one.low:.2f} to {one.high:.2f}"
            warnings.append(f"R({grade}) is uncertain: its 95% CI is {span}")
    return Study(
        map=learned,
        probabilities=values[:levels],
        utilities=values[levels : levels + len(learned.utilities)],
        gamma=values[-1] if values and learned.gamma is not None else None,
        fitted=_agreement(rows, objective, learned),
        fixed=_agreement(rows, objective, fixed),
        held_out=held_out,
        held_out_fixed=float(known[:, 1].mean()),
        gain=_mean(known[:, 0] - known[:, 1]),
        reason=reason,
        configurations=shown,
        warnings=tuple(warnings),
    )


def _values(whole: LearnedMap, maps: Floats, shown: tuple[int, ...]) -> tuple[LearnedValue, ...]:
    """Return all values with intervals: by leaving out each fold, and by what the prior leaves open."""
    values, levels = numbers(whole.map), len(shown)
    squares = (len(maps) - 1) * np.mean((maps - maps.mean(axis=0)) ** 2, axis=0) + whole.prior_errors**2
    reach = float(stdtrit(len(maps) - 1, 0.975)) * np.sqrt(squares)
    most = np.full(len(values), np.inf)  # utilities have no upper end
    most[:levels] = 1.0
    if whole.map.gamma is not None:
        most[-1] = 1.0
    low, high = np.maximum(values - reach, 0.0), np.minimum(values + reach, most)
    known = [shown[place] > 0 if place < levels else True for place in range(len(values))]
    return tuple(
        LearnedValue(value, *(ends if seen else (None, None)))
        for value, ends, seen in zip(
            values.tolist(), zip(low.tolist(), high.tolist(), strict=True), known, strict=True
        )
    )


def _mean(differences: Floats) -> Interval:
    """Return the mean over folds with an interval that allows for the overlap of the queries learned from.

    The corrected resampled t (Nadeau and Bengio 2003): 1 / J + n_test / n_train in place of 1 / J.
    """
    mean, folds = float(differences.mean()), len(differences)
    shared = np.sqrt(1 / folds + 1 / (folds - 1))
    by = float(stdtrit(folds - 1, 0.975) * differences.std(ddof=1) * shared)
    return Interval(mean, mean - by, mean + by)
