"""What is advised in worlds of a few numbers: every kind of decision, worked out by hand."""

from typing import get_args

import polars as pl
import pytest
from scipy.stats import norm as normal

from clickassay.core.text.words import MINUS
from clickassay.correlation.uncertainty.jackknife import HEAVY_TAIL
from clickassay.findings.decision import Kind, decide
from clickassay.health.checks import BY_NAME, HealthCheck
from clickassay.report.verdict.decision import advise, advise_run
from support.reports.verdict_world import (
    UNSURE,
    correlations,
    found_in,
    pairs,
    run_of,
    statistics,
    within,
)

VALUES = {"DCG": 0.36, "AP": 0.30, "ERR": 0.40, "MeanGrade": 0.25, "MeanGrade@1": 0.38, "P@1": 0.33}
BASELINES = ("MeanGrade", "MeanGrade@1", "P@1")
LEVELS = "MeanRR", "UCTR"
"""Two click metrics."""
NARROW = 0.0001
"""A standard error so small that a bound is the difference itself, to three digits."""


def decided(run, current=None, health=(), margin=0.05):
    found = found_in(run).verdict
    return advise(found, decide(found, health, current, margin), health)


def world(values=VALUES, significant=(), **more):
    """A run that answers which of two rankings is better: 60 queries have two judged lists."""
    return run_of(**within(values, significant, **more), settings={"question": "rankings"})


def above(best, others):
    """The best differs significantly from these."""
    return [{best, other} for other in others if other != best]


def by_two_clicks(first, second, values=(VALUES, VALUES), **more):
    """Significant pairs by each of two click metrics."""
    both = [
        within(own, chosen, click, **more)
        for own, chosen, click in zip(values, (first, second), LEVELS, strict=True)
    ]
    frames = {name: [one[name] for one in both] for name in both[0]}
    return run_of(**frames, settings={"click_metric": list(LEVELS), "question": "rankings"})


def check(name, sentence, remedy="Repair it."):
    known = BY_NAME[name]
    return HealthCheck(name, str(known.severity), 0.5, known.threshold, sentence, remedy)


def bound(difference, error, tests):
    """The upper end of a difference in a family of so many, of as many degrees as a normal deviate."""
    return difference + normal.ppf(1 - 0.025 / tests) * error


# ---- which question decides -----------------------------------------------------------------------


def both_questions(queries, asked="rankings"):
    """ERR is best at comparing rankings, DCG over all queries; so many queries have two judged lists."""
    over = {**VALUES, "DCG": 0.5}
    return run_of(
        correlations=correlations(over),
        comparisons=pairs(over, above("DCG", over)),
        **within(VALUES, above("ERR", VALUES), queries=queries),
        settings={"question": asked},
    )


def test_rankings_are_decided_by_lists_for_the_same_query():
    run = both_questions(50)
    found = advise_run(run, found_in(run))
    assert (found.question, found.kind, found.subject) == ("rankings", "use", "ERR")
    assert found.sentence == "Use ERR: for comparing two rankings it is significantly better than all others"
    assert found.reason == (
        "Its correlation within queries with MeanRR is 0.400 (95 % interval 0.350 to 0.450); the next, the "
        "grade of the first result, has 0.380. DCG is significantly better than ERR for telling good queries "
        "from bad, and significantly worse for comparing two rankings."
    )


def test_with_fewer_than_fifty_such_queries_all_queries_decide_and_it_is_said():
    run = both_questions(49)
    found = advise_run(run, found_in(run))
    assert (found.question, found.kind, found.subject) == ("queries", "use", "DCG")
    assert (
        "Only 49 queries have two judged lists, too few to compare rankings: more months or an A/B test "
        "would have them."
    ) in found.reason
    assert found.reason.endswith(
        "ERR is significantly better than DCG for comparing two rankings, and significantly worse for "
        "telling good queries from bad."
    )


def test_who_asks_for_queries_gets_queries():
    found = decided(both_questions(50, asked="queries"))
    assert (found.question, found.kind, found.subject) == ("queries", "use", "DCG")
    assert "two judged lists" not in found.reason


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
    assert found.scope == "All markets together, depth 5, judge j."


