"""What is advised in worlds of a few numbers: every kind of decision, worked out by hand."""

import math
import re
from typing import get_args

import polars as pl
import pytest

from clickassay.core.text.words import MINUS
from clickassay.correlation.uncertainty.intervals import HEAVY_TAIL
from clickassay.findings.decision import Kind
from clickassay.health.checks import BY_NAME, HealthCheck
from clickassay.report.verdict.decision import advise_run
from support.reports.verdict_world import (
    BASELINES,
    NARROW,
    SURE,
    UNSURE,
    VALUES,
    above,
    bound,
    by_two_clicks,
    correlations,
    decided,
    found_in,
    pairs,
    run_of,
    statistics,
    within,
    world,
)


def check(name, sentence, remedy="Repair it."):
    known = BY_NAME[name]
    return HealthCheck(name, str(known.severity), 0.5, known.threshold, sentence, remedy)


def both_questions(queries, asked="rankings"):
    """ERR is best at comparing rankings, DCG over all queries; so many queries have two judged lists."""
    over = {**VALUES, "DCG": 0.5}
    return run_of(
        correlations=correlations(over, queries=60),
        comparisons=pairs(over, above("DCG", over)),
        **within(VALUES, above("ERR", VALUES), queries=queries),
        settings={"question": asked},
    )


def test_rankings_are_decided_by_lists_for_the_same_query():
    run = both_questions(50)
    found = advise_run(run, found_in(run))
    assert (found.question, found.kind, found.subject) == ("rankings", "use", "ERR")
    assert found.sentence == (
        "ERR predicts best which of two rankings users prefer; DCG and AP are significantly worse"
    )
    assert found.reason == (
        "ERR significantly beats every baseline. DCG is significantly better than ERR at finding badly "
        "served "
        "queries, and significantly worse at comparing two rankings."
    )


def test_with_fewer_than_fifty_such_queries_all_queries_decide_and_it_is_said():
    run = both_questions(49)
    found = advise_run(run, found_in(run))
    assert (found.question, found.kind, found.subject) == ("queries", "use", "DCG")
    assert (
        "Only 49 queries have two fully judged rankings, too few to compare rankings: use a longer log or an "
        "A/B test."
    ) in found.reason
    assert "at comparing two rankings" not in found.reason  # which so few queries cannot tell


def test_who_asks_for_queries_gets_queries():
    found = decided(both_questions(50, asked="queries"))
    assert (found.question, found.kind, found.subject) == ("queries", "use", "DCG")
    assert "two fully judged" not in found.reason


def test_all_markets_together_decide_about_rankings():
    markets = [{"market": market, "depth": 5, "judge": "j"} for market in ("all", "a", "b")]
    worlds = [
        within(VALUES, above("ERR" if key["market"] == "all" else "DCG", VALUES), key=key) for key in markets
    ]
    frames = {name: [one[name] for one in worlds] for name in worlds[0]}
    run = run_of(
        statistics=statistics(("a", 5, "j", 60), ("b", 5, "j", 50)),
        **frames,
        settings={"question": "rankings"},
    )
    found = advise_run(run, found_in(run))
    assert (found.kind, found.subject) == ("use", "ERR")
    assert found.scope == (
        "All markets combined, top 5, judge j. Effects shared by all queries (8 periods, 16 "
        "groups of users) are removed."
    )


def by_judges(best, kept):
    """The decision of a run where each judge has a best metric, and so many sessions kept."""
    keys = {judge: {"market": "m", "depth": 5, "judge": judge} for judge in best}
    run = run_of(
        statistics=statistics(*(("m", 5, judge, sessions) for judge, sessions in kept.items())),
        correlations=[correlations({**VALUES, best[judge]: 0.5}, key=key) for judge, key in keys.items()],
        comparisons=[
            pairs({**VALUES, best[judge]: 0.5}, above(best[judge], VALUES), key=key)
            for judge, key in keys.items()
        ],
    )
    found = found_in(run)
    return advise_run(run, found)


