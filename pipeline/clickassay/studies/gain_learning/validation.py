"""Cross-validation of a learned map: intervals of its values, and its gain on held-out queries."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clickassay.core.errors import LearningError
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.records import Floats
from clickassay.core.special import stdtrit
from clickassay.studies.gain_learning.agreement import OBJECTIVES, Observations
from clickassay.studies.gain_learning.gain_map import GradeMap, Positions, learn

MAX_WIDTH = 0.5
"""An interval of R(g) wider than this carries a warning: it covers half of all possible values."""


@dataclass(frozen=True)
class Interval:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Study:
    """A learned map with its cross-validation.

    Attributes
    ----------
    map
        The map.
    probabilities, utilities
        R(0..g_max) and phi(1..K) with intervals, by leaving out one fold of the queries at a time.
    gamma
        gamma with its interval, where phi(r) = gamma^(r - 1); else None.
    fitted, fixed
        Agreement of the learned and of the fixed map on all queries: the first is overestimated.
    held_out, held_out_fixed
        Agreement of both on held-out folds, on average.
    gain
        held_out - held_out_fixed.
    configurations
        (L,) number of configurations that show each grade.
    warnings
        Sentences on values that are unreliable.
    """

    map: GradeMap
    probabilities: tuple[Interval, ...]
    utilities: tuple[Interval, ...]
    gamma: Interval | None
    fitted: float
    fixed: float
    held_out: float
    held_out_fixed: float
    gain: Interval
    configurations: tuple[int, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class LearnOptions:
    """Options of learning.

    Attributes
    ----------
    click_metric
        The click metric that the map is to agree with.
    objective
        A name in `OBJECTIVES`.
    positions
        Whether phi or its gamma is learned too; R(0) is then 0.
    cv_folds, seed
        Number of cross-validation folds, 2 or more; seed of the assignment of queries to folds.
    """

    click_metric: str
    objective: str
    positions: Positions = "fixed"
    cv_folds: int = 20
    seed: int = 0


def study(
    observed: Observations, fixed: GradeMap, options: LearnOptions, progress: Progress = silent
) -> Study:
    """Learn a map on all queries, and again without each fold of them.

    Parameters
    ----------
    observed
        Its clicks are values of `options.click_metric`.
    fixed
        The map that the learned one is compared with, and that the search starts from.

    Raises
    ------
    LearningError
        If there are fewer than two queries per fold, or grades or clicks do not vary.
    """
    objective, folds = options.objective, options.cv_folds
    rows, agreement = OBJECTIVES[objective](observed)
    _check(rows, folds, objective)
    progress(Event("learning"))
    whole = learn(rows.grades, agreement, fixed, positions=options.positions)
    if np.isnan(whole.rho):
        raise LearningError(
            f"learn: neither clicks nor grades may be the same everywhere (objective {objective})"
        )
    maps, gains = [], []
    for number, (rest, held_out) in enumerate(_split(rows, folds, options.seed)):
        progress(Event("learning without one fold", number / folds))
        kept, own = OBJECTIVES[objective](rest)
        found = learn(kept.grades, own, whole.map, positions=options.positions, restart=False).map
        maps.append(_numbers(found))
        gains.append([_agreement(held_out, objective, map_) for map_ in (found, fixed)])
    return _summarise(whole.map, fixed, rows, objective, np.array(maps), np.array(gains))


def _check(rows: Observations, folds: int, objective: str) -> None:
    queries = len(np.unique(rows.queries))
    if queries < 2 * folds:
        what = "queries with two configurations" if objective == "rankers" else "queries"
        raise LearningError(
            f"learn: {queries} {what} are too few for {folds} folds; give a smaller --cv-folds, or a larger "
            "run"
        )


def _split(rows: Observations, folds: int, seed: int) -> Iterator[tuple[Observations, Observations]]:
    """Yield (other folds, one fold) for folds of nearly the same number of queries, assigned at random."""
    queries, index = np.unique(rows.queries, return_inverse=True)
    fold = (np.random.default_rng(seed).permutation(len(queries)) % folds)[index]
    for number in range(folds):
        yield rows.select(fold != number), rows.select(fold == number)


def _agreement(observed: Observations, objective: str, found: GradeMap) -> float:
    rows, agreement = OBJECTIVES[objective](observed)
    return agreement.rho(found.values(rows.grades))[0]


def _summarise(
    found: GradeMap, fixed: GradeMap, rows: Observations, objective: str, maps: Floats, gains: Floats
) -> Study:
    values = _numbers(found)
    errors = np.sqrt((len(maps) - 1) * np.mean((maps - maps.mean(axis=0)) ** 2, axis=0))
    reach = _quantile(len(maps)) * errors
    intervals = tuple(
        Interval(float(value), max(float(value - by), 0.0), float(value + by))
        for value, by in zip(values, reach, strict=True)
    )
    levels, gamma = len(found.probabilities), () if found.gamma is None else intervals[-1:]
    probabilities = tuple(Interval(one.value, one.low, min(one.high, 1.0)) for one in intervals[:levels])
    shown = tuple(int((rows.grades == grade).any(axis=1).sum()) for grade in range(levels))
    known = gains[~np.isnan(gains).any(axis=1)]
    if len(known) < 2:
        raise LearningError("learn: clicks do not vary within folds; give a smaller --cv-folds")
    held_out, held_out_fixed = (float(mean) for mean in known.mean(axis=0))
    return Study(
        map=found,
        probabilities=probabilities,
        utilities=intervals[levels : levels + len(found.utilities)],
        gamma=Interval(gamma[0].value, gamma[0].low, min(gamma[0].high, 1.0)) if gamma else None,
        fitted=_agreement(rows, objective, found),
        fixed=_agreement(rows, objective, fixed),
        held_out=held_out,
        held_out_fixed=held_out_fixed,
        gain=_gain(known[:, 0] - known[:, 1]),
        configurations=shown,
        warnings=tuple(_warnings(probabilities, shown)),
    )


def _numbers(found: GradeMap) -> Floats:
    """Return all that was learned in one vector; gamma is last."""
    gamma = [] if found.gamma is None else [found.gamma]
    return np.concatenate([found.probabilities, found.utilities, gamma])


def _gain(differences: Floats) -> Interval:
    """Return the mean gain with an interval that allows for the overlap of the queries learned from.

    The corrected resampled t (Nadeau and Bengio 2003): 1 / J + n_test / n_train in place of 1 / J.
    """
    mean, folds = float(differences.mean()), len(differences)
    shared = np.sqrt(1 / folds + 1 / (folds - 1))
    by = float(_quantile(folds) * differences.std(ddof=1) * shared)
    return Interval(mean, mean - by, mean + by)


def _quantile(folds: int) -> float:
    return float(stdtrit(folds - 1, 0.975))


def _warnings(probabilities: tuple[Interval, ...], shown: tuple[int, ...]) -> Iterator[str]:
    for grade, (one, configurations) in enumerate(zip(probabilities, shown, strict=True)):
        if not configurations:
            yield f"no configuration shows grade {grade}: R({grade}) is any number between its neighbours"
        elif one.high - one.low > MAX_WIDTH:
            yield f"R({grade}) is uncertain: its 95 % interval is {one.low:.2f} to {one.high:.2f}"
