"""Each convention of the table gives what the tool that has it gives."""

import re

import ir_measures
import numpy as np
import pytest
import rankkit
from hypothesis import given, settings
from hypothesis import strategies as st
from rankkit.data import Run
from sklearn.metrics import dcg_score, ndcg_score

from clickassay.core.errors import JudgmentError, SettingsError
from clickassay.metrics.conventions import CONVENTIONS, INCOMPLETE_JUDGMENTS, AuditScale, conventions
from clickassay.studies.audit import audit_list, one_list, read_grades
from support.oracle.oracle_metrics import dcg, err

SCALE = AuditScale(depth=5, max_grade=4, relevant_grade=3, persistence=0.8)
SHOWN, OTHERS = (3, None, 4, 0, 1), (4, 3, 2, 2, 1, 0)
WHOLE = (3, 2, 4, 0, 1)

# Printed or computed by the tools themselves, on the list with a result without a grade.
WITH_UNJUDGED = {
    "DCG(dcg='log2')@5": "5.3869",
    "DCG(dcg='exp-log2')@5": "14.8869",
    "nDCG(dcg='log2')@5": "0.5339",
    "nDCG(dcg='log2',ideal='uncut')@5": "0.4704",
    "nDCG(dcg='exp-log2')@5": "0.4632",
    "nDCG(dcg='exp-log2')@5 to the hits": "0.4632",
    "nDCG(dcg='exp-log2')@5, two decimals": "0.46",
    "nDCG(dcg='exp-log2',ideal='uncut')@5": "0.4397",
    "nDCG(dcg='log2',judged_only=True)@5": "0.5902",
    "nDCG(dcg='exp-log2',ideal='shown')@5": "0.7475",
    "nDCG(gains='0 0 0 3 4')@5": "0.5367",
    "ERR(max_rel=4)@5": "0.6137",
    "ERR(max_rel=4,judged_only=True)@5": "0.7017",
    "ERR(max_rel=4,unjudged=2)@5": "0.6334",
    "ERR@5 on 0..5": "0.3434",
    "ERR@5 on 0..3": "0.9504",
    "AP(rel=3)@5": "0.4167",
    "AP(rel=3,over='retrieved')@5": "0.8333",
    "AP(rel=1)@5": "0.2833",
    "AP(rel=1,over='cut')@5": "0.4533",
    "AP(rel=3,judged_only=True)@5": "0.5000",
    "RBP(p=0.8,rel=3)@5": "0.3280",
    "RBP(p=0.8,gains='0 0.25 0.5 0.75 1')@5": "0.2985",
    "RBP(p=0.8,gains='0 0.06666666666666667 0.2 0.4666666666666667 1')@5": "0.2268",
    "RBP(p=0.8,max_rel=4)@5": "0.2126",
    "RBP(p=0.8)@5 of grades": "1.1939",
    "RBP(p=0.8,rel=1)@5": "0.4099",
    "infAP(rel=3)@5": "0.4167",
    "Bpref(rel=3)@5": "0.5000",
    "Judged@5": "0.8",
}
# The same of the list whose results are all that is judged.
ALL_JUDGED = {
    "DCG(dcg='log2')@5": "6.648712314377457",
    "DCG(dcg='exp-log2')@5": "16.779642067948913",
    "DCG@5 with ln": "24.20790639932173",
    "nDCG(dcg='log2')@5": "0.9078641832833736",
    "nDCG(dcg='exp-log2')@5": "0.7860353577841278",
    "SDCG@5": "0.5637",
    "AP(rel=3)@5": "0.8333333333333333",
    "AP(rel=1)@5": "0.95",
    "RR(rel=3)@5": "1.0",
    "ERR(max_rel=4)@5": "0.6334136962890625",
    "RBP(p=0.8,rel=3)@5": "0.328",
    "RBP(p=0.8,rel=1)@5": "0.56992",
    "RBP(p=0.8,gains='0 0.25 0.5 0.75 1')@5": "0.37848",
    "RBP(p=0.8,max_rel=4)@5": "0.24262",
    "RBP(p=0.8,gains='0 0.06666666666666667 0.2 0.4666666666666667 1')@5": "0.25879",
    "RBP(p=0.8)@5 of grades": "1.5139199999999997",
    "RBP(p=0.8)@5 of grades from 3": "1.112",
}