@pytest.mark.parametrize("model", ["llm", "gpt"])
def test_the_decision_is_by_the_judge_with_most_sessions_whatever_the_names(model):
    found = by_judges({"human": "DCG", model: "ERR"}, {"human": 110, model: 600})
    assert found.subject == "ERR"
    other = "DCG predicts best which queries are badly served; ERR and AP are significantly worse"
    assert found.other_judges == {"human": other}
    assert found.scope == (
        f"Market m, top 5, judge {model}, the sample with the most usable sessions. "
        f"With the grades of human the answer would be: \u201c{other}\u201d."
    )


def test_judges_who_decide_the_same_are_not_spoken_of():
    found = by_judges({"ann": "ERR", "bob": "ERR"}, {"ann": 110, "bob": 110})
    assert (found.other_judges, found.scope) == (
        {}, "Market m, top 5, judge ann, the sample with the most usable sessions.",
    )  # fmt: skip


@pytest.mark.parametrize("current", [None, "AP"])
def test_a_fault_of_the_log_comes_before_everything(current):
    fault = check(
        "late_clicks",
        "Of the clicks, 30.0% (300 of 1,000) come late: their times may be in another zone.",
        "Compare the times.",
    )
    found = decided(world(VALUES, above("ERR", VALUES)), current, [fault])
    assert found.kind == "log_at_fault"
    assert found.sentence == "The log has a problem: clicks come after the idle limit of their search"
    assert (found.reason, found.next_step) == (fault.sentence, "Compare the times.")
    assert (found.subject, found.current) == (None, current)


def test_a_caution_about_the_log_does_not_stop_a_decision():
    found = decided(world(VALUES, above("ERR", VALUES)), None, [check("busy_user", "One user is busy.")])
    assert found.kind == "use"


def uncertain(p, **significant):
    """Every value of few queries: its interval is not reliable."""
    values = correlations(VALUES, p=p).with_columns(caution=pl.lit("fewer than 50 queries"))
    return run_of(correlations=values, comparisons=pairs(VALUES, **significant))


def without_a_value():
    none = {"correlation": pl.lit(None, pl.Float64), "reason": pl.lit("one configuration")}
    return run_of(correlations=correlations(VALUES).with_columns(**none))


@pytest.mark.parametrize("current", [None, "DCG"])
@pytest.mark.parametrize(
    ("run", "sentence", "reason", "next_step"),
    [
        (
            lambda: run_of(statistics=statistics(("m", 5, "j", 0))),
            "no session could be used: the log and the judgments share no configuration",
            "", "Judge all top results of a ranking: the report counts the excluded sessions, and why.",
        ),
        (
            without_a_value, "there is no correlation (one configuration)", "",
            "Judge several rankings that differ in grades and in clicks.",
        ),
        (  # the simultaneous intervals of `correlations` end 0.08 above the value; ERR has the highest
            lambda: world(p=UNSURE),
            "no metric measurably predicts which of two rankings users prefer, on clicks (MeanRR)",
            "60 queries show that no metric's correlation exceeds 0.480.",
            "If a correlation of 0.480 would be too small to matter, review the judgments; otherwise "
            "judge more "
            "queries.",
        ),
        (
            lambda: uncertain(UNSURE), "no metric measurably predicts clicks (MeanRR)",
            "A correlation cannot be ruled out: intervals are unreliable (fewer than 50 queries).",
            "If smaller correlations would not matter to you, review the judgments; otherwise judge more "
            "queries.",
        ),
        (
            lambda: world(p=None), "no correlation could be tested", "",
            "Judge more queries: intervals get narrower.",
        ),
        (
            lambda: world({name: -value for name, value in VALUES.items()}),
            "every metric correlates negatively with clicks (MeanRR)",
            f"All metrics are significantly worse than chance; the highest has {MINUS}0.300.",
            "Check whether the grading scale is reversed; if it is not, graders and users disagree.",
        ),
        (
            lambda: uncertain(SURE, significant=above("ERR", VALUES)),
            "its intervals are unreliable (fewer than 50 queries)", "",
            "Judge more queries: intervals get narrower.",
        ),
    ],
    ids=["nothing kept", "no value", "noise", "noise of few", "not tested", "below noise", "few queries"],
)  # fmt: skip
def test_what_cannot_be_decided_is_said_with_what_is_ruled_out_and_what_would_help(
    run, sentence, reason, next_step, current
):
    found = decided(run(), current)
    assert (found.kind, found.sentence) == ("cannot_decide", f"This log cannot decide: {sentence}")
    assert (found.reason, found.next_step) == (reason, next_step)