# ---- several judges -------------------------------------------------------------------------------


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
    other = "Use DCG: for telling good queries from bad it is significantly better than all others"
    assert found.other_judges == {"human": other}
    assert found.scope == (
        f"At market m, depth 5, judge {model}, where most sessions are kept. "
        f"By judge human the decision would be: \u201c{other}\u201d."
    )


def test_judges_who_decide_the_same_are_not_spoken_of():
    found = by_judges({"ann": "ERR", "bob": "ERR"}, {"ann": 110, "bob": 110})
    assert (found.other_judges, found.scope) == (
        {}, "At market m, depth 5, judge ann, where most sessions are kept.",
    )  # fmt: skip


# ---- the log is at fault, or cannot decide --------------------------------------------------------


@pytest.mark.parametrize("current", [None, "AP"])
def test_a_fault_of_the_log_comes_before_everything(current):
    fault = check(
        "late_clicks",
        "Of the clicks, 30.0 % (300 of 1,000) come late: their times may be in another zone.",
        "Compare the times.",
    )
    found = decided(world(VALUES, above("ERR", VALUES)), current, [fault])
    assert found.kind == "log_at_fault"
    assert found.sentence == "The log has a fault: clicks come after the idle limit of their search"
    assert (found.reason, found.next_step) == (fault.sentence, "Compare the times.")
    assert (found.subject, found.current) == (None, current)


def test_a_caution_about_the_log_does_not_stop_a_decision():
    found = decided(world(VALUES, above("ERR", VALUES)), None, [check("busy_user", "One user is busy.")])
    assert found.kind == "use"


@pytest.mark.parametrize("current", [None, "DCG"])
def test_where_nothing_was_kept_the_log_cannot_decide(current):
    found = decided(run_of(statistics=statistics(("m", 5, "j", 0))), current)
    assert found.kind == "cannot_decide"
    assert found.sentence == (
        "This log cannot decide: no session was kept: the log and the judgments have no configuration in "
        "common"
    )
    assert found.next_step.startswith("Judge lists whole")


def test_where_no_correlation_exists_the_reason_is_given():
    none = correlations(VALUES).with_columns(
        correlation=pl.lit(None, pl.Float64), reason=pl.lit("one configuration")
    )
    found = decided(run_of(correlations=none))
    assert found.kind == "cannot_decide"
    assert found.sentence == "This log cannot decide: there is no correlation (one configuration)"


@pytest.mark.parametrize("current", [None, "DCG"])
def test_a_log_of_noise_is_told_what_it_rules_out(current):
    found = decided(world(p=UNSURE), current)
    assert (found.kind, found.sentence) == (
        "cannot_decide",
        "This log cannot decide: no metric can be shown to predict which of two rankings users prefer, by "
        "MeanRR",
    )
    # the simultaneous intervals of `correlations` end 0.08 above the value; ERR has the highest
    assert found.reason == "A correlation above 0.48 is ruled out by 60 queries."


def test_what_was_not_tested_decides_nothing():
    found = decided(world(p=None))
    assert (found.kind, found.sentence) == (
        "cannot_decide", "This log cannot decide: no correlation could be tested",
    )  # fmt: skip


def test_metrics_that_users_contradict_are_not_told_to_judge_more():
    found = decided(world({name: -value for name, value in VALUES.items()}))
    assert found.kind == "cannot_decide"
    assert found.sentence == "This log cannot decide: users prefer what all metrics put last, by MeanRR"
    assert found.reason == f"All correlations are significantly below noise; the highest is {MINUS}0.300."
    assert found.next_step == "Check that the highest grade is the best: else judges and users disagree."


def test_of_few_queries_nothing_is_decided():
    values = correlations(VALUES).with_columns(caution=pl.lit("fewer than 50 queries"))
    found = decided(run_of(correlations=values, comparisons=pairs(VALUES, above("ERR", VALUES))), "AP")
    assert found.kind == "cannot_decide"
    assert found.sentence == (
        "This log cannot decide: its intervals are not reliable (fewer than 50 queries)"
    )


