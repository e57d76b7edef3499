"""The verdict of worlds in which it is known: every case is worked out by hand."""

from dataclasses import replace

import polars as pl
import pytest

from clickassay.core.contracts.form import ContractError
from clickassay.core.errors import ReportError
from clickassay.core.records import SampleKey
from clickassay.core.text.words import MINUS
from clickassay.findings.run import run_of as read_run
from clickassay.report.model import SAMPLES_SHOWN, shown_samples
from clickassay.report.sections.overview import caveats
from clickassay.report.verdict.sentences import first_finding, scope_text, verdict_sentence, write_findings
from support.reports.report_tables import (
    empty_tables,
    nothing_kept_tables,
    one_configuration_tables,
    run_info,
    run_tables,
)
from support.reports.verdict_world import (
    BASELINES,
    KEY,
    UNSURE,
    VALUES,
    above,
    correlations,
    differences,
    found_in,
    pairs,
    run_of,
    statistics,
)


def said(run):
    """Kind, headline and findings of a run."""
    found = found_in(run)
    return found.verdict.kind, verdict_sentence(found.verdict), [one.text for one in write_findings(found)]


def world(values, significant=(), **more):
    return run_of(correlations=correlations(values, **more), comparisons=pairs(values, significant))


def test_where_one_metric_is_significantly_above_all_it_predicts_best():
    kind, title, (first, _, _) = said(world(VALUES, above("ERR", VALUES)))
    assert (kind, title) == ("metric_best", "ERR best predicts clicks")
    assert first == (
        "ERR has the highest correlation with MeanRR, 0.400 (95% CI 0.350 to 0.450). ERR is "
        "significantly better than every baseline: ERR minus the top result's grade is +0.020 (95% CI "
        "0.012 to 0.028, adjusted p 0.001). ERR is 0.040 higher than DCG, the next metric (95% CI "
        "0.032 to 0.048, adjusted p 0.001). ERR is significantly better than all other metrics."
    )


def test_where_nothing_differs_no_metric_is_better_than_the_highest_baseline():
    kind, title, (first, _, _) = said(world(VALUES))
    assert kind == "baseline_not_beaten"
    assert title == "No metric is significantly better than the top result's grade at predicting clicks"
    assert (
        "ERR is not significantly better than the top result's grade, the top result's relevance or "
        "the mean grade: ERR minus the top result's grade is +0.020 (95% CI "
        f"{MINUS}0.019 to 0.059, adjusted p 0.400)."
    ) in first
    assert first.endswith("ERR is not significantly better than DCG and AP.")


def test_a_baseline_that_is_highest_but_ties_is_named_first_and_no_metric_wins():
    values = {**VALUES, "MeanGrade@1": 0.401}
    kind, title, (first, _, _) = said(world(values, [{"ERR", "MeanGrade"}, {"ERR", "P@1"}]))
    assert kind == "baseline_not_beaten"
    assert title == "No metric is significantly better than the top result's grade at predicting clicks"
    assert first.startswith(
        "The top result's grade (the baseline MeanGrade@1) has the highest correlation with MeanRR, "
        "0.401 (95% CI 0.351 to 0.451). ERR, the highest metric, has 0.400 (95% CI 0.350 to "
        "0.450). ERR is not significantly better than the top result's grade: ERR minus the top result's "
        "grade"
        f" is {MINUS}0.001 ("
    )


def test_a_baseline_that_is_significantly_above_every_metric_wins():
    values = {**VALUES, "MeanGrade": 0.6}
    kind, title, (first, _, _) = said(world(values, above("MeanGrade", values)))
    assert (kind, title) == (
        "baseline_best",
        "The mean grade is significantly better than every metric at predicting clicks",
    )
    assert (
        f"The mean grade is significantly better than every metric: ERR minus the mean grade is "
        f"{MINUS}0.200 (" in first
    )


def test_where_clicks_ignore_grades_nothing_predicts_although_some_value_is_the_highest():
    values = {name: value / 10 for name, value in VALUES.items()}
    kind, title, (first, _, third) = said(world(values, p=UNSURE))
    assert (kind, title) == ("nothing_predicts", "No offline metric measurably predicts clicks")
    assert first == (
        f"ERR has the highest correlation with MeanRR, 0.040 (95% CI {MINUS}0.010 to 0.090), not "
        f"significantly above zero. No other metric or baseline is significantly better."
    )
    assert "best" not in third