def test_a_metric_above_all_others_is_to_be_used():
    found = decided(world(VALUES, above("ERR", VALUES)))
    assert (found.kind, found.subject, found.compared_with) == ("use", "ERR", "MeanGrade@1")
    assert found.difference == pytest.approx(0.02)
    assert found.high == pytest.approx(bound(0.02, 0.004, 15), abs=1e-6)  # the family: all pairs of six


def test_a_metric_without_another_one_is_to_be_used():
    assert (
        decided(world({"ERR": 0.4})).sentence
        == "ERR is the only metric: there is no other one to compare it with"
    )


def test_what_alone_is_among_the_best_is_to_be_used():
    # ERR is not significantly better than AP, but DCG is: significantly below none is only ERR
    significant = [*above("ERR", ("DCG", *BASELINES)), {"DCG", "AP"}]
    found = decided(world(VALUES, significant))
    assert (found.kind, found.sentence) == (
        "use",
        "ERR predicts best which of two rankings users prefer; DCG and AP are significantly worse than "
        "another "
        "metric",
    )


def test_where_no_metric_is_better_by_the_margin_a_baseline_does_as_well():
    found = decided(world(VALUES, error=NARROW))
    assert (found.kind, found.subject) == ("baseline_as_good", "MeanGrade@1")
    assert found.bound == pytest.approx(bound(0.02, NARROW, 15), abs=1e-6)
    assert found.sentence == "No metric is significantly better than another at comparing two rankings"
    assert found.reason == (
        "No metric beats the top result's grade by more than 0.021 in correlation. Differences under "
        "0.05 are treated as "
        "negligible: about 1.8 of 100 pairs of rankings."
    )


def test_a_baseline_above_every_metric_is_as_good_whatever_the_margin():
    values = {**VALUES, "MeanGrade": 0.6}
    found = decided(world(values, above("MeanGrade", values)), margin=0.0)
    assert (found.kind, found.subject) == ("baseline_as_good", "MeanGrade")
    assert (
        found.sentence == "The mean grade is significantly better than every metric at comparing two rankings"
    )
    assert found.reason == ""


def test_metrics_equal_within_the_margin_may_all_be_used():
    values = {"ERR": 0.40, "DCG": 0.39, "AP": 0.30, "MeanGrade@1": 0.2}
    significant = [*above("MeanGrade@1", values), {"ERR", "AP"}, {"DCG", "AP"}]
    found = decided(world(values, significant, error=0.004))
    assert (found.kind, found.subject) == ("use_any", None)
    assert found.bound == pytest.approx(bound(0.01, 0.004, 6))
    assert found.sentence == (
        "ERR and DCG predict best which of two rankings users prefer; AP is significantly worse"
    )
    assert found.reason == "ERR significantly beats every baseline."


def test_metrics_that_may_differ_by_more_leave_it_open():
    found = decided(world(VALUES, [{"ERR", "AP"}]))
    assert (found.kind, found.subject, found.compared_with) == ("cannot_say", "ERR", "MeanGrade")
    assert found.bound == pytest.approx(bound(0.15, 0.02, 15))
    assert found.sentence == (
        "ERR and DCG predict best which of two rankings users prefer; AP is significantly worse than another "
        "metric"
    )
    assert found.reason == (
        "ERR, the highest metric, does not significantly beat the top result's grade, the top result's "
        "relevance or the mean grade."
    )


