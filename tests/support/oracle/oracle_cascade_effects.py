"""Cascade effects in plain Python: every place, exposure and pair in turn."""

import math
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy import stats

from support.oracle.oracle_metrics import Configuration

MAX_QUERIES = 20
DIGITS = 12
MIN_SESSIONS = 20


@dataclass
class Exposure:
    """The configurations that show a result in one way."""

    members: list[tuple[int, str]] = field(default_factory=list)  # (sessions, configuration id)
    clicks: int = 0

    @property
    def sessions(self) -> int:
        """Sessions of all of them."""
        return sum(sessions for sessions, _ in self.members)

    @property
    def largest(self) -> str:
        """The id of the one with most sessions, the smallest of several."""
        return min(self.members, key=lambda member: (-member[0], member[1]))[1]

    def rate(self) -> float:
        """Return the estimate of the CTR, which is never 0."""
        return (self.clicks + 0.5) / (self.sessions + 1)

    def variance(self) -> float:
        """Return the variance of its logarithm."""
        return 1 / (self.clicks + 0.5) - 1 / (self.sessions + 1)


@dataclass
class Result:
    """One URL of a query: exposures by position, and by position, better URL and the position of that."""

    grade: int
    alone: dict[int, Exposure] = field(default_factory=lambda: defaultdict(Exposure))
    below: dict[tuple[int, str, int], Exposure] = field(default_factory=lambda: defaultdict(Exposure))
    better_grades: dict[str, int] = field(default_factory=dict)


def cascade_effects(judged: list[Configuration]) -> dict[int, dict[str, Any]]:
    """Return the rows of `cascade_effects` of one market, depth and judge by rank."""
    return clearest_pairs(judged) if p_value(judged) <= 0.025 else {}


def p_value(judged: list[Configuration]) -> float:
    """Return the p-value of clicks that are not fewer below better results: dummies, and t over queries."""
    cells: dict[tuple[tuple[str, str], int, bool], list[int]] = defaultdict(lambda: [0, 0])
    for name, result in results_of(judged).items():
        if result.alone and result.below:
            shown = [(place, False, one) for place, one in result.alone.items()]
            shown += [(key[0], True, one) for key, one in result.below.items()]
            for place, is_below, one in shown:
                cells[name, place, is_below][0] += one.sessions
                cells[name, place, is_below][1] += one.clicks
    expected = expected_clicks(cells)
    names, places = ({key[part]: None for key in cells} for part in (0, 1))
    sessions: dict[str, int] = defaultdict(int)
    for (name, _, _), (own, _) in cells.items():
        sessions[name[0]] += own
    weights = [1 / math.sqrt(sessions[key[0][0]]) for key in cells]
    design = np.array(
        [[key[0] == name for name in names] + [key[1] == one for one in places] for key in cells]
    )
    is_below = np.array([float(key[2]) for key in cells])
    scores = dict.fromkeys(sessions, 0.0)
    if cells:
        root = np.sqrt([expected[key] * weight for key, weight in zip(cells, weights, strict=True)])
        fit = np.linalg.lstsq(design * root[:, None], is_below * root, rcond=1e-10)[0]
        for key, weight, rest in zip(cells, weights, is_below - design @ fit, strict=True):
            scores[key[0][0]] += weight * rest * (cells[key][1] - expected[key])
    return t_test(list(scores.values()))


def expected_clicks(cells: dict[Any, list[int]]) -> dict[Any, float]:
    """Return the fit clicks = sessions x result x position, by turns."""
    place_effect = {key[1]: 1.0 for key in cells}
    result_effect: dict[Any, float] = {}
    for _ in range(200):
        above: dict[Any, float] = defaultdict(float)
        below: dict[Any, float] = defaultdict(float)
        for (name, place, _), (sessions, clicks) in cells.items():
            above[name] += clicks
            below[name] += sessions * place_effect[place]
        result_effect = {name: above[name] / below[name] if below[name] else 0.0 for name in above}
        used = dict(place_effect)
        above, below = defaultdict(float), defaultdict(float)
        for (name, place, _), (sessions, clicks) in cells.items():
            above[place] += clicks
            below[place] += sessions * result_effect[name]
        place_effect = {place: above[place] / below[place] if below[place] else 0.0 for place in above}
        if all(abs(place_effect[place] - used[place]) <= 1e-10 * used[place] for place in used):
            break
    return {key: own[0] * result_effect[key[0]] * used[key[1]] for key, own in cells.items()}