def test_a_correlation_significantly_below_zero_predicts_nothing():
    kind, _, _ = said(world({name: -value for name, value in VALUES.items()}))
    assert kind == "nothing_predicts"


def test_without_any_value_there_is_no_correlation_and_the_reason_is_given():
    kind, title, texts = said(run_of(statistics=statistics(("m", 5, "j", 0))))
    assert (kind, title) == ("no_correlation", "No correlation of metrics and clicks could be computed")
    assert texts[0].startswith("There is no correlation to report: no session could be used")


def test_a_metric_above_the_baselines_that_ties_with_another_metric_is_not_the_best():
    significant = [pair for pair in above("ERR", VALUES) if pair != {"ERR", "DCG"}]
    kind, title, (first, _, _) = said(world(VALUES, significant))
    assert kind == "metric_tied"
    assert (
        title
        == "ERR is better than the baselines at predicting clicks, but not significantly better than DCG"
    )
    assert "ERR is 0.100 higher than AP, the next that is significantly different (" in first


def test_the_highest_metric_does_not_hide_one_that_beats_every_baseline():
    # ERR varies more: its lead over the first grade is not significant, that of DCG is
    significant = [{"DCG", name} for name in BASELINES]
    values = {**VALUES, "DCG": 0.395}
    kind, title, (first, _, _) = said(world(values, significant))
    assert kind == "metric_tied"
    assert title == (
        "DCG is better than the baselines at predicting clicks, but not significantly better than ERR and AP"
    )
    assert "DCG, the highest that beats every baseline, has 0.395 (" in first


def test_a_metric_that_beats_one_baseline_and_not_the_other_beats_not_every_one():
    significant = [{"ERR", "MeanGrade"}, {"ERR", "P@1"}, {"DCG", "MeanGrade@1"}]
    kind, title, _ = said(world({**VALUES, "DCG": 0.39}, significant))
    assert kind == "baseline_not_beaten"
    assert title == "No metric that predicts clicks is significantly better than every baseline"


def test_pairs_that_were_not_tested_are_neither_wins_nor_ties():
    untested = [{"ERR", other} for other in VALUES]
    values = correlations(VALUES)
    run = run_of(correlations=values, comparisons=pairs(VALUES, untested=untested))
    kind, _, (first, _, _) = said(run)
    assert kind == "baseline_not_beaten"
    assert "the difference from the top result's grade could not be tested" in first
    assert first.endswith("Whether it differs from DCG and AP was not tested.")


def test_without_any_test_nothing_is_claimed():
    kind, title, (first, _, _) = said(world(VALUES, p=None))
    assert (kind, title) == ("not_tested", "Whether a metric predicts clicks could not be tested")
    assert first.endswith("0.450). Whether the correlation exceeds 0 could not be tested.")


SWAPPED = {**VALUES, "DCG": 0.40, "ERR": 0.36}


def by_two_clicks(second, significant, clicks=("MeanRR", "UCTR")):
    return run_of(
        correlations=[correlations(VALUES, clicks[0]), correlations(second, clicks[1])],
        comparisons=[pairs(VALUES, above("ERR", VALUES), clicks[0]), pairs(second, significant, clicks[1])],
        settings={"click_metric": list(clicks)},
    )


def test_where_the_winner_depends_on_the_click_metric_the_verdict_says_so():
    kind, title, (_, _, third) = said(by_two_clicks(SWAPPED, above("DCG", VALUES)))
    assert kind == "depends_on_click"
    assert title == "Signals disagree about the best metric: ERR on clicks (MeanRR), DCG on clicks (UCTR)"
    assert third.startswith(
        "Which metrics lead depends significantly on the click metric. ERR on MeanRR; DCG on UCTR."
    )


def test_an_order_that_changes_without_significance_is_no_dependence():
    kind, title, (_, _, third) = said(by_two_clicks(SWAPPED, []))
    assert kind == "metric_best"
    assert title == (
        "On clicks (MeanRR), ERR best predicts clicks; on clicks (UCTR), no metric is significantly better "
        "than the top result's grade at predicting clicks"
    )
    assert third.startswith(
        "No significant disagreement between click metrics about which metrics lead. ERR is"
    )


