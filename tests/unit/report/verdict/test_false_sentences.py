"""Each kind of advice, read in worlds in which it would be false; and what is said there."""

import polars as pl
import pytest

from clickassay.core.errors import SettingsError
from clickassay.core.records import SampleKey
from clickassay.findings.ranking import rank_within
from clickassay.report.verdict.decision import advise_run
from clickassay.report.verdict.sentences import adds_text
from support.reports.verdict_world import (
    CHURN,
    NARROW,
    ONE_CHANGE,
    SURE,
    UNSURE,
    VALUES,
    above,
    by_two_clicks,
    correlations,
    decided,
    found_in,
    run_of,
    within,
    world,
)

CLOSE = {"ERR": 0.40, "DCG": 0.39, "AP": 0.30, "MeanGrade@1": 0.2}
ADVICE = {
    "switch": ("ERR", "AP", {"significant": [{"ERR", "AP"}]}),
    "baseline_better": ("MeanGrade@1", "AP", {"significant": [{"MeanGrade@1", "AP"}]}),
    "keep": ("DCG", "DCG", {"error": NARROW}),
    "use": ("ERR", None, {"significant": above("ERR", VALUES)}),
    "baseline_as_good": ("MeanGrade@1", None, {"error": NARROW}),
    "use_any": (
        "ERR",
        None,
        {
            "values": CLOSE,
            "error": 0.004,
            "significant": [*above("MeanGrade@1", CLOSE), {"ERR", "AP"}, {"DCG", "AP"}],
        },
    ),
}
"""By kind: what it is about, the metric in use, and a world in which it is true."""

FALSE = {
    "all lists changed at one moment": ({"changes": ONE_CHANGE}, "cannot_say"),
    "it may be noise": ({"p": "subject"}, "cannot_say"),
    "everything may be noise": ({"p": UNSURE}, "cannot_decide"),
    "nothing was tested": ({"p": None}, "cannot_decide"),
    "nothing differs, and anything may": ({"significant": (), "error": 0.05}, "cannot_say"),
    "there are 49 queries": ({"queries": 49}, "cannot_decide"),
}
TITLES = {"cannot_decide": "This log", "cannot_say": ("Inconclusive", "No metric is", "The top result")}
TRUE = {
    "lists change all the time": CHURN,
    "one change, and lists side by side": {**ONE_CHANGE, "side_by_side": 0.5},
    "two changes": {**ONE_CHANGE, "moments": 2.0},
    "times are not known": {**CHURN, "periods": 0, "moments": None, "side_by_side": None},
}


def in_world(kind, **changed):
    subject, current, own = ADVICE[kind]
    own = {**own, **changed}
    values = own.get("values", VALUES)
    if own.get("p") == "subject":
        own["p"] = {**dict.fromkeys(values, SURE), subject: UNSURE}
    return decided(world(**own), current)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRUE)