# ---- no metric in use is named --------------------------------------------------------------------


def test_a_metric_above_all_others_is_to_be_used():
    found = decided(world(VALUES, above("ERR", VALUES)))
    assert (found.kind, found.subject, found.compared_with) == ("use", "ERR", "MeanGrade@1")
    assert found.difference == pytest.approx(0.02)
    # the family: four others against ERR and MeanGrade@1 each, and these two
    assert found.high == pytest.approx(bound(0.02, 0.004, 9), abs=1e-6)


def test_what_alone_is_among_the_best_is_to_be_used():
    # ERR is not significantly above AP, but DCG is: significantly below none is only ERR
    significant = [*above("ERR", ("DCG", *BASELINES)), {"DCG", "AP"}]
    assert decided(world(VALUES, significant)).kind == "use"


def test_where_a_baseline_is_as_good_within_the_margin_it_is_said_what_metrics_do_not_add():
    found = decided(world(VALUES, error=NARROW))
    assert (found.kind, found.subject) == ("baseline_as_good", "MeanGrade@1")
    assert found.bound == pytest.approx(bound(0.02, NARROW, 9), abs=1e-6)
    assert found.sentence == (
        "The grade of the first result alone does as well for comparing two rankings: nothing is better by "
        "more than 0.021"
    )
    assert found.reason == (
        "What metrics count below the first place adds nothing that these clicks show. Differences in "
        "correlation below 0.05 count as none: 1.6 of 100 pairs of lists in another order."
    )


def test_a_baseline_above_every_metric_is_as_good_whatever_the_margin():
    values = {**VALUES, "MeanGrade": 0.6}
    found = decided(world(values, above("MeanGrade", values)), margin=0.0)
    assert (found.kind, found.subject) == ("baseline_as_good", "MeanGrade")
    assert found.sentence.endswith("every other metric is worse")
    assert found.reason.startswith("The order of results adds nothing")


def test_metrics_equal_within_the_margin_may_all_be_used():
    values = {"ERR": 0.40, "DCG": 0.39, "AP": 0.30, "MeanGrade@1": 0.2}
    significant = [*above("MeanGrade@1", values), {"ERR", "AP"}, {"DCG", "AP"}]
    found = decided(world(values, significant))
    assert (found.kind, found.subject) == ("use_any", None)
    # the intervals of all pairs at once are 0.02 wide on both sides in `pairs`
    assert found.bound == pytest.approx(0.03)
    assert found.sentence == "Use any of ERR and DCG: for comparing two rankings they are equal within 0.030"
    assert found.reason.startswith("AP is significantly worse. Differences in correlation below 0.05 count")


def test_metrics_that_may_differ_by_more_leave_it_open():
    found = decided(world(VALUES, [{"ERR", "AP"}]))
    assert (found.kind, found.subject, found.compared_with) == ("cannot_say", "ERR", "MeanGrade")
    # 0.15 and 0.02, the interval of all pairs
    assert found.bound == pytest.approx(0.17)
    assert found.sentence == (
        "Cannot say which metric to use: for comparing two rankings ERR may be better than the mean grade by "
        "up to 0.170"
    )
    assert found.reason == (
        "In correlation within queries with MeanRR, ERR minus the mean grade is +0.150 (interval 0.130 to "
        "0.170). Among the best, significantly below none: ERR and 4 others. AP is significantly worse."
    )


def test_what_is_open_is_said_of_a_metric_and_not_of_two_baselines():
    values = {"ERR": 0.30, "DCG": 0.29, "MeanGrade": 0.31, "P@1": 0.1}
    found = decided(world(values, error=0.03))
    assert (found.kind, found.subject, found.compared_with) == ("cannot_say", "ERR", "P@1")
    assert found.bound == pytest.approx(0.22)  # 0.2 and 0.02; the two baselines may differ by 0.23


