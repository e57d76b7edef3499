"""The sections on judges and on influential queries, against tables written down here."""

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from clickassay.core.contracts import run as contracts
from clickassay.findings.estimates import Estimate
from clickassay.findings.influence import chance_shares, depends_mostly
from clickassay.metrics.catalogue import BASELINES
from clickassay.report.sections.influence import influence_section
from clickassay.report.sections.judges import judges_sections
from clickassay.report.tables import Share, Spelled
from support.reports.report_runs import report_of, run_of
from support.reports.report_tables import (
    NAMED_TEXT,
    QUERY_TEXT,
    digest_of,
    empty_tables,
    run_info,
    run_tables,
)
from support.reports.verdict_world import found_in

JUDGES = {"judge_a": "editor", "judge_b": "llm"}
VALUES = {"equal": 0.75, "mean_difference": -0.25, "kappa": 0.5, "kappa_linear": 0.6, "kappa_quadratic": 0.7}
AGREEMENT = [
    {
        "market": "all", **JUDGES, "measure": measure, "value": value, "ci_low": value - 0.05,
        "ci_high": value + 0.05, "n_queries": 80, "n_results": 1200, "caution": None,
    }
    for measure, value in VALUES.items()
]  # fmt: skip
CONFUSION = [(0, 0, 500), (0, 1, 100), (1, 0, 200), (1, 1, 400)]


def compared(name, difference, p, **more):
    row = {
        "market": "m1", "depth": 5, "click_metric": "MeanRR", "editorial_metric": name, **JUDGES,
        "correlation_a": 0.4 + difference, "correlation_b": 0.4, "difference": difference,
        "ci_low": difference - 0.03, "ci_high": difference + 0.03, "p_value": p, "p_adjusted": p,
        "queries_needed": 1234.0, "n_queries": 70, "caution": None, "n_configurations": 300,
        "n_sessions": 900,
    }  # fmt: skip
    return row | more


def disputed(**more):
    row = {
        "market": "m1", "depth": 5, **JUDGES, "upper_a": 0.64, "upper_b": 0.52, "difference": 0.12,
        "ci_low": 0.03, "ci_high": 0.22, "p_value": 0.007, "p_adjusted": 0.007, "queries_needed": 88.0,
        "n_queries": 82, "caution": None, "n_pairs": 259, "n_clicks": 889, "supported": "editor",
    }  # fmt: skip
    return row | more


UNDECIDED = {"p_adjusted": 0.3, "supported": None}
UNTESTED = dict.fromkeys(
    ("upper_a", "upper_b", "difference", "ci_low", "ci_high", "p_value", "p_adjusted", "queries_needed")
)
UNTESTED |= {"supported": None, "n_pairs": 0, "n_clicks": 0, "n_queries": 0}


def influential(metric, side, rank, query, without, share):
    return {
        "market": "m1", "depth": 5, "judge": "editor", "click_metric": "MeanRR", "editorial_metric": metric,
        "side": side, "rank": rank, "query": query, "n_sessions": 10, "without": without,
        "without_these": without, "error_share": share,
    }  # fmt: skip


def run_with(**rows):
    """A run of several judges with these rows in the tables of these names."""
    tables = dict(run_tables())
    for table in contracts.ANALYSED_TABLES:
        if table.name in rows:
            tables[table.name] = table.canonical(pl.DataFrame(rows[table.name], infer_schema_length=None))
    return tables


@pytest.fixture(scope="module")
def tables():
    return run_with(
        agreement=AGREEMENT,
        confusion=[
            {"market": "all", **JUDGES, "grade_a": a, "grade_b": b, "rows": n} for a, b, n in CONFUSION
        ],
        judge_comparisons=[
            compared("DCG", 0.05, 0.001),
            compared("ERR", -0.08, 0.01),
            compared("RR", 0.01, 0.6),
            compared("MeanGrade", 0.2, 0.001),
            compared("AP", 0.3, 0.001, depth=10),
        ],
    )


@pytest.fixture(scope="module")
def section(tables):
    (only,) = judges_sections(run_of(tables))
    return only


def shown(table, name):
    (row,) = (row for row in table.rows if row.name == name)
    return row.cells


def test_agreement_is_shown_with_kappa_its_interval_and_how_often_each_pair_of_grades_is_given(section):
    assert section.reading[0] == (
        "Judges editor and llm both judged 1,200 results; 75.0% got the same grade from both; quadratic "
        "kappa 0.700 (95% CI 0.650 to 0.750)."
    )
    cells = shown(section.tables[0], "editor and llm")
    assert cells[0] == 1200
    assert [cell.value for cell in cells[1:]] == [0.75, -0.25, 0.5, 0.6, 0.7]
    assert (cells[-1].low, cells[-1].high) == pytest.approx((0.65, 0.75))
    (table,) = section.folded
    assert [row.cells for row in table.rows] == [(500, 100), (200, 400)]
    assert table.heads == ("bad", "fair")


