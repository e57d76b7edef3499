"""The draws of Algorithm 3 as a plane: differences of two rankers in a metric and in clicks."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from clickassay.core.records import Floats
from clickassay.core.text import count, number, percent
from clickassay.metrics.clicks import HEADLINE_CLICK
from clickassay.report.cells import Row, Share
from clickassay.report.charts.marks import plane
from clickassay.report.findings import Ranking
from clickassay.report.model import Figure, Run, Table

CELLS = 30
"""Cells along each side of a plane."""

NAME = "table6_draws"


@dataclass(frozen=True)
class Plane:
    """Draws of one editorial metric (across) and the headline click metric (upwards), counted in cells.

    Attributes
    ----------
    metric
        The editorial metric.
    points
        (iterations, 2) differences.
    edges
        (CELLS + 1,) edges of the cells, across and upwards; both are symmetric around 0.
    draws
        (CELLS, CELLS) draws in each cell.
    """

    metric: str
    points: Floats
    edges: tuple[Floats, Floats]
    draws: Floats

    def cells(self) -> Iterator[tuple[int, int, int]]:
        """Yield column, row and draws of the cells that are not empty."""
        for x, y in np.argwhere(self.draws > 0):
            yield int(x), int(y), int(self.draws[x, y])


def planes(run: Run, ranking: Ranking | None) -> tuple[Plane, ...]:
    """Return the draws of the best editorial metric of the headline sample and of the last one."""
    draws = run.own_rows("draws")
    if ranking is None or not ranking.values or HEADLINE_CLICK not in draws.columns:
        return ()
    metrics = [name for name in dict.fromkeys((ranking.best, *ranking.others[-1:])) if name in draws.columns]
    pairs = {name: draws.select(name, HEADLINE_CLICK).drop_nulls().to_numpy() for name in metrics}
    return tuple(
        _counted(name, points)
        for name, points in pairs.items()
        if len(points) and np.ptp(points, axis=0).all()
    )


def _counted(name: str, points: Floats) -> Plane:
    ends = np.abs(points).max(axis=0)
    across, up = (np.linspace(-end, end, CELLS + 1) for end in ends)
    draws = np.histogram2d(points[:, 0], points[:, 1], bins=[across, up])[0]
    return Plane(name, points, (across, up), draws)


def draws_figures(found: tuple[Plane, ...]) -> tuple[Figure, ...]:
    """Draw the planes."""
    return tuple(_figure(place, one) for place, one in enumerate(found))


def _figure(place: int, found: Plane) -> Figure:
    across, up = found.edges
    values = [
        {
            "left": float(across[x]), "right": float(across[x + 1]),
            "low": float(up[y]), "high": float(up[y + 1]),
            "draws": draws, "count": count(draws), "across": _ends(across, x), "up": _ends(up, y),
        }
        for x, y, draws in found.cells()
    ]  # fmt: skip
    heads = (f"Difference in {found.metric}", f"Difference in {HEADLINE_CLICK}")
    alike = percent(float((found.points.prod(axis=1) > 0).mean()))
    total = count(len(found.points))
    alt = (
        f"Plane of {total} draws of two rankers: difference in {found.metric} across, in {HEADLINE_CLICK} "
        f"upwards; both prefer the same ranker in {alike} of the draws."
    )
    drawing = plane(
        values,
        domains=((across[0], across[-1]), (up[0], up[-1])),
        heads=heads,
        titles={"count": "Draws", "across": heads[0], "up": heads[1]},
    )
    title = f"{total} draws: {found.metric} and {HEADLINE_CLICK}, {alike} with the same sign"
    return Figure(f"draws-{place}", title, alt, drawing, NAME)


def _ends(edges: Floats, place: int) -> str:
    """Return a cell's ends with as many decimals as its width needs."""
    decimals = max(0, 2 - int(np.floor(np.log10(edges[1] - edges[0]))))
    low, high = (float(edges[place]), float(edges[place + 1]))
    return f"{number(low, decimals)} to {number(high, decimals)}"


def draws_table(run: Run, found: tuple[Plane, ...]) -> Table:
    """Return how often which ranker is ahead in what, with the draws themselves for the CSV file."""
    rows = tuple(row for one in found for row in _quarters(one))
    return Table(
        NAME,
        f"Draws of two rankers by quarter of the pictures{run.at(*run.own)}",
        "The first ranker has",
        ("Draws", "Share"),
        rows,
        notes=("The CSV file has every draw, in every metric.",) if rows else (),
        data=run.own_rows("draws"),
        for_papers=False,
        group_head="Picture",
    )


def _quarters(found: Plane) -> Iterator[Row]:
    ahead = found.points > 0
    for more, clicks in product((True, False), repeat=2):
        draws = int(((ahead[:, 0] == more) & (ahead[:, 1] == clicks)).sum())
        sides = zip((found.metric, HEADLINE_CLICK), (more, clicks), strict=True)
        words = ", ".join(f"{'more' if side else 'no more'} {metric}" for metric, side in sides)
        yield Row(f"{found.metric} and {HEADLINE_CLICK}", words, (draws, Share(draws / len(found.points))))
