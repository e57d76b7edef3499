"""The page on past tests: tables, pictures and sentences, as data."""

import numpy as np

from clickassay.core.text.words import MINUS, visible
from clickassay.findings.estimates import Estimate
from clickassay.report.charts.marks import IntervalHeads, Point, interval_figure, quadrants
from clickassay.report.charts.vega import apart
from clickassay.report.model import Figure, Section, StudyReport
from clickassay.report.tables import (
    Cell,
    Fields,
    ReportTable,
    Row,
    Share,
    ShownColumn,
    Spelled,
    field,
    p_value,
    shown_table,
    under,
)
from clickassay.studies.experiments.order import CHANGED, COIN
from clickassay.studies.experiments.words import Experiments, answer, read_sentence, sentences

BASELINE = "rankings changed"
MOST_METRICS, MOST_DRAWN = 6, 30
"""Metrics in the table of tests, and rows of a picture; the files have all."""

DRAWN = (("dot", "changed users significantly"), ("ring", "not significantly, or not known"))
"""Marks of the picture of tests."""

HOW_ORDERED = (
    "Pairs in order: of all pairs of tests of different groups, the share in which the metric prefers the "
    "test that did better; ties count half. Errors of measurement pull it towards 50%. Intervals exclude one "
    "group of tests at a time.",
    "p: adjusted for the number of metrics (Holm).",
    f"{BASELINE}: baseline, the share of rankings that a test changed.",
)


def order_table(found: Experiments) -> ReportTable:
    """Return the table of all metrics: the current one first, then the best."""
    rows = [found.row, *found.others.to_dicts(), *found.order.filter(editorial_metric=CHANGED).to_dicts()]
    called = (
        under("Called better", field("right", "better_right"), field("wrong", "better_wrong")),
        under("Called worse", field("right", "worse_right"), field("wrong", "worse_wrong")),
    )
    return shown_table(
        "experiment_order", "Does each metric tell better tests from worse?", rows,
        ShownColumn("Metric", lambda row: _shown_name(row["editorial_metric"])),
        (
            _ends("Pairs in order", "in_order", "ci_low", "ci_high"),
            *called[0], *called[1],
            *under(
                f"Against {visible(found.current)}", _ends("Difference", *_AGAINST),
                p_value("p", "p_adjusted"), ShownColumn("", lambda row: row["against"]),
            ),
            field("Tests", "tests"), field("Groups", "groups"),
        ),
        notes=HOW_ORDERED[: 2 + (found.sheet.tests.changed is not None)], explained=False, data=found.order,
    )  # fmt: skip


_AGAINST = ("against_current", "against_low", "against_high")


def _ends(head: str, name: str, low: str, high: str) -> ShownColumn:
    def cell(row: Fields) -> Cell:
        if row[name] is None:
            return Estimate(None, reason=row["reason"] or "not compared")
        return Share(row[name], row[low], row[high])

    return ShownColumn(head, cell)


def _shown_name(name: str) -> str:
    return BASELINE if name == CHANGED else visible(name)


def tests_table(found: Experiments) -> ReportTable:
    """Return the table of the tests: what each did to users, and the first metrics."""
    tests = found.sheet.tests
    shown = [found.current, *(name for name in tests.metrics if name != found.current)][:MOST_METRICS]
    columns = [tests.metrics.index(name) for name in shown]
    rows = tuple(
        Row(
            "" if tests.ideas[at] == name else visible(tests.ideas[at]), visible(name),
            (
                difference_cell(tests.difference[at]), difference_cell(tests.error[at]),
                "unknown" if np.isnan(tests.p_value[at]) else "yes" if moved else "no",
                *(difference_cell(tests.values[at, column]) for column in columns),
            ),
        )
        for at, (name, moved) in enumerate(zip(tests.names, tests.moved, strict=True))
    )  # fmt: skip
    heads = ("Users", "Standard error", "Changed users", *map(visible, shown))
    heads = tuple(apart({str(at): head for at, head in enumerate(heads)}).values())
    return ReportTable(
        "experiments", "The tests", "Test", heads, rows, data=tests.experiments(), explained=False,
        group_head="Group", notes=("All differences are treatment minus control.",),
    )  # fmt: skip


def difference_cell(value: float | None) -> Cell:
    """Return the cell of a number of any size."""
    if value is None or not np.isfinite(value):
        return Estimate(None, reason="not given, or not usable")
    return Spelled(f"{value:.3g}".replace("-", MINUS), float(value))


# ---- pictures -----------------------------------------------------------------------------------


def tests_figures(found: Experiments) -> tuple[Figure, ...]:
    """Draw what the current metric said of each test against what users did."""
    tests, row = found.sheet.tests, found.row
    said = tests.values[:, tests.metrics.index(found.current)]
    half = 1.96 * np.nan_to_num(tests.error)
    points = [
        Point(visible(tests.names[at]), float(said[at]), float(tests.difference[at]), float(half[at]),
              bool(tests.moved[at]))
        for at in np.flatnonzero(np.isfinite(said))
    ]  # fmt: skip
    if not points:
        return ()
    name = visible(found.current)
    counts = row["worse_wrong"], row["better_right"], row["worse_right"], row["better_wrong"]
    title = f"{name} against users; the corners count tests that changed users"
    alt = (
        f"{name} against users. Tests that changed users significantly: {row['moved']}; called better "
        f"and were better: {counts[1]}; called better and were worse: {counts[3]}; called worse "
        f"and were worse: {counts[2]}; called worse and were better: {counts[0]}."
    )
    heads = f"{name}, treatment {MINUS} control", f"users, treatment {MINUS} control"
    return (Figure("tests", title, alt, quadrants(points, heads, counts), "experiments"),)


def order_figures(found: Experiments) -> tuple[Figure, ...]:
    """Draw the pairs in order of all metrics."""
    rows = [found.row, *found.others.to_dicts(), *found.order.filter(editorial_metric=CHANGED).to_dicts()]
    shares = {
        _shown_name(row["editorial_metric"]): Estimate(row["in_order"], row["ci_low"], row["ci_high"])
        for row in rows[:MOST_DRAWN]
    }
    heads = IntervalHeads("Share of pairs in order; a coin: 0.5")
    title = "Pairs of tests in order, by metric"
    return interval_figure("order", title, shares, heads, "experiment_order", COIN)


# ---- the page -----------------------------------------------------------------------------------


def build_experiments_report(found: Experiments, *, command: str) -> StudyReport:
    """Turn the numbers into sentences, tables and pictures, without writing anything."""
    first, *rest = sentences(found)
    figures = tests_figures(found)
    sections = (
        Section(
            "tests", "What the metric said, and what users did", tuple(rest[:-1]), figures,
            legend=DRAWN if figures else (), folded=(tests_table(found),), fold_words="All tests",
        ),
        Section(
            "order", "All metrics", (read_sentence(found),), order_figures(found),
            tables=(order_table(found),),
        ),
    )  # fmt: skip
    lead = f"{first} {rest[-1]}" if rest else first
    return StudyReport("Past tests", answer(found), lead, (), sections, visible(command, limit=10_000))