def test_judges_are_compared_for_the_headline_sample_and_click_metric_without_baselines(section):
    table = section.tables[2]
    assert [row.name for row in table.rows] == ["DCG", "RR", "ERR"]  # in the order of reports
    assert [cell.value for cell in shown(table, "ERR")[:3]] == pytest.approx([0.32, 0.4, -0.08])
    assert shown(table, "ERR")[4:] == ("llm", Spelled("at least 1,200", 1234.0))
    assert shown(table, "DCG")[4] == "editor"
    assert shown(table, "RR")[4] == "inconclusive"
    assert table.heads[:2] == ("Grades of editor", "Grades of llm")
    assert table.data.height == 4  # every depth, no baseline
    assert section.reading[1] == (
        "MeanRR is predicted significantly better with the grades of editor for 1 of 3 metrics, and with "
        "those of llm for 1; for the rest, the difference is not significant. The largest difference "
        "(editor minus llm) is for ERR: \N{MINUS SIGN}0.080 (95% CI \N{MINUS SIGN}0.110 to "
        "\N{MINUS SIGN}0.050)."
    )
    assert section.reading[2].startswith("SS is excluded")


def of_disputes(*rows):
    (section,) = judges_sections(run_of(run_with(agreement=AGREEMENT, judge_disagreements=rows)))
    return section


def test_the_judge_whom_clicks_support_is_named_with_both_shares():
    section = of_disputes(disputed(), disputed(depth=10))
    assert section.reading[1] == (
        "Where editor and llm order two neighbouring results oppositely (259 pairs, 889 sessions that "
        "clicked one of both), the upper one gets 64.0% of these clicks if editor puts it first, and 52.0% "
        "if llm does: clicks support the order of editor (95% CI 0.030 to 0.220 of the difference, "
        "adjusted p 0.007)."
    )
    table = section.tables[1]
    cells = shown(table, "editor and llm")
    assert cells[:4] == (259, 889, Share(0.64), Share(0.52))
    assert cells[6:] == ("editor", Spelled("at least 88", 88.0))
    assert table.heads[2:4] == (
        "On the upper, where editor puts it first",
        "On the upper, where llm puts it first",
    )
    assert table.data.height == 2


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (disputed(supported="llm", difference=-0.1), "clicks support the order of llm ("),
        (disputed(**UNDECIDED), "clicks do not significantly support the order of editor or of llm ("),
        (disputed(caution="fewer than 50 queries"), "This interval is unreliable: fewer than 50 queries."),
        (disputed(**UNTESTED), "Clicks cannot decide between editor and llm: no neighbouring"),
    ],
)
def test_what_clicks_do_not_decide_is_said(row, words):
    assert words in of_disputes(row).reading[1]


def test_three_judges_are_named_row_by_row():
    third = disputed(judge_b="other", supported="other", difference=-0.1)
    table = of_disputes(disputed(), third).tables[1]
    assert table.heads[2] == "On the upper, where the first judge puts it first"
    assert [(row.name, row.cells[6]) for row in table.rows] == [
        ("editor and llm", "editor"),
        ("editor and other", "other"),
    ]


def test_when_no_difference_is_significant_the_reading_says_so():
    rows = [compared("DCG", 0.05, 0.2), compared("ERR", -0.01, 1.0)]
    (section,) = judges_sections(run_of(run_with(agreement=AGREEMENT, judge_comparisons=rows)))
    assert section.reading[1].startswith(
        "No metric predicts MeanRR significantly better with the grades of editor than with those of llm, or "
        "vice versa (2 tested). The largest difference (editor minus llm) is for DCG: 0.050 "
    )


def test_one_source_of_judgments_gives_no_section():
    assert judges_sections(run_of(run_tables())) == ()
    assert judges_sections(run_of(empty_tables())) == ()


def test_judges_who_share_no_configuration_are_said_not_to_be_comparable():
    (section,) = judges_sections(run_of(run_with(agreement=AGREEMENT)))
    assert section.reading[1] == (
        "No metric can be compared: too few configurations were graded by both judges."
    )


def influenced(share):
    rows = [
        influential("ERR", "raises", rank, f"{QUERY_TEXT} {rank}", 0.5 - rank / 10, share)
        for rank in range(1, 4)
    ]
    return [*rows, influential("ERR", "lowers", 1, QUERY_TEXT, 0.6, share / 2)]


def influence_of(run):
    return influence_section(run, found_in(run))


