"""Tables and pictures of an evaluation of runs against judgments, before they are written."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from clickassay.core.text.words import MINUS, count, listed, number, plural, visible
from clickassay.correlation.uncertainty.intervals import ALPHA
from clickassay.findings.estimates import Estimate
from clickassay.report.charts.lines import MOST_LINES, Line, curves, difference_bars
from clickassay.report.charts.marks import IntervalHeads, common_domain, intervals
from clickassay.report.charts.vega import apart
from clickassay.report.model import Figure
from clickassay.report.tables import Cell, ReportTable, Row, Spelled

PLACES = 4
"""Decimals of a shown number, as trec_eval has them; files for programs have all digits."""

MOST_BARS = 120
"""Queries of the picture of differences."""

_SINGLE = "intervals and t tests need two queries"
_ALIKE = "all differences are equal"
_INTERVAL, _TESTS, _QUERIES = "95 % interval", "p-value", "Queries"
WORTH = "Worth: so many queries judged by people alone would have as narrow an interval."
LETTERS = "Runs that share a letter are not significantly different (Holm, over all comparisons)."
_NAMED = 4
LARGER = "Better means a larger value and worse a smaller one, also for measures of which less is better."


def evaluation_tables(frames: Mapping[str, pl.DataFrame], *, per_query: bool) -> tuple[ReportTable, ...]:
    """Return all tables except the curves, with all their rows.

    `frames` are the tables of `studies.evaluation.forms.EVALUATION_TABLES` by name.
    """
    tables = [runs_table(frames["runs"]), means_table(frames["means"])]
    if _has(frames, "leaderboard"):
        board = frames["leaderboard"]
        tables += [replace(leaderboard_table(board), notes=(highest(board), LETTERS))]
    tables += [comparisons_table(frames["comparisons"])] if frames["comparisons"].height else []
    tables += corrected_tables(frames)
    tables += class_tables(frames)
    tables += [per_query_table(frames["per_query"])] if per_query else []
    return tuple(replace(table, most=max(1, len(table.rows))) for table in tables)


def runs_table(frame: pl.DataFrame) -> ReportTable:
    """Return the counts of queries and results of each run."""
    heads = ("Judged", "Averaged", "Missing", "Not judged", "Results", "With a grade")
    rows = tuple(Row("", run, tuple(counts)) for run, *counts in frame.iter_rows())
    return ReportTable(
        "runs", "Queries and results of the runs", "Run", heads, rows,
        spanners=((_QUERIES, 0, 4),), data=frame, explained=False,
    )  # fmt: skip


def means_table(frame: pl.DataFrame) -> ReportTable:
    """Return the mean of each measure and run, with its bounds where they were computed."""
    bounded = frame["low"].count() > 0
    rows = tuple(_means_row(row, bounded=bounded) for row in frame.iter_rows(named=True))
    heads = ("Mean", "low", "high", _QUERIES, *(("least", "largest") if bounded else ()))
    spanners = [(_INTERVAL, 1, 2), *([("Bounds", 4, 2)] if bounded else [])]
    return ReportTable(
        "means", "Means over queries", "Measure", heads, rows,
        spanners=tuple(spanners), data=frame, group_head="Run", explained=False,
    )  # fmt: skip


def _means_row(row: Mapping[str, Any], *, bounded: bool) -> Row:
    ends = [_fixed(row[end], _SINGLE) for end in ("ci_low", "ci_high")]
    cases = [_fixed(row[end], "no bound") for end in ("low", "high")] if bounded else []
    return Row(row["run"], row["measure"], (_fixed(row["mean"], "no query"), *ends, row["n_queries"], *cases))


def comparisons_table(frame: pl.DataFrame) -> ReportTable:
    """Return the differences of every two runs, with tests."""
    heads = ("Difference", "low", "high", "t test", "randomised", "Holm", "better", "worse", "equal")
    return ReportTable(
        "comparisons", "Differences between runs", "Measure", heads,
        tuple(map(_comparison_row, frame.iter_rows(named=True))),
        spanners=((_INTERVAL, 1, 2), (_TESTS, 3, 3), (_QUERIES, 6, 3)), notes=(LARGER,), data=frame,
        group_head="Runs", explained=False,
    )  # fmt: skip


def _comparison_row(row: Mapping[str, Any]) -> Row:
    ends = [_fixed(row[end], _SINGLE) for end in ("ci_low", "ci_high")]
    reason = _SINGLE if row["ci_low"] is None else _ALIKE
    tests = [_p_value(row[name], reason) for name in ("p_value", "p_randomised", "p_holm")]
    counts = [row[name] for name in ("better", "worse", "equal")]
    cells = (_fixed(row["difference"], "no query"), *ends, *tests, *counts)
    return Row(f"{row['run']} {MINUS} {row['baseline']}", row["measure"], cells)


def _has(frames: Mapping[str, pl.DataFrame], name: str) -> bool:
    return name in frames and frames[name].height > 0


def leaderboard_table(frame: pl.DataFrame) -> ReportTable:
    """Return the runs in the order of their means, with the letters of their groups."""
    heads = ("Letters", "Mean", "low", "high", "behind the first", "p")
    rows = tuple(
        Row(
            row["measure"],
            f"{row['place']}. {row['run']}",
            (
                row["group"],
                *(_fixed(row[end], _SINGLE) for end in ("mean", "ci_low", "ci_high", "below_best")),
                "" if row["place"] == 1 else _p_value(row["p_best"], _ALIKE),
            ),
        )
        for row in frame.iter_rows(named=True)
    )
    return ReportTable(
        "leaderboard", "Leaderboard", "Run", heads, rows, spanners=((_INTERVAL, 2, 2),), notes=(LETTERS,),
        data=frame, group_head="Measure", explained=False,
    )  # fmt: skip


def highest(frame: pl.DataFrame) -> str:
    """Say which run has the best mean of the first measure, and which do not differ from it significantly."""
    first = frame.filter(measure=frame["measure"][0])
    top = first.row(0, named=True)
    least = first["mean"].drop_nulls()
    lowest = least.len() > 1 and least[0] < least[-1]
    rest = first[1:]
    beaten = pl.col("p_best").fill_null(1.0) < ALPHA
    alike = [visible(run) for run in rest.filter(~beaten)["run"]]
    if not alike:
        others = "all other runs are significantly different"
    elif len(alike) == rest.height:
        others = "no run is significantly different from it"
    else:
        named = listed(alike) if len(alike) <= _NAMED else f"{len(alike)} other runs"
        others = f"{named} {'is' if len(alike) == 1 else 'are'} not significantly different from it"
    mean = "lowest" if lowest else "highest"
    return f"By {top['measure']}, {visible(top['run'])} has the {mean} mean; {others}."


def class_tables(frames: Mapping[str, pl.DataFrame]) -> list[ReportTable]:
    """Return means and differences within classes of queries; none without classes."""
    if not _has(frames, "class_means"):
        return []
    means, pairs = frames["class_means"], frames["class_comparisons"]
    of_means = tuple(
        Row(
            f"{row['by']}: {row['class']}",
            f"{row['run']}, {row['measure']}",
            (*(_fixed(row[end], _SINGLE) for end in ("mean", "ci_low", "ci_high")), row["n_queries"]),
        )
        for row in means.iter_rows(named=True)
    )
    of_pairs = tuple(
        Row(
            f"{row['by']}: {row['class']}",
            f"{row['run']} {MINUS} {row['baseline']}, {row['measure']}",
            (
                *(_fixed(row[end], _SINGLE) for end in ("difference", "ci_low", "ci_high")),
                *(_p_value(row[name], _ALIKE) for name in ("p_value", "p_holm")),
                row["n_queries"],
            ),
        )
        for row in pairs.iter_rows(named=True)
    )
    shown = [
        ReportTable(
            "class_means", "Means by class of queries", "Run and measure", ("Mean", "low", "high", _QUERIES),
            of_means, spanners=((_INTERVAL, 1, 2),), data=means, group_head="Class", explained=False,
        ),
        ReportTable(
            "class_comparisons", "Differences by class of queries", "Runs and measure",
            ("Difference", "low", "high", "t test", "Holm", _QUERIES), of_pairs,
            spanners=((_INTERVAL, 1, 2), (_TESTS, 3, 2)), data=pairs, group_head="Class", explained=False,
        ),
    ]  # fmt: skip
    return [table for table in shown if table.rows]


def corrected_tables(frames: Mapping[str, pl.DataFrame]) -> list[ReportTable]:
    """Return means and differences of a judge of more queries, corrected by people; none without a judge."""
    if not _has(frames, "corrected_means"):
        return []
    means, pairs = frames["corrected_means"], frames["corrected_comparisons"]
    spanners = ((_INTERVAL, 1, 2), ("By the judge alone", 3, 3), ("By people alone", 6, 3), (_QUERIES, 9, 2))
    heads = ("Corrected", "low", "high", *("mean", "low", "high") * 2, "of both", "worth")
    shown = [
        ReportTable(
            "corrected_means", "Means corrected by people", "Measure", heads,
            tuple(Row(row["run"], row["measure"], _corrected(row)) for row in means.iter_rows(named=True)),
            spanners=spanners, notes=(WORTH,), data=means, group_head="Run", explained=False,
        ),
        ReportTable(
            "corrected_comparisons", "Differences corrected by people", "Measure", (*heads, "p", "Holm"),
            tuple(map(_corrected_difference, pairs.iter_rows(named=True))),
            spanners=(*spanners, (_TESTS, 11, 2)), notes=(WORTH,), data=pairs, group_head="Runs",
            explained=False,
        ),
    ]  # fmt: skip
    return [table for table in shown if table.rows]


def _corrected(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    reason = row["reason"] or _SINGLE
    sides = (f"{side}{end}" for side in ("judge", "people") for end in ("", "_low", "_high"))
    numbers = [_fixed(row[name], reason) for name in ("value", "ci_low", "ci_high", *sides)]
    worth = (
        Estimate(None, reason=reason)
        if row["worth"] is None
        else Spelled(count(round(row["worth"])), row["worth"])
    )
    return (*numbers, row["n_both"], worth)


def _corrected_difference(row: Mapping[str, Any]) -> Row:
    tests = tuple(_p_value(row[name], row["reason"] or _ALIKE) for name in ("p_value", "p_holm"))
    return Row(f"{row['run']} {MINUS} {row['baseline']}", row["measure"], (*_corrected(row), *tests))


def per_query_table(frame: pl.DataFrame) -> ReportTable:
    """Return the value of each measure, run and query."""
    bounds = ("low", "high") if frame["low"].count() else ()
    rows = tuple(
        Row(
            f"{row['run']}, {row['measure']}",
            row["query"],
            tuple(_fixed(row[name], "no bound") for name in ("value", *bounds)),
        )
        for row in frame.sort("run", "measure", maintain_order=True).iter_rows(named=True)
    )
    heads = ("Value", "least", "largest")[: 1 + len(bounds)]
    return ReportTable(
        "per_query", "Values by query", "Query", heads, rows,
        data=frame, for_papers=False, group_head="Run and measure", explained=False,
    )  # fmt: skip


def recall_precision_table(frame: pl.DataFrame) -> ReportTable:
    """Return the interpolated precision at the 11 levels of recall, a column for each run."""
    rows = [Row("", f"{row[0]:.1f}", _cells(row[1:])) for row in _by_run(frame, "recall", "precision")]
    return ReportTable(
        "recall_precision", "Interpolated precision by recall", "Recall", _runs(frame), tuple(rows),
        data=frame, explained=False,
    )  # fmt: skip


def gain_table(frame: pl.DataFrame) -> ReportTable:
    """Return cumulated gains by rank and run, and of the ideal lists."""
    names = ("cg", "ideal_cg", "ncg", "dcg", "ideal_dcg", "ndcg")
    rows = [
        Row(row["run"], str(row["rank"]), _cells(tuple(row[name] for name in names)))
        for row in frame.iter_rows(named=True)
    ]
    heads = ("of the list", "ideal", "ratio", "of the list", "ideal", "ratio")
    return ReportTable(
        "gain_curves", "Cumulated gain by rank", "Rank", heads, tuple(rows),
        spanners=(("CG", 0, 3), ("DCG", 3, 3)), data=frame, group_head="Run", explained=False,
    )  # fmt: skip


def differences_table(frame: pl.DataFrame) -> ReportTable:
    """Return the difference of R-precision of two runs by query, the largest first."""
    ordered = frame.sort("difference", "query", descending=[True, False])
    rows = [Row("", row["query"], _cells((row["difference"],))) for row in ordered.iter_rows(named=True)]
    return ReportTable(
        "r_precision_differences", "Differences of R-precision by query", "Query", ("Difference",),
        tuple(rows), data=frame, for_papers=False, explained=False,
    )  # fmt: skip


def _cells(values: tuple[float, ...]) -> tuple[Cell, ...]:
    return tuple(_fixed(value, "no query") for value in values)


def _fixed(value: float | None, reason: str) -> Cell:
    return Estimate(None, reason=reason) if value is None else Spelled(number(value, PLACES), value)


def _p_value(p: float | None, reason: str) -> Cell:
    smallest = 10**-PLACES
    if p is None:
        return Estimate(None, reason=reason)
    return Spelled(f"< {smallest:g}" if p < smallest else number(p, PLACES), p)


def _runs(frame: pl.DataFrame) -> tuple[str, ...]:
    return tuple(frame["run"].unique(maintain_order=True))


def _by_run(frame: pl.DataFrame, place: str, value: str) -> Iterator[tuple[Any, ...]]:
    columns = [frame.filter(run=run)[value].to_list() for run in _runs(frame)]
    yield from zip(frame[place].unique(maintain_order=True), *columns, strict=True)


# ---- pictures ---------------------------------------------------------------------------------


def means_figures(frame: pl.DataFrame, shares: frozenset[str]) -> tuple[Figure, ...]:
    """Draw means with their intervals: a picture for each measure, or one of all when there is one run.

    `shares` are the measures that lie in 0..1: only they fit one picture.
    """
    if frame["run"].n_unique() == 1:
        rows = {row["measure"]: row for row in frame.iter_rows(named=True) if row["measure"] in shares}
        return (_means_figure("means", "Means", rows, "Measure"),) if rows else ()
    return tuple(
        _means_figure(
            f"mean-{place}", str(measure), {row["run"]: row for row in part.iter_rows(named=True)}, "Run"
        )
        for place, ((measure,), part) in enumerate(frame.group_by("measure", maintain_order=True))
    )


def _means_figure(name: str, title: str, rows: Mapping[str, Mapping[str, Any]], head: str) -> Figure:
    labels = apart({key: visible(key) for key in rows})
    means = {
        labels[key]: Estimate(row["mean"], row["ci_low"], row["ci_high"])
        for key, row in rows.items()
        if row["mean"] is not None
    }
    texts = IntervalHeads("Mean over queries", name=head)
    drawing = intervals(tuple(means), means, texts, domain=common_domain(tuple(means.values())))
    values = "; ".join(f"{key} {number(one.value, PLACES)}" for key, one in means.items())
    return Figure(name, title, f"{title}, means with their 95 % intervals: {values}.", drawing, "means")


def recall_precision_figure(frame: pl.DataFrame) -> Figure:
    """Draw interpolated precision by recall."""
    lines = _lines(frame, "recall", "precision")
    drawing = curves(lines, domains=((0, 1), (0, 1)), heads=("Recall", "Precision"))
    words = "; ".join(
        f"{visible(line.name)} from {number(high, PLACES)} to {number(low, PLACES)}"
        for line in lines
        for (_, high), *_, (_, low) in [line.points]
    )
    alt = f"Interpolated precision falls from recall 0 to recall 1: {words}."
    return Figure("recall-precision", "Precision by recall", alt, drawing, "recall_precision")


def gain_figures(frame: pl.DataFrame) -> tuple[Figure, ...]:
    """Draw CG and DCG by rank, also of the ideal lists, and their ratios."""
    one, two = (_gain_figure(frame, name, f"ideal_{name}", name.upper()) for name in ("cg", "dcg"))
    three = _gain_figure(frame, "ndcg", None, "DCG / ideal DCG")
    return one, two, three


def _gain_figure(frame: pl.DataFrame, name: str, ideal: str | None, title: str) -> Figure:
    lines = _lines(frame, "rank", name)
    if ideal is not None:
        lines += [Line("ideal", _lines(frame, "rank", ideal)[0].points, quiet=True)]
    top = max(1e-9, *(y for line in lines for _, y in line.points))
    depth = max(2, int(str(frame["rank"].max())))
    words = "; ".join(f"{visible(line.name)} {number(line.points[-1][1], PLACES)}" for line in lines)
    drawing = curves(
        lines, domains=((1, depth), (0, 1 if ideal is None else 1.05 * top)), heads=("Rank", title)
    )
    return Figure(
        f"curve-{name}", f"{title} by rank", f"{title} at rank {depth}: {words}.", drawing, "gain_curves"
    )


def _lines(frame: pl.DataFrame, x: str, y: str) -> list[Line]:
    return [Line(run, frame.filter(run=run).select(x, y).rows()) for run in _runs(frame)[:MOST_LINES]]


def difference_figure(frame: pl.DataFrame) -> Figure:
    """Draw the differences of R-precision of two runs, a bar for each query."""
    rows = frame.sort("difference", "query", descending=[True, False]).select("query", "difference").rows()
    half = MOST_BARS // 2
    drawn = rows if len(rows) <= MOST_BARS else [*rows[:half], *rows[-half:]]
    up, down = (sum(sign * value > 0 for _, value in rows) for sign in (1, -1))
    other, first = (visible(frame[name][0]) for name in ("run", "baseline"))
    alt = (
        f"R-precision of {other} is higher for {plural(up, 'query', 'queries')}, that of {first} for {down}."
    )
    alt += "" if drawn is rows else f" Drawn are the {half} largest and the {half} smallest differences."
    drawing = difference_bars(drawn, head="Difference of R-precision")
    return Figure("r-precision", "R-precision, query by query", alt, drawing, "r_precision_differences")