def test_the_same_verdict_by_every_click_metric_is_said_once():
    assert said(by_two_clicks(VALUES, above("ERR", VALUES)))[:2] == (
        "metric_best",
        "ERR best predicts clicks, on both click metrics",
    )


def test_a_click_metric_that_nothing_predicts_is_named_and_decides_nothing():
    run = run_of(
        correlations=[correlations(VALUES), correlations(VALUES, "UCTR", p=UNSURE)],
        comparisons=[pairs(VALUES, above("ERR", VALUES)), pairs(VALUES, [], "UCTR")],
    )
    kind, title, (_, _, third) = said(run)
    assert (kind, title) == ("metric_best", "ERR best predicts clicks")  # UCTR was not asked for
    assert "No metric measurably predicts UCTR." in third
    assert "depends significantly" not in third


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"market": "n"}, "depends significantly on the market. ERR in market m; DCG in market n."),
        ({"depth": 10}, "depends significantly on the depth. ERR at depth 5; DCG at depth 10."),
        (
            {"judge": "k"},
            "depends significantly on the judge. ERR with the grades of j; DCG with the grades of k.",
        ),
    ],
)
def test_the_third_finding_varies_market_depth_and_judge_each_alone(other, words):
    key = {**KEY, **other}
    everything_else = {"market": "z", "depth": 20, "judge": "z"}
    run = run_of(
        statistics=statistics((*KEY.values(), 50), (*key.values(), 40), (*everything_else.values(), 30)),
        correlations=[correlations(VALUES), correlations(SWAPPED, key=key)],
        comparisons=[pairs(VALUES, above("ERR", VALUES)), pairs(SWAPPED, above("DCG", VALUES), key=key)],
    )
    found = found_in(run)
    assert write_findings(found)[2].text.startswith(f"Which metrics lead {words}")
    assert write_findings(found)[2].key == "1 of 1"
    assert found.depends.kind == "best_depends"


def test_ss_and_qctr_are_not_compared_unless_asked_for():
    frames = [correlations(VALUES), *(correlations(SWAPPED, click) for click in ("SS", "QCTR"))]
    tests = [pairs(VALUES, above("ERR", VALUES))]
    tests += [pairs(SWAPPED, above("DCG", VALUES), click) for click in ("SS", "QCTR")]
    found = found_in(run_of(correlations=frames, comparisons=tests))
    assert found.depends.kind == "nothing_to_vary"
    asked = run_of(correlations=frames, comparisons=tests, settings={"click_metric": ["MeanRR", "QCTR"]})
    assert found_in(asked).verdict.kind == "depends_on_click"


def ranked(values, significant=(), p=0.001):
    forms = {name: (value, 0.5 + value / 4) for name, value in values.items()}
    return run_of(
        correlations=correlations(VALUES),
        differences=differences(forms, p=p),
        difference_comparisons=pairs(values, significant, table="difference_comparisons"),
    )


def test_the_second_finding_names_ties_with_baselines_and_metrics():
    # the case that was published: "DCG, the highest of all metrics, 0.144", while a baseline had 0.148
    values = {"DCG": 0.144, "ERR": 0.141, "MeanGrade@1": 0.148}
    found = found_in(ranked(values))
    assert found.differences.kind == "baseline_not_beaten"
    text = write_findings(found)[1].text
    assert "differences in the top result's grade (the baseline MeanGrade@1) and in MeanRR" in text
    assert "DCG is not significantly better than the top result's grade: DCG minus" in text
    assert "DCG is not significantly better than ERR." in text
    assert "highest of all metrics" not in text


def test_differences_that_predict_nothing_are_not_called_the_best():
    text = said(ranked({"DCG": 0.02, "ERR": 0.01}, p=UNSURE))[2][1]
    assert f"0.020 (95% CI {MINUS}0.080 to 0.120), not significantly above zero." in text


OF_THREE = {"DCG": 0.22, "AP": 0.40, "ERR": 0.48}


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
    values = correlations(OF_THREE, p=None if "ci_low" in of_values else 0.001).with_columns(**of_values)
    tests = pairs(OF_THREE, [{"DCG", "ERR"}]).with_columns(**of_pairs)
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
