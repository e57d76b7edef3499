"""Values of grades and positions that a metric's name gives: plain loops, laws, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clickassay.core.errors import SettingsError
from clickassay.core.settings import Settings
from clickassay.metrics.catalogue import METRICS, editorial_values, report_measures
from clickassay.metrics.names import parse

GRADES = st.lists(st.integers(0, 4), min_size=1, max_size=12)
CHANCES = st.lists(st.floats(0, 1), min_size=5, max_size=5).map(sorted)
GAINS = st.lists(st.floats(0, 1e12), min_size=5, max_size=5).map(sorted)
UTILITIES = st.lists(st.floats(0, 1e12), min_size=12, max_size=20).filter(lambda values: values[0] > 0)


def quoted(values):
    return f"'{' '.join(map(repr, values))}'"


def value(name, grades, pool=None):
    """The value of one metric of one list; `pool` as a list of grades, else what is shown."""
    counts = None if pool is None else np.bincount(pool, minlength=5)[None]
    settings = Settings(pool="shown" if pool is None else "judged")
    measure = parse(name, METRICS)
    return editorial_values(np.array([grades], dtype=np.int8), counts, settings, (measure,))[1][0, 0]


def stops(grades, chances):
    """The chance to stop at each rank: satisfied there and nowhere above."""
    return [
        chances[grade] * math.prod(1 - chances[above] for above in grades[:place])
        for place, grade in enumerate(grades)
    ]


def discounted(gains):
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


@given(GRADES, CHANCES)
def test_err_of_given_chances_is_the_mean_reciprocal_rank_of_the_stop(grades, chances):
    expected = math.fsum(stop / rank for rank, stop in enumerate(stops(grades, chances), start=1))
    assert value(f"ERR(gains={quoted(chances)})", grades) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@settings(max_examples=40)
@given(GRADES, CHANCES, UTILITIES)
def test_err_of_given_utilities_is_their_mean_at_the_stop(grades, chances, utilities):
    products = zip(stops(grades, chances), utilities, strict=False)
    expected = math.fsum(stop * utility for stop, utility in products)
    name = f"ERR(gains={quoted(chances)},utilities={quoted(utilities)})"
    assert value(name, grades) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@given(GRADES, CHANCES, st.floats(0.01, 1))
def test_err_of_given_chances_takes_abandonment_too(grades, chances, gamma):
    expected = math.fsum(stop * gamma**place for place, stop in enumerate(stops(grades, chances)))
    name = f"ERR(gains={quoted(chances)},gamma={gamma!r})"
    assert value(name, grades) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@given(GRADES, CHANCES)
def test_rbp_of_given_chances_is_a_plain_sum(grades, chances):
    expected = 0.3 * math.fsum(chances[grade] * 0.7**place for place, grade in enumerate(grades))
    assert value(f"RBP(p=0.7,gains={quoted(chances)})", grades) == pytest.approx(
        expected, rel=1e-12, abs=1e-15
    )


@given(GRADES, GAINS, st.lists(st.integers(0, 4), max_size=6))
def test_dcg_and_ndcg_of_given_gains_are_plain_sums_whatever_grade_0_is_worth(shown, gains, others):
    total = discounted([gains[grade] for grade in shown])
    best = sorted((gains[grade] for grade in shown + others), reverse=True)[: len(shown)]
    expected = total / discounted(best) if discounted(best) else 0
    named = quoted(gains)
    assert value(f"DCG(gains={named})", shown) == pytest.approx(total, rel=1e-12)
    assert value(f"NDCG(gains={named})", shown, shown + others) == pytest.approx(expected, rel=1e-12)


def test_an_ideal_list_ends_where_the_judgments_end():
    # two results are judged, one of them is shown twice; grade 0 is worth 1, a missing result nothing
    assert value("NDCG(gains='1 2 3 4 5')", [4, 0, 0], [4, 0]) == pytest.approx(
        (5 + 1 / math.log2(3) + 1 / 2) / (5 + 1 / math.log2(3))
    )


@given(GRADES)
def test_the_gains_of_the_paper_give_the_metrics_of_the_paper(grades):
    chances, gains = "'0 0.0625 0.1875 0.4375 0.9375'", "'0 1 3 7 15'"
    for name, own in (("ERR", chances), ("RBP", chances), ("DCG", gains), ("NDCG", gains)):
        assert value(f"{name}(gains={own})", grades) == pytest.approx(value(name, grades), rel=1e-12)
    harmonic = quoted(1 / rank for rank in range(1, 13))
    assert value(f"ERR(utilities={harmonic})", grades) == pytest.approx(value("ERR", grades), rel=1e-12)
    powers = quoted(0.9**place for place in range(12))
    assert value(f"ERR(utilities={powers})", grades) == pytest.approx(
        value("ERR(gamma=0.9)", grades), rel=1e-12
    )


@given(CHANCES, UTILITIES, st.none() | st.integers(1, 62))
def test_names_with_values_of_grades_and_positions_parse_back(chances, utilities, depth):
    cut = "" if depth is None else f"@{depth}"
    measure = parse(f"ERR(utilities={quoted(utilities)}, gains={quoted(chances)}){cut}", METRICS)
    assert parse(str(measure), METRICS) == measure
    assert dict(measure.arguments) == {"gains": tuple(chances), "utilities": tuple(utilities)}
    assert measure.depth == depth


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('ERR(gains="0 .04 0.20  0.4 8e-1")', "ERR(gains='0 0.04 0.2 0.4 0.8')"),
        ("DCG( gains = ' 0 1 3 7 15 ' )@3", "DCG(gains='0 1 3 7 15')@3"),
        ("RBP(gains=-0 0 0 1 1.0,p=.6)", "RBP(p=0.6,gains='0 0 0 1 1')"),
        ("ERR(utilities='1 0.5',gains='0 1')@2", "ERR(gains='0 1',utilities='1 0.5')@2"),
        ("DCG(gains='0 1000000000000')", "DCG(gains='0 1000000000000')"),
    ],
)
def test_values_are_printed_in_one_way(text, name):
    assert str(parse(text, METRICS)) == name


FALL = r"gains is .*expected non-decreasing numbers of 0\.\.1"
REFUSED = [
    ("ERR(gains='0 0.4 0.2 0.4 0.8')", FALL),
    ("RBP(gains='0 0.1 0.2 0.4 1.5')", FALL),
    ("ERR(gains='-0.1 0.1 0.2 0.4 0.5')", FALL),
    ("ERR(gains='0 0.1 nan 0.4 0.8')", FALL),
    ("ERR(gains='0 0.1 few 0.4 0.8')", FALL),
    ("ERR(gains='')", FALL),
    ("ERR(gains='0 0.1 0.2 0.4 0.8)", FALL),
    ("ERR(gains='0,0.1,0.2,0.4,0.8')", "its parameters, each at most once, are: .*gains='value value …'"),
    ("DCG(gains='0 1 2 3 inf')", r"gains is .*expected non-decreasing numbers of 0\.\.1e12"),
    ("NDCG(gains='0 1 3 2 4')", r"gains is .*expected non-decreasing numbers of 0\.\.1e12"),
    ("ERR(utilities='0 1 1 1 1')", "utilities is .*the first above 0"),
    ("ERR(utilities='1 -1 1 1 1')", "utilities is .*the first above 0"),
    ("ERR(utilities='1 inf 1 1 1')", "utilities is .*the first above 0"),
    ("ERR(gamma=0.8,utilities='1 1 1 1 1')", "utilities and gamma exclude each other"),
    ("ERR(max_rel=4,gains='0 0 0 0 1')", "gains and max_rel exclude each other"),
    ("RBP(max_rel=4,gains='0 0 0 0 1')", "gains and max_rel exclude each other"),
    ("RBP(utilities='1 1 1 1 1')", "its parameters, each at most once, are"),
    ("MeanGrade(gains='0 1 2 3 4')", "its parameters, each at most once, are: none"),
    ("ERR(gains='0 0.2 0.4 0.8')", r"gains has 4 values, but the scale 0\.\.4 has 5 grades"),
    ("NDCG(gains='0 1 2 3 4 5')", r"gains has 6 values, but the scale 0\.\.4 has 5 grades"),
    ("ERR(utilities='1 0.5 0.3 0.2')", "ends at position 4, but the metric is computed to position 10"),
    ("ERR(utilities='1 0.5')@3", "utilities ends at position 2, but the metric is computed to position 3"),
    ("AP(rel=5)", r"no grade of the scale 0\.\.4 is relevant"),
]


@pytest.mark.parametrize(("name", "message"), REFUSED)
def test_values_that_are_none_or_do_not_fit_are_refused_in_one_line(name, message):
    with pytest.raises(SettingsError, match=message) as refused:
        report_measures(Settings(metric=(name,)))
    assert "\n" not in str(refused.value)


def test_utilities_need_reach_no_deeper_than_the_cut():
    name = "ERR(utilities='1 0.5 0.3 0.2 0.1')@5"
    assert str(report_measures(Settings(metric=(name,)))[-1]) == name


@pytest.mark.parametrize("name", ["ERR(gains='0 1')", "ERR(utilities='1')"])
def test_values_that_do_not_fit_are_refused_where_the_metric_is_computed_too(name):
    with pytest.raises(SettingsError, match=r"gains has 2 values|utilities ends at position 1"):
        value(name, [4, 0])
