"""The tests of a run on its page: sentences, a picture and tables, as data."""

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from clickassay.core.contracts.experiments import AB, INTERLEAVED
from clickassay.core.text.words import capital, visible
from clickassay.findings.draw import Findings
from clickassay.findings.estimates import Estimate
from clickassay.findings.run import Run
from clickassay.report.model import Section, ShownTests
from clickassay.report.tables import (
    Cell,
    Fields,
    ReportTable,
    Row,
    Share,
    ShownColumn,
    field,
    p_value,
    share,
    shown_table,
    under,
)
from clickassay.studies.experiments.checks import CAUTION, FINDING
from clickassay.studies.experiments.of_run import DIFFERENCE, FEW, RunTests, named, relative
from clickassay.studies.experiments.order import FEWEST_GROUPS
from clickassay.studies.experiments.report import DRAWN, difference_cell, order_table, tests_figures

PREFERRED = ("preference", "preference_low", "preference_high")
NO_REASON = {"kind_of_test": INTERLEAVED, "reason": "users in too few folds"}

AS_THEY_ARE = "Differences: treatment minus control; 95% CIs. Judged: where control or treatment leads."
AS_SHARES = "Differences: treatment minus control, as shares of control's mean if it is above 0; 95% CIs."


def tests_of_run(run: Run, findings: Findings) -> ShownTests:
    """Return what the page of a run says of the A/B tests of its log."""
    kinds = RunTests.of(run, findings).kinds
    lines = tuple(line for one in kinds for line in one.lines)
    entries = tuple(test.entry for one in kinds for test in one.tests)
    return ShownTests(lines, tuple(map(tests_section, kinds)), entries)


def tests_section(tests: RunTests) -> Section:
    """Return the section: problems first, then verdicts; of many tests one table, and all else folded."""
    problems, cautions = (list(_by_remedy(tests, status)) for status in (FINDING, CAUTION))
    is_few, order = len(tests.tests) <= FEW, tests.order
    verdicts = [f"“{one.name}”: {one.sentence}" for one in tests.tests if not one.problems]
    said = verdicts if is_few else [capital(tests.counts)]
    found = [*filter(None, [tests.calibration]), *tests.judges, *tests.same_pairs, *cautions]
    figures = () if order is None or len(tests.past.names) < 2 else tests_figures(order)
    metrics = () if order is None or order.row["groups"] < FEWEST_GROUPS else (order_table(order),)
    section = Section(
        "tests", "A/B tests in this log", (*problems[:FEW], *said, *(found if is_few else found[:FEW])),
        figures, (tests_table(tests),), DRAWN if figures else (),
        (*metrics, *_checks(tests), *_to_judge(tests), metrics_table(tests)), "Checks, and all metrics",
        (*problems[FEW:], *(() if is_few else (*found[FEW:], *verdicts)), tests.held_against),
    )  # fmt: skip
    return section if tests.kind == AB else _of_drafts(section, tests)


def _of_drafts(section: Section, tests: RunTests) -> Section:
    """Return the section of interleaved tests: pictures and tables by other names, and classes of queries."""
    figures = tuple(replace(one, name=f"interleaved_{one.name}") for one in section.figures)
    tables, folded = (
        tuple(replace(one, name=f"interleaved_{one.name}") for one in every)
        for every in (section.tables, section.folded)
    )
    return replace(
        section, name=INTERLEAVED, title="Interleaved tests in this log", figures=figures, tables=tables,
        folded=(*folded, preferences_table(tests)), fold_words="Checks, classes of queries, and all metrics",
    )  # fmt: skip


def preferences_table(tests: RunTests) -> ReportTable:
    """Return the table of what users prefer, by signal and class of queries."""
    names = {(one.users["experiment"], one.users["variant"]): one.name for one in tests.tests}
    columns = (
        ShownColumn("Class", lambda row: row["class"]),
        ShownColumn("Signal", lambda row: visible(row["signal"])),
        ShownColumn("Preference", lambda row: _share({**row, **NO_REASON}, *PREFERRED)),
        *under("Sessions", field("", "sessions"), field("control", "preferred_control"),
               field("treatment", "preferred")),
        p_value("p", "p_value"),
    )  # fmt: skip
    order = ("experiment", "variant", "signal", "split", pl.col("class").str.zfill(3))  # 2 before 10
    rows = tests.run.tables["experiment_preferences"].sort(*order)
    return shown_table(
        "experiment_preferences", "Preference by class of queries", rows.to_dicts(),
        ShownColumn("Queries", lambda row: row["split"]), columns, data=rows, explained=False,
        group_head="Test", group=lambda row: names[row["experiment"], row["variant"]],
    )  # fmt: skip


