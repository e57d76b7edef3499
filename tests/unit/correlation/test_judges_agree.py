"""Agreement of judges against scikit-learn and published examples, and their comparison, against loops."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t
from sklearn.metrics import cohen_kappa_score

from clickassay.core.contracts.judges import AGREEMENT, JUDGE_COMPARISONS
from clickassay.correlation.agreement import (
    ac1,
    alphas,
    coincidences,
    judge_comparisons,
    judges_of_run,
    kappa,
)
from clickassay.correlation.uncertainty.intervals import NO_INTERVAL
from clickassay.studies.judges.compare import compare_judges
from support.one_correlation import jackknife, weighted_correlation

TOP = 4


def judged(judge, grades, *, queries=10, market="all"):
    return pl.DataFrame(
        {
            "judge": [judge] * len(grades),
            "market": [market] * len(grades),
            "query": [f"query {row % queries}" for row in range(len(grades))],
            "url": [f"url {row}" for row in range(len(grades))],
            "grade": pl.Series(grades, dtype=pl.Int8),
        }
    )


def agreement(grades):
    return judges_of_run(grades, max_grade=TOP)[0]


def measures(grades):
    """The rows of the only two judges, by measure."""
    return {row["measure"]: row for row in agreement(grades).iter_rows(named=True)}


@pytest.fixture(scope="module")
def two():
    rng = np.random.default_rng(5)
    a = rng.integers(0, TOP + 1, 300)
    b = np.clip(a + rng.choice([-1, 0, 0, 1], 300), 0, TOP)
    return a, b


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=30))
@settings(deadline=None)
def test_kappa_is_that_of_scikit_learn_whatever_the_grades(pairs):
    a, b = zip(*pairs, strict=True)
    table = np.zeros((4, 4))
    np.add.at(table, (a, b), 1)
    ours = kappa(table.ravel(), 4)
    if len(set(a)) == len(set(b)) == 1 and a[0] == b[0]:
        assert np.isnan(ours).all()
        return
    for value, weights in zip(ours, (None, "linear", "quadratic"), strict=True):
        expected = cohen_kappa_score(a, b, weights=weights, labels=[0, 1, 2, 3])
        assert value == pytest.approx(expected, abs=1e-12)


def test_the_interval_of_kappa_is_that_of_leaving_out_each_query_from_scratch(two):
    a, b = two
    query = np.arange(300) % 10
    values = [
        cohen_kappa_score(a[query != left], b[query != left], weights="quadratic") for left in range(10)
    ]
    scaled = np.arctanh(values)
    error, degrees = jackknife(scaled)
    row = measures(pl.concat([judged("human", a), judged("model", b)]))["kappa_quadratic"]
    ends = np.arctanh(row["value"]) + np.array([-1, 1]) * t.ppf(0.975, degrees) * error
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(np.tanh(ends)))
    assert row["caution"] == "fewer than 50 queries"


def test_only_results_that_both_judged_count_and_markets_are_separate():
    grades = pl.concat(
        [
            judged("a", [0, 1, 2, 3], market="north"),
            judged("b", [0, 1, 2], market="north"),
            judged("a", [4, 4], market="south"),
            judged("c", [4, 0], market="south"),
        ]
    )
    found = agreement(grades).filter(measure="kappa")
    assert found.select("market", "judge_a", "judge_b", "n_results").rows() == [
        ("north", "a", "b", 3),
        ("south", "a", "c", 2),
    ]
    assert found["value"][0] == 1


def test_one_judge_alone_gives_empty_tables_of_the_right_form():
    alone = judged("a", [0, 1, 2])
    agreed, counts = judges_of_run(alone, max_grade=TOP)
    assert agreed.equals(AGREEMENT.empty())
    assert counts.is_empty()


@pytest.mark.parametrize("other", [0, 1])
def test_judges_who_agree_in_all_queries_or_all_but_one_have_no_interval_as_they_may_differ_in_others(other):
    grades = [row % 5 for row in range(300)]
    changed = [(grades[0] + other) % 5, *grades[1:]]
    both = pl.concat([judged("a", grades, queries=60), judged("b", changed, queries=60)])
    row = measures(both)["kappa_quadratic"]
    assert (row["value"] == 1) == (other == 0)
    assert (row["ci_low"], row["ci_high"], row["caution"]) == (None, None, NO_INTERVAL)


def test_three_judges_of_a_run_have_alphas_together_as_their_judgments_without_a_log_have():
    rng = np.random.default_rng(2)
    grades = pl.concat([judged(name, rng.integers(0, TOP + 1, 60)) for name in "abc"])
    found = agreement(grades).filter(judge_a="all")
    alone = compare_judges(("a", "b", "c"), grades, max_grade=TOP).agreement.filter(judge_a="all")
    assert found.sort("measure").equals(alone.sort("measure"))
    assert set(found["measure"]) == {"alpha_nominal", "alpha_ordinal", "alpha_interval"}


def two_samples(make_sample):
    """Two judges of one log: the second judged other configurations too, and not all of the first's."""
    whole = make_sample(3, queries=60, configurations=150, clicks=2, editorial=2)
    whole = replace(whole, click_names=("MeanRR", "SS"))
    rng = np.random.default_rng(8)
    a = of_judge(whole, np.flatnonzero(rng.random(150) < 0.8), "human")
    b = of_judge(whole, np.flatnonzero(rng.random(150) < 0.8), "model")
    noisy = b.editorial_values + rng.normal(size=b.editorial_values.shape)
    return whole, a, replace(b, editorial_values=noisy)


