"""The sections on click models and on results without a judgment: what they say is what the tables hold."""

import math

import polars as pl
import pytest

from clickassay.report.sections.log import filled_share, unjudged_sections
from clickassay.report.sections.users import examination_section
from support.reports.report_runs import report_of, run_of, settings_with
from support.reports.report_tables import canonical, empty_tables, small_tables

KEY = {"market": "m1", "depth": 5}
EXAMINED = {"UBM": [1.0, 0.7, 0.5, 0.4, 0.3], "PBM": [1.0, 0.6, 0.4, 0.3, 0.2], "DCTR": [None] * 5}
LIKELIHOODS = {"UBM": -2.0, "PBM": -2.5, "DCTR": -1.0}
RELEVANCE = {"bad": 0.1, "fair": 0.2, "good": 0.3, "excellent": 0.4, "perfect": None}


def model_row(name, likelihood, **changes):
    row = {
        **KEY, "model": name, "n_parameters": 7, "rounds": 3, "converged": True, "n_fitted": 3000,
        "n_sessions": 1000, "held_out": "sessions", "perplexity": 1.5, "log_likelihood": likelihood,
        "best_persistence": None if name == "DCTR" else 0.65, "reason": None,
    }  # fmt: skip
    return row | changes


def grade_rows():
    return [
        {
            **KEY, "judge": "a", "model": "PBM", "grade": grade, "attraction": value, "relevance": value,
            "ci_low": value and value - 0.05, "ci_high": value and value + 0.05,
            "assumed": (2**grade - 1) / 16, "impressions": 0 if value is None else 500,
            "reason": "no result of this grade is shown" if value is None else None,
        }
        for grade, value in enumerate(RELEVANCE.values())
    ]  # fmt: skip


def unjudged_row(rule, correlation, **changes):
    row = {
        **KEY, "judge": "a", "rule": rule, "click_metric": "MeanRR", "editorial_metric": "ERR",
        "correlation": correlation, "ci_low": correlation - 0.1, "ci_high": correlation + 0.1,
        "n_configurations": 9, "n_queries": 8, "n_sessions": 100, "coverage": 0.25, "filled": 0.0,
        "reason": None,
    }  # fmt: skip
    return row | changes


@pytest.fixture
def tables():
    positions = [
        {**KEY, "model": name, "position": place, "perplexity": 1.5, "examination": value}
        for name, values in EXAMINED.items()
        for place, value in enumerate(values, 1)
    ]
    return canonical(
        small_tables()
        | {
            "click_models": pl.DataFrame([model_row(*pair) for pair in LIKELIHOODS.items()]),
            "click_positions": pl.DataFrame(positions),
            "click_grades": pl.DataFrame(grade_rows()),
            "unjudged": pl.DataFrame(
                [unjudged_row("drop", 0.5), unjudged_row("model", 0.4, coverage=0.75, filled=0.2)]
            ),
        }
    )


def test_the_best_model_is_the_most_likely_of_those_that_estimate_examination(tables):
    section = examination_section(run_of(tables, persistence=0.8))
    text = " ".join(section.reading)
    assert "UBM predicts sessions best" in text
    assert "30% of sessions examine position 5" in text
    assert "look down to position 3" in text
    assert "nearest to this with p = 0.65 (this run's RBP has p = 0.80)" in text
    assert (
        f"DCG, {1 / math.log2(6):.2f} at position 5, is above examination at some positions and not at others"
        in text
    )
    assert "Fitted on 3,000 sessions, tested on 1,000 drawn at random" in text


def test_figure_1_has_every_model_that_estimates_examination_and_both_discounts(tables):
    figure = examination_section(run_of(tables)).figures[0]
    drawn = {}
    for row in figure.drawing.rows:
        drawn.setdefault(row["name"], []).append(row["value"])
    assert drawn["UBM"] == EXAMINED["UBM"]
    assert drawn["PBM"] == EXAMINED["PBM"]
    assert drawn["DCG"] == pytest.approx([1 / math.log2(place + 1) for place in range(1, 6)])
    assert drawn["RBP(p=0.65)"] == pytest.approx([0.65**place for place in range(5)])
    assert len(drawn) == 4


def test_values_of_grades_are_next_to_what_err_assumes(tables):
    section = examination_section(run_of(tables))
    (table,) = [one for one in section.every_table if one.name == "click_grades"]
    assert table.heads == ("PBM", "R(g)")
    assert [row.name for row in table.rows] == list(RELEVANCE)
    assert [row.cells[0].value for row in table.rows] == list(RELEVANCE.values())
    assert table.rows[4].cells[0].reason == "no result of this grade is shown"
    assert [row.cells[1].value for row in table.rows] == [0, 1 / 16, 3 / 16, 7 / 16, 15 / 16]
    drawn = section.figures[1].drawing.rows
    assert [(row["name"], row["value"]) for row in drawn] == list(RELEVANCE.items())[:4]
    text = " ".join(section.reading)
    assert (
        "satisfies the user with a probability of 0.100 if it is bad and 0.400 if it is excellent; this "
        "probability rises" in text
    )


def test_values_that_do_not_rise_are_said_not_to(tables):
    values = pl.col("relevance").replace(0.2, 0.05)
    tables["click_grades"] = tables["click_grades"].with_columns(values)
    assert "this probability does not rise with every grade" in " ".join(
        examination_section(run_of(tables)).reading
    )


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "No click model was fitted."),
        ([model_row("UBM", None, perplexity=None, reason="nothing was clicked")], "nothing was clicked"),
        ([model_row("DCTR", -1.0)], "No click model of this run estimates examination."),
    ],
)
def test_without_a_model_the_section_says_why(tables, rows, words):
    tables["click_models"] = pl.DataFrame(rows) if rows else tables["click_models"].head(0)
    tables["click_positions"] = tables["click_positions"].head(0)
    section = examination_section(run_of(canonical(tables)))
    assert words in " ".join(section.reading)
    assert section.figures == ()


def test_rules_are_shown_with_coverage_filled_share_and_correlation(tables):
    (section,) = unjudged_sections(run_of(tables, unjudged="model"))
    text = " ".join(section.reading)
    for words in (
        "Rankings excluded: coverage 25.0%, 0.0% of the grades filled in, correlation with MeanRR 0.500",
        "coverage 75.0%, 20.0% of the grades filled in, correlation with MeanRR 0.400 (0.300 to 0.500)",
    ):
        assert words in text
    (table,) = section.tables
    assert [row.name for row in table.rows] == ["rankings excluded", "grades predicted from clicks"]
    assert "one half of the users" in " ".join(table.remarks)


def test_filled_grades_are_never_ignored(tables):
    run = run_of(tables, unjudged="model")
    assert filled_share(run, run.headline) == 0.2
    report = report_of(tables, settings_with(unjudged="model"))
    assert "20.0% of these grades are not judgments but filled in" in " ".join(report.caveats)
    data = dict(report.facts)["Data"]
    assert "and grades that are filled in (20.0% of all, grades predicted from clicks) grade" in data
    (table,) = next(section for section in report.sections if section.name == "data").tables
    note = "Coverage counts grades that are filled in (grades predicted from clicks): 20.0%"
    assert any(remark.startswith(note) for remark in table.remarks)
    plain = run_of(tables, unjudged="extremes")
    assert filled_share(plain, plain.headline) is None


def test_a_run_without_rules_has_no_section_and_an_empty_run_says_so(tables):
    assert unjudged_sections(run_of(empty_tables())) == ()
    assert "No click model was fitted." in " ".join(examination_section(run_of(empty_tables())).reading)