def _by_remedy(tests: RunTests, status: str) -> Iterator[str]:
    """Yield what to do about tests, each remedy once with the tests that it is of."""
    found: dict[str, list[str]] = {}
    for one in tests.tests:
        for row in one.checks:
            if row["status"] == status and (row["remedy"] or status == FINDING):
                found.setdefault(row["remedy"] or one.users["reason"] or "", []).append(one.name)
    head = "No verdict on" if status == FINDING else "Caution:"
    for remedy, names in found.items():
        yield f"{head} {named(names)}: {visible(remedy, limit=300)}."


def tests_table(tests: RunTests) -> ReportTable:
    """Return the table of the tests, a row each."""
    matched = ("matched", "matched_low", "matched_high")
    of_arms = (
        *under("Sessions", field("control", "sessions_control"), field("treatment", "sessions")),
        *under("Users", field("control", "users_control"), field("treatment", "users")),
    )
    columns = (
        ShownColumn("Verdict", lambda row: row["test"].short),
        *under(
            capital(tests.signal),
            ShownColumn("all sessions", lambda row: _share(row["test"].users, *DIFFERENCE)),
            ShownColumn("judged rankings", lambda row: _share(row["test"].users, *matched)),
        ),
        ShownColumn(visible(tests.metric), lambda row: _share(row["test"].offline, *DIFFERENCE)),
        *under("Judged", share("control", "judged_share_control"), share("treatment", "judged_share")),
        *(of_arms if tests.kind == AB else (field("Sessions", "sessions"),)),
    )
    rows = [{**one.users, "test": one} for one in tests.tests]
    return shown_table(
        "tests", "The tests", rows, ShownColumn("Test", lambda row: row["test"].name), columns,
        notes=(AS_SHARES if tests.kind == AB else AS_THEY_ARE,), explained=False,
    )  # fmt: skip


def _share(row: Fields | None, *names: str) -> Cell:
    if row is None or row[names[0]] is None:
        reason = "nothing is judged" if row is None else row["reason"] or "no value"
        return Estimate(None, reason=visible(reason, limit=160))
    shares = relative(row, *names)
    return Estimate(*(row[name] for name in names)) if shares[0] is None else Share(*shares)


def metrics_table(tests: RunTests) -> ReportTable:
    """Return the table of all metrics of all tests, judges and depths."""
    rows = tests.rows
    names = {(one.users["experiment"], one.users["variant"]): one.name for one in tests.tests}
    shown = rows.filter(judge=tests.judge).to_dicts()
    first = ShownColumn("Metric", lambda row: visible(row["metric"]))
    columns = (
        *under("Mean", _number("control", "mean_control"), _number("treatment", "mean")),
        *under("Difference", _number("", "difference"), _number("low", "ci_low"), _number("high", "ci_high")),
        p_value("p", "p_value"),
        *under(
            "On judged rankings", _number("", "matched"), _number("low", "matched_low"),
            _number("high", "matched_high"),
        ),
    )  # fmt: skip
    return shown_table(
        "experiments", "All metrics", shown, first, columns, data=rows, explained=False, group_head="Test",
        group=lambda row: names[row["experiment"], row["variant"]],
    )  # fmt: skip


def _number(head: str, name: str) -> ShownColumn:
    return ShownColumn(head, lambda row: difference_cell(row[name]))


def _to_judge(tests: RunTests) -> tuple[ReportTable, ...]:
    """Return the table of the rankings to judge first; none if all arms are judged alike."""
    data = tests.run.tables["experiment_to_judge"]
    own = tests.run.labels.relabel(data.filter(judge=tests.judge), "results").sort(
        "experiment", "variant", "sessions", descending=[False, False, True]
    )
    first = ShownColumn("Query", lambda row: visible(row["query"]))
    columns = (
        field("Sessions", "sessions"),
        ShownColumn("Results", lambda row: ", ".join(map(visible, row["results"] or ()))),
    )
    table = shown_table(
        "experiment_to_judge", "Rankings to judge first", own.to_dicts(), first, columns, data=data,
        explained=False, group_head="Arm",
        group=lambda row: f"{visible(row['experiment'])}: {visible(row['variant'])}",
    )  # fmt: skip
    return (table,) if own.height else ()


def _checks(tests: RunTests) -> tuple[ReportTable, ...]:
    """Return the table of the checks that are not passed; none if all are."""
    rows = tuple(
        Row(
            one.name, row["check"],
            (row["status"], difference_cell(row["value"]), difference_cell(row["limit"]),
             visible(row["remedy"], limit=300)),
        )
        for one in tests.tests
        for row in one.checks
    )  # fmt: skip
    heads = ("Status", "Value", "Limit", "What to do")
    data = tests.run.tables["experiment_checks"].filter(kind_of_test=tests.kind)
    title = "Checks of tests that are not passed"
    table = ReportTable(
        "experiment_checks", title, "Check", heads, rows, data=data, explained=False, group_head="Test"
    )
    return (table,) if rows else ()
