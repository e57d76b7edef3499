"""Which click model a log supports, by rankings that were held out: sentences, a table and a picture."""

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from clickassay.core.text.words import listed, number, percent, plural, span, visible
from clickassay.correlation.held_out import CHOICE
from clickassay.findings.estimates import Estimate
from clickassay.report.charts.lines import Line, curves
from clickassay.report.charts.marks import common_domain
from clickassay.report.model import Figure
from clickassay.report.tables import Cell, Fields, ReportTable, Share, ShownColumn, shown_table

CANNOT_TELL = "This log cannot tell which click model it supports"
HOW = (
    "Some rankings of each query are held out repeatedly, and models are fitted to the others. Correlation, "
    "slope (1: as predicted) and pairs in order compare rankings of one query; intervals exclude one query "
    "at a time."
)


def held_out_answer(rows: pl.DataFrame) -> str:
    """Return which model a log supports, or why it cannot tell, without a full stop.

    rows: of `contracts.clicks.CLICK_HELD_OUT`, one market, depth and click metric; at least one.
    """
    first, best = rows.row(0, named=True), _best(rows)
    if best is None:
        return f"{CANNOT_TELL}: {visible(first['reason'].removeprefix('click models: '), limit=200)}"
    return (
        f"This log supports {best['model']}: it predicts {best['click_metric']} of unseen rankings with a "
        f"correlation of {number(best['correlation'], 2)} within queries ({_ends(best, 'correlation', 2)}), "
        f"where {number(best['attainable'], 2)} is attainable"
    )


def held_out_sentences(rows: pl.DataFrame) -> tuple[str, ...]:
    """Return how sure that is: other models, slope and order, the honest number of the choice, and noise."""
    first, best = rows.row(0, named=True), _best(rows)
    told = []
    if best is not None:
        others = rows.filter(~pl.col("is_best"), pl.col("model") != CHOICE).drop_nulls("correlation")
        as_good, worse = (others.filter(as_good=one)["model"].to_list() for one in (True, False))
        if as_good:
            told.append(f"Not significantly worse: {listed(as_good)}.")
        if worse:
            told.append(f"Significantly worse: {listed(worse)}.")
        told.append(
            f"Where {best['model']} predicts 1 more, {number(best['slope'], 2)} more is observed "
            f"({_ends(best, 'slope', 2)}); {percent(best['in_order'], 0)} of pairs of rankings are in the "
            "predicted order."
        )
        chosen = rows.filter(model=CHOICE).row(0, named=True)
        told.append(
            f"A model chosen by nine tenths of the queries has a correlation of "
            f"{number(chosen['correlation'], 2)} ({_ends(chosen, 'correlation', 2)}) on the last tenth."
        )
    if first["noise"] is not None:
        queries = plural(first["n_queries"], "query", "queries")
        told.append(
            f"{percent(min(first['noise'], 1), 0)} of the variance of {first['click_metric']} between "
            f"rankings of a query is noise of their sessions ({queries}, "
            f"{plural(first['n_configurations'], 'ranking')}, {plural(first['n_sessions'], 'session')})."
        )
    return tuple(told)


def _best(rows: pl.DataFrame) -> Mapping[str, Any] | None:
    return next(rows.filter("is_best").iter_rows(named=True), None)


def _ends(row: Fields, name: str, decimals: int) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is None or high is None:
        return span(low, high)
    return f"95% CI {number(low, decimals)} to {number(high, decimals)}"


def held_out_table(rows: pl.DataFrame, where: str = "") -> ReportTable:
    """Return the table of all models by one click metric, the best first; `where` ends its title."""

    def cell(name: str, of: Callable[..., Cell]) -> Callable[[Fields], Cell]:
        def made(row: Fields) -> Cell:
            if row[name] is None:
                return Estimate(None, reason="its predictions do not differ, or it was not compared")
            return of(row[name], row[f"{name}_low"], row[f"{name}_high"])

        return made

    shown = rows.filter(pl.col("model") != CHOICE).sort("correlation", descending=True, nulls_last=True)
    click = rows["click_metric"][0] if rows.height else "clicks"
    heads = {"Correlation": "correlation", "Slope": "slope", "Behind the best": "behind"}
    columns = [ShownColumn(head, cell(name, Estimate)) for head, name in heads.items()]
    columns.insert(2, ShownColumn("Pairs in order", cell("in_order", Share)))
    return shown_table(
        "click_held_out", f"Click models on unseen rankings ({click}){where}", shown.iter_rows(named=True),
        ShownColumn("Model", lambda row: row["model"]), columns, notes=(HOW,) if rows.height else (),
        data=rows,
    )  # fmt: skip


def held_out_figure(calibration: pl.DataFrame) -> tuple[Figure, ...]:
    """Draw what was observed against what the best model predicts; nothing where it was not compared.

    calibration: rows of `contracts.clicks.CLICK_CALIBRATION`, one market, depth and click metric.
    """
    if calibration.is_empty():
        return ()
    model, click = calibration.select("model", "click_metric").row(0)
    points = list(calibration.sort("tenth").select("predicted", "observed").iter_rows())
    domain = common_domain([], [value for point in points for value in point])
    lines = [Line(model, points), Line("as predicted", [(end, end) for end in domain], quiet=True)]
    heads = f"Predicted {click}, less the query's mean", "Observed, likewise"
    low, high = points[0], points[-1]
    alt = (
        f"Rankings not used for fitting, in tenths by the {click} that {model} predicts, relative to others "
        f"of their query. Lowest tenth: predicted {number(low[0])}, observed {number(low[1])}; highest: "
        f"{number(high[0])} and {number(high[1])}."
    )
    title = f"Predicted and observed {click} of unseen rankings"
    drawing = curves(lines, domains=(domain, domain), heads=heads, name_head="")
    return (Figure("predicted", title, alt, drawing, "click_calibration"),)
