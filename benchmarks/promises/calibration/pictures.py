"""Pictures of the simulations, as small SVG files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl

COLOURS = ("#1f6fb2", "#5aa2dc", "#d9631e", "#eb8f53", "#5b6571")
BAND, RULE = "#dde2e7", "#5b6571"
NOMINAL, LOWEST, HIGHEST = 95, 93, 97


def draw_coverage(rows: pl.DataFrame, statistics: Sequence[str], file: Path) -> None:
    """Draw the coverage of each statistic by size, with 1.96 Monte-Carlo errors; the band is 93-97%."""
    base = alt.Chart().encode(
        x=alt.X("queries:O", title="queries", axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("world:N", sort=None),
        color=_colour(rows),
    )
    marks = base.mark_point(filled=True, size=35, opacity=1).encode(y=_percent("coverage:Q", 76))
    errors = base.mark_rule().encode(y=_percent("low:Q", 76), y2="high:Q")
    data = alt.InlineData(_as_percent(rows))
    layers = alt.layer(*_band(76), errors, marks, data=data).properties(width=210, height=150)
    facet = alt.Facet("statistic:N", sort=list(statistics), title=None)
    _save(layers.facet(facet, columns=3), file)


def draw_methods(rows: pl.DataFrame, statistics: Sequence[str], file: Path) -> None:
    """Draw the coverage of each method, one dot for each kind of world of 500 and 5000 queries."""
    data = alt.InlineData(_as_percent(rows.filter(pl.col("queries") > 50)))
    methods = list(dict.fromkeys(rows["method"]))
    x = alt.X("method:N", sort=methods, title=None, axis=alt.Axis(labelAngle=-30))
    offset = alt.XOffset("world:N", sort=None)
    marks = alt.Chart().mark_point(filled=True, size=30, opacity=1).encode(
        x=x, xOffset=offset, y=_percent("coverage:Q", 80),
        color=_colour(rows), shape=alt.Shape("queries:O", title="queries"),
    )  # fmt: skip
    layers = alt.layer(*_band(80), marks, data=data).properties(width=190, height=150)
    _save(layers.facet(alt.Facet("statistic:N", sort=list(statistics), title=None), columns=4), file)


def draw_rankers(runs: pl.DataFrame, file: Path) -> None:
    """Draw how runs of Algorithm 3 spread around the closed form, and the curve of their stated error."""
    step = 0.01
    edges = np.arange(-0.12, 0.12 + step / 2, step)
    bars, curve = [], []
    for (configurations, queries), part in runs.group_by(["configurations", "queries"], maintain_order=True):
        name = f"{queries} queries, {configurations} configurations"
        gaps = (part["monte_carlo"] - part["exact"]).to_numpy()
        shares = np.histogram(gaps, edges)[0] / len(gaps)
        bars += [{"sample": name, "from": float(low), "to": float(low + step), "share": float(share)}
                 for low, share in zip(edges[:-1], shares, strict=True) if share]  # fmt: skip
        error = float(part["error"].to_numpy().mean())
        curve += [{"sample": name, "gap": float(gap), "share": float(_normal(gap, error) * step)}
                  for gap in np.linspace(edges[0], edges[-1], 61)]  # fmt: skip
    y = alt.Y("share:Q", title="share of runs")
    histogram = alt.Chart().mark_rect(color="#5aa2dc").encode(
        x=alt.X("from:Q", title="run of 1000 iterations less closed form"), x2="to:Q", y=y, y2=alt.datum(0)
    )  # fmt: skip
    line = alt.Chart().mark_line(color="#d9631e").encode(x="gap:Q", y=y)
    layers = alt.layer(histogram, line, data=alt.InlineData([*bars, *curve])).properties(
        width=190, height=120
    )
    names = list(dict.fromkeys(str(bar["sample"]) for bar in bars))
    _save(layers.facet(alt.Facet("sample:N", sort=names, title=None), columns=3), file)


def _normal(gap: float, error: float) -> float:
    return float(np.exp(-0.5 * (gap / error) ** 2) / (error * np.sqrt(2 * np.pi)))


def _as_percent(rows: pl.DataFrame) -> list[dict[str, Any]]:
    reach = 1.96 * pl.col("coverage_se")
    shown = rows.drop_nulls("coverage").with_columns(world=_world())
    return shown.select(
        "statistic", "queries", "world", *(["method"] if "method" in rows.columns else []),
        (100 * pl.col("coverage")).round(2).alias("coverage"),
        (100 * (pl.col("coverage") - reach)).round(2).alias("low"),
        (100 * (pl.col("coverage") + reach).clip(upper_bound=1)).round(2).alias("high"),
    ).to_dicts()  # fmt: skip


def _world() -> pl.Expr:
    return pl.format("{}, {}", "weights", "configurations")


def _colour(rows: pl.DataFrame) -> alt.Color:
    worlds = list(dict.fromkeys(rows.select(_world()).to_series()))
    return alt.Color("world:N", sort=worlds, title="weights, configurations a query",
                     scale=alt.Scale(domain=worlds, range=list(COLOURS[: len(worlds)])))  # fmt: skip


def _percent(field: str | int, lowest: float) -> alt.Y | alt.YDatum:
    """Return the axis of coverage from `lowest` to 100%; all layers must state the same one."""
    scale = alt.Scale(domain=[lowest, 100], zero=False, nice=False, clamp=True)
    if isinstance(field, str):
        return alt.Y(field, title="coverage, %", scale=scale)
    return alt.YDatum(field, title="coverage, %", scale=scale)


def _band(lowest: float) -> tuple[alt.Chart, alt.Chart]:
    """Return the band 93-97% and the line at 95%."""
    band = alt.Chart().mark_rect(color=BAND, opacity=0.7)
    line = alt.Chart().mark_rule(color=RULE, strokeDash=[3, 3])
    return (
        band.encode(y=_percent(LOWEST, lowest), y2=alt.datum(HIGHEST)),
        line.encode(y=_percent(NOMINAL, lowest)),
    )


def _save(chart: alt.FacetChart, file: Path) -> None:
    drawn = chart.configure(background="white").configure_legend(labelLimit=260, titleLimit=260)
    drawn.save(str(file))
