"""The first screen as a few lines of Markdown."""

import re

import pytest
from markdown_it import MarkdownIt

from clickassay.core.text.escape import markdown
from clickassay.findings.decision import decide
from clickassay.report.verdict.decision import advise
from clickassay.report.verdict.summary import MOST, summary_markdown
from support.reports.report_runs import RUNS
from support.reports.report_tables import HOSTILE
from support.reports.verdict_world import UNSURE, correlations, found_in, pairs, run_of

VALUES = {"DCG": 0.36, "AP": 0.30, "ERR": 0.40, "MeanGrade": 0.25}


def text_of(run, facts=(("Data", "9 searches."),)):
    found = found_in(run)
    decision = decide(found.verdict, (), None, 0.05)
    return summary_markdown(advise(found.verdict, decision, ()), found.correlation.ranking, facts)


def test_it_has_the_decision_the_ranking_and_the_data():
    significant = [{"ERR", "AP"}, {"ERR", "MeanGrade"}, {"ERR", "DCG"}]
    run = run_of(correlations=correlations(VALUES), comparisons=pairs(VALUES, significant))
    assert text_of(run).splitlines() == [
        "**ERR predicts best which queries are badly served; DCG and AP are significantly worse.** ERR "
        "significantly beats every baseline.",
        "",
        "Next: Run again with --current and the name of your metric, to learn whether to keep it.",
        "",
        "Correlation with MeanRR: **ERR 0.400**, DCG 0.360, AP 0.300, the mean grade 0.250.",
        "",
        "- Data: 9 searches.",
        "",
        "Full report: `report.html`.",
    ]


def test_of_many_metrics_the_last_are_counted():
    values = {f"M{place}": 0.9 - place / 100 for place in range(MOST + 3)}
    text = text_of(run_of(correlations=correlations(values)))
    assert f"**M{MOST - 1} 0.790**, and 3 more." in text
    assert f"M{MOST} " not in text


def test_nothing_is_bold_where_nothing_predicts():
    (line,) = [
        line
        for line in text_of(run_of(correlations=correlations(VALUES, p=UNSURE))).splitlines()
        if "0.400" in line
    ]
    assert "**" not in line


def test_without_a_correlation_there_is_no_ranking():
    assert "Correlation with" not in text_of(run_of())


@pytest.mark.parametrize("name", RUNS)
def test_it_is_short_and_says_what_the_page_says(reports, made, name):
    text = (reports[name] / "summary.md").read_text("utf-8")
    report = made[name]
    assert len(text.splitlines()) <= 14
    assert text.startswith(f"**{markdown(report.title)}.**")
    assert markdown(report.decision.reason) in text
    assert all(markdown(fact) in text for _, fact in report.facts)
    assert text.endswith("\n")
    assert "None" not in text


def marks(text):
    """The kinds of marks that a reader of Markdown sees, and what is code."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    every = [child for token in tokens for child in (token, *(token.children or ()))]
    return [one.type for one in every], [one.content for one in every if one.type == "code_inline"]


@pytest.mark.parametrize("facts", [(("Data", HOSTILE),), ((HOSTILE, "x"),)])
def test_hostile_names_are_text(facts):
    text = text_of(run_of(correlations=correlations(VALUES)), facts)
    kinds, _ = marks(text)
    assert not {*kinds} & {"html_block", "html_inline", "link_open", "image", "fence", "table_open"}
    assert kinds.count("list_item_open") == 1
    assert not re.search(r"[\u2028\u202e]", text)


def test_a_hostile_run_has_only_its_own_marks(reports):
    kinds, codes = marks((reports["hostile"] / "summary.md").read_text("utf-8"))
    pairs = ("paragraph", "strong", "bullet_list", "list_item")
    alone = {"inline", "text", "code_inline", "softbreak"}
    assert {*kinds} <= {f"{name}_{end}" for name in pairs for end in ("open", "close")} | alone
    assert codes == ["report.html"]
