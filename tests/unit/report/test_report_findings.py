"""Headline, findings and caveats, judged on tables whose numbers are written down here."""

from dataclasses import replace

import polars as pl
import pytest

from clickassay.core.contracts.form import ContractError
from clickassay.core.errors import ReportError
from clickassay.core.records import SampleKey
from clickassay.findings.run import run_of as read_run
from clickassay.report.model import SAMPLES_SHOWN, shown_samples
from clickassay.report.sections.overview import caveats
from clickassay.report.verdict.sentences import first_finding, scope_text, write_findings
from support.reports.report_tables import (
    BASELINES,
    empty_tables,
    nothing_kept_tables,
    one_configuration_tables,
    run_info,
    run_tables,
)
from support.reports.verdict_world import correlations, found_in, pairs, run_of, statistics

VALUES = {"DCG": 0.22, "AP": 0.40, "ERR": 0.48}


NO_ENDS = dict.fromkeys(("ci_low", "ci_high"), pl.lit(None, pl.Float64))


@pytest.mark.parametrize(
    ("of_values", "of_pairs", "words"),
    [
        ({}, {"queries_needed": pl.lit(None, pl.Float64)}, "ERR is not significantly better than AP."),
        ({}, {"queries_needed": pl.lit(3e8)}, "ERR is not significantly better than AP."),
        (
            {"caution": pl.lit("heavy-tailed sessions")}, {},
            "0.430 to 0.530). This interval is unreliable: heavy-tailed sessions. ERR is",
        ),
        (
            {}, {"caution": pl.lit("fewer than 50 queries")},
            "adjusted p 0.001). This interval is unreliable: fewer than 50 queries. ERR is not",
        ),
        (
            {**NO_ENDS, "caution": pl.lit("no interval: too few queries vary")}, {},
            "0.480 (no interval). It has no interval: too few queries vary.",
        ),
    ],
)  # fmt: skip
def test_the_finding_says_what_is_not_to_be_relied_on_and_promises_no_queries(of_values, of_pairs, words):
    """Of a run in which ERR is significantly better than DCG, and not above AP."""
    values = correlations(VALUES, p=None if "ci_low" in of_values else 0.001).with_columns(**of_values)
    tests = pairs(VALUES, [{"DCG", "ERR"}]).with_columns(**of_pairs)
    text = first_finding(found_in(run_of(correlations=values, comparisons=tests)).correlation).text
    assert words in text
    assert text.endswith(words) or "queries_needed" not in of_pairs
    assert text.count("rely") == text.count("Do not rely on this interval") == words.count("rely")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("a", 10, "x", 90), ("a", 5, "x", 92), ("b", 5, "x", 300)], ("b", 5, "x")),
        ([("a", 5, "x", 0), ("a", 10, "x", 9), ("b", 10, "x", 8)], ("a", 10, "x")),
        ([("b", 5, "human", 30), ("b", 5, "llm", 90), ("a", 5, "human", 80)], ("b", 5, "llm")),
        ([("b", 10, "z", 30), ("b", 5, "z", 30), ("a", 10, "y", 30)], ("b", 5, "z")),
        ([("b", 5, "z", 30, 9), ("a", 5, "y", 30)], ("b", 5, "z")),
        ([("b", 5, "z", 30), ("b", 5, "y", 30), ("a", 5, "z", 30)], ("a", 5, "z")),
    ],
)
def test_the_headline_has_most_sessions_then_the_smaller_depth_more_queries_and_the_first_name(
    rows, expected
):
    run = run_of(statistics=statistics(*rows))
    assert run.headline == SampleKey(*expected)
    assert shown_samples(run)[0] == run.headline


def test_the_page_shows_a_limited_number_of_samples_with_the_headline_first():
    rows = [(f"m{n:02}", depth, "j", 900 - 10 * depth - n) for n in range(20) for depth in (5, 10)]
    run = run_of(statistics=statistics(*rows))
    assert (len(shown_samples(run)), run.n_samples) == (SAMPLES_SHOWN, 40)
    assert shown_samples(run)[0] == SampleKey("m00", 5, "j")


def texts_of(tables):
    return [one.text for one in write_findings(found_in(read_run(tables, run_info())))]


def test_a_run_that_kept_nothing_says_where_its_sessions_went():
    texts = texts_of(nothing_kept_tables())
    assert texts[0] == (
        "There is no correlation to report: no session could be used; most were excluded because of: "
        "a result without a grade (880)."
    )
    assert texts[1].startswith(
        "The choice between two rankings cannot be evaluated: no session could be used"
    )
    assert texts[2] == "Of 900 sessions, none has a grade for every result down to the depth."


def test_a_run_of_one_configuration_gives_its_reason():
    texts = texts_of(one_configuration_tables())
    assert texts[0].endswith("to report: one configuration.")
    assert texts[1].endswith("cannot be evaluated: one configuration.")
    assert "at most 12 have a grade" in texts[2]


def test_the_scope_says_which_sample_is_the_headline_and_what_other_judges_decide():
    run, small = read_run(run_tables(), run_info()), run_of()
    assert scope_text(run, run.headline, {}) == (
        "Market m1, top 5, judge editor, the sample with the most usable sessions."
    )
    together = replace(run.headline, market="all")
    assert scope_text(run, together, {}) == "All markets combined, top 5, judge editor."
    assert scope_text(small, small.headline, {}) == "Market m, top 5, judge j."
    assert scope_text(small, small.headline, {"a": "Use AP", "b": "Keep ERR", "c": "Use AP"}) == (
        "Market m, top 5, judge j. With the grades of a and c the answer would be: \u201cUse AP\u201d. "
        "With the grades of b the answer would be: \u201cKeep ERR\u201d."
    )
    assert scope_text(read_run(nothing_kept_tables(), run_info()), None, {}) == ""


def test_caveats_name_validity_position_bias_coverage_and_ss():
    run = read_run(run_tables(), run_info())
    text = " ".join(caveats(run))
    for words in ("Correlation is not validity", "Position bias", "Coverage", "SS uses the grades itself"):
        assert words in text
    coverage = run.headline.rows(run.frames["statistics"])["coverage"][0]
    assert f"{100 * coverage:.1f}% of the sessions are fully judged" in text
    overall = run_tables()["correlations"].filter(market="m1", depth=5, judge="editor", split="all")
    first = overall.filter(click_metric="MeanRR", editorial_metric="MeanGrade@1")["correlation"][0]
    assert f"the top result's grade has a correlation of {first:.3f}." in text
    ss = overall.filter(click_metric="SS").to_dicts()
    null, name = max(
        (row["null_correlation"], row["editorial_metric"])
        for row in ss
        if row["editorial_metric"] not in BASELINES
    )
    assert f"if clicks ignored the grades, its correlation with {name} would still be {null:.3f}." in text


def test_a_missing_table_is_refused_with_what_a_run_has():
    tables = {name: frame for name, frame in empty_tables().items() if name != "funnel"}
    with pytest.raises(ReportError, match="no table funnel to report; a run has statistics, funnel"):
        read_run(tables, run_info())


def test_a_table_without_a_column_of_its_contract_is_refused():
    tables = {**empty_tables(), "statistics": pl.DataFrame({"market": ["m"]})}
    with pytest.raises(ContractError, match="table statistics: missing columns"):
        read_run(tables, run_info())