def values(shown, others, scale=SCALE):
    rows = audit_list(one_list(shown, others, scale.max_grade), scale)
    return dict(rows.select("convention", "value").iter_rows())


def of_convention(one, shown, others, scale=SCALE):
    return float(one.fill_in(scale).values(one_list(shown, others, scale.max_grade), scale)[0])


@pytest.mark.parametrize(("name", "printed"), WITH_UNJUDGED.items(), ids=str)
def test_a_list_with_a_result_without_a_grade_has_the_figures_of_the_tools(name, printed):
    digits = len(printed.partition(".")[2])
    assert values(SHOWN, OTHERS)[name] == pytest.approx(float(printed), abs=0.501 * 10**-digits)


@pytest.mark.parametrize(("name", "printed"), ALL_JUDGED.items(), ids=str)
def test_a_list_judged_in_full_has_the_figures_of_the_tools(name, printed):
    digits = min(12, len(printed.partition(".")[2]))
    # cut off or rounded: tools do either
    assert values(WHOLE, ())[name] == pytest.approx(float(printed), abs=10**-digits)


def documents(shown, others):
    """Return qrels and a run in which the list is the ranking."""
    names = [f"d{place}" for place in range(len(shown) + len(others))]
    grades = dict(zip(names, (*shown, *others), strict=True))
    qrels = {"1": {name: grade for name, grade in grades.items() if grade is not None}}
    return qrels, {"1": {name: 10.0 - place for place, name in enumerate(names[: len(shown)])}}


def by_ir_measures(name, shown, others):
    qrels, run = documents(shown, others)
    return ir_measures.calc_aggregate([ir_measures.parse_measure(name)], qrels, run).popitem()[1]


def test_scikit_learn_takes_the_results_shown_for_the_ideal_list():
    shown = [[grade or 0 for grade in SHOWN]]
    order = [list(range(len(SHOWN), 0, -1))]
    found = values(SHOWN, OTHERS)
    assert found["nDCG(dcg='log2',ideal='shown')@5"] == pytest.approx(ndcg_score(shown, order), abs=1e-12)
    assert found["DCG(dcg='log2')@5"] == pytest.approx(dcg_score(shown, order), abs=1e-12)
    exponential = [[2**grade - 1 for grade in shown[0]]]
    assert found["nDCG(dcg='exp-log2',ideal='shown')@5"] == pytest.approx(ndcg_score(exponential, order))


def test_rankkit_reads_the_top_of_the_scale_off_the_query_by_default():
    qrels, run = documents((3, 2, 1), (3, 0))
    ranking = sorted(run["1"], key=run["1"].get, reverse=True)
    found = values((3, 2, 1), (3, 0))
    of_query = Run("1", ranking, qrels["1"])
    assert found["ERR@5 on the seen scale"] == pytest.approx(rankkit.score(of_query, "err", k=5), abs=1e-12)
    with_scale = rankkit.score(of_query, "err", k=5, max_grade=4)
    assert found["ERR(max_rel=4)@5"] == pytest.approx(with_scale, abs=1e-12)
    assert found["ERR@5 on the seen scale"] > with_scale + 0.2