@pytest.mark.parametrize("kind", ADVICE)
def test_an_advice_is_given_where_it_is_true(kind, name):
    found = in_world(kind, changes=TRUE[name])
    assert found.kind == kind
    keys = {"periods": "periods", "folds": "user_folds", "moments": "moments", "side_by_side": "side_by_side"}
    assert {key: getattr(found, key) for key in keys} == {key: TRUE[name][of] for key, of in keys.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", FALSE)
@pytest.mark.parametrize("kind", ADVICE)
def test_no_advice_is_given_where_it_would_be_false(kind, name):
    changed, expected = FALSE[name]
    found = in_world(kind, **changed)
    assert found.kind == expected
    assert found.sentence.startswith(TITLES[expected])


@pytest.mark.parametrize("kind", ADVICE)
def test_where_all_lists_changed_at_one_moment_it_is_said_what_is_evidence_and_what_settles_it(kind):
    found = in_world(kind, changes=ONE_CHANGE)
    assert found.sentence == "Inconclusive: all rankings changed at one moment"
    subject, _, own = ADVICE[kind]
    value, about = own.get("values", VALUES)[subject], {"MeanGrade@1": ALONE}.get(subject, subject)
    assert found.reason.startswith(
        f"Queries whose ranking improved more in {about} gained more in clicks (MeanRR) ({value:.3f}, 95% CI "
        f"{value - 0.05:.3f} to {value + 0.05:.3f})."
    )
    assert found.reason.endswith(
        "This is evidence only if nothing else that changed at the same moment favoured these queries."
    )
    assert found.next_step.startswith("Run an A/B test, or wait for another ranker release")


def test_what_is_open_is_not_settled_by_more_queries_where_all_lists_changed_at_one_moment():
    for changes, says in ((CHURN, False), (ONE_CHANGE, True)):
        found = decided(world(VALUES, changes=changes), "DCG")
        assert found.kind == "cannot_say"
        assert ("All rankings changed at one moment" in found.reason) is says
        assert found.next_step.startswith("Run an A/B test") is says


def test_signals_that_disagree_about_one_change_are_said_to():
    second = {**VALUES, "ERR": 0.1}
    contradict = (above("ERR", VALUES), above("ERR", VALUES), (VALUES, second))
    for changes, says in ((CHURN, False), (ONE_CHANGE, True)):
        found = decided(by_two_clicks(*contradict, changes=changes), "AP")
        assert found.kind == "choose_click_metric"
        assert ("All rankings changed at one moment" in found.reason) is says


@pytest.mark.parametrize(("kind", "unproven"), [("switch", "ERR"), ("keep", "DCG"), ("use", "ERR")])
def test_it_is_said_what_is_not_shown_to_be_above_nothing(kind, unproven):
    found = in_world(kind, p="subject")
    assert found.sentence.endswith(f"{unproven} does not measurably beat chance at comparing two rankings")


def test_a_value_below_zero_is_not_above_nothing_however_significant():
    found = decided(world({"ERR": -0.1, "AP": -0.3, "MeanGrade": 0.2}, [{"ERR", "AP"}]), "AP")
    assert (found.kind, found.subject) == ("cannot_say", "ERR")
    assert "ERR does not measurably beat chance" in found.sentence


def test_of_metrics_that_are_better_one_that_is_above_nothing_is_taken():
    p = {**dict.fromkeys(VALUES, SURE), "ERR": UNSURE}
    found = decided(world(VALUES, [{"ERR", "AP"}, {"DCG", "AP"}], p=p), "AP")
    assert (found.kind, found.subject) == ("switch", "DCG")


def test_keep_is_bounded_by_each_interval_by_itself():
    """Five others: 0.0095 wide on each side by itself, 0.0124 as one family."""
    found = decided(world({**VALUES, "ERR": 0.40, "DCG": 0.36}, error=0.00485), "DCG")
    assert found.kind == "keep"
    assert 0.0495 < found.bound < 0.05


@pytest.mark.parametrize(
    ("changes", "caution"),
    [
        (CHURN, None),
        (TRUE["times are not known"], "Times are unknown: a change over time may affect this number."),
        ({**CHURN, "user_folds": 0}, "Fewer than 8 folds of users: one busy user may dominate this number."),
    ],
)
def test_what_is_not_known_and_so_not_taken_out_is_a_caution(changes, caution):
    assert in_world("switch", changes=changes).caution == caution


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (CHURN, " Effects shared by all queries (8 periods, 16 groups of users) are removed."),
        ({**CHURN, "user_folds": 0}, " Effects shared by all queries (8 periods) are removed."),
        (TRUE["times are not known"], " Effects shared by all queries (16 groups of users) are removed."),
        (ONE_CHANGE, ""),
    ],
)
def test_the_first_screen_says_what_is_taken_out(changes, said):
    run = world(VALUES, changes=changes)
    assert advise_run(run, found_in(run)).scope == f"Market m, top 5, judge j.{said}"


def test_numbers_over_all_queries_are_said_to_be_without_nothing():
    run = run_of(correlations=correlations(VALUES), **within(VALUES, changes=ONE_CHANGE))
    found = advise_run(run, found_in(run))
    assert (found.question, found.periods, found.moments, found.caution) == ("queries", None, None, None)
    assert "are removed" not in found.scope


def test_where_ss_is_named_first_the_next_click_metric_decides_and_it_is_said():
    settings = {"click_metric": ["ss", "MeanRR"], "question": "rankings"}
    run = run_of(**within(VALUES, above("ERR", VALUES)), settings=settings)
    found = advise_run(run, found_in(run))
    assert (run.counted, found.kind, found.subject) == (("MeanRR",), "use", "ERR")
    assert found.reason.endswith("SS is computed from the grades and cannot compare metrics: MeanRR decides.")
    with pytest.raises(SettingsError, match="name another one first, such as --click-metric MeanRR,SS"):
        _ = run_of(**within(VALUES), settings={"click_metric": ["SS"]}).click