def of_judge(sample, rows, judge):
    return replace(sample.of_rows(rows), key=replace(sample.key, judge=judge))


def test_judges_are_compared_on_the_configurations_that_both_judged(make_sample):
    _, a, b = two_samples(make_sample)
    common = sorted(set(a.configuration_ids) & set(b.configuration_ids))
    in_a = [list(a.configuration_ids).index(one) for one in common]
    in_b = [list(b.configuration_ids).index(one) for one in common]
    found = judge_comparisons([b, a])
    assert set(found["click_metric"]) == {"MeanRR"}  # SS is made of the judge's own grades
    for place, name in enumerate(a.editorial_names):
        row = found.row(by_predicate=pl.col("editorial_metric") == name, named=True)
        y, n = a.click_values[in_a, 0], a.sessions[in_a]
        r_a, _ = weighted_correlation(a.editorial_values[in_a, place], y, n)
        r_b, _ = weighted_correlation(b.editorial_values[in_b, place], y, n)
        assert row["correlation_a"] == pytest.approx(r_a, abs=1e-12)
        assert row["correlation_b"] == pytest.approx(r_b, abs=1e-12)
        assert row["difference"] == pytest.approx(r_a - r_b, abs=1e-12)
        assert row["ci_low"] < row["difference"] < row["ci_high"]
        assert (row["judge_a"], row["judge_b"]) == ("human", "model")
        assert (row["n_configurations"], row["n_sessions"]) == (len(common), n.sum())
        assert row["n_queries"] == len({a.queries[a.query_index[row]] for row in in_a})


def test_the_error_of_the_comparison_is_that_of_leaving_out_each_query_from_scratch(make_sample):
    _, a, b = two_samples(make_sample)
    ids_b = list(b.configuration_ids)
    rows = [(r, ids_b.index(one)) for r, one in enumerate(a.configuration_ids) if one in ids_b]
    in_a, in_b = np.array(rows).T
    query = a.query_index[in_a]

    def difference(kept):
        y, n = a.click_values[in_a[kept], 0], a.sessions[in_a[kept]]
        r_a, _ = weighted_correlation(a.editorial_values[in_a[kept], 0], y, n)
        r_b, _ = weighted_correlation(b.editorial_values[in_b[kept], 0], y, n)
        return r_a - r_b

    values = np.array([difference(query != left) for left in np.unique(query)])
    error, degrees = jackknife(values)
    reach = t.ppf(0.975, degrees) * error
    degrees = min(2 * degrees, len(values) - 1)
    row = judge_comparisons([a, b]).row(0, named=True)
    assert row["ci_high"] - row["difference"] == pytest.approx(reach, rel=1e-6)
    assert row["p_value"] == pytest.approx(2 * t.sf(abs(row["difference"]) / error, degrees), rel=1e-6)


def test_a_judge_who_agrees_with_another_in_all_makes_no_difference(make_sample):
    _, a, _ = two_samples(make_sample)
    row = judge_comparisons([a, replace(a, key=replace(a.key, judge="model"))]).row(0, named=True)
    assert (row["difference"], row["p_value"], row["queries_needed"]) == (0.0, 1.0, None)


