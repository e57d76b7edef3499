"""Tables and pictures of judges compared, before they are written."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.text.words import MINUS, visible
from clickassay.findings.estimates import Estimate, estimate
from clickassay.report.charts.marks import IntervalHeads, common_domain, intervals
from clickassay.report.charts.vega import apart
from clickassay.report.model import Figure
from clickassay.report.tables import Cell, ReportTable, Row, Share, p_cell
from clickassay.studies.judges.compare import JudgesCompared
from clickassay.studies.judges.forms import MEASURES

MEASURE_HEADS = {
    "equal": "same grade",
    "kappa": "kappa",
    "kappa_linear": "kappa, linear",
    "kappa_quadratic": "kappa, quadratic",
    "ac1": "AC1",
    "alpha_nominal": "alpha, nominal",
    "alpha_ordinal": "alpha, ordinal",
    "alpha_interval": "alpha, interval",
    "mean_difference": "mean grade, second less first",
}
"""What measures are called."""

assert MEASURE_HEADS.keys() == MEASURES.keys()  # noqa: S101 - a measure without a name

GROUPED_BY = {"mean_grade": "mean grade of both", "quarter": "quarter of the file"}
ONE_GRADE = "both give one and the same grade"
EQUAL_RUNS = "all rankings are equal"
ONE_QUERY = "intervals and tests need two queries"
_INTERVAL = "95 % interval"


def judges_tables(found: JudgesCompared) -> Iterator[ReportTable]:
    """Yield the tables that a terminal shows: measures, grades, bias, rankings, clicks."""
    yield agreement_table(found)
    yield grades_table(found)
    tables = (bias_table(found), rankings_table(found), pairs_table(found), *clicks_tables(found))
    yield from (table for table in tables if table.rows)


def _pair(row: Mapping[str, Any]) -> str:
    return (
        "all judges" if row["judge_a"] == EVERY else f"{visible(row['judge_a'])}, {visible(row['judge_b'])}"
    )


def _table(name: str, title: str, heads: tuple[str, ...], rows: Iterator[Row], **more: Any) -> ReportTable:  # noqa: ANN401 - fields of `ReportTable`
    head, *cells = heads
    shown = tuple(rows)
    return ReportTable(
        name, title, head, tuple(cells), shown, explained=False, **{"group_head": "Judges", **more}
    )


def agreement_table(found: JudgesCompared) -> ReportTable:
    """Return every measure of every two judges."""
    rows = (
        Row(_group(found, row), MEASURE_HEADS[row["measure"]], _agreement_cells(row))
        for row in found.agreement.iter_rows(named=True)
    )
    heads = ("Measure", "Value", "low", "high", "Results", "Queries")
    return _table("agreement", "Agreement", heads, rows, spanners=((_INTERVAL, 1, 2),), data=found.agreement)


def _agreement_cells(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    return *_ends(row, "value", ONE_GRADE), row["n_results"], row["n_queries"]


def _ends(
    row: Mapping[str, Any], name: str, reason: str, ends: tuple[str, str] = ("ci_low", "ci_high")
) -> tuple[Cell, ...]:
    why = reason if row[name] is None else "no interval"
    return Estimate(row[name], reason=reason), *(Estimate(row[end], reason=why) for end in ends)


def grades_table(found: JudgesCompared) -> ReportTable:
    """Return how often each judge gives each grade."""
    shares = {(row["judge"], row["grade"]): row["share"] for row in found.grades.iter_rows(named=True)}
    rows = (
        Row("", str(grade), tuple(Share(shares.get((name, grade), 0.0)) for name in found.judges))
        for grade in sorted({grade for _, grade in shares})
    )
    heads = ("Grade", *map(visible, found.judges))
    return _table("grades", "How often each grade is given", heads, rows, data=found.grades)


def confusion_table(found: JudgesCompared) -> ReportTable:
    """Return the counts of pairs of grades: the first judge's in rows, the second's in columns."""
    frame = found.confusion
    grades = sorted({*frame["grade_a"], *frame["grade_b"]})
    rows = []
    for (a, b, grade), own in frame.group_by("judge_a", "judge_b", "grade_a", maintain_order=True):
        times = dict(own.select("grade_b", "rows").iter_rows())
        group = f"{visible(a)} in rows, {visible(b)} in columns"
        rows.append(Row(group, str(grade), tuple(times.get(one, 0) for one in grades)))
    heads = ("Grade", *map(str, grades))
    return _table("confusion", "Which grade is given for which", heads, iter(rows), data=frame)


def bias_table(found: JudgesCompared) -> ReportTable:
    """Return the mean difference in groups of results."""
    rows = (
        Row(_group(found, row, f"by {_grouped_by(row['by'])}"), _part(row, found.bias), _bias_cells(row))
        for row in found.bias.iter_rows(named=True)
    )
    heads = (
        "Group",
        "Second less first",
        "low",
        "high",
        "p",
        "Quadratic kappa",
        "low",
        "high",
        "Results",
        "Queries",
    )
    note = "p: of the same difference in the other groups, adjusted (Holm); not by mean grade."
    return _table(
        "bias", "Where the judges differ", heads, rows,
        spanners=(("Mean grade", 0, 4), ("Agreement", 4, 3)), notes=(note,), data=found.bias,
        group_head="Results",
    )  # fmt: skip


def _group(found: JudgesCompared, row: Mapping[str, Any], text: str = "") -> str:
    """Return a text, with the judges before it where there are more than two."""
    if len(found.judges) == 2:
        return text
    return f"{_pair(row)}: {text}" if text else _pair(row)


def _grouped_by(by: str) -> str:
    return GROUPED_BY.get(by, visible(by))


def _part(row: Mapping[str, Any], rows: pl.DataFrame) -> str:
    if row["by"] != "mean_grade":
        return visible(row["part"])
    highest = max(map(int, rows.filter(by="mean_grade")["part"]))
    return f"{row['part']} or more" if int(row["part"]) == highest else f"{row['part']} or {row['part']}.5"


def _bias_cells(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    kappas = ("kappa_quadratic_low", "kappa_quadratic_high")
    why = "not for equal mean grades" if row["by"] == "mean_grade" else ONE_GRADE
    return (
        *_ends(row, "mean_difference", "no result"), p_cell(row["p_adjusted"]),
        *_ends(row, "kappa_quadratic", why, kappas), row["n_results"], row["n_queries"],
    )  # fmt: skip


def rankings_table(found: JudgesCompared) -> ReportTable:
    """Return whether judges put rankings in the same order."""
    rows = (
        Row(_group(found, row), row["measure"], _rankings_cells(row))
        for row in found.rankings.iter_rows(named=True)
    )
    heads = (
        "Measure", "Value", "low", "high", "Value", "low", "high",
        "all", "same", "opposite", "first only", "second only", "changed", "Queries",
    )  # fmt: skip
    notes = (
        "Intervals hold for all pairs at once: a pair that does not differ significantly under both judges "
        "may be in either order.",
        "Significant pairs: the same way under both judges, opposite ways, under one judge only; changed: "
        "the difference itself differs significantly between the judges.",
    )
    spanners = (("tau", 0, 3), ("tau_AP", 3, 3), ("Pairs of rankings", 6, 6))
    return _table(
        "rankings", "Order of rankings under each judge", heads, rows, spanners=spanners, notes=notes,
        data=found.rankings,
    )  # fmt: skip


def _rankings_cells(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    orders = [_ends(row, name, EQUAL_RUNS, (f"{name}_low", f"{name}_high")) for name in ("tau", "tau_ap")]
    counts = [row[name] for name in ("pairs", "same", "opposite", "only_a", "only_b", "changed", "n_queries")]
    return *orders[0], *orders[1], *counts


def pairs_table(found: JudgesCompared) -> ReportTable:
    """Return the difference of every two rankings under every two judges."""
    rows = (
        Row(
            _group(found, row, row["measure"]),
            f"{visible(row['run'])} {MINUS} {visible(row['baseline'])}",
            _pair_cells(row),
        )
        for row in found.ranking_pairs.iter_rows(named=True)
    )
    heads = ("Rankings", "Difference", "p", "Difference", "p", "Value", "low", "high", "p")
    spanners = (("By the first judge", 0, 2), ("By the second", 2, 2), ("Change", 4, 4))
    note = "p: adjusted for the number of pairs (Holm)."
    return _table(
        "ranking_pairs", "Pairs of rankings under each judge", heads, rows, spanners=spanners, notes=(note,),
        data=found.ranking_pairs, group_head="Measure",
    )  # fmt: skip


def _pair_cells(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    return (
        Estimate(row["difference_a"]), p_cell(row["p_holm_a"]), Estimate(row["difference_b"]),
        p_cell(row["p_holm_b"]), *_ends(row, "change", ONE_QUERY), p_cell(row["p_holm"]),
    )  # fmt: skip


def clicks_tables(found: JudgesCompared) -> tuple[ReportTable, ...]:
    """Return whose order clicks support, and whose grades make metrics predict them better."""
    if not found.clicks:
        return ()
    order, better = found.clicks["judge_disagreements"], found.clicks["judge_comparisons"]
    sides: tuple[str, ...] = ("first judge", "second judge")
    if len(found.judges) == 2:
        sides = tuple(map(visible, sorted(found.judges)))  # a run has them in this order
    supported = _table(
        "judge_disagreements", "Whose order do clicks support?",
        ("Sample", "Clicks", *sides, "Difference", "low", "high", "p", "Supported"),
        (Row(_group(found, row), _sample(row), _order_cells(row)) for row in order.iter_rows(named=True)),
        spanners=(("Upper result clicked, where first by", 1, 2),), data=order,
    )  # fmt: skip
    predicted = _table(
        "judge_comparisons", "With whose grades do metrics predict clicks better?",
        ("Metric", *sides, "Difference", "low", "high", "p"),
        (
            Row(_group(found, row, _sample(row)), _metrics(row), _better_cells(row))
            for row in better.iter_rows(named=True)
        ),
        spanners=(("Correlation by grades of", 0, 2),), data=better, group_head="Sample",
    )  # fmt: skip
    return supported, predicted


def _metrics(row: Mapping[str, Any]) -> str:
    return f"{row['editorial_metric']} with {row['click_metric']}"


def _sample(row: Mapping[str, Any]) -> str:
    market = "" if row["market"] == EVERY else f"{visible(row['market'])}, "
    return f"{market}depth {row['depth']}"


def _order_cells(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    supported = "neither, significantly" if row["supported"] is None else visible(row["supported"])
    return (
        row["n_clicks"], Share(row["upper_a"]), Share(row["upper_b"]),
        *_ends(row, "difference", "no click"), p_cell(row["p_adjusted"]), supported,
    )  # fmt: skip


def _better_cells(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    sides = (Estimate(row[name], reason="no correlation") for name in ("correlation_a", "correlation_b"))
    return *sides, *_ends(row, "difference", "no difference"), p_cell(row["p_adjusted"])


# ---- pictures ---------------------------------------------------------------------------------


def agreement_figures(found: JudgesCompared) -> tuple[Figure, ...]:
    """Draw the measures of the first two judges with their intervals."""
    first = found.agreement.row(0, named=True)
    names = first["judge_a"], first["judge_b"]
    own = found.agreement.filter(judge_a=names[0], judge_b=names[1]).filter(
        pl.col("measure") != "mean_difference"
    )
    estimates = {
        MEASURE_HEADS[row["measure"]]: estimate(row, "value", reason=ONE_GRADE)
        for row in own.iter_rows(named=True)
    }
    title = f"Agreement of {visible(names[0])} and {visible(names[1])}"
    return _figure("agreement", title, estimates, IntervalHeads("Agreement", name="Measure"), "agreement")


def bias_figures(found: JudgesCompared) -> tuple[Figure, ...]:
    """Draw the mean difference of the first two judges by group, a picture for each kind of group."""
    if found.bias.is_empty():
        return ()
    first = found.agreement.row(0, named=True)
    own = found.bias.filter(judge_a=first["judge_a"], judge_b=first["judge_b"])
    figures: list[Figure] = []
    for place, ((by,), part) in enumerate(own.group_by("by", maintain_order=True)):
        rows = list(part.iter_rows(named=True))
        labels = apart({row["part"]: _part(row, found.bias) for row in rows})
        estimates = {labels[row["part"]]: estimate(row, "mean_difference") for row in rows}
        axis = f"{visible(first['judge_b'])} less {visible(first['judge_a'])}, mean grade"
        title = f"By {_grouped_by(str(by))}"
        figures += _figure(f"bias-{place}", title, estimates, IntervalHeads(axis, name="Group"), "bias")
    return tuple(figures)


def _figure(
    name: str, title: str, estimates: Mapping[str, Estimate], texts: IntervalHeads, table: str
) -> tuple[Figure, ...]:
    known = {key: one for key, one in estimates.items() if one.value is not None}
    if not known:
        return ()
    drawing = intervals(tuple(known), known, texts, domain=common_domain(tuple(known.values()), [0.0]))
    values = "; ".join(f"{key} {one.value:.3f}" for key, one in known.items())
    return (Figure(name, title, f"{title}, with 95 % intervals: {values}.", drawing, table),)
