"""What all queries share, taken out of what lists of a query differ in, in plain Python (method 8.1).

Rows are the judged lists of one depth and judge that stand beside another of their market and query. Beside
its metrics a row has `by day` {day: sessions}, in which the day may be None (not known), and by the fold of
users `by fold` {fold: sessions} and `by fold NAME` {fold: sum of a click metric}.
"""

import math
from collections import Counter, defaultdict
from datetime import date
from typing import Any

import numpy as np

from support.oracle.oracle_correlation import Rows, is_constant
from support.oracle.oracle_intervals import ROUNDING

Row = dict[str, Any]
Group = tuple[str, str]
"""A market and a query."""

FEWEST, MORE, MANY = 50, 80, 160
"""Lists without groups that a block has at least, and from which on folds are 16 and users are in errors."""

NO_EIGENVALUE = 1e-10


def grouped(rows: Rows) -> dict[Group, Rows]:
    """Return the lists of each market and query."""
    groups: dict[Group, Rows] = defaultdict(list)
    for row in rows:
        groups[row["market"], row["query"]].append(row)
    return groups


def free_lists(rows: Rows) -> int:
    """Return d, the number of lists less that of groups."""
    return len(rows) - len(grouped(rows))


def weight(row: Row) -> float:
    """Return n / (n + 4)."""
    return row["n_sessions"] / (row["n_sessions"] + 4)


def weighted_mean(values: list[float], weights: list[float]) -> float:
    return math.fsum(w * v for w, v in zip(weights, values, strict=True)) / math.fsum(weights)


def centred(values: list[float], weights: list[float]) -> list[float]:
    """Return the deviations from the weighted mean; 0 where all values are one."""
    if is_constant(values):
        return [0.0] * len(values)
    mean = weighted_mean(values, weights)
    return [value - mean for value in values]


def days_of(rows: Rows) -> Counter[date | None]:
    """Return the sessions of some lists by day."""
    found: Counter[date | None] = Counter()
    for row in rows:
        found.update(row["by day"])
    return found


def times_known(rows: Rows) -> bool:
    """Tell whether any session has a day."""
    return any(day is not None for day in days_of(rows))


def periods_of(rows: Rows) -> dict[date | None, int]:
    """Return the period of each day: about equal sessions each; those without a day are one more."""
    sessions = days_of(rows)
    known = sorted(day for day in sessions if day is not None)
    wanted = min(max(math.floor(1 + free_lists(rows) / 20), 4), 12, len(known))
    total, before = sum(sessions[day] for day in known), 0
    found: dict[date | None, int] = {}
    for day in known:
        found[day] = wanted * before // total
        before += sessions[day]
    return found | ({None: wanted} if None in sessions else {})


def shares(sessions: dict[Any, int], part_of: dict[Any, int]) -> dict[int, float]:
    """Return the share of the sessions of a list in each part; 0 everywhere without a session."""
    found = dict.fromkeys(sorted(set(part_of.values())), 0.0)
    whole = sum(sessions.values())
    for name, number in sessions.items():
        found[part_of[name]] += number / whole
    return found


class Block:
    """Lists from which the same shares of periods and folds are taken out."""

    def __init__(self, rows: Rows, columns: list[str]) -> None:
        self.free = free_lists(rows)
        self.periods = periods_of(rows)
        folds = {fold for row in rows for fold in row["by fold"]}
        self.folds = {fold: fold % (16 if self.free >= MORE else 8) for fold in folds}
        groups = list(grouped(rows).values())
        z = np.concatenate([self.deviations(own) for own in groups])
        weights = np.array([weight(row) for own in groups for row in own])
        values, vectors = np.linalg.eigh(z.T * weights @ z)
        kept = values > NO_EIGENVALUE * max(values, default=0.0)
        self.rank = int(kept.sum())
        self.inverse = vectors[:, kept] / values[kept] @ vectors[:, kept].T
        self.effects = {}
        for name in columns:
            off = [one for own in groups for one in centred([r[name] for r in own], [*map(weight, own)])]
            self.effects[name] = self.inverse @ (z.T @ (weights * np.array(off)))

    def parts(self) -> tuple[int, int]:
        """Return the number of periods and of folds that are taken out; one alone is none."""
        found = (len(set(part_of.values())) for part_of in (self.periods, self.folds))
        periods, folds = (number if number > 1 else 0 for number in found)
        return periods, folds

    def given(self, row: Row, without: int | None = None) -> list[float]:
        """Return the shares of a list by period and by fold, the first of each left out.

        `without`: a fold of users whose sessions do not count in the shares by fold.
        """
        by_fold = {fold: n for fold, n in row["by fold"].items() if without is None or fold % 16 != without}
        by_period, of_users = shares(row["by day"], self.periods), shares(by_fold, self.folds)
        return [*list(by_period.values())[1:], *list(of_users.values())[1:]]

    def deviations(self, own: Rows) -> Any:
        """Return the shares of the lists of a group around their means."""
        return around([self.given(row) for row in own], [weight(row) for row in own])


