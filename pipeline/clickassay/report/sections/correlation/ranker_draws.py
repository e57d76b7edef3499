"""The draws of Algorithm 3: differences of two rankers in a metric and in clicks, as 2D histograms."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from clickassay.core.records import Floats
from clickassay.core.text.words import count, number, percent
from clickassay.findings.ranking import Ranking
from clickassay.findings.run import Run
from clickassay.report.cells import Row, Share
from clickassay.report.charts.marks import histogram_2d
from clickassay.report.model import Figure, ReportTable, title_suffix

N_BINS = 30
"""Bins along each side of a histogram."""

NAME = "table6_draws"


@dataclass(frozen=True)
class DrawHistogram:
    """Draws of one editorial metric (across) and the headline click metric (upwards), counted in bins."""

    # metric, click: The editorial metric and the click metric.
    metric: str
    click: str
    points: Floats  # (iterations, 2) differences.
    # (N_BINS + 1,) edges of the bins, across and upwards; both are symmetric around 0.
    edges: tuple[Floats, Floats]
    draws: Floats  # (N_BINS, N_BINS) draws in each bin.

    def bins(self) -> Iterator[tuple[int, int, int]]:
        """Yield column, row and draws of the bins that are not empty."""
        for x, y in np.argwhere(self.draws > 0):
            yield int(x), int(y), int(self.draws[x, y])


def draw_histograms(run: Run, ranking: Ranking) -> tuple[DrawHistogram, ...]:
    """Return the draws of the best and the worst editorial metric of the headline sample."""
    draws = run.headline_rows("draws")
    if not ranking.values or run.click not in draws.columns:
        return ()
    metrics = [name for name in dict.fromkeys((ranking.best, *ranking.metrics[-1:])) if name in draws.columns]
    pairs = {name: draws.select(name, run.click).drop_nulls().to_numpy() for name in metrics}
    return tuple(
        _histogram(name, run.click, points)
        for name, points in pairs.items()
        if len(points) and np.ptp(points, axis=0).all()
    )


def _histogram(name: str, click: str, points: Floats) -> DrawHistogram:
    ends = np.abs(points).max(axis=0)
    across, up = (np.linspace(-end, end, N_BINS + 1) for end in ends)
    draws = np.histogram2d(points[:, 0], points[:, 1], bins=[across, up])[0]
    return DrawHistogram(name, click, points, (across, up), draws)


def draws_figures(histograms: tuple[DrawHistogram, ...]) -> tuple[Figure, ...]:
    """Draw the histograms."""
    return tuple(_figure(place, one) for place, one in enumerate(histograms))


def _figure(place: int, histogram: DrawHistogram) -> Figure:
    across, up = histogram.edges
    values = [
        {
            "left": float(across[x]), "right": float(across[x + 1]),
            "low": float(up[y]), "high": float(up[y + 1]),
            "draws": draws, "count": count(draws), "across": _ends(across, x), "up": _ends(up, y),
        }
        for x, y, draws in histogram.bins()
    ]  # fmt: skip
    heads = (f"Difference in {histogram.metric}", f"Difference in {histogram.click}")
    same_sign = percent(float((histogram.points.prod(axis=1) > 0).mean()))
    total = count(len(histogram.points))
    alt = (
        f"Histogram of {total} draws of two rankers: difference in {histogram.metric} across, in "
        f"{histogram.click} upwards; both prefer the same ranker in {same_sign} of the draws."
    )
    drawing = histogram_2d(
        values,
        domains=((across[0], across[-1]), (up[0], up[-1])),
        heads=heads,
        titles={"count": "Draws", "across": heads[0], "up": heads[1]},
    )
    title = f"{total} draws: {histogram.metric} and {histogram.click}, {same_sign} with the same sign"
    return Figure(f"draws-{place}", title, alt, drawing, NAME)


def _ends(edges: Floats, place: int) -> str:
    """Return a bin's ends with as many decimals as its width needs."""
    decimals = max(0, 2 - int(np.floor(np.log10(edges[1] - edges[0]))))
    low, high = (float(edges[place]), float(edges[place + 1]))
    return f"{number(low, decimals)} to {number(high, decimals)}"


def draws_table(run: Run, histograms: tuple[DrawHistogram, ...]) -> ReportTable:
    """Return the number of draws in each quadrant of the pictures, and all draws for the CSV file."""
    rows = tuple(row for one in histograms for row in _quadrants(one))
    return ReportTable(
        NAME,
        f"Draws of two rankers by quadrant of the pictures{title_suffix(run, *run.headline_samples)}",
        "First ranker against the second",
        ("Draws", "Share"),
        rows,
        notes=("The CSV file has every draw, for every metric.",) if rows else (),
        data=run.headline_rows("draws"),
        for_papers=False,
        group_head="Picture",
    )


def _quadrants(histogram: DrawHistogram) -> Iterator[Row]:
    ahead = histogram.points > 0
    for metric_higher, clicks_higher in product((True, False), repeat=2):
        draws = int(((ahead[:, 0] == metric_higher) & (ahead[:, 1] == clicks_higher)).sum())
        sides = zip((histogram.metric, histogram.click), (metric_higher, clicks_higher), strict=True)
        name = ", ".join(f"{metric} {'higher' if side else 'not higher'}" for metric, side in sides)
        yield Row(
            f"{histogram.metric} and {histogram.click}", name, (draws, Share(draws / len(histogram.points)))
        )
