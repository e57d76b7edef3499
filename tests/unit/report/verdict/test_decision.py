"""What is advised in worlds of a few numbers: every kind of decision, worked out by hand."""

from typing import get_args

import polars as pl
import pytest

from clickassay.core.text.words import MINUS
from clickassay.correlation.uncertainty.jackknife import HEAVY_TAIL
from clickassay.findings.decision import Kind, decide
from clickassay.health.checks import BY_NAME, HealthCheck
from clickassay.report.verdict.decision import Advice, advise, advise_run
from support.reports.verdict_world import UNSURE, correlations, found_in, pairs, run_of, statistics

VALUES = {"DCG": 0.36, "AP": 0.30, "ERR": 0.40, "MeanGrade": 0.25, "MeanGrade@1": 0.38, "P@1": 0.33}
BASELINES = ("MeanGrade", "MeanGrade@1", "P@1")
LEVELS = "MeanRR", "UCTR"
"""Two click metrics."""


def decided(run, current=None, health=()):
    found = found_in(run).verdict
    return advise(found, decide(found, health, current), health)


def world(values=VALUES, significant=(), untested=(), **more):
    return run_of(
        correlations=correlations(values, **more), comparisons=pairs(values, significant, untested=untested)
    )


def above(best, others):
    """The best differs significantly from these."""
    return [{best, other} for other in others if other != best]


def by_two_clicks(first, second, values=VALUES):
    """Significant pairs by each of two click metrics."""
    return run_of(
        correlations=[correlations(values, click) for click in LEVELS],
        comparisons=[
            pairs(values, chosen, click) for chosen, click in zip((first, second), LEVELS, strict=True)
        ],
        settings={"click_metric": list(LEVELS)},
    )


def check(name, sentence, remedy="Repair it."):
    known = BY_NAME[name]
    return HealthCheck(name, str(known.severity), 0.5, known.threshold, sentence, remedy)


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
    other = "Use DCG: it predicts clicks significantly better than all others"
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
    assert found.reason == f"{fault.sentence} Compare the times."
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
    assert found.reason.startswith("It takes sessions whose results all have a grade: ")


def test_where_no_correlation_exists_the_reason_is_given():
    none = correlations(VALUES).with_columns(
        correlation=pl.lit(None, pl.Float64), reason=pl.lit("one configuration")
    )
    found = decided(run_of(correlations=none))
    assert found.kind == "cannot_decide"
    assert found.sentence == "This log cannot decide: there is no correlation (one configuration)"


@pytest.mark.parametrize("current", [None, "DCG"])
@pytest.mark.parametrize(
    ("p", "why"),
    [(UNSURE, "no metric can be shown to predict MeanRR"), (None, "no correlation could be tested")],
)
def test_where_nothing_predicts_clicks_the_log_cannot_decide(p, why, current):
    found = decided(world(p=p), current)
    assert (found.kind, found.sentence) == ("cannot_decide", f"This log cannot decide: {why}")
    assert found.reason.startswith("More judged queries would make the intervals narrower")


def test_of_few_queries_nothing_is_decided():
    values = correlations(VALUES).with_columns(caution=pl.lit("fewer than 50 queries"))
    found = decided(run_of(correlations=values, comparisons=pairs(VALUES, above("ERR", VALUES))), "AP")
    assert found.kind == "cannot_decide"
    assert found.sentence == (
        "This log cannot decide: its intervals are not reliable (fewer than 50 queries)"
    )


# ---- no metric in use is named --------------------------------------------------------------------


def test_a_metric_above_all_others_is_to_be_used():
    assert decided(world(VALUES, above("ERR", VALUES))) == Advice(
        "use",
        "Use ERR: it predicts clicks significantly better than all others",
        "Its correlation with MeanRR is 0.400 (95 % interval 0.350 to 0.450); the next, the grade of the "
        "first result, has 0.380.",
        "ERR",
    )


def test_a_metric_above_the_baselines_is_to_be_used_and_its_equals_are_named():
    found = decided(world(VALUES, above("ERR", ("AP", *BASELINES))))
    assert (found.kind, found.subject) == ("use", "ERR")
    assert found.sentence == "Use ERR: it predicts clicks significantly better than the baselines"
    assert found.reason == "DCG is not significantly worse than ERR."