# In the table by name: what of these tools gives it.
IR_MEASURES = {
    "nDCG(dcg='exp-log2')@5": "nDCG(dcg='exp-log2')@5", "nDCG(dcg='log2')@5": "nDCG@5",
    "nDCG(dcg='log2',ideal='uncut')@5": "nDCG",
    "nDCG(dcg='log2',judged_only=True)@5": "nDCG(judged_only=True)@5",
    "ERR(max_rel=4)@5": "ERR@5", "AP(rel=3)@5": "AP(rel=3)@5",
    "AP(rel=3,judged_only=True)@5": "AP(rel=3,judged_only=True)@5", "AP(rel=1)@5": "AP@5",
    "RR(rel=3)@5": "RR(rel=3)@5", "RR(rel=1)@5": "RR@5",
    "RR(rel=3,judged_only=True)@5": "RR(rel=3,judged_only=True)",
    "RBP(p=0.8,rel=3)@5": None, "P(rel=3)@5": "P(rel=3)@5", "P(rel=1)@5": "P@5",
    "P(rel=3,judged_only=True)@5": "P(rel=3,judged_only=True)@5", "infAP(rel=3)@5": "infAP(rel=3)",
    "Bpref(rel=3)@5": "Bpref(rel=3)", "Judged@5": "Judged@5",
}  # fmt: skip
"""None: by cwl_eval, which these tests do not have."""
RANKKIT = {
    "nDCG(dcg='exp-log2')@5": ("ndcg", {}), "nDCG(dcg='log2')@5": ("ndcg", {"gain": "linear"}),
    "ERR(max_rel=4)@5": ("err", {"max_grade": 4}), "ERR@5 on the seen scale": ("err", {}),
    "AP(rel=1)@5": ("map", {}), "RR(rel=1)@5": ("mrr", {}), "P(rel=1)@5": ("precision", {}),
}  # fmt: skip
MIXED = [
    *((shown, others) for shown in (SHOWN, WHOLE) for others in (OTHERS, ())),
    ((1, 3, 0, 2, None), (2, 1)), ((0, 1, None, 3, 3), (3, 3, 1)),
]  # fmt: skip


def said_of(tool):
    """Return the names of the conventions that the table says a tool reports."""
    told = [*conventions(SCALE), *conventions(SCALE, INCOMPLETE_JUDGMENTS)]
    return {one.measure for one in told if re.search(rf"\b{tool}\b", one.tools)}


def test_what_the_table_says_of_ir_measures_is_what_it_gives():
    assert said_of("ir_measures") == set(IR_MEASURES)
    for shown, others in MIXED:
        found = values(shown, others)
        for ours, theirs in IR_MEASURES.items():
            if theirs is not None:
                digits = 5 if theirs.startswith("ERR") or "exp" in theirs or "infAP" in theirs else 12
                value = by_ir_measures(theirs, shown, others)
                assert found[ours] == pytest.approx(value, abs=10**-digits), ours


def test_what_the_table_says_of_rankkit_is_what_it_gives():
    assert said_of("rankkit") == {*RANKKIT, "DCG(dcg='exp-log2')@5"}
    for shown, others in MIXED:
        found = values(shown, others)
        qrels, run = documents(shown, others)
        one = Run("1", tuple(run["1"]), qrels["1"])
        for ours, (name, options) in RANKKIT.items():
            assert found[ours] == pytest.approx(rankkit.score(one, name, k=5, **options), abs=1e-12), ours
        gains = [2 ** (grade or 0) - 1 for grade in shown]
        assert found["DCG(dcg='exp-log2')@5"] == pytest.approx(rankkit.dcg(gains, 5), abs=1e-12)


@pytest.mark.parametrize(
    "name", ["ERR(judged_only=True)@5", "RR(rel=3,judged_only=True)@5", "infAP(rel=3)@5"]
)
def test_ir_measures_refuses_what_the_table_does_not_say_of_it(name):
    with pytest.raises((AssertionError, KeyError, ValueError)):
        by_ir_measures(name, SHOWN, OTHERS)


def test_rbp_of_trec_eval_is_scaled_by_the_best_judged_grade_as_worked_by_hand():
    name = "RBP(p=0.9)@5 of the best judged"
    assert values((2, 0, 1), (1,))[name] == pytest.approx(0.1 * (1 + 0.81 / 2))
    assert values((2, 0, 1), (4,))[name] == pytest.approx(0.1 * (1 / 2 + 0.81 / 4))
    assert values((0, 0), (0,))[name] == 0


def named(one):
    return pytest.param(one, id=one.measure.format_map(dict.fromkeys(FILLERS, "_")))


FILLERS = ("k", "rel", "top", "p", "more", "less", "half", "shares", "exponential", "cut")


@pytest.mark.parametrize("one", [named(one) for one in CONVENTIONS])
def test_only_conventions_that_need_the_pool_change_with_it(one):
    lists = [(SHOWN, others) for others in ((), (4,), (3, 3, 2, 1), OTHERS)] + [((1, 0), ()), ((1, 0), (2,))]
    found = [of_convention(one, *each) for each in lists]
    assert bool(max(np.ptp(found[:4]), np.ptp(found[4:])) > 1e-9) is one.needs_pool