def test_what_is_open_is_said_of_a_metric_and_not_of_two_baselines():
    values = {"ERR": 0.30, "DCG": 0.29, "MeanGrade": 0.31, "P@1": 0.1}
    found = decided(world(values, error=0.03))
    assert (found.kind, found.subject, found.compared_with) == ("cannot_say", "ERR", "P@1")
    assert found.bound == pytest.approx(bound(0.2, 0.03, 6))  # the two baselines may differ by 0.01 more


def test_where_the_best_by_one_click_metric_is_beaten_by_another_one_is_to_be_chosen():
    values = VALUES, {**VALUES, "DCG": 0.40, "ERR": 0.36}
    found = decided(by_two_clicks(above("ERR", VALUES), above("DCG", VALUES), values))
    assert (found.kind, found.subject) == ("choose_click_metric", None)
    assert found.sentence == "Your signals disagree about the best metric at comparing two rankings"
    assert found.reason == (
        "Not significantly worse than any other: ERR on clicks (MeanRR); DCG on clicks (UCTR)."
    )


def test_what_another_click_metric_does_not_show_is_no_contradiction():
    found = decided(by_two_clicks(above("ERR", VALUES), []))
    assert (found.kind, found.subject) == ("use", "ERR")
    assert [one["kind"] for one in found.signals] == ["inconclusive", "inconclusive"]  # nothing is in use


def test_what_only_another_click_metric_shows_takes_equality_back():
    assert decided(by_two_clicks([], [], error=NARROW)).kind == "baseline_as_good"
    worse = {**VALUES, "MeanGrade@1": 0.2}
    found = decided(by_two_clicks([], above("ERR", worse), (VALUES, worse), error=NARROW))
    assert found.kind == "cannot_say"
    assert "On clicks (UCTR), ERR is significantly better than another of these." in found.reason


def heavy(table):
    return table.with_columns(caution=pl.lit(HEAVY_TAIL))


@pytest.mark.parametrize("current", [None, "ERR", "AP"])
def test_heavy_tails_leave_the_decision_and_add_a_caution(current):
    significant = above("ERR", VALUES)
    values, tests = correlations(VALUES), pairs(VALUES, significant)
    plain = decided(run_of(correlations=values, comparisons=tests), current)
    for found in (
        run_of(correlations=heavy(values), comparisons=tests),
        run_of(correlations=values, comparisons=heavy(tests)),
    ):
        warned = decided(found, current)
        assert (warned.kind, warned.sentence, warned.reason) == (plain.kind, plain.sentence, plain.reason)
        assert warned.caution == f"Take close calls with care: {HEAVY_TAIL}."
        assert warned.lead == f"{plain.reason} {warned.caution}".strip()
    assert plain.caution is None
    assert plain.lead == plain.reason


def test_sentences_are_titles_and_reasons_are_sentences():
    chosen = ([], above("ERR", VALUES), [{"ERR", "AP"}, {"P@1", "AP"}])
    worlds = [world(VALUES, each, error=error) for each in chosen for error in (None, NARROW)]
    worlds += [by_two_clicks(above("ERR", VALUES), []), world({"ERR": 0.4}), run_of(), world(p=UNSURE)]
    worlds += [world({name: -value for name, value in VALUES.items()}, above("ERR", VALUES))]
    kinds = set()
    for run in worlds:
        for current in (None, "ERR", "AP", "RR"):
            found = decided(run, current)
            kinds.add(found.kind)
            assert found.sentence[0].isupper()
            assert not found.sentence.endswith(".")
            assert not found.reason or found.reason.endswith(".")
            assert found.next_step.endswith(".")
            assert "  " not in found.lead
            assert found.lead == found.lead.strip()
            assert not any(word in found.lead for word in ("None", "nan", f"{MINUS}0.000"))
    assert kinds <= set(get_args(Kind))
    assert len(kinds) >= 6


# ---- a metric in use ----------------------------------------------------------------------------
def test_a_metric_is_kept_where_nothing_can_be_better_by_the_margin():
    found = decided(world(VALUES, error=NARROW), "DCG")
    assert (found.kind, found.subject, found.current) == ("keep", "DCG", "DCG")
    assert found.bound == pytest.approx(bound(0.04, NARROW, 1), abs=1e-6)  # no family
    assert found.sentence == "Keep DCG: no metric is more than 0.041 better at comparing two rankings"
    assert found.reason == (
        "The upper limit, 0.041, is that of ERR. Differences under 0.05 are treated as negligible: about 1.7 "
        "of 100 pairs of rankings. DCG does not significantly beat the top result's grade, the top result's "
        "relevance or the mean grade."
    )


