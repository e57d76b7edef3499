"""Offline metrics against published cases, exact fractions, and their laws."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clickassay.core.errors import JudgmentError, MetricError, SettingsError
from clickassay.core.settings import Settings
from clickassay.metrics.catalogue import METRICS, MODEL_METRICS, editorial_values, report_measures, shown_pool
from clickassay.metrics.editorial import FORMS, expected_reciprocal_rank, ideal_grades, ndcg, satisfaction
from clickassay.metrics.names import parse

SHOWN = Settings(pool="shown")
JUDGED = Settings()
GRADES = st.lists(st.integers(0, 4), min_size=1, max_size=12)


def values(grades, *, pool=None, settings=SHOWN, names=None):
    """The metrics of one list, by name; pool as a list of grades."""
    counts = None if pool is None else np.bincount(pool, minlength=settings.max_grade + 1)[None]
    measures = None if names is None else tuple(parse(name, METRICS) for name in names)
    found, row = editorial_values(np.array([grades], dtype=np.int8), counts, settings, measures)
    return dict(zip(found, row[0], strict=True))


def test_the_three_results_of_the_worked_example_have_the_published_err():
    assert values([3, 2, 4])["ERR"] == pytest.approx(0.633056640625, abs=1e-12)


def test_err_on_a_scale_to_3_has_the_published_values_at_depth_3_and_4():
    settings = Settings(pool="shown", scale=("a", "b", "c", "d"))
    found = values([3, 2, 0, 1], settings=settings, names=["ERR@3", "ERR@4"])
    assert found["ERR@3"] == pytest.approx(0.8984375, abs=1e-12)
    assert found["ERR@4"] == pytest.approx(0.90087890625, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "wrong"),
    # precisions 1 and 1, one relevant result; 1 + 1 / log2(3); two of one relevant result
    [("AP", "2.0000"), ("NDCG", "1.6309"), ("nDCG(ideal='uncut')", "1.6309"), ("NCG", "2.0"), ("R@2", "2")],
)
def test_a_value_beyond_the_range_of_its_metric_stops_with_it(name, wrong):
    assert values([4, 0], pool=[4, 0], settings=JUDGED, names=[name])
    with pytest.raises(MetricError, match=rf"1 of 1 values lie outside 0 to 1, such as {wrong}.*twice"):
        values([4, 4], pool=[4, 0], settings=JUDGED, names=[name])


def test_the_highest_utility_is_the_range_of_an_err_of_utilities():
    name = "ERR(utilities='3 2')"
    assert values([4, 4], names=[name])[name] == pytest.approx(3 * 15 / 16 + 2 * 15 / 16 / 16)


@given(GRADES, st.sampled_from(FORMS))
def test_the_ideal_list_has_exactly_1_in_every_form(grades, form):
    best = np.array([sorted(grades, reverse=True)])
    (value,) = ndcg(best, shown_pool(best, 4), len(grades), dcg=form)
    assert value == float(max(grades) > 0)


@settings(max_examples=40)
@given(GRADES, st.randoms(use_true_random=False))
def test_the_mean_grade_knows_no_order_and_the_others_only_the_first_result(grades, random):
    shuffled = grades[1:]
    random.shuffle(shuffled)
    before, after = values(grades), values([grades[0], *shuffled])
    for name in ("MeanGrade", "MeanGrade@1", "P@1"):
        assert after[name] == before[name], name
    assert values(grades[::-1])["MeanGrade"] == before["MeanGrade"]
    assert before["P@1"] == float(before["MeanGrade@1"] >= 3)


@given(GRADES, st.lists(st.integers(0, 4), max_size=20))
def test_every_metric_lies_in_its_declared_range(shown, others):
    of_grades = [metric for metric in METRICS if metric not in MODEL_METRICS]
    names = [metric.name for metric in of_grades]
    found = values(shown, pool=shown + others, settings=JUDGED, names=names)
    for metric in of_grades:
        assert metric.low <= found[metric.name] <= metric.high, metric.name


@given(GRADES, st.data())
def test_raising_one_grade_never_lowers_dcg_rbp_rr_and_err(grades, data):
    place = data.draw(st.integers(0, len(grades) - 1))
    raised = [*grades]
    raised[place] = data.draw(st.integers(grades[place], 4))
    before, after = values(grades), values(raised)
    for name in ("DCG", "RBP", "RR"):
        assert after[name] >= before[name], name
    # what comes after rank r is worth at most 1/(r + 1), so stopping at r never costs
    assert after["ERR"] >= before["ERR"] - 1e-15


@given(st.lists(st.lists(st.integers(0, 4), max_size=9), min_size=1, max_size=5), st.integers(1, 8))
def test_the_ideal_list_is_the_sorted_pool_filled_up_with_zeros(pools, depth):
    counts = np.array([np.bincount(np.array(pool, dtype=int), minlength=5) for pool in pools])
    expected = [(sorted(pool, reverse=True) + [0] * depth)[:depth] for pool in pools]
    assert ideal_grades(counts, depth).tolist() == expected


@given(st.lists(st.booleans(), min_size=1, max_size=20))
def test_err_of_binary_chances_is_reciprocal_rank(relevant):
    chances = np.array([relevant], dtype=np.float64)
    expected = 1 / (1 + relevant.index(True)) if any(relevant) else 0
    assert expected_reciprocal_rank(chances)[0] == expected


@settings(max_examples=40)
@given(st.lists(st.integers(0, 30), min_size=62, max_size=62))
def test_err_keeps_its_precision_on_62_results_and_31_grades(grades):
    exact, goes_on = Fraction(0), Fraction(1)
    for rank, grade in enumerate(grades, start=1):
        stops = Fraction(2**grade - 1, 2**30)
        exact += goes_on * stops / rank
        goes_on *= 1 - stops
    settings = Settings(pool="shown", max_grade=30)
    assert values(grades, settings=settings)["ERR"] == pytest.approx(float(exact), rel=2e-14, abs=0)


def test_the_chance_to_be_satisfied_is_exact_on_every_scale():
    for top in range(1, 31):
        found = satisfaction(np.arange(top + 1, dtype=np.int8), top)
        assert [Fraction(chance) for chance in found] == [Fraction(2**g - 1, 2**top) for g in range(top + 1)]


@settings(max_examples=40)
@given(st.lists(st.lists(st.integers(0, 4), min_size=4, max_size=4), min_size=1, max_size=6))
def test_a_batch_gives_each_list_what_it_gets_alone(lists):
    names, batch = editorial_values(np.array(lists, dtype=np.int8), None, SHOWN)
    for grades, row in zip(lists, batch, strict=True):
        alone = values(grades)
        assert dict(zip(names, row, strict=True)) == alone


@pytest.mark.parametrize("grades", [[[5]], [[-1]]])
def test_grades_off_the_scale_are_refused(grades):
    with pytest.raises(JudgmentError, match=r"off the scale 0\.\.4"):
        editorial_values(np.array(grades, dtype=np.int8), None, SHOWN)


@pytest.mark.parametrize("pool", [None, np.ones((1, 4), dtype=int), np.ones((2, 5), dtype=int)])
def test_a_judged_pool_that_does_not_fit_is_refused(pool):
    with pytest.raises(JudgmentError, match=r"expected \(1, 5\)"):
        editorial_values(np.array([[1, 2]], dtype=np.int8), pool, JUDGED)


@pytest.mark.parametrize(
    ("name", "error", "complaint"),
    [
        ("ERR@3", SettingsError, "only 2 deep"),
        ("AP(rel=5)", SettingsError, "no grade of the scale"),
        ("ERR(max_rel=3)", JudgmentError, "grade 4 is above max_rel 3"),
    ],
)
def test_measures_that_do_not_fit_the_data_are_refused(name, error, complaint):
    with pytest.raises(error, match=complaint):
        values([4, 0], names=[name])


@given(grades=GRADES, gamma=st.fractions(Fraction(1, 100), 1))
def test_err_with_abandonment_is_the_sum_of_the_paper(grades, gamma):
    name = f"ERR(gamma={float(gamma)!r})"
    exact, goes_on, decay = Fraction(0), Fraction(1), Fraction(1)
    for grade in grades:
        chance = Fraction(2**grade - 1, 16)
        exact += decay * goes_on * chance
        goes_on *= 1 - chance
        decay *= Fraction(float(gamma))
    assert values(grades, names=[name])[name] == pytest.approx(float(exact), rel=1e-12)


@given(grades=GRADES)
def test_without_abandonment_order_does_not_matter(grades):
    name = "ERR(gamma=1.0)"
    found = values(grades, names=[name])[name]
    assert found == pytest.approx(values(sorted(grades), names=[name])[name], rel=1e-12)
    assert found == pytest.approx(1 - math.prod(1 - (2**grade - 1) / 16 for grade in grades), abs=1e-12)


@pytest.mark.parametrize("gamma", ["0", "1.5", "nan", "x"])
def test_a_gamma_that_is_no_chance_is_refused(gamma):
    with pytest.raises(SettingsError, match=r"gamma is .*expected a number above 0, at most 1"):
        parse(f"ERR(gamma={gamma})", METRICS)


def test_further_metrics_come_last_each_once():
    settings = Settings(pool="shown", metric=("ERR(gamma=0.9)", "RBP(p=0.6)@3", "ERR", "ERR(gamma=.9)"))
    names = list(values([3, 2, 4, 0, 1], settings=settings))
    assert names[-2:] == ["ERR(gamma=0.9)", "RBP(p=0.6)@3"]
    assert names[:-2] == list(values([3, 2, 4, 0, 1]))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ERR@6", "the run has depth 5; add --depth 6, or write ERR, which is cut at every depth"),
        ("XYZ", "unknown metric XYZ"),
    ],
)
def test_a_further_metric_that_is_none_or_too_deep_is_refused(name, message):
    with pytest.raises(SettingsError, match=message):
        report_measures(Settings(metric=(name,)))