@pytest.mark.parametrize("one", [named(one) for one in CONVENTIONS])
def test_only_conventions_that_need_unjudged_results_differ_from_grade_0(one):
    pairs = [((None, 4, None, 1), (0, 4, 0, 1)), ((None, 3, 0, 3, 0, 3), (0, 3, 0, 3, 0, 3))]
    gaps = [abs(of_convention(one, some, (4,)) - of_convention(one, zero, (4,))) for some, zero in pairs]
    assert bool(max(gaps) > 1e-9) is one.needs_unjudged


def test_each_quantity_has_one_convention_of_the_run_own_under_each_pool():
    quantities = {one.quantity for one in CONVENTIONS}
    for pool in ("judged", "shown"):
        own = [one.quantity for one in CONVENTIONS if pool in one.own]
        assert sorted(own) == sorted(quantities)


@pytest.mark.parametrize(
    "scale", [AuditScale(3, 1, 1, 0.9), AuditScale(4, 3, 1, 0.5), AuditScale(10, 6, 4, 0.8)], ids=str
)
def test_names_of_conventions_are_distinct_on_every_scale(scale):
    names = [one.measure for one in conventions(scale)]
    assert len(set(names)) == len(names)


def test_conventions_that_coincide_are_one_and_keep_all_tools():
    (one,) = [one for one in conventions(AuditScale(5, 4, 1, 0.8)) if one.measure == "RR(rel=1)@5"]
    assert "trec_eval -l1" in one.tools
    assert "Elasticsearch" in one.tools


LISTS = st.lists(st.integers(0, 4), min_size=1, max_size=7)


@settings(max_examples=30)
@given(LISTS, LISTS)
def test_what_names_refuse_is_what_a_plain_loop_gives(shown, others):
    scale = AuditScale(depth=5, max_grade=4, relevant_grade=3, persistence=0.6)
    found, top5 = values(shown, others, scale), shown[:5]
    weights = [0.4 * 0.6**place for place in range(5)]
    judged = sorted((*shown, *others), reverse=True)
    ideal = dcg(judged[: len(top5)])
    expected = {
        "ERR@5 on 0..5": err(top5, 5),
        "ERR@5 on 0..3": err(top5, 3),
        "ERR@5 on the seen scale": err(top5, max(judged)),
        "RBP(p=0.6)@5 of grades": sum(w * g for w, g in zip(weights, top5, strict=False)),
        "RBP(p=0.6)@5 of grades from 3": sum(w * g for w, g in zip(weights, top5, strict=False) if g >= 3),
        "P(rel=3)@5 of the hits": sum(grade >= 3 for grade in top5) / len(top5),
        "nDCG(dcg='exp-log2')@5 to the hits": dcg(top5) / ideal if ideal else 0.0,
        "SDCG@5": sum(g / 4 / np.log2(i + 2) for i, g in enumerate(top5))
        / sum(1 / np.log2(i + 2) for i in range(5)),
        "DCG@5 with ln": sum((2**g - 1) / np.log(i + 2) for i, g in enumerate(top5)),
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-9)


def test_two_decimals_are_rounded_up_from_the_half():
    exact = values(SHOWN, OTHERS)["nDCG(dcg='exp-log2')@5"]
    assert exact == pytest.approx(0.463199, abs=1e-6)
    assert values((3, 4), ())["nDCG(dcg='exp-log2')@5, two decimals"] == pytest.approx(0.85)  # 0.8454


def test_grades_are_read_with_commas_or_blanks_and_a_dash_for_none():
    assert read_grades("--grades", "3,-, 4 0") == [3, None, 4, 0]
    assert read_grades("--others", "") == []


@pytest.mark.parametrize("text", ["3,x", "-1", "2.5", "3;4"])
def test_what_is_no_grade_is_named(text):
    with pytest.raises(SettingsError, match=r"is not a grade; expected e\.g\. 3,-,4,0,1"):
        read_grades("--grades", text)


def test_a_grade_off_the_scale_is_refused():
    with pytest.raises(JudgmentError, match=r"grade 5 is off the scale 0\.\.4"):
        one_list((5, 1), (), 4)