ALONE = "the top result's grade"
PARTIAL = f"ERR adds information beyond {ALONE}: partial correlation 0.120 (95% CI 0.080 to 0.160)."
SHOW = "(partial correlation at most"


def with_partials(tables, partials, queries=60):
    """Give pairs of a metric and MeanGrade@1 a partial correlation: (value, low, high, p) by metric."""
    pairs = tables["within_comparisons"]
    for name, numbers in partials.items():
        own = pl.all_horizontal(pl.col("metric_a", "metric_b").is_in([name, "MeanGrade@1"]))
        ends = zip(("partial", "partial_low", "partial_high", "partial_p_value"), numbers, strict=True)
        pairs = pairs.with_columns(
            pl.when(own).then(pl.lit(value)).otherwise(end).alias(end) for end, value in ends
        )
    return {**tables, "within_comparisons": pairs.with_columns(n_queries=pl.lit(queries, pl.Int64))}


@pytest.mark.parametrize(
    ("partials", "more", "said"),
    [
        ({"ERR": (0.12, 0.08, 0.16, 0.001), "DCG": (0.05, -0.01, 0.11, 0.1)}, {}, PARTIAL),
        ({"DCG": (0.2, -0.01, 0.4, 0.06), "ERR": (0.12, 0.08, 0.16, 0.001)}, {}, PARTIAL),
        # by Holm neither of two
        ({"DCG": (0.2, 0.01, 0.4, 0.03), "ERR": (0.1, 0.01, 0.2, 0.03)}, {}, "0.400"),
        ({"ERR": (0.01, -0.01, 0.0299, 0.3), "DCG": (0.0, -0.02, 0.02, 1.0)}, {}, "0.030"),
        ({"ERR": (-0.1, -0.2, -0.05, 0.001), "DCG": (-0.1, -0.2, -0.01, 0.03)}, {}, "0.000"),
        ({"ERR": (0.12, 0.08, 0.16, 0.001)}, {"queries": 49}, ""),
        ({}, {}, ""),
    ],
)  # fmt: skip
def test_what_a_metric_adds_to_a_baseline_that_does_as_well_is_what_its_partial_correlation_says(
    partials, more, said
):
    tables = with_partials(within(VALUES, error=NARROW), partials, **more)
    found = decided(run_of(**tables, settings={"question": "rankings"}))
    assert (found.kind, found.subject) == ("baseline_as_good", "MeanGrade@1")
    if said.startswith("0"):
        said = f"No metric adds anything detectable beyond {ALONE} {SHOW} {said})."
    assert found.lead.startswith(
        f"No metric beats {ALONE} by more than 0.021 in correlation. Differences under 0.05"
    )
    assert found.lead.endswith(f"of rankings. {said}".strip())


def test_a_metric_in_use_may_add_to_a_baseline_that_is_better():
    values = {"ERR": 0.2, "DCG": 0.2, "MeanGrade@1": 0.4}
    for numbers, said in (
        ((0.12, 0.08, 0.16, 0.001), PARTIAL),
        ((0.0, -0.04, 0.04, 1.0), f"ERR adds nothing detectable beyond {ALONE} {SHOW} 0.040)."),
    ):
        tables = with_partials(within(values, above("MeanGrade@1", values)), {"ERR": numbers})
        found = decided(run_of(**tables, settings={"question": "rankings"}), "ERR")
        assert (found.kind, found.subject) == ("baseline_better", "MeanGrade@1")
        assert said in found.lead


def test_where_lists_changed_at_one_moment_nothing_is_said_of_what_metrics_add():
    tables = with_partials(within(VALUES, changes=ONE_CHANGE), {"ERR": (0.12, 0.08, 0.16, 0.001)})
    ranking = rank_within(run_of(**tables), SampleKey("m", 5, "j"))
    assert (ranking.lead("ERR", "MeanGrade@1").partial.value, adds_text(ranking, "MeanGrade@1")) == (0.12, "")
