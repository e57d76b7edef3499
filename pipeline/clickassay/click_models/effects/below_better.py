"""Whether results get fewer clicks below a better one, over all queries of a market together (method 6.2).

One example says little: a user who keeps one list and comes back, or a list on which everything is clicked
less, looks the same. Over all queries such differences cancel. So the unit is the query, and it does not
matter how the sessions of a query depend on each other.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from clickassay.core.records import Floats, Integers
from clickassay.core.special import stdtr

ONE_SIDED_ALPHA = 0.025
"""One-sided: the largest chance that a market passes in which clicks do not depend on better results."""

ROUNDS = 200
TOLERANCE = 1e-10
"""Rounds of the fit of position effects, and the relative change at which it ends."""

RANK = 1e-10
"""Directions with a smaller eigenvalue, relative to the largest, are none: position effects have no scale."""


@dataclass(frozen=True)
class Cells:
    """Clicks on results by position and by whether a better result is above, of one market."""

    # query, result, position: (M,) codes from 0.
    query: Integers
    result: Integers
    position: Integers
    is_below: Floats  # (M,) 1.0 where a better result is above, else 0.0.
    # sessions, clicks: (M,) over all lists that show the result so.
    sessions: Floats
    clicks: Floats


def markets_with_effect(places: pl.DataFrame) -> list[int]:
    """Return the markets in which results get fewer clicks below a better one, at `ONE_SIDED_ALPHA`.

    places: rows (market, query, result, position, better_position, sessions, clicks) with integer codes: one
      for each place of a list; a result is of one query, a query of one market. Of results that are shown
      both alone and below; `better_position` is 0 alone.
    """
    markets = []
    for (market,), rows in places.group_by("market", maintain_order=True):
        if isinstance(market, int) and p_value(query_scores(_cells(rows))) <= ONE_SIDED_ALPHA:
            markets.append(market)
    return markets


def _cells(rows: pl.DataFrame) -> Cells:
    """Add up the places of one market that show a result alike."""
    result, position = (_renumbered(rows[name].to_numpy()) for name in ("result", "position"))
    width = 2 * (position.max(initial=0) + 1)
    cell = result * width + 2 * position + (rows["better_position"].to_numpy() > 0)
    shown, number = _numbered(cell)
    query = np.zeros(result.max(initial=-1) + 1, np.int64)
    query[result] = rows["query"].to_numpy()
    result, place = np.divmod(shown, width)
    sessions, clicks = (_sums(number, rows[name].to_numpy()) for name in ("sessions", "clicks"))
    is_below = (place % 2).astype(np.float64)
    return Cells(_renumbered(query[result]), result, place // 2, is_below, sessions, clicks)


def _numbered(codes: Integers) -> tuple[Integers, Integers]:
    """Return the codes that occur, in order, and the number of each row's code among them.

    Codes are below some times the number of rows: to mark them is faster than to sort them.
    """
    occurs = np.zeros(codes.max(initial=-1) + 1, np.bool_)
    occurs[codes] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[codes]


def _renumbered(codes: Integers) -> Integers:
    """Return codes without gaps."""
    return _numbered(codes)[1]


def query_scores(cells: Cells) -> Floats:
    """Return, for each query, clicks below a better result in excess of those expected without an effect.

    If clicks do not depend on what stands above, those on a result in a position are proportional to
    sessions x position effect x result effect. These effects are fitted (Poisson); then, for each query::

        score = sum (b - b_hat) (clicks - expected) / sqrt(sessions of the query)

    b_hat is the weighted projection of b = `is_below` on results and positions, so that an error of the
    fitted effects does not matter to first order. Without an effect the expectation is 0, however clicks vary
    between users and between lists, as long as the click level of a list does not depend on whether a better
    result stands above. The root makes sampling errors of queries alike: the largest do not decide alone.

    Returns (Q,) scores; below 0 where clicks are fewer below a better result.
    """
    expected = _expected(cells)
    n_positions = cells.position.max(initial=-1) + 1
    positions = _within_results(cells, expected, cells.position[:, None] == np.arange(n_positions))
    is_below = _within_results(cells, expected, cells.is_below[:, None])[:, 0]
    weight = 1 / np.sqrt(_sums(cells.query, cells.sessions)[cells.query])
    weighted = positions.T * (weight * expected)
    slopes = np.linalg.pinv(weighted @ positions, rcond=RANK, hermitian=True) @ (weighted @ is_below)
    terms = weight * (is_below - positions @ slopes) * (cells.clicks - expected)
    return _sums(cells.query, terms)


def _within_results(cells: Cells, weights: Floats, columns: Floats) -> Floats:
    """Return (M, K) columns minus their weighted mean over the cells of the same result."""
    totals = _sums(cells.result, weights)
    means = [_quotient(_sums(cells.result, weights * column), totals) for column in columns.T]
    return columns - np.array(means).T[cells.result]


def _expected(cells: Cells) -> Floats:
    """Return the (M,) expected clicks of the fit of positions and results, by turns."""
    clicks_of_results = _sums(cells.result, cells.clicks)
    clicks_at = _sums(cells.position, cells.clicks)
    effects = np.ones(len(clicks_at))
    expected = np.zeros(len(cells.clicks))
    for _ in range(ROUNDS):
        shown = cells.sessions * effects[cells.position]
        chances = _quotient(clicks_of_results, _sums(cells.result, shown))
        of_results = cells.sessions * chances[cells.result]
        expected = of_results * effects[cells.position]
        renewed = _quotient(clicks_at, _sums(cells.position, of_results))
        done = np.abs(renewed - effects) <= TOLERANCE * effects
        effects = renewed
        if done.all():
            break
    return expected


def _sums(codes: Integers, values: Floats | Integers) -> Floats:
    """Return the sum of the values that each code has."""
    return np.asarray(np.bincount(codes, values), dtype=np.float64)


def _quotient(above: Floats, below: Floats) -> Floats:
    quotient: Floats = np.divide(above, below, out=np.zeros(len(above)), where=below > 0)
    return quotient


def p_value(scores: Floats) -> float:
    """Return the one-sided p-value of scores whose mean is 0 or more, 0..1; 1 where they do not vary.

    Student's t with Satterthwaite's degrees, as in method 7.1: few queries may make up most of the spread.
    """
    size = len(scores)
    deviations = scores - scores.mean() if size else scores
    squares = float((deviations**2).sum())
    if size < 2 or squares <= 0:
        return 1.0
    degrees = 2 / max(float((deviations**4).sum()) / squares**2 - 1 / size, 2 / (size - 1))
    error = np.sqrt(size / (size - 1) * squares)
    return float(stdtr(degrees, scores.sum() / error))