def test_where_the_best_by_one_click_metric_is_beaten_by_another_one_is_to_be_chosen():
    values = VALUES, {**VALUES, "DCG": 0.40, "ERR": 0.36}
    found = decided(by_two_clicks(above("ERR", VALUES), above("DCG", VALUES), values))
    assert (found.kind, found.subject) == ("choose_click_metric", None)
    assert found.sentence == "What to use depends on the click metric for comparing two rankings"
    assert found.reason == "Significantly, MeanRR has ERR ahead; UCTR has DCG ahead."


def test_what_another_click_metric_does_not_show_is_no_contradiction():
    found = decided(by_two_clicks(above("ERR", VALUES), []))
    assert (found.kind, found.subject) == ("use", "ERR")
    assert "UCTR does not contradict (+0.020, 95 % interval 0.010 to 0.030)." in found.reason


def test_what_only_another_click_metric_shows_takes_equality_back():
    assert decided(by_two_clicks([], [], error=NARROW)).kind == "baseline_as_good"
    worse = {**VALUES, "MeanGrade@1": 0.2}
    found = decided(by_two_clicks([], above("ERR", worse), (VALUES, worse), error=NARROW))
    assert found.kind == "cannot_say"
    assert "Significantly so only by UCTR, ERR is better than others among the best." in found.reason


# ---- a metric in use ------------------------------------------------------------------------------


def test_a_metric_is_kept_where_nothing_can_be_better_by_the_margin():
    found = decided(world(VALUES, error=NARROW), "DCG")
    assert (found.kind, found.subject, found.current) == ("keep", "DCG", "DCG")
    assert found.bound == pytest.approx(bound(0.04, NARROW, 5), abs=1e-6)
    assert found.sentence == "Keep DCG: for comparing two rankings nothing is better by more than 0.041"
    assert found.reason == (
        "That is the bound of ERR. Differences in correlation below 0.05 count as none: 1.6 of 100 pairs of "
        "lists in another order. DCG is not significantly better than the grade of the first result, the "
        "relevance of the first result or the mean grade alone."
    )


def test_a_metric_that_all_others_are_worse_than_is_kept():
    found = decided(world(VALUES, above("ERR", VALUES), error=NARROW), "ERR")
    assert (found.kind, found.sentence) == (
        "keep", "Keep ERR: for comparing two rankings every other metric is worse",
    )  # fmt: skip
    assert found.reason == "The nearest, the grade of the first result, is lower by 0.019 at least."


def test_want_of_evidence_is_no_reason_to_keep():
    found = decided(world(VALUES), "DCG")
    assert (found.kind, found.subject, found.compared_with) == ("cannot_say", "ERR", "DCG")
    assert found.bound == pytest.approx(bound(0.04, 0.02, 5), abs=1e-6)
    assert found.sentence == (
        "Cannot say whether to leave DCG: for comparing two rankings ERR may be better by up to 0.092"
    )
    assert found.reason == (
        "In correlation within queries with MeanRR, ERR minus DCG is +0.040 (interval "
        f"{MINUS}0.012 to 0.092)."
    )


def test_it_is_said_how_many_queries_would_settle_it():
    tests = within(VALUES)
    pairs_of_60 = tests["within_comparisons"].with_columns(n_queries=pl.lit(60, pl.Int64))
    found = decided(
        run_of(**{**tests, "within_comparisons": pairs_of_60}, settings={"question": "rankings"}), "DCG"
    )
    # the interval is 0.0515 wide on each side; from 0.04 up to the margin there is room for 0.01
    assert pytest.approx(1600, rel=0.01) == 60 * (0.0515 / 0.01) ** 2
    assert found.next_step == (
        "Judge more: it takes at least 1,600 queries with two judged lists to settle it; there are 60."
    )


def test_a_metric_that_is_kept_though_it_may_be_noise_is_said_to():
    p = {**dict.fromkeys(VALUES, 0.001), "ERR": UNSURE}
    found = decided(world(VALUES, p=p, error=NARROW), "ERR")
    assert found.kind == "keep"
    assert found.reason.endswith("ERR itself cannot be shown to predict MeanRR.")