def test_a_correlation_without_its_most_influential_queries_is_shown_with_their_share_of_the_error():
    section = influence_of(run_of(run_with(influence=influenced(0.1))))
    cells = shown(section.folded[0], "ERR")
    assert [cell.value for cell in cells[1:4]] == pytest.approx([0.2, 0.6, 0.35])
    assert cells[4] == "no"
    marked = influence_of(run_of(run_with(influence=influenced(0.28))))
    assert shown(marked.folded[0], "ERR")[4] == "yes"  # it depends mostly on a few


@pytest.mark.slow
def test_the_reading_marks_the_headline_when_it_depends_mostly_on_a_few_queries():
    tables = run_tables()
    best = (
        tables["correlations"]
        .filter(market="m1", depth=5, judge="editor", split="all", click_metric="MeanRR")
        .filter(~pl.col("editorial_metric").is_in(BASELINES))
        .sort("correlation", descending=True)["editorial_metric"][0]
    )
    rows = [influential(best, "raises", rank, QUERY_TEXT, 0.1, 0.196) for rank in range(1, 6)]
    marked = run_with(influence=rows)
    reading, selected, chance = influence_of(run_of(marked)).reading
    text = report_of(marked, run_info()).findings[0].text
    assert f"The correlation of {best} depends mostly on 5 queries." in text
    fewer = run_with(influence=[row | {"error_share": 0.1} for row in rows])
    assert "depends mostly" not in report_of(fewer, run_info()).findings[0].text
    assert f"the correlation of {best} with MeanRR would be 0.100 instead of" in reading
    assert reading.endswith("account for 98.0% of its squared error: it depends mostly on a few queries.")
    assert "always lowers it" in selected
    assert re.search(r"account for \d+\.\d% on average, and for more than \d+\.\d% in one case of 20", chance)


def test_a_share_that_uneven_sessions_alone_would_give_is_no_dependence_on_a_few_queries():
    # one query has nearly all sessions: any five with it make up nearly all of the squared error
    sessions = [100_000, *[1] * 99]
    frame = run_tables()["configurations"].filter(market="m1", depth=5, judge="editor").head(1)
    rows = [frame.with_columns(query=pl.lit(f"q{n}"), n_sessions=pl.lit(count, pl.Int64))
            for n, count in enumerate(sessions)]  # fmt: skip
    run = run_of(run_with())
    uneven = replace(run, tables={**run.tables, "configurations": pl.concat(rows)})
    mean, limit = chance_shares(uneven, np.random.default_rng(0))
    assert mean > 0.95
    assert depends_mostly(0.9, (0.4, 0.6))
    assert not depends_mostly(0.9, (mean, limit))
    even = replace(run, tables={**run.tables, "configurations": pl.concat(
        row.with_columns(n_sessions=pl.lit(5, pl.Int64)) for row in rows)})  # fmt: skip
    # five largest of 100 squared products of normal deviates, drawn apart from the code
    draws = np.random.default_rng(5).normal(size=(2, 4000, 100)).prod(axis=0) ** 2
    plain = np.sort(draws, axis=1)[:, -5:].sum(axis=1) / draws.sum(axis=1)
    assert chance_shares(even, np.random.default_rng(0)) == pytest.approx(
        (plain.mean(), np.quantile(plain, 0.95)), abs=0.03
    )


def test_the_most_influential_queries_of_the_best_metric_are_listed_by_their_effect():
    best = "ERR"
    rows = [
        influential(best, "raises", 1, f"{NAMED_TEXT} 0", 0.5, 0.3),
        influential(best, "raises", 2, f"{QUERY_TEXT} w 1", 0.6, 0.2),
        influential(best, "lowers", 1, f"{NAMED_TEXT} w w 2", None, 0.1),
        influential("RR", "raises", 1, f"{NAMED_TEXT} 0", 0.1, 0.1),
    ]
    table = influence_of(run_of(run_with(influence=rows))).folded[1]
    assert [(row.group, row.name) for row in table.rows] == [
        ("raises it", f"{NAMED_TEXT} 0"),
        ("raises it", digest_of("m1", f"{QUERY_TEXT} w 1")),
        ("lowers it", f"{NAMED_TEXT} w w 2"),
    ]
    assert [row.cells for row in table.rows] == [
        (10, Estimate(0.5), Share(0.3)),
        (10, Estimate(0.6), Share(0.2)),
        (10, Estimate(None, reason="no correlation is left"), Share(0.1)),
    ]
    assert table.title.startswith("Most influential queries in the correlation of ERR with MeanRR, market m1")
    assert table.notes[0].startswith("A query is named only if at least 5 users issued it")
    assert table.data is None  # influence.csv holds the rows


def test_a_run_without_a_correlation_says_so():
    assert influence_of(run_of(empty_tables())).reading == ("There is no correlation to show.",)