def test_samples_of_other_depths_or_markets_are_not_compared(make_sample):
    _, a, b = two_samples(make_sample)
    for key in (replace(b.key, depth=10), replace(b.key, market="south")):
        assert judge_comparisons([a, replace(b, key=key)]).equals(JUDGE_COMPARISONS.empty())


def test_judges_without_a_configuration_in_common_give_no_row(make_sample):
    whole, _, _ = two_samples(make_sample)
    a, b = of_judge(whole, np.arange(70), "human"), of_judge(whole, np.arange(70, 150), "model")
    assert judge_comparisons([a, b]).is_empty()


KRIPPENDORFF = """
* * * * * 3 4 1 2 1 1 3 3 * 3
1 * 2 1 3 3 4 3 * * * * * * *
* * 2 1 3 4 4 * 2 1 1 3 3 * 4
"""
"""Three coders, fifteen units, values 1 to 4 (Krippendorff 2011)."""


def units(text):
    rows = [line.split() for line in text.strip().splitlines()]
    return [[int(value) for value in column if value != "*"] for column in zip(*rows, strict=True)]


def coincidences_of(grades, size):
    """Coincidences by the definition: every ordered pair of a unit's grades."""
    found = np.zeros((size, size))
    for given_grades in grades:
        for one, two in permutations(range(len(given_grades)), 2):
            found[given_grades[one], given_grades[two]] += 1 / (len(given_grades) - 1)
    return found.ravel()


def plain_alpha(grades, distance):
    """1 - Do / De, pair by pair."""
    pairable = [one for one in grades if len(one) > 1]
    values = [grade for one in pairable for grade in one]
    observed = sum(
        distance(one[a], one[b]) / (len(one) - 1)
        for one in pairable
        for a, b in permutations(range(len(one)), 2)
    )
    expected = sum(distance(values[a], values[b]) for a, b in permutations(range(len(values)), 2))
    return 1 - observed / (expected / (len(values) - 1))


def test_the_published_example_has_its_published_values():
    found = alphas(coincidences_of(units(KRIPPENDORFF), 5), 5)
    assert found[0] == pytest.approx(0.691, abs=5e-4)
    assert found[2] == pytest.approx(0.811, abs=5e-4)


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=4), min_size=2, max_size=12))
def test_alpha_is_that_of_a_plain_loop_with_holes_and_several_judges(grades):
    values = [grade for one in grades if len(one) > 1 for grade in one]
    found = alphas(coincidences_of(grades, 5), 5)
    if len(set(values)) < 2:
        assert np.isnan(found).all()
        return
    counts = np.bincount(values, minlength=5)

    def ordinal(one, two):
        low, high = sorted((one, two))
        return (counts[low : high + 1].sum() - (counts[low] + counts[high]) / 2) ** 2

    plain = [plain_alpha(grades, of) for of in (lambda a, b: a != b, ordinal, lambda a, b: (a - b) ** 2)]
    assert found == pytest.approx(plain)


def test_ac1_has_the_value_of_gwets_example():
    # Gwet 2008: two raters, 125 subjects, of whom 118 are + by both, 5 and 2 by one, none by both
    table = np.array([118, 5, 2, 0.0])
    assert ac1(table, 2) == pytest.approx(0.9408, abs=5e-4)
    assert kappa(table, 2)[0] == pytest.approx(-0.0234, abs=5e-4)


@given(st.lists(st.integers(0, 30), min_size=9, max_size=9).filter(lambda cells: sum(cells) > 1))
def test_judges_may_be_exchanged_and_the_same_grades_agree_fully(cells):
    table = np.array(cells, float)
    turned = table.reshape(3, 3).T.ravel()
    assert ac1(turned, 3) == pytest.approx(ac1(table, 3))
    assert coincidences(turned, 3) == pytest.approx(coincidences(table, 3))
    same = np.diag(table.reshape(3, 3).sum(axis=1)).ravel()
    assert ac1(same, 3) == pytest.approx(1)
    assert set(np.round(alphas(coincidences(same, 3), 3), 9)) <= {1.0} or np.isnan(alphas(same, 3)).any()


def test_many_tables_at_once_have_the_values_of_each():
    tables = np.random.default_rng(0).integers(0, 9, (5, 16)).astype(float)
    assert ac1(tables, 4) == pytest.approx([ac1(one, 4) for one in tables])
    together = alphas(coincidences(tables, 4), 4)
    assert together == pytest.approx(np.stack([alphas(coincidences(one, 4), 4) for one in tables]))
