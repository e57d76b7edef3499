"""What is advised where a metric is in use: worked out by hand in worlds of a few numbers."""

import math
import re

import polars as pl
import pytest

from clickassay.core.text.words import MINUS
from support.reports.verdict_world import (
    NARROW,
    SURE,
    UNSURE,
    VALUES,
    above,
    bound,
    by_two_clicks,
    decided,
    run_of,
    within,
    world,
)


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


def test_a_margin_is_said_with_its_digits():
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
