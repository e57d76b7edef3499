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


def held_out_row(name, correlation, **changes):
    ends = {f"{what}{end}": None for what in ("slope", "in_order", "behind") for end in ("", "_low", "_high")}
    row = {
        **KEY, "click_metric": "MeanRR", "model": name, "correlation": correlation,
        "correlation_low": correlation - 0.1, "correlation_high": correlation + 0.1, **ends, "slope": 0.8,
        "slope_low": 0.6, "slope_high": 1.0, "in_order": 0.64, "in_order_low": 0.6, "in_order_high": 0.68,
        "attainable": 0.6, "noise": 0.64, "is_best": name == "PBM", "as_good": name in ("PBM", "UBM"),
        "n_queries": 20, "n_configurations": 100, "n_sessions": 5000, "reason": None,
    }  # fmt: skip
    return row | changes


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
    drawn = {}  # every model that estimates examination, and both discounts
    for row in section.figures[0].drawing.rows:
        drawn.setdefault(row["name"], []).append(row["value"])
    assert drawn["UBM"] == EXAMINED["UBM"]
    assert drawn["PBM"] == EXAMINED["PBM"]
    assert drawn["DCG"] == pytest.approx([1 / math.log2(place + 1) for place in range(1, 6)])
    assert drawn["RBP(p=0.65)"] == pytest.approx([0.65**place for place in range(5)])
    assert len(drawn) == 4


HELD_OUT = [held_out_row(*one) for one in (("PBM", 0.5), ("UBM", 0.48), ("DBN", 0.2), ("choice", 0.45))]


def test_it_says_which_model_the_log_supports(tables):
    tables["click_held_out"] = pl.DataFrame(HELD_OUT, infer_schema_length=None)
    tenths = [
        {**KEY, "click_metric": "MeanRR", "model": "PBM", "tenth": tenth, "predicted": tenth / 100 - 0.05,
         "observed": tenth / 90 - 0.06, "n_configurations": 10}
        for tenth in range(1, 11)
    ]  # fmt: skip
    tables["click_calibration"] = pl.DataFrame(tenths)
    section = examination_section(run_of(canonical(tables)))
    text = " ".join(section.reading)
    for words in (
        "This log supports PBM: it predicts MeanRR of unseen rankings with a correlation of 0.50 within "
        "queries (95% CI 0.40 to 0.60), where 0.60 is attainable.",
        "Not significantly worse: UBM.",
        "Significantly worse: DBN.",
        "0.80 more is observed (95% CI 0.60 to 1.00); 64% of pairs",
        "A model chosen by nine tenths of the queries has a correlation of 0.45 (95% CI 0.35 to 0.55)",
        "64% of the variance of MeanRR between rankings of a query is noise of their sessions (20 queries, "
        "100 rankings, 5,000 sessions).",
    ):
        assert words in text
    figure = section.figures[0]
    assert figure.name == "predicted"
    drawn = [(row["x"], row["y"]) for row in figure.drawing.rows if row["name"] == "PBM"]
    assert drawn == [(one["predicted"], one["observed"]) for one in tenths]
    assert "Lowest tenth: predicted \u22120.040, observed \u22120.049" in figure.alt
    (table,) = [one for one in section.every_table if one.name == "click_held_out"]
    assert [row.name for row in table.rows] == ["PBM", "UBM", "DBN"]
    assert table.rows[0].cells[0].value == 0.5


def test_it_says_why_the_log_cannot_tell(tables):
    why = "click models: no query has 3 rankings with 20 sessions or more, so none can be held out"
    rows = [held_out_row("PBM", 0.5, is_best=False, reason=why)]
    nulls = {name: None for name in rows[0] if isinstance(rows[0][name], float)}
    tables["click_held_out"] = pl.DataFrame([rows[0] | nulls])
    section = examination_section(run_of(canonical(tables)))
    assert (
        f"This log cannot tell which click model it supports: {why.removeprefix('click models: ')}."
        in section.reading
    )
    assert section.figures[0].name == "examination"


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
    tables["click_grades"] = tables["click_grades"].with_columns(pl.col("relevance").replace(0.2, 0.05))
    text = " ".join(examination_section(run_of(tables)).reading)
    assert "this probability does not rise with every grade" in text


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
