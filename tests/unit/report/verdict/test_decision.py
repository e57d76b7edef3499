"""What is advised in worlds of a few numbers: every kind of decision, worked out by hand."""

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