def test_without_baselines_nothing_is_said_of_them():
    values = {"DCG": 0.36, "ERR": 0.40, "AP": 0.3}
    found = decided(world(values))
    assert found.sentence == "Use ERR: it predicts clicks significantly better than noise would"
    assert found.reason == "DCG and AP are not significantly worse than ERR."


def test_many_equals_are_counted():
    values = {name: 0.4 - place / 100 for place, name in enumerate(("ERR", "DCG", "NDCG", "AP", "RR"))}
    assert decided(world(values)).reason == "4 other metrics are not significantly worse than ERR."


def test_a_baseline_above_every_metric_makes_metrics_needless():
    values = {**VALUES, "MeanGrade": 0.6}
    found = decided(world(values, above("MeanGrade", values)))
    assert (found.kind, found.subject) == ("baseline_better", "MeanGrade")
    assert found.sentence == "The mean grade alone predicts clicks better than every metric"
    assert found.reason == (
        "Its correlation with MeanRR is 0.600 (95 % interval 0.550 to 0.650); the next, ERR, has 0.400."
    )


def test_of_two_baselines_the_values_are_those_of_the_one_that_is_above_every_metric():
    # P@1 is the highest, but its lead over ERR is not significant
    values = {**VALUES, "MeanGrade": 0.6, "P@1": 0.61}
    found = decided(world(values, above("MeanGrade", ("DCG", "AP", "ERR"))))
    assert (found.kind, found.subject) == ("baseline_better", "MeanGrade")
    assert found.reason.startswith("Its correlation with MeanRR is 0.600 (")
    assert found.reason.endswith("the next, ERR, has 0.400.")


def test_where_no_metric_beats_the_baselines_it_is_said_what_a_difference_would_take():
    found = decided(world(VALUES, [{"ERR", "AP"}, {"ERR", "P@1"}, {"ERR", "MeanGrade"}]))
    assert (found.kind, found.subject) == ("no_metric_better", "ERR")
    assert found.sentence == (
        "No metric predicts clicks significantly better than the grade of the first result alone"
    )
    assert found.reason == (
        "ERR comes first, but not significantly before the grade of the first result and DCG. AP predicts "
        "clicks significantly worse."
    )  # 1,234 queries are out of reach of a run of 4


def test_queries_within_reach_are_named():
    tests = pairs(VALUES, [{"ERR", "AP"}]).with_columns(queries_needed=pl.lit(40.0))
    found = decided(run_of(correlations=correlations(VALUES), comparisons=tests))
    assert found.reason.endswith(
        # 40 show 0.02; the ends of the interval are 0.01 and 0.03: 40 / 1.5² and 40 * 4
        "To show a difference between ERR and the grade of the first result would take 18 to 160 judged "
        "queries; there are 4."
    )


def test_where_the_best_depends_on_the_click_metric_one_is_to_be_chosen():
    values = VALUES, {**VALUES, "DCG": 0.40, "ERR": 0.36}
    run = run_of(
        correlations=[correlations(*one) for one in zip(values, LEVELS, strict=True)],
        comparisons=[
            pairs(each, above(best, each), click)
            for each, best, click in zip(values, ("ERR", "DCG"), LEVELS, strict=True)
        ],
        settings={"click_metric": list(LEVELS)},
    )
    found = decided(run)
    assert (found.kind, found.subject) == ("choose_click_metric", None)
    assert found.sentence == (
        "What predicts clicks best depends on the click metric: ERR by MeanRR, DCG by UCTR"
    )
    assert found.reason == "No metric is among the best by every click metric that counts."


# ---- a metric in use ------------------------------------------------------------------------------


def test_a_metric_that_nothing_beats_is_kept():
    found = decided(world(VALUES, above("ERR", VALUES)), "ERR")
    assert found == Advice(
        "keep",
        "Keep ERR: nothing here predicts clicks significantly better",
        "No metric or baseline is significantly above ERR by MeanRR.",
        "ERR",
        "ERR",
    )


