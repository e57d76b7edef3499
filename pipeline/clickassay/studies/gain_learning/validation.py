"""What learning a map is worth: intervals of its values, and its gain on queries it was not learned from."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from clickassay.core.errors import LearningError
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.records import Floats
from clickassay.studies.gain_learning.agreement import AIMS, Observed
from clickassay.studies.gain_learning.gain_map import GradeMap, Positions, learn

WIDE = 0.5
"""An interval of R(g) wider than this tells nothing."""


@dataclass(frozen=True)
class Interval:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Study:
    """A learned map, and how far it is to be trusted.

    Attributes
    ----------
    map
        The map.
    chances, utilities
        R(0..g_max) and phi(1..K) with intervals, by leaving out one part of the queries at a time.
    gamma
        The same of gamma, where phi(r) = gamma^(r - 1); else None.
    fitted, fixed
        Agreement of the learned and of the fixed map on all queries: the first is flattered.
    held_out, held_out_fixed
        The same on parts of the queries that were not learned from, on average.
    gain
        Their difference.
    configurations
        (L,) configurations that show each grade.
    warnings
        What is not to be relied on.
    """

    map: GradeMap
    chances: tuple[Interval, ...]
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
class Wish:
    """What is to be learned.

    Attributes
    ----------
    click
        The click metric to agree with.
    aim
        A name in `AIMS`.
    positions
        Whether phi or its gamma is learned too; R(0) is then 0.
    parts, seed
        Parts of the queries that are left out in turn, 2 or more, and how queries are dealt to them.
    """

    click: str
    aim: str
    positions: Positions = "fixed"
    parts: int = 20
    seed: int = 0


def study(observed: Observed, fixed: GradeMap, wish: Wish, progress: Progress = silent) -> Study:
    """Learn a map on all queries, and once more without each part of them.

    Parameters
    ----------
    observed
        Its clicks are those of the wish.
    fixed
        The map that the learned one is held against, and begins from.

    Raises
    ------
    LearningError
        If there are fewer queries than two a part, or nothing varies.
    """
    aim, parts = wish.aim, wish.parts
    rows, agreement = AIMS[aim](observed)
    _check(rows, parts, aim)
    progress(Event("learning"))
    whole = learn(rows.grades, agreement, fixed, positions=wish.positions)
    if np.isnan(whole.rho):
        raise LearningError(f"learn: neither clicks nor grades may be the same everywhere (aim {aim})")
    maps, gains = [], []
    for number, (rest, held_out) in enumerate(_split(rows, parts, wish.seed)):
        progress(Event("learning without a part", number / parts))
        kept, own = AIMS[aim](rest)
        found = learn(kept.grades, own, whole.map, positions=wish.positions, afresh=False).map
        maps.append(_numbers(found))
        gains.append([_agreement(held_out, aim, map_) for map_ in (found, fixed)])
    return _told(whole.map, fixed, rows, aim, np.array(maps), np.array(gains))


def _check(rows: Observed, parts: int, aim: str) -> None:
    queries = len(np.unique(rows.queries))
    if queries < 2 * parts:
        what = "queries with two configurations" if aim == "rankers" else "queries"
        raise LearningError(
            f"learn: {queries} {what} are too few for {parts} parts; give --parts, or a larger run"
        )


def _split(rows: Observed, parts: int, seed: int) -> Iterator[tuple[Observed, Observed]]:
    """Yield (the others, one part) for parts of nearly the same number of queries, drawn."""
    queries, index = np.unique(rows.queries, return_inverse=True)
    part = (np.random.default_rng(seed).permutation(len(queries)) % parts)[index]
    for number in range(parts):
        yield rows.some(part != number), rows.some(part == number)


def _agreement(observed: Observed, aim: str, found: GradeMap) -> float:
    rows, agreement = AIMS[aim](observed)
    return agreement.rho(found.values(rows.grades))[0]


def _told(found: GradeMap, fixed: GradeMap, rows: Observed, aim: str, maps: Floats, gains: Floats) -> Study:
    values = _numbers(found)
    errors = np.sqrt((len(maps) - 1) * np.mean((maps - maps.mean(axis=0)) ** 2, axis=0))
    reach = _quantile(len(maps)) * errors
    intervals = tuple(
        Interval(float(value), max(float(value - by), 0.0), float(value + by))
        for value, by in zip(values, reach, strict=True)
    )
    levels, gamma = len(found.chances), () if found.gamma is None else intervals[-1:]
    chances = tuple(Interval(one.value, one.low, min(one.high, 1.0)) for one in intervals[:levels])
    shown = tuple(int((rows.grades == grade).any(axis=1).sum()) for grade in range(levels))
    known = gains[~np.isnan(gains).any(axis=1)]
    if len(known) < 2:
        raise LearningError("learn: clicks do not vary within parts of the queries; give a smaller --parts")
    held_out, held_out_fixed = (float(mean) for mean in known.mean(axis=0))
    return Study(
        map=found,
        chances=chances,
        utilities=intervals[levels : levels + len(found.utilities)],
        gamma=Interval(gamma[0].value, gamma[0].low, min(gamma[0].high, 1.0)) if gamma else None,
        fitted=_agreement(rows, aim, found),
        fixed=_agreement(rows, aim, fixed),
        held_out=held_out,
        held_out_fixed=held_out_fixed,
        gain=_gain(known[:, 0] - known[:, 1]),
        configurations=shown,
        warnings=tuple(_warnings(chances, shown)),
    )


def _numbers(found: GradeMap) -> Floats:
    """Return all that was learned in one vector; gamma is last."""
    gamma = [] if found.gamma is None else [found.gamma]
    return np.concatenate([found.chances, found.utilities, gamma])


def _gain(differences: Floats) -> Interval:
    """Return the mean gain with an interval that allows for parts learning from nearly the same queries.

    The corrected resampled t (Nadeau and Bengio 2003): 1 / J + n_test / n_train in place of 1 / J.
    """
    mean, parts = float(differences.mean()), len(differences)
    shared = np.sqrt(1 / parts + 1 / (parts - 1))
    by = float(_quantile(parts) * differences.std(ddof=1) * shared)
    return Interval(mean, mean - by, mean + by)


def _quantile(parts: int) -> float:
    return float(stdtrit(parts - 1, 0.975))


def _warnings(chances: tuple[Interval, ...], shown: tuple[int, ...]) -> Iterator[str]:
    for grade, (one, configurations) in enumerate(zip(chances, shown, strict=True)):
        if not configurations:
            yield f"no configuration shows grade {grade}: R({grade}) is any number between its neighbours"
        elif one.high - one.low > WIDE:
            yield f"the clicks hardly tell R({grade}): its interval is {one.low:.2f} to {one.high:.2f}"
