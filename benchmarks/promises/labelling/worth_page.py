"""The pictures and the page of what active plans save."""

from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Any

import altair as alt
import polars as pl

from benchmarks.promises.labelling.comparisons import ESTIMATED, OF_THE_PAPER, SELECTED, UPDATED, Comparison

PAGE = Path(__file__).with_name("worth.md.template")
COLOURS = ("#d9631e", "#5aa2dc", "#1f6fb2", "#5b6571")

Row = dict[str, Any]


def draw_pictures(out: Path) -> None:
    """Draw what corresponds to Figures 1 to 3 of the paper: errors of ERR over the budget."""
    errors, costs = pl.read_csv(out / "errors.csv"), pl.read_csv(out / "costs.csv")
    common = pl.col("budget") <= pl.col("budget").filter(pl.col("variant") == "active").max().over("data")
    shown = errors.filter(common, pl.col("defensive_share") == 0, measure="ERR")
    estimation = _rows(shown, ESTIMATED, "error", "absolute error")
    _save(alt.hconcat(_histogram(costs), estimation), out / "estimation.svg")
    _save(_rows(shown, SELECTED, "selection_error", "selection error"), out / "selection.svg")
    _save(_rows(shown, UPDATED, "error", "absolute error"), out / "updates.svg")


def _histogram(costs: pl.DataFrame) -> alt.Chart:
    bars = costs.with_columns((pl.col("from") + 0.1).alias("to"))
    chart = alt.Chart(alt.InlineData(bars.to_dicts()), title="simulated: costs").encode(
        x=alt.X("from:Q", title="cost of a query", scale=alt.Scale(domain=[0, 5], clamp=True)), x2="to:Q",
        y=alt.Y("queries:Q", title="queries"), y2=alt.datum(0),
    )  # fmt: skip
    return chart.mark_rect(color="#a9b3bd").properties(width=200, height=150)


def _rows(
    errors: pl.DataFrame, comparisons: Sequence[Comparison], column: str, title: str
) -> alt.VConcatChart:
    """Return a row of curves for each kind of data, each with a scale of its own."""
    rows = []
    for data in dict.fromkeys(errors["data"]):
        points = errors.filter(data=data)
        names = [each.name for each in comparisons]
        curves = [_curves(points.filter(comparison=name), column, title, f"{data}: {name}") for name in names]
        rows.append(alt.hconcat(*curves))
    return alt.vconcat(*rows)


def _curves(points: pl.DataFrame, column: str, title: str, name: str) -> alt.LayerChart:
    """Return the curve of each variant, with one standard error up and down."""
    values = points.select(
        "variant", "budget", pl.col(column).alias("value"),
        (pl.col(column) - pl.col(f"{column}_se")).alias("low"),
        (pl.col(column) + pl.col(f"{column}_se")).alias("high"),
    ).with_columns(pl.col("value", "low", "high").round(6))  # fmt: skip
    scale = alt.Scale(domain=list(OF_THE_PAPER), range=list(COLOURS))
    base = alt.Chart().encode(
        x=alt.X("budget:Q", title="budget, average queries"),
        color=alt.Color("variant:N", title=None, scale=scale, sort=list(OF_THE_PAPER)),
    )
    y = alt.Y("value:Q", title=title)
    layers = (
        base.mark_line(strokeWidth=1.5).encode(y=y),
        base.mark_point(filled=True, size=20, opacity=1).encode(y=y),
        base.mark_rule().encode(y=alt.Y("low:Q", title=title), y2="high:Q"),
    )
    data = alt.InlineData(values.to_dicts())
    return alt.layer(*layers, data=data, title=name).properties(width=200, height=150)


def _save(chart: alt.HConcatChart | alt.VConcatChart, file: Path) -> None:
    drawn = chart.configure(background="white").configure_title(fontSize=11, fontWeight="normal")
    drawn.configure_legend(labelLimit=200).save(str(file))


def write_page(out: Path) -> None:
    """Write README.md of the tables in `out`."""
    errors, savings = pl.read_csv(out / "errors.csv"), pl.read_csv(out / "saved.csv")
    texts = {
        "saved": _saved_table(savings, "ERR"),
        "saved_dcg": _saved_table(savings, "DCG"),
        "errors": _errors_table(errors),
    }
    page = Template(PAGE.read_text(encoding="utf-8")).substitute(texts)
    (out / "README.md").write_text(page.rstrip("\n") + "\n", encoding="utf-8")


def _saved_table(savings: pl.DataFrame, measure: str) -> str:
    """Return what each plan saves, one row for each comparison of each kind of data."""
    rows = savings.filter(measure=measure)
    plans = list(rows.select("variant", "defensive_share").unique(maintain_order=True).iter_rows())
    names = [f"{variant}, defensive share {share:g}" if share else variant for variant, share in plans]
    lines = [["data", "comparison", *names, "paper, active"], ["---", "---", *(["--:"] * (len(plans) + 1))]]
    for (data, comparison), part in rows.group_by("data", "comparison", maintain_order=True):
        found = {(row["variant"], row["defensive_share"]): _saving(row) for row in part.iter_rows(named=True)}
        lines.append([data, comparison, *(found[plan] for plan in plans), part["paper"][0]])
    return _markdown(lines)


def _saving(row: Row) -> str:
    """Write a saving; where no budget that was tried comes to the same error, on which side it lies."""
    if row["saved"] is not None:
        return f"{round(100 * row['saved'])}%"
    if row["plan_error"] == row["passive_error"]:
        return "-"
    return "more than tried" if row["plan_error"] < row["passive_error"] else "less than tried"


def _errors_table(errors: pl.DataFrame) -> str:
    """Return errors of active and passive at the largest common budget, by ERR, with standard errors."""
    rows = errors.filter(measure="ERR", defensive_share=0.0)
    lines = [
        ["data", "comparison", "truth", "budget", "active", "passive", "wrong, active", "wrong, passive"],
        ["---", "---", *(["--:"] * 6)],
    ]
    for (data, comparison), part in rows.group_by("data", "comparison", maintain_order=True):
        most = part.filter(variant="active")["budget"].max()
        found = {row["variant"]: row for row in part.filter(budget=most).iter_rows(named=True)}
        active, passive = found["active"], found["passive"]
        lines.append(
            [data, comparison, f"{active['truth']:.4f}", f"{most:g}", _off(active), _off(passive)]
            + ([_wrong(active), _wrong(passive)] if " or " in comparison else ["", ""])
        )
    return _markdown(lines)


def _off(row: Row) -> str:
    return f"{row['error']:.5f} ± {row['error_se']:.5f}"


def _wrong(row: Row) -> str:
    return f"{100 * row['selection_error']:.1f} ± {100 * row['selection_error_se']:.1f}%"


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
