"""`evaluate` from Python: the same from files, frames and dicts; laws of measures; bounds; comparisons."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from clickassay import evaluate, measures
from clickassay.core.errors import (
    InputError,
    JudgmentError,
    NothingInCommonError,
    NothingInCommonWarning,
    SettingsError,
)
from clickassay.measures import AP, ERR, NDCG, RBP, RR, P, nDCG
from clickassay.metrics.names import MEASURES, parse_measure
from clickassay.studies.evaluation.job import evaluate_files

QRELS = {"q1": {"a": 3, "b": 0, "c": 1}, "q2": {"a": 2}, "q3": {"z": 4, "y": -1}}
RUN = {"q1": {"b": 0.9, "a": 0.5, "x": 0.5, "c": 0.1}, "q2": {"b": 2.0, "a": 1.0}, "q9": {"a": 1.0}}
ASKED = "nDCG@3 ERR@10 AP(rel=2) RBP P@2 Judged@3 Inversions infAP"


def rows(table):
    return [(query, doc, value) for query, docs in table.items() for doc, value in docs.items()]


def as_polars(table, last):
    return pl.DataFrame(rows(table), schema=["query", "doc", last], orient="row")


def as_pandas(table, last):
    return pd.DataFrame(rows(table), columns=["query_id", "doc_id", {"grade": "relevance"}.get(last, last)])


@pytest.mark.parametrize("form", [as_polars, as_pandas, lambda table, last: as_polars(table, last).lazy()])
def test_frames_give_what_dicts_give(form):
    of_dicts = evaluate(QRELS, RUN, ASKED)
    of_frames = evaluate(form(QRELS, "grade"), form(RUN, "score"), ASKED)
    assert of_dicts.per_query.equals(of_frames.per_query)
    assert of_dicts.means.equals(of_frames.means)
    assert of_dicts.runs.equals(of_frames.runs)


def test_a_rank_stands_for_a_score():
    ranked = pl.DataFrame({"query": ["q1"] * 3, "doc": ["b", "a", "c"], "rank": [3, 1, 2]})
    scored = {"q1": {"a": 3.0, "c": 2.0, "b": 1.0}}
    assert evaluate(QRELS, ranked, "nDCG")["nDCG"] == evaluate(QRELS, scored, "nDCG")["nDCG"]


def test_names_are_objects_that_take_parameters_and_a_cut():
    asked = [nDCG @ 3, AP(rel=2), ERR(max_rel=4) @ 10, "P@2", NDCG(judged_only=True) @ 5]
    found = evaluate(QRELS, RUN, asked)
    assert [str(measure) for measure in found.measures] == [
        "nDCG(dcg='exp-log2')@3", "AP(rel=2)", "ERR(max_rel=4)@10", "P(rel=1)@2",
        "nDCG(dcg='exp-log2',judged_only=True)@5",
    ]  # fmt: skip
    assert found[nDCG @ 3] == found["ndcg@3"] == found["NDCG@3"] == evaluate(QRELS, RUN, NDCG @ 3)["nDCG@3"]
    assert set(measures.names()) >= {metric.name for metric in MEASURES} | {"MAP", "MRR", "NDCG"}
    assert "lowest grade" in measures.describe("AP")
    with pytest.raises(AttributeError, match="no measure MAPS"):
        measures.MAPS  # noqa: B018


@pytest.mark.parametrize("metric", MEASURES, ids=lambda metric: metric.name)
def test_every_name_of_the_catalogue_parses_back_and_is_there_in_python(metric):
    spelled = f"{metric.name}@0.3" if metric.at else f"{metric.name}@7"
    measure = parse_measure(spelled)
    assert parse_measure(str(measure)) == measure
    named = getattr(measures, metric.name) @ (0.3 if metric.at else 7)
    assert parse_measure(str(named)) == measure


def test_queries_that_a_run_lacks_are_0_or_left_out():
    judged = evaluate(QRELS, RUN, RR(rel=1))
    both = evaluate(QRELS, RUN, RR(rel=1), average_over="both")
    assert (judged["RR"], both["RR"]) == ((1 / 3 + 1 / 2) / 3, (1 / 3 + 1 / 2) / 2)  # x before a among equals
    assert judged.runs.row(0) == ("run", 3, 3, 1, 1, 6, 4)


def test_the_overview_has_these_values_of_ap_at_5():
    shown = {"q": {f"d{place}": float(-place) for place in range(1, 6)}}
    first, second = ({f"d{place}": 1 for place in places} for places in ((1, 3, 4), (2, 4, 5)))
    for judged, printed in ((first, 0.81), (second, 0.53)):
        assert round(evaluate({"q": judged}, shown, "AP@5")["AP@5"], 2) == printed


LISTS = st.lists(st.integers(-2, 4), min_size=1, max_size=12)
CUTS = st.integers(1, 15)
UP = ["nDCG", "NDCG", "DCG", "ERR", "RBP", "CG", "NCG", "P(rel=2)", "R(rel=2)", "RR(rel=2)", "AP(rel=2)", "F"]


def one_list(shown, others=()):
    """Return judgments and a run of one list; -1 is to be judged, -2 has no judgment."""
    judged = {f"d{place}": grade for place, grade in enumerate(shown) if grade > -2}
    judged |= {f"e{place}": grade for place, grade in enumerate(others)}
    return {"q": judged or {"none": 0}}, {"q": {f"d{place}": float(-place) for place in range(len(shown))}}


@given(shown=LISTS, others=st.lists(st.integers(0, 4), max_size=6), cut=CUTS)
def test_measures_stay_in_their_range_and_the_list_in_ideal_order_has_no_less(shown, others, cut):
    bounded = [one.name for one in MEASURES if one.at is None and one.source != "Korfhage 1997"]
    found = evaluate(*one_list(shown, others), [f"{name}@{cut}" for name in bounded])
    for measure, value in zip(found.measures, found.means["mean"], strict=True):
        assert measure.metric.low <= value <= measure.metric.high + 1e-12
    best = evaluate(*one_list(sorted(shown, reverse=True), others), [f"{name}@{cut}" for name in UP])
    for name in UP:
        assert best[f"{name}@{cut}"] >= found_or(shown, others, f"{name}@{cut}") - 1e-12


def found_or(shown, others, name):
    return evaluate(*one_list(shown, others), name)[name]


@given(shown=LISTS, place=st.integers(0, 11))
def test_a_better_grade_never_lowers_a_sum_of_gains(shown, place):
    place %= len(shown)
    if shown[place] == 4:
        return
    raised = [*shown[:place], max(shown[place], 0) + 1, *shown[place + 1 :]]
    for name in ("DCG", "CG", "RBP", "ERR", "P(rel=2)@10", "RR(rel=2)"):
        assert found_or(raised, (), name) >= found_or(shown, (), name) - 1e-12


@pytest.mark.slow
@given(shown=LISTS)
def test_what_is_not_judged_counts_as_grade_0_unless_it_is_left_out_or_given_another_grade(shown):
    zero = [max(grade, 0) for grade in shown]
    left = [grade for grade in shown if grade >= 0]
    twos = [2 if grade < 0 else grade for grade in shown]
    for name in ("DCG@5", "ERR@5", "RBP@5", "RR(rel=2)@5"):
        assert found_or(shown, (), name) == found_or(zero, (), name)
        rule, cut = name.removesuffix("@5"), "@5"
        head, _, inside = rule.rstrip(")").partition("(")
        with_rule = {one: f"{head}({','.join(filter(None, [inside, one]))}){cut}" for one in RULES}
        assert found_or(shown, (), with_rule["judged_only=True"]) == found_or(left or [0], (), name)
        assert found_or(shown, (), with_rule["unjudged=2"]) == found_or(twos, (), name)


RULES = ("judged_only=True", "unjudged=2")


def test_intervals_and_tests_are_those_of_scipy_and_holm_those_of_statsmodels():
    rng = np.random.default_rng(0)
    judged = {f"q{n}": {f"d{d}": int(rng.integers(0, 5)) for d in range(9)} for n in range(40)}
    runs = {
        name: {
            q: {f"d{d}": float(rng.random() + judged[q][f"d{d}"] * skill) for d in range(9)} for q in judged
        }
        for name, skill in (("poor", 0.0), ("fair", 0.05), ("good", 0.3))
    }
    found = evaluate(judged, runs, "nDCG@5 RR(rel=3)")
    values = {key: group["value"].to_numpy() for key, group in found.per_query.group_by("run", "measure")}
    for row in found.means.iter_rows(named=True):
        of = values[row["run"], row["measure"]]
        ends = stats.t.interval(0.95, len(of) - 1, loc=of.mean(), scale=stats.sem(of))
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(np.clip(ends, 0, 1).tolist())
    for row in found.comparisons.iter_rows(named=True):
        pair = values[row["run"], row["measure"]], values[row["baseline"], row["measure"]]
        test = stats.ttest_rel(*pair)
        assert row["p_value"] == pytest.approx(test.pvalue)
        ends = test.confidence_interval()
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((ends.low, ends.high))
        difference = pair[0] - pair[1]
        drawn = stats.permutation_test(
            (difference,), lambda x, axis: x.mean(axis=axis), permutation_type="samples", n_resamples=9_999,
            vectorized=True, rng=1,
        )  # fmt: skip
        assert row["p_randomised"] == pytest.approx(drawn.pvalue, abs=0.02)
        assert row["better"] + row["worse"] + row["equal"] == 40
    corrected = multipletests(found.comparisons["p_value"].to_numpy(), method="holm")[1]
    assert found.comparisons["p_holm"].to_list() == pytest.approx(corrected.tolist())


def test_runs_that_are_the_same_have_no_p_value_of_a_t_test():
    found = evaluate(QRELS, {"a": RUN, "b": RUN}, "nDCG")
    row = found.comparisons.select("difference", "p_value", "p_randomised", "p_holm").row(0)
    assert row == (0, None, 1, None)
    with pytest.raises(SettingsError, match="2 runs"):
        found["nDCG"]


def test_what_users_know_and_expect():
    found = evaluate(
        {"q": {"a": 1, "b": 1, "c": 1, "d": 0}},
        {"q": {"a": 9.0, "d": 8.0, "c": 7.0, "x": 6.0}},
        "Coverage Novelty RelativeRecall RecallEffort",
        known={"q": ["a", "b", "d"]},
        expected={"q": 4},
    )
    assert found.means["mean"].to_list() == [1 / 2, 1 / 2, 2 / 4, 4 / 4]
    with pytest.raises(SettingsError, match="needs `known`"):
        evaluate(QRELS, RUN, "Coverage")


def test_gains_of_grade_0_are_not_given_to_places_after_the_end_of_a_list():
    found = evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "DCG(gains='1 3')@10 ERR(gains='0.5 0.5')@10")
    assert found.means["mean"].to_list() == [3, 0.5]


TWICE = pl.DataFrame({"query": ["q1"] * 2, "doc": ["b"] * 2, "score": [1, 2]})


@pytest.mark.parametrize(
    ("qrels", "run", "asked", "error", "says"),
    [
        (QRELS, RUN, "nDGC@5", SettingsError, "unknown metric nDGC"),
        (QRELS, RUN, "AP(level=2)", SettingsError, "its parameters"),
        (QRELS, RUN, "nDCG@0", SettingsError, "depth after @"),
        (QRELS, RUN, "", SettingsError, "no measure is named"),
        (QRELS, RUN, "ERR(max_rel=3)@5", JudgmentError, "grade 4, above max_rel 3"),
        (QRELS, RUN, "nDCG(gains='0 1')", SettingsError, "gains has 2 values"),
        (QRELS, {"q7": {"a": 1.0}}, "AP", InputError, "no query in common"),
        ({"q1": {"a": "fine"}}, RUN, "AP", InputError, "expected a whole grade"),
        ({"q1": {"a": 100}}, RUN, "AP", InputError, "import judgments"),
        ({"q1": {"a": 1.5}}, RUN, "AP", InputError, "expected a whole grade"),
        (QRELS, {"q1": {"a": math.nan}}, "AP", InputError, "expected a finite number"),
        (QRELS, {"q1": {"a": None}}, "AP", InputError, "expected a finite number"),
        (QRELS, {"q1": 3}, "AP", InputError, "expected"),
        (QRELS, 3, "AP", InputError, "expected a TREC file"),
        (pl.DataFrame({"query": ["a"], "doc": ["b"]}), RUN, "AP", InputError, "no column grade"),
        (QRELS, TWICE, "AP", InputError, "twice"),
        ("nowhere.txt", RUN, "AP", InputError, "nowhere.txt"),
    ],
)  # fmt: skip
def test_what_cannot_be_evaluated_is_refused_in_one_line(qrels, run, asked, error, says):
    with pytest.raises(error, match=says) as caught:
        evaluate(qrels, run, asked)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"average_over": "some"}, SettingsError, "expected 'judged' or 'both'"),
        ({"runs": {}}, InputError, "no run is given"),
        ({"runs": {"q8": {}}}, InputError, "the run has nothing"),
        *(({"measures": "RelativeRecall", "expected": expected}, InputError, says) for expected, says in [
            ({"q1": "many"}, "many"), ({"q1": -1}, "a number of 0 or more"),
            ({"q1": math.nan}, "a number of 0 or more"), ({"1": 2, 1: 3}, "occurs twice"),
        ]),
    ],
)  # fmt: skip
def test_options_that_say_nothing_sensible_are_refused(options, error, says):
    with pytest.raises(error, match=says):
        evaluate(**{"qrels": QRELS, "runs": RUN, "measures": "AP"} | options)


def test_rbp_and_p_take_lists_of_gains_in_python():
    found = evaluate(QRELS, RUN, [RBP(p=0.5, gains=[0, 0.25, 0.5, 0.75, 1]), P(rel=3) @ 1])
    expected = (0.5 * (0.75 * 0.25 + 0.25 * 0.125) + 0.5 * 0.5 * 0.5) / 3
    assert found.means["mean"].to_list() == pytest.approx([expected, 0])


@pytest.mark.parametrize(
    ("top", "metric", "says"),
    [(2, "ERR", True), (4, "ERR", False), (2, "nDCG", False), (2, "ERR(max_rel=2)", False), (2, "RBP", True)],
)
def test_a_highest_grade_that_is_not_seen_is_said_where_a_measure_is_told_the_scale(
    tmp_path, top, metric, says
):
    grades = [min(number % 5, top) for number in range(25)]
    lines = "".join(f"q 0 d{number} {grade}\n" for number, grade in enumerate(grades))
    (tmp_path / "qrels").write_text(lines)
    (tmp_path / "run").write_text("q Q0 d1 1 1 x\n")
    found = evaluate_files(tmp_path / "qrels", [tmp_path / "run"], metric)
    cautions = [text for what, text in found.conventions if what == "Caution"]
    assert len(cautions) == says
    if says:
        assert cautions[0].startswith("The grades seen are 0, 1 and 2; the scale goes up to 4.")
        assert "set --max-grade 2" in cautions[0]


# ---- rankings as lists, and what tables say twice ----------------------------------------------
def test_a_list_is_a_ranking_alone_and_by_the_name_of_its_run():
    scored = {"q1": {"b": 3.0, "a": 2.0, "c": 1.0}, "q2": {"a": 1.0}}
    listed = {"q1": ["b", "a", "c"], "q2": ("a",), "q3": []}
    asked = "nDCG@3 AP RR"
    expected = evaluate(QRELS, scored, asked).per_query
    assert evaluate(QRELS, listed, asked).per_query.equals(expected)
    two = evaluate(QRELS, {"old": listed, "new": {"q1": np.array(["a", "b"])}}, asked)
    assert two.per_query.filter(run="old")["value"].equals(expected["value"])
    assert two.means.filter(run="new", measure="RR(rel=1)")["mean"].item() == pytest.approx(1 / 3)
    with pytest.raises(InputError, match="'a' is retrieved twice for query 'q1'"):
        evaluate(QRELS, {"q1": ["a", "b", "a"]}, asked)


def test_tables_name_the_first_run_baseline_and_the_one_compared_with_it_run():
    better, worse = {"q1": ["a", "b"], "q2": ["a"]}, {"q1": ["b", "a"], "q2": ["a"]}
    found = evaluate(QRELS, {"old": worse, "new": better}, RR).comparisons
    row = found.row(0, named=True)
    assert (row["baseline"], row["run"], row["better"], row["worse"]) == ("old", "new", 1, 0)
    assert row["difference"] == pytest.approx((1 - 1 / 2) / 3)
    assert found.columns[:3] == ["baseline", "run", "measure"]


def test_a_run_without_a_judged_document_is_a_finding_with_one_name_of_each_side():
    shown = {"q1": {"S-a": 2.0, "S-b": 1.0}}
    with pytest.warns(
        NothingInCommonWarning,
        match="no result of run has a grade in the judgments: judgments have 'a', the run has 'S-a' .query",
    ):
        found = evaluate(QRELS, shown, "Judged@2")
    assert found["Judged@2"] == 0
    assert found.cautions[0].startswith("no result of run has a grade")
    for run in (shown, as_polars(shown, "score")):
        with pytest.raises(NothingInCommonError, match="no result of run has a grade"):
            evaluate(QRELS, run, "AP", strict=True)


def test_the_form_that_would_bring_names_together_is_named():
    with pytest.raises(
        NothingInCommonError, match="judgments have 'q1', the run has 'Q1'; they differ in case"
    ):
        evaluate({"q1": {"a": 1}}, {"Q1": {"a": 1.0}}, "AP")


RANKED = [("q1", "a", 1, 9.0), ("q1", "b", 2, 5.0), ("q1", "c", 3, 5.0), ("q2", "a", 1, 1.0)]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (RANKED, ()),
        ([(q, doc, 7, score) for q, doc, _, score in RANKED], ()),
        ([(q, doc, 10 - rank, score) for q, doc, rank, score in RANKED],
         ("In 1 of 1 ranking of run, ranks contradict scores (query 'q1': 5 at rank 8, 9 at rank 9); "
          "the score is used.",)),
        ([*RANKED[:3], ("q1", "d", 4, 6.0)],
         ("In 1 of 1 ranking of run, ranks and scores partly disagree (query 'q1': 5 at rank 3, 6 at rank 4"
          "); the score is used.",)),
        ([(q, doc, rank, 0.0) for q, doc, rank, _ in RANKED],
         ("In 1 of 1 ranking of run, all scores are equal but ranks differ; the score is used.",)),
    ],
)  # fmt: skip
def test_ranks_that_contradict_scores_are_said_with_counts(rows, said):
    run = pl.DataFrame(rows, ["query", "doc", "rank", "score"], orient="row")
    assert evaluate(QRELS, run, "AP").cautions == said


def test_scores_that_single_precision_ties_are_said_with_the_value_that_they_give_there():
    judged = {"1": {"a": 0, "b": 1, "c": 0}}
    for run in (
        {"1": {"a": 0.30000001192, "b": 0.3}},
        as_polars({"1": {"a": 0.30000001192, "b": 0.3}}, "score"),
    ):
        found = evaluate(judged, run, "RR")
        assert found["RR"] == 0.5
        assert "0.30000001192 and 0.3" in found.cautions[0]
        assert "RR(rel=1) 1.0000 in place of 0.5000" in found.cautions[0]
    theirs = pytrec_eval.RelevanceEvaluator(judged, {"recip_rank"}).evaluate(
        {"1": {"a": 0.30000001192, "b": 0.3}}
    )
    assert theirs["1"]["recip_rank"] == 1.0  # what the caution says
    assert (
        evaluate(judged, {"1": {"b": 0.30000001192, "a": 0.3}}, "RR").cautions == ()
    )  # the order is the same
    assert evaluate(judged, {"1": {"a": 1e300, "b": 1e301}}, "RR").cautions == ()


@pytest.mark.parametrize(("rule", "values"), [("max", (2, 2)), ("latest", (0, 2)), ("mean-rounded", (1, 1))])
def test_documents_judged_twice_get_a_grade_by_a_rule_and_are_counted(rule, values):
    rows = [("1", "a", 2), ("1", "a", 0), ("1", "b", 0), ("1", "b", 2), ("1", "b", 0), ("1", "b", 2)]
    judged = pl.DataFrame(rows, ["query", "doc", "grade"], orient="row")
    with pytest.raises(InputError, match="'a' is judged twice"):
        evaluate(judged, {"1": ["a"]}, "CG")
    for doc, value in zip("ab", values, strict=True):
        found = evaluate(judged, {"1": [doc]}, "CG", conflicts=rule)
        assert found["CG"] == value
        assert found.cautions[0].startswith("4 judgments of documents that have one already")
