"""The scatter of configurations: a click metric against an editorial metric."""

from collections.abc import Callable
from typing import Any, TypeVar

import altair as alt
import polars as pl

T = TypeVar("T")

MOST_POINTS = 3000
"""Configurations drawn as points, with most sessions first, over a heat map of all."""

SELECTION = "chosen"
"""Name of the selection of a click on the chart; it holds configuration_id."""

_BINS = 40
_SIDE = 440
_INK, _CHOSEN = "#2b5f8a", "#b3261e"


def scatter(
    drawn: pl.DataFrame, every: pl.DataFrame, *, click_metric: str, editorial_metric: str, ring: str = ""
) -> Any:  # noqa: ANN401 - a layer of charts, whose type differs between releases
    """Draw configurations.

    drawn: those drawn as points: configuration_id, query (as it may be shown), n_sessions, click, editorial.
    every: all of them: if there are more than are drawn, a heat map of their sessions lies below the points.
    click_metric, editorial_metric: names of the metrics, for the axes.
    ring: id of the configuration to be ringed; '' for none.
    """
    scale = alt.Scale(zero=True, nice=True)
    x = alt.X("editorial:Q", title=editorial_metric, scale=scale)
    y = alt.Y("click:Q", title=click_metric, scale=scale)
    crowded = every.height > drawn.height
    sizes = [8, 120] if crowded else [14, 420]
    layers = [
        _points(drawn, sizes, click_metric=click_metric, editorial_metric=editorial_metric).encode(x, y)
    ]
    if crowded:
        layers.insert(0, _map(every))
    ringed = every.filter(configuration_id=ring).select("click", "editorial")  # its raw query stays here
    if ringed.height:
        layers.append(
            alt.Chart(ringed).mark_point(size=220, color=_CHOSEN, strokeWidth=2.5, fillOpacity=0).encode(x, y)
        )
    chart = alt.layer(*layers).properties(width=_SIDE, height=_SIDE, background="white")
    return chart.configure_axis(grid=True, gridColor="#e6e6e6", labelColor="#333", titleColor="#111")


def _points(drawn: pl.DataFrame, sizes: list[int], *, click_metric: str, editorial_metric: str) -> Any:  # noqa: ANN401
    chosen = alt.selection_point(name=SELECTION, fields=["configuration_id"], on="click", empty=False)
    points = alt.Chart(drawn).mark_circle(stroke="white", strokeWidth=0.4)
    return points.encode(
        size=alt.Size("n_sessions:Q", title="sessions", scale=alt.Scale(range=sizes)),
        color=alt.condition(chosen, alt.value(_CHOSEN), alt.value(_INK)),
        opacity=alt.condition(chosen, alt.value(1.0), alt.value(0.45)),
        tooltip=[
            alt.Tooltip("query:N", title="query"),
            alt.Tooltip("n_sessions:Q", title="sessions"),
            alt.Tooltip("click:Q", title=click_metric, format=".4f"),
            alt.Tooltip("editorial:Q", title=editorial_metric, format=".4f"),
        ],
    ).add_params(chosen)


def _map(every: pl.DataFrame) -> Any:  # noqa: ANN401
    cells = bin_sessions(every)
    shade = alt.Color(
        "sessions:Q", scale=alt.Scale(type="log", scheme="greys"), legend=alt.Legend(title="sessions in all")
    )
    return (
        alt.Chart(cells)
        .mark_rect(opacity=0.6)
        .encode(x="editorial:Q", x2="editorial_end:Q", y="click:Q", y2="click_end:Q", color=shade)
    )


def bin_sessions(every: pl.DataFrame) -> pl.DataFrame:
    """Add up the sessions in bins of equal size: editorial, editorial_end, click, click_end, sessions."""
    steps = {name: _step(every[name]) for name in ("editorial", "click")}
    low = [
        ((pl.col(name) / step).floor().clip(0, _BINS - 1) * step).alias(name) for name, step in steps.items()
    ]
    cells = every.select(*low, "n_sessions").group_by("editorial", "click").agg(sessions=pl.sum("n_sessions"))
    ends = [(pl.col(name) + step).alias(f"{name}_end") for name, step in steps.items()]
    return cells.with_columns(ends).sort("editorial", "click")


def _step(values: pl.Series) -> float:
    return float(values.cast(pl.Float64).to_numpy().max(initial=0.0)) / _BINS or 1.0


def as_svg(chart: Any) -> bytes:  # noqa: ANN401
    """Return the chart as SVG; nothing is fetched for it."""
    import vl_convert  # noqa: PLC0415 - slow to load, and only a download needs it

    return bytes(vl_convert.vegalite_to_svg(_spec(chart)), "utf-8")


def as_png(chart: Any) -> bytes:  # noqa: ANN401
    """Return the chart as PNG, two pixels for one."""
    import vl_convert  # noqa: PLC0415

    return bytes(vl_convert.vegalite_to_png(_spec(chart), scale=2))


def _spec(chart: Any) -> dict[str, Any]:  # noqa: ANN401
    with alt.data_transformers.enable("default", max_rows=None):
        spec: dict[str, Any] = chart.to_dict()
    return spec


def without_menu(make: Callable[[], T]) -> T:
    """Make a widget of a chart without Vega's menu, which offers to send the chart to a web editor."""
    with alt.renderers.set_embed_options(actions=False, renderer="svg"):
        return make()


def clicked(selections: dict[str, Any]) -> str | None:
    """Return the id of the configuration that was clicked on the chart, from the widget's selections."""
    chosen = selections.get(SELECTION) or {}
    ids = chosen.get("configuration_id") or []
    return str(ids[0]) if ids else None