def test_a_metric_that_all_others_are_worse_than_is_kept():
    found = decided(world(VALUES, above("ERR", VALUES), error=NARROW), "ERR")
    assert (found.kind, found.sentence) == (
        "keep", "Keep ERR: every other metric is worse at comparing two rankings",
    )  # fmt: skip
    assert found.reason == "The closest competitor, the top result's grade, is at least 0.019 lower."


def test_a_metric_that_another_one_equals_in_every_list_is_not_called_better():
    values = {"ERR": 0.4, "RR": 0.4, "AP": 0.3}
    tests = within(values, [{"ERR", "AP"}, {"RR", "AP"}])
    same = (pl.col("metric_a") != "AP") & (pl.col("metric_b") != "AP")
    rows = tests["within_comparisons"].with_columns(
        *(pl.when(same).then(0.0).otherwise(name).alias(name) for name in ("error", "ci_low", "ci_high")),
        p_value=pl.when(same).then(1.0).otherwise("p_value"),
    )
    found = decided(run_of(**{**tests, "within_comparisons": rows}, settings={"question": "rankings"}), "ERR")
    assert (found.kind, found.bound) == ("keep", 0.0)
    assert found.sentence == "Keep ERR: no metric is better at comparing two rankings"
    assert found.reason.startswith("The upper limit, 0.000, is that of RR.")


@pytest.mark.parametrize(("level", "share"), [(0.1, "1.6"), (0.85, "3.3"), (0.97, "7.8")])
def test_what_the_margin_means_depends_on_the_correlations_that_there_are(level, share):
    found = decided(world({"ERR": level, "DCG": level}, error=NARROW), "ERR")
    low, high = (math.asin(min(1.0, end)) for end in (level, level + 0.05))
    assert f"{100 * (high - low) / math.pi:.1f}" == share
    assert f"under 0.05 are treated as negligible: about {share} of 100 pairs" in found.reason
    found = decided(world({"ERR": 0.3, "DCG": 0.3}, error=NARROW), "ERR", margin=0.0125)
    assert "under 0.0125 are treated as negligible" in found.reason


def test_want_of_evidence_is_no_reason_to_keep():
    found = decided(world(VALUES), "DCG")
    assert (found.kind, found.subject, found.compared_with) == ("cannot_say", "ERR", "DCG")
    assert (found.bound, found.high) == (pytest.approx(bound(0.04, 0.02, 1)), found.bound)  # no family
    assert found.sentence == (
        "Inconclusive: ERR could be up to 0.080 better than DCG at comparing two rankings"
    )
    assert found.reason == (
        "ERR picks the ranking users prefer in 63.1% of pairs, DCG in 61.7% (coin toss: 50%). Within-query "
        "correlation with clicks (MeanRR): ERR is 0.040 higher than DCG (95% CI 0.000 to 0.080)."
    )


def test_it_is_said_how_many_queries_would_settle_it():
    tests = within(VALUES)
    pairs_of_60 = tests["within_comparisons"].with_columns(n_queries=pl.lit(60, pl.Int64))
    found = decided(
        run_of(**{**tests, "within_comparisons": pairs_of_60}, settings={"question": "rankings"}), "DCG"
    )
    # the interval is 0.0392 wide on each side; from 0.04 up to the margin there is room for 0.01
    assert pytest.approx(920, rel=0.01) == 60 * (0.0392 / 0.01) ** 2
    assert found.next_step == (
        "Judge more queries: a clear answer takes at least 920 queries with two fully judged rankings; you "
        "have 60."
    )