def t_test(scores: list[float]) -> float:
    """Return the one-sided p-value of a mean of 0, with Satterthwaite's degrees."""
    size = len(scores)
    if size < 2:
        return 1.0
    mean = sum(scores) / size
    squares = sum((score - mean) ** 2 for score in scores)
    if squares <= 0:
        return 1.0
    fourths = sum((score - mean) ** 4 for score in scores)
    degrees = 2 / max(fourths / squares**2 - 1 / size, 2 / (size - 1))
    return float(stats.t.cdf(mean * size / math.sqrt(size / (size - 1) * squares), degrees))


def clearest_pairs(judged: list[Configuration]) -> dict[int, dict[str, Any]]:
    """Return the pairs that differ most, one of a query, by rank."""
    averages = average_ctrs(judged)
    best: dict[str, dict[str, Any]] = {}
    found = [
        ({"query": query, "url": url, **row}, *numbers)
        for (query, url), result in results_of(judged).items()
        for row, *numbers in pairs_of(result, averages)
    ]
    quantile = NormalDist().inv_cdf(1 - 0.025 / max(1, len(found)))
    for row, excess, error in found:
        row["min_excess_ctr_ratio"] = math.exp(excess - quantile * error)
        query = row["query"]
        if row["min_excess_ctr_ratio"] > 1 and (query not in best or before(row) < before(best[query])):
            best[query] = row
    ranked = sorted(
        best.values(), key=lambda row: (-round(row["min_excess_ctr_ratio"], DIGITS), row["query"])
    )
    return dict(enumerate(ranked[:MAX_QUERIES], start=1))


def before(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return what puts the pairs of a query in order."""
    names = ("url", "position_alone", "position_below", "better_position", "better_url")
    return (-round(row["min_excess_ctr_ratio"], DIGITS), *(row[name] for name in names))


def average_ctrs(judged: list[Configuration]) -> dict[int, float]:
    """Return clicks in each position / sessions."""
    sessions = sum(configuration.sessions for configuration in judged)
    depth = len(judged[0].results) if judged else 0
    return {
        place: sum(place in clicked for one in judged for clicked in one.clicked) / sessions
        for place in range(1, depth + 1)
    }


def results_of(judged: list[Configuration]) -> dict[tuple[str, str], Result]:
    """Sort every first place of every result into its exposure."""
    found: dict[tuple[str, str], Result] = {}
    for configuration in judged:
        for place, url in enumerate(configuration.results, start=1):
            if url in configuration.results[: place - 1]:
                continue
            grade, above = configuration.grades[place - 1], configuration.grades[: place - 1]
            result = found.setdefault((configuration.query, url), Result(grade))
            if max(above, default=grade) <= grade:
                exposure = result.alone[place]
            else:
                better = above.index(max(above))
                better_url = configuration.results[better]
                result.better_grades[better_url] = above[better]
                exposure = result.below[place, better_url, better + 1]
            exposure.members.append((configuration.sessions, configuration.name))
            exposure.clicks += sum(place in clicked for clicked in configuration.clicked)
    return found


def pairs_of(result: Result, averages: dict[int, float]) -> list[tuple[dict[str, Any], float, float]]:
    """Compare each exposure alone that has a click with each exposure below in a position that has one.

    A exposure of too few sessions is compared with none.
    """
    rows = []
    for position, alone in result.alone.items():
        for (position_below, better_url, better_position), below in result.below.items():
            too_few = min(alone.sessions, below.sessions) < MIN_SESSIONS
            if too_few or not alone.clicks or not averages[position_below]:
                continue
            fall = math.log(alone.rate() / below.rate())
            excess = fall - math.log(averages[position] / averages[position_below])
            error = math.sqrt(alone.variance() + below.variance())
            row = {
                "grade": result.grade,
                "better_url": better_url,
                "better_grade": result.better_grades[better_url],
                "better_position": better_position,
            }
            places = (("alone", position, alone), ("below", position_below, below))
            for side, place, exposure in places:
                row[f"position_{side}"] = place
                row[f"sessions_{side}"] = exposure.sessions
                row[f"ctr_{side}"] = exposure.clicks / exposure.sessions
                row[f"average_ctr_{side}"] = averages[place]
                row[f"configuration_{side}"] = exposure.largest
            rows.append((row, excess, error))
    return rows