def test_a_metric_is_left_for_the_highest_that_is_significantly_better():
    found = decided(world(VALUES, [{"ERR", "AP"}, {"DCG", "AP"}, {"AP", "MeanGrade@1"}]), "AP")
    assert (found.kind, found.subject, found.current, found.compared_with) == ("switch", "ERR", "AP", "AP")
    assert (found.difference, found.p_adjusted) == (pytest.approx(0.1), pytest.approx(0.005))
    assert found.high == pytest.approx(bound(0.1, 0.004, 5), abs=1e-6)
    assert found.sentence == "Switch to ERR: for comparing two rankings it is significantly better than AP"
    assert found.reason == (
        "Its correlation within queries with MeanRR is higher by 0.100 (interval 0.090 to 0.110). DCG is "
        "significantly better than AP, too. ERR is not significantly better than the grade of the first "
        "result, the relevance of the first result or the mean grade alone."
    )


def test_of_those_better_the_highest_that_none_of_them_beats_is_taken():
    # ERR is the highest, but significantly below DCG in the tables: tests differ in their errors
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
    assert f"higher by 0.040 (interval {MINUS}0.037 to 0.117, p 0.005 by Holm)." in found.reason


def test_a_metric_that_is_significantly_worse_is_no_reason_to_switch():
    found = decided(world(VALUES, [{"ERR", "AP"}, {"ERR", "DCG"}]), "ERR")
    assert found.kind in {"keep", "cannot_say"}


def test_a_switch_is_taken_back_only_by_a_click_metric_that_contradicts_it():
    first = above("ERR", VALUES)
    assert decided(by_two_clicks(first, first), "AP").kind == "switch"
    found = decided(by_two_clicks(first, []), "AP")
    assert (found.kind, found.subject) == ("switch", "ERR")
    assert "UCTR does not contradict (+0.100, 95 % interval 0.090 to 0.110)." in found.reason
    other = {**VALUES, "ERR": 0.1}
    found = decided(by_two_clicks(first, above("ERR", VALUES), (VALUES, other)), "AP")
    assert (found.kind, found.subject) == ("choose_click_metric", None)
    assert found.sentence == "Whether to leave AP depends on the click metric for comparing two rankings"
    assert found.reason == "Significantly of AP, MeanRR has ERR ahead; UCTR has nothing ahead."


def test_what_only_another_click_metric_shows_leaves_it_open_whether_to_keep():
    assert decided(by_two_clicks([], [], error=NARROW), "DCG").kind == "keep"
    other = {**VALUES, "ERR": 0.5}
    found = decided(by_two_clicks([], [{"ERR", "DCG"}], (VALUES, other), error=NARROW), "DCG")
    assert (found.kind, found.subject) == ("cannot_say", "ERR")
    assert "Significantly so only by UCTR, ERR is better than DCG." in found.reason


def test_a_baseline_may_be_better_than_the_metric_in_use():
    found = decided(world(VALUES, [{"MeanGrade@1", "AP"}]), "AP")
    assert (found.kind, found.subject) == ("baseline_better", "MeanGrade@1")
    assert found.sentence == (
        "The grade of the first result alone is significantly better than AP for comparing two rankings"
    )
    assert found.reason == (
        "Its correlation within queries with MeanRR is higher by 0.080 (interval 0.070 to 0.090). No metric "
        "is; what AP adds to it does not show in these clicks."
    )


def test_pairs_that_were_not_tested_are_no_reason_to_switch_or_to_keep():
    found = decided(world(VALUES, untested=above("ERR", VALUES), error=NARROW), "DCG")
    assert (found.kind, found.bound) == ("cannot_say", None)
    assert found.sentence.endswith("ERR may be better")


def test_a_metric_in_use_without_a_value_is_said_to_have_none():
    found = decided(world(VALUES, above("ERR", VALUES)), "RR")
    assert (found.kind, found.subject, found.current) == ("use", "ERR", "RR")
    assert found.reason.endswith("has 0.380. RR, which is in use, has no correlation here.")


# ---- cautions -------------------------------------------------------------------------------------


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


# ---- all of them ----------------------------------------------------------------------------------


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