def test_a_metric_is_left_for_the_highest_that_is_significantly_better():
    found = decided(world(VALUES, [{"ERR", "AP"}, {"DCG", "AP"}, {"AP", "MeanGrade@1"}]), "AP")
    assert (found.kind, found.subject, found.current, found.compared_with) == ("switch", "ERR", "AP", "AP")
    assert (found.difference, found.p_adjusted) == (pytest.approx(0.1), pytest.approx(0.005))
    assert found.high == pytest.approx(bound(0.1, 0.004, 5), abs=1e-6)
    assert found.sentence == (
        "Switch from AP to ERR: ERR predicts significantly better which of two rankings users prefer"
    )
    assert found.reason == (
        "ERR picks the ranking users prefer in 63.1% of pairs, AP in 59.7% (coin toss: 50%). Within-query "
        "correlation with clicks (MeanRR): ERR is 0.100 higher than AP (simultaneous 95% CI 0.089 to 0.111). "
        "DCG is significantly better than AP, too. ERR does not significantly beat the top result's grade, "
        "the top result's relevance or the mean grade."
    )


def test_of_those_better_the_highest_that_none_of_them_beats_is_taken():
    # ERR is the highest, but significantly worse than DCG in the tables: tests differ in their errors
    values = {**VALUES, "DCG": 0.41}
    found = decided(world(values, [{"ERR", "AP"}, {"DCG", "AP"}, {"DCG", "ERR"}]), "AP")
    assert found.subject == "DCG"


def test_a_significant_difference_that_nobody_would_act_on_is_no_reason_to_switch():
    values = {**VALUES, "DCG": 0.391}
    found = decided(world(values, [{"ERR", "DCG"}], error=NARROW), "DCG")
    assert found.kind == "keep"
    assert decided(world(values, [{"ERR", "DCG"}], error=NARROW), "DCG", margin=0.0).kind == "switch"


def test_an_interval_that_contains_zero_beside_a_significant_difference_shows_its_p_value():
    found = decided(world(VALUES, [{"ERR", "DCG"}], error=0.03), "DCG")
    assert found.kind == "switch"
    assert f"(simultaneous 95% CI {MINUS}0.038 to 0.118, Holm-adjusted p 0.005)." in found.reason


def test_a_switch_is_taken_back_only_by_a_click_metric_that_contradicts_it():
    first = above("ERR", VALUES)
    both = decided(by_two_clicks(first, first), "AP")
    assert (both.kind, [one["kind"] for one in both.signals]) == ("switch", ["supports", "supports"])
    found = decided(by_two_clicks(first, []), "AP")
    assert (found.kind, found.subject) == ("switch", "ERR")
    assert [one["kind"] for one in found.signals] == ["supports", "inconclusive"]
    said = "Clicks (UCTR) do not confirm this: there ERR is 0.100 higher (simultaneous 95% CI 0.048 to 0.152"
    assert f"{said}, not significant)." in found.reason
    other = {**VALUES, "ERR": 0.1}
    found = decided(by_two_clicks(first, above("ERR", VALUES), (VALUES, other)), "AP")
    assert (found.kind, found.subject) == ("choose_click_metric", None)
    assert found.sentence == "Your signals disagree about AP"
    assert found.reason == (
        "Clicks (MeanRR): ERR picks the ranking users prefer in 63.1% of pairs, AP 59.7%; correlation 0.100 "
        "higher (simultaneous 95% CI 0.089 to 0.111). Clicks (UCTR): no metric is significantly better than "
        f"AP. On clicks (UCTR), ERR is significantly worse ({MINUS}0.200, simultaneous 95% CI "
        f"{MINUS}0.211 to {MINUS}0.189)."
    )


def test_what_only_another_click_metric_shows_leaves_it_open_whether_to_keep():
    assert decided(by_two_clicks([], [], error=NARROW), "DCG").kind == "keep"
    other = {**VALUES, "ERR": 0.5}
    found = decided(by_two_clicks([], [{"ERR", "DCG"}], (VALUES, other), error=NARROW), "DCG")
    assert (found.kind, found.subject) == ("cannot_say", "ERR")
    assert found.sentence == ("Inconclusive: on clicks (UCTR) ERR is better than DCG, on clicks (MeanRR) not")
    assert found.reason.endswith("On clicks (UCTR), ERR is significantly better than DCG.")
    assert found.next_step.startswith("Decide which signal means success for you")