def around(given: list[list[float]], weights: list[float]) -> Any:
    """Return the columns of a table around their weighted means."""
    columns = [centred(list(column), weights) for column in zip(*given, strict=True)]
    off = np.array(columns).reshape(len(columns), len(given)).T
    return np.where(np.abs(off) <= ROUNDING, 0.0, off)


def with_residuals(rows: Rows, columns: list[str]) -> Rows:
    """Return the rows with their block, the residuals of columns, and h: what is taken out of their noise."""
    by_market: dict[str, Rows] = defaultdict(list)
    for row in rows:
        by_market[row["market"]].append(row)
    large = [own for own in by_market.values() if free_lists(own) >= FEWEST]
    small = [row for own in by_market.values() if free_lists(own) < FEWEST for row in own]
    if large and free_lists(small) < FEWEST:
        next_larger = min(large, key=free_lists)
        next_larger += small
        small = []
    found = []
    for own in [*large, small]:
        block = Block(own, columns) if free_lists(own) >= FEWEST else None
        highest = {name: max((abs(row[name]) for row in own), default=0.0) for name in columns}
        for group in grouped(own).values():
            found += residual_rows(group, columns, block, highest)
    return found


def residual_rows(own: Rows, columns: list[str], block: Block | None, highest: dict[str, float]) -> Rows:
    """Return the rows of a group with what is left of their columns."""
    weights = [weight(row) for row in own]
    off = {name: centred([row[name] for row in own], weights) for name in columns}
    leverage = [w / math.fsum(weights) for w in weights]
    if block is not None:
        z = block.deviations(own)
        for at, w in enumerate(weights):
            leverage[at] += w * float(z[at] @ block.inverse @ z[at])
        for name, effect in block.effects.items():
            taken = off[name] - z @ effect
            off[name] = [0.0 if abs(one) <= ROUNDING * highest[name] else float(one) for one in taken]
    return [
        row | {"block": block, "h": h, "left": {name: off[name][at] for name in columns}}
        for at, (row, h) in enumerate(zip(own, leverage, strict=True))
    ]


def left_without_fold(own: Rows, fold: int, clicks: list[str], editorial: list[str]) -> tuple[Rows, Any, Any]:
    """Return the lists of a group that are left without a fold of users, their weights and residuals.

    What periods and folds explain is held. Shares by period stay as they are.
    """
    kept = []
    for row in own:
        folds = [one for one in row["by fold"] if one % 16 == fold]
        n = row["n_sessions"] - sum(row["by fold"][one] for one in folds)
        if n:
            means = {
                name: (row[name] * row["n_sessions"] - sum(row[f"by fold {name}"][one] for one in folds)) / n
                for name in clicks
            }
            kept.append(row | means | {"n_sessions": n})
    weights, block = [weight(row) for row in kept], own[0]["block"]
    z = None if block is None else around([block.given(row, fold) for row in kept], weights)
    left = {}
    for name in (*clicks, *editorial):
        off = np.array(centred([row[name] for row in kept], weights)) if kept else np.zeros(0)
        left[name] = off if z is None or not kept else off - z @ block.effects[name]
    return kept, np.array(weights), left


def moments(rows: Rows) -> float | None:
    """Return (sum of L)^2 / sum of L^2 of the eigenvalues L > 0 of what shares by period vary within queries.

    Less what drawing sessions adds. So it is near 1 if all lists changed at one moment. Lists with one
    session tell nothing of that.
    """
    if not times_known(rows):
        return None
    periods = periods_of(rows)
    size = len(set(periods.values()))
    spread = np.zeros((size, size))
    for own in grouped([row for row in rows if sum(row["by day"].values()) > 1]).values():
        if len(own) == 1:
            continue
        weights, given = [weight(row) for row in own], [shares(row["by day"], periods) for row in own]
        z = around([list(one.values()) for one in given], weights)
        for row, w, off, share in zip(own, weights, z, given, strict=True):
            p = np.array(list(share.values()))
            drawn = (np.diag(p) - np.outer(p, p)) / (sum(row["by day"].values()) - 1)
            spread += w * np.outer(off, off) - w * (1 - w / math.fsum(weights)) * drawn
    values = np.linalg.eigvalsh(spread)
    kept = values[values > NO_EIGENVALUE * size]
    return float(kept.sum() ** 2 / (kept**2).sum()) if len(kept) else None


def side_by_side(rows: Rows, editorial: str) -> float | None:
    """Return the part of what a metric varies within queries that it varies within their periods."""
    if not times_known(rows):
        return None
    periods = periods_of(rows)
    within, whole = 0.0, 0.0
    for own in grouped(rows).values():
        values, given = [row[editorial] for row in own], [shares(row["by day"], periods) for row in own]
        whole += math.fsum(
            weight(row) * off**2 for row, off in zip(own, centred(values, [*map(weight, own)]), strict=True)
        )
        for period in given[0]:
            parts = [weight(row) * z[period] for row, z in zip(own, given, strict=True)]
            if any(parts):
                mean = weighted_mean(values, parts)
                within += math.fsum(w * (v - mean) ** 2 for w, v in zip(parts, values, strict=True))
    return within / whole if whole else None