def test_a_metric_that_is_kept_is_not_praised():
    found = decided(world(VALUES, [{"ERR", "AP"}, {"DCG", "MeanGrade"}]), "DCG")
    assert (found.kind, found.subject) == ("keep", "DCG")
    assert found.reason == (
        "No metric or baseline is significantly above DCG by MeanRR. Nor is DCG significantly above the "
        "grade of the first result or the relevance of the first result alone."
    )


def test_a_metric_that_is_kept_though_it_may_be_noise_is_said_to():
    p = {**dict.fromkeys(VALUES, 0.001), "AP": UNSURE}
    found = decided(world(VALUES, p=p), "AP")
    assert found.kind == "keep"
    assert found.reason.endswith("AP itself cannot be shown to predict MeanRR.")


def test_a_metric_is_left_for_the_highest_that_is_significantly_better():
    significant = [{"ERR", "AP"}, {"DCG", "AP"}, {"AP", "MeanGrade@1"}]
    found = decided(world(VALUES, significant), "AP")
    assert (found.kind, found.subject, found.current) == ("switch", "ERR", "AP")
    assert found.sentence == "Switch to ERR: it predicts clicks significantly better than AP"
    assert found.reason == (
        "So does DCG. ERR is not significantly better than the grade of the first result, the relevance of "
        "the first result or the mean grade alone."
    )


def test_a_switch_to_what_beats_everything_needs_no_more_words():
    found = decided(world(VALUES, above("ERR", VALUES)), "DCG")
    assert (found.kind, found.subject, found.reason) == ("switch", "ERR", "")


def test_a_metric_that_is_significantly_worse_is_no_reason_to_switch():
    found = decided(world(VALUES, [{"ERR", "AP"}, {"ERR", "DCG"}]), "ERR")
    assert found.kind == "keep"


def test_a_switch_must_hold_by_every_click_metric_that_counts():
    run = by_two_clicks(above("ERR", VALUES), above("ERR", VALUES))
    assert decided(run, "AP").kind == "switch"
    only_one = by_two_clicks(above("ERR", VALUES), [])
    found = decided(only_one, "AP")
    assert (found.kind, found.subject) == ("choose_click_metric", None)
    assert found.sentence == "Whether to leave AP depends on the click metric"
    assert found.reason == "Significantly better than AP: ERR by MeanRR, nothing by UCTR."


def test_what_is_kept_is_kept_by_every_click_metric():
    found = decided(by_two_clicks([], []), "AP")
    assert found.kind == "keep"
    assert found.reason.startswith("No metric or baseline is significantly above AP by MeanRR and UCTR.")


def test_a_baseline_may_be_better_than_the_metric_in_use():
    found = decided(world(VALUES, [{"MeanGrade@1", "AP"}]), "AP")
    assert (found.kind, found.subject) == ("baseline_better", "MeanGrade@1")
    assert found.sentence == (
        "The grade of the first result alone predicts clicks significantly better than AP"
    )
    assert found.reason == "No other metric is significantly better than AP."


def test_pairs_that_were_not_tested_are_no_reason_to_switch():
    found = decided(world(VALUES, untested=above("ERR", VALUES)), "AP")
    assert found.kind == "keep"


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
    plain = decided(world(VALUES, significant), current)
    for found in (
        run_of(correlations=heavy(correlations(VALUES)), comparisons=pairs(VALUES, significant)),
        run_of(correlations=correlations(VALUES), comparisons=heavy(pairs(VALUES, significant))),
    ):
        warned = decided(found, current)
        assert (warned.kind, warned.sentence, warned.reason) == (plain.kind, plain.sentence, plain.reason)
        assert warned.caution == f"Take close calls with care: {HEAVY_TAIL}."
        assert warned.lead == f"{plain.reason} {warned.caution}".strip()
    assert plain.caution is None
    assert plain.lead == plain.reason


# ---- all of them ----------------------------------------------------------------------------------


def test_sentences_are_titles_and_reasons_are_sentences():
    worlds = [world(VALUES, chosen) for chosen in ([], above("ERR", VALUES), [{"ERR", "AP"}, {"P@1", "AP"}])]
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
            assert "  " not in found.lead
            assert found.lead == found.lead.strip()
            assert not any(word in found.lead for word in ("None", "nan", f"{MINUS}0.000"))
    assert kinds <= set(get_args(Kind))
    assert len(kinds) >= 5