def test_a_baseline_may_be_better_than_the_metric_in_use():
    found = decided(world(VALUES, [{"MeanGrade@1", "AP"}]), "AP")
    assert (found.kind, found.subject) == ("baseline_better", "MeanGrade@1")
    assert found.sentence == (
        "The top result's grade is significantly better than AP at comparing two rankings"
    )
    assert found.reason == (
        "The top result's grade picks the ranking users prefer in 62.4% of pairs, AP in 59.7% (coin toss: "
        "50%). Within-query correlation with clicks (MeanRR): the top result's grade is 0.080 higher than AP "
        "(simultaneous 95% CI 0.069 to 0.091)."
    )


def test_pairs_that_were_not_tested_are_no_reason_to_switch_or_to_keep():
    found = decided(world(VALUES, untested=above("ERR", VALUES), error=NARROW), "DCG")
    assert (found.kind, found.bound) == ("cannot_say", None)
    assert found.sentence.endswith("ERR could be better than DCG at comparing two rankings")


def test_a_metric_in_use_without_a_value_is_said_to_have_none():
    found = decided(world(VALUES, above("ERR", VALUES)), "RR")
    assert (found.kind, found.subject, found.current) == ("use", "ERR", "RR")
    assert found.reason.endswith("No correlation could be computed for RR, your current metric.")


def test_the_end_of_an_interval_is_the_bound_that_the_title_names():
    found = decided(world(VALUES, error=0.0151), "DCG")
    assert found.kind == "cannot_say"
    said = [re.search(pattern, text).group(1) for pattern, text in (
        (r"up to ([\d.]+) better", found.sentence), (r"95% CI .* to ([\d.]+)\)", found.reason),
    )]  # fmt: skip
    assert said[0] == said[1]
    assert float(said[0]) >= found.bound


def test_signals_that_reverse_a_metric_without_a_winner_are_told_apart():
    """ERR is worse than AP on one, better on the other, and not shown to be better than chance."""
    low, p = {**VALUES, "ERR": 0.1}, {name: UNSURE if name == "ERR" else SURE for name in VALUES}
    found = decided(by_two_clicks([{"ERR", "AP"}], [{"ERR", "AP"}], (low, VALUES), p=p), "AP")
    assert (found.kind, found.sentence) == ("choose_click_metric", "Your signals disagree about AP")
    assert found.reason == (
        "Clicks (MeanRR): no metric is significantly better than AP. Clicks (UCTR): no metric is shown "
        "to beat "
        "both chance and AP by enough to matter. On clicks (MeanRR), ERR is significantly worse "
        f"({MINUS}0.200, simultaneous 95% CI {MINUS}0.211 to {MINUS}0.189). On clicks (UCTR), ERR is "
        "significantly better (+0.100, simultaneous 95% CI 0.089 to 0.111)."
    )


def test_a_baseline_that_wins_is_not_called_higher_than_itself():
    pair = {"MeanGrade@1", "AP"}
    high, low = {**VALUES, "MeanGrade@1": 0.45}, {**VALUES, "MeanGrade@1": 0.1}
    found = decided(by_two_clicks([pair], [pair, {"ERR", "AP"}], (high, low)), "AP")
    assert found.sentence == (
        "Replace AP: on clicks (MeanRR) the top result's grade is better, on clicks (UCTR) ERR"
    )
    assert "higher still" not in found.reason


def test_a_signal_on_which_a_metric_is_ahead_by_too_little_is_not_said_to_have_none_better():
    little, pair = {"AP": 0.30, "ERR": 0.301, "DCG": 0.29}, [{"ERR", "AP"}]
    found = decided(by_two_clicks(pair, pair, (little, little), error=NARROW), "AP")
    assert found.kind == "keep"
    assert found.reason.endswith(
        "On clicks (UCTR), no metric is shown to beat both chance and AP by enough to matter."
    )
