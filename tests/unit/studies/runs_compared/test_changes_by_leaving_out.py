"""Changes between two runs, tested: against plain loops that leave out queries, folds of users, or both."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import DescrStatsW

from clickassay.correlation.changes import (
    closed_form_changes,
    from_intervals,
    mean_changes,
    mean_intervals,
    weighted_changes,
)
from clickassay.correlation.changes import within_changes as changes_of_groups
from clickassay.correlation.within.groups import all_markets, query_groups
from support.one_correlation import jackknife, within
from support.runs.given_sample import sample_of


def random_sample(seed, names, *, clicks=2, editorial=2):
    """A sample of the named queries with 1 to 4 configurations each; values go with the query's name."""
    rng = np.random.default_rng(seed)
    index = np.repeat(np.arange(len(names)), rng.integers(1, 5, len(names)))
    level = np.array([hash_of(name) for name in names])[index]
    x = level[:, None] + rng.normal(size=(len(index), editorial))
    y = 0.6 * x[:, :1] + rng.normal(size=(len(index), clicks))
    sample = sample_of(y, x, rng.integers(1, 30, len(index)), index)
    return dataclasses.replace(sample, queries=tuple(names))


def hash_of(name):
    """A number of about standard normal size that two runs share for a query."""
    return np.random.default_rng(int(name[1:])).normal()


def names(first, last):
    return [f"q{number:03d}" for number in range(first, last)]


def weighted(sample, kept, click, editorial):
    """The weighted correlation of some configurations, by statsmodels."""
    columns = np.stack([sample.click_values[:, click], sample.editorial_values[:, editorial]], axis=1)
    return DescrStatsW(columns[kept], weights=sample.sessions[kept]).corrcoef[0, 1]


def closed_form(sample, kept, click, editorial):
    """Covariances within queries, by NumPy's cov, query by query."""
    total = np.zeros((2, 2))
    for query in range(len(sample.queries)):
        rows = kept & (sample.query_index == query)
        if rows.sum() >= 2:
            total += np.cov(sample.click_values[rows, click], sample.editorial_values[rows, editorial])
    return total[0, 1] / math.sqrt(total[0, 0] * total[1, 1])


def within_changes(a, b):
    """As the others take it: one market."""
    return changes_within([a], [b])


def changes_within(*runs):
    """Changes of all markets of each run together."""
    return changes_of_groups(*(all_markets(query_groups(markets)) for markets in runs), users=False)


def in_two_lists(sample):
    """The queries with two lists or more: others say nothing within queries."""
    return {name for place, name in enumerate(sample.queries) if (sample.query_index == place).sum() >= 2}


def kept_without(sample, query):
    """The rows of a sample without a query that it may have."""
    place = sample.queries.index(query) if query in sample.queries else -1
    return sample.query_index != place


def assert_changed(found, place, change, reach):
    assert (found.b - found.a)[place] == pytest.approx(change, rel=1e-9)
    ends = (found.low[place], found.high[place])
    assert ends == pytest.approx((change - reach, change + reach), rel=1e-6)


def looped(a, b, statistic, click, editorial):
    """Change, error and degrees of freedom: each query of either run left out of both, in plain loops."""

    def change_without(query):
        in_a, in_b = (statistic(sample, kept_without(sample, query), click, editorial) for sample in (a, b))
        return in_b - in_a

    units = in_two_lists if statistic is within else (lambda sample: set(sample.queries))
    queries = sorted(units(a) | units(b))
    values = [change_without(query) for query in queries]
    return change_without("none"), *jackknife(values), len(queries)


@pytest.mark.parametrize(
    ("of_a", "of_b"),
    [((0, 20), (0, 20)), ((0, 20), (100, 115)), ((0, 20), (10, 35))],
    ids=["the same queries", "other queries", "some queries in both"],
)
@pytest.mark.parametrize(
    ("test", "statistic"),
    [(weighted_changes, weighted), (closed_form_changes, closed_form), (within_changes, within)],
)
def test_a_change_is_tested_as_by_a_loop_over_the_queries_of_both_runs(test, statistic, of_a, of_b):
    a, b = random_sample(1, names(*of_a)), random_sample(2, names(*of_b))
    found = test(a, b)
    for place, (click, editorial) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        change, error, degrees, q = looped(a, b, statistic, click, editorial)
        reach = stats.t.ppf(0.975, degrees) * error
        assert_changed(found, place, change, reach)
        p = 2 * stats.t.sf(abs(change) / error, min(2 * degrees, q - 1))
        assert found.p[place] == pytest.approx(p, rel=1e-6)


def test_all_markets_together_are_the_sum_over_their_queries_and_a_group_of_queries_is_one_unit():
    a, b = random_sample(7, names(0, 40)), random_sample(8, names(10, 50))
    other = random_sample(9, names(60, 90))  # no query in both: markets together are as if it were one
    together = changes_within([a, other], [b, other])
    np.testing.assert_allclose(together.b, changes_within([other, b], [other, b]).b)
    apart = changes_within([a], [b])
    assert (together.high - together.low < apart.high - apart.low).all()  # the other market has not changed
    grouped = [
        dataclasses.replace(one, units=tuple(f"group {int(name[1:]) // 4}" for name in one.queries))
        for one in (a, b)
    ]
    of_groups = changes_within(grouped[:1], grouped[1:])
    np.testing.assert_allclose(of_groups.b, apart.b, rtol=1e-12)
    assert (of_groups.low != apart.low).all()


def sessions_of(seed, names, *, folds=3):
    """Sessions (query, configuration, fold, click value); a fold's users click more or less everywhere."""
    rng = np.random.default_rng(seed)
    rows, habit = [], rng.normal(0, 1.5, folds)
    for query in names:
        for number in range(int(rng.integers(1, 4))):
            graded = rng.normal(size=2)
            for _ in range(int(rng.integers(folds, 12))):
                fold = int(rng.integers(folds))
                rows.append((query, number, fold, graded, 0.3 * graded[0] + habit[fold] + rng.normal()))
    return rows


def sample_from(rows):
    """The sample of some sessions: two offline metrics, and one click metric."""
    groups = {}
    for query, number, _, graded, value in rows:
        groups.setdefault((query, number), (graded, []))[1].append(value)
    found = sorted({query for query, _ in groups})
    keys = sorted(groups)
    sample = sample_of(
        [[np.mean(groups[key][1])] for key in keys],
        [groups[key][0] for key in keys],
        [len(groups[key][1]) for key in keys],
        [found.index(query) for query, _ in keys],
    )
    return dataclasses.replace(sample, queries=tuple(found))


def mean_of(sample, kept, click, editorial):
    """The mean over sessions of an offline metric, or where that is None of a click metric."""
    values = sample.click_values[:, click] if editorial is None else sample.editorial_values[:, editorial]
    return DescrStatsW(values[kept], weights=sample.sessions[kept]).mean


def variance_with_users(a, b, statistic, place, folds):
    """Variance of a change and its degrees: queries, folds of users and both left out, in plain loops.

    Without `a`, that of the number of `b` alone.
    """

    def change(*lacks):
        samples = [
            sample_from([row for row in rows if not any(lack(row) for lack in lacks)])
            for rows in (a, b)
            if rows
        ]
        values = [statistic(sample, np.full(len(sample.sessions), True), *place) for sample in samples]
        return values[-1] - (values[0] if a else 0)

    whole, queries = change(), sorted({row[0] for row in (*a, *b)})
    by_query = np.array([change(lambda row, q=query: row[0] == q) for query in queries])
    by_fold = np.array([change(lambda row, f=fold: row[2] == f) for fold in range(folds)])
    cells = np.array(
        [
            [change(lambda row, q=query, f=fold: (row[0], row[2]) == (q, f)) for fold in range(folds)]
            for query in queries
        ]
    )

    (error, degrees), (of_folds, few) = jackknife(by_query), jackknife(by_fold)
    of_queries, of_users = error**2, of_folds**2
    by_chance = folds / (folds - 1) * ((cells - cells.mean(axis=1, keepdims=True)) ** 2).sum()
    added = of_users - by_chance if of_users > 1.5 * by_chance else 0
    total = of_queries + added
    own = total**2 / (of_queries**2 / degrees + added**2 / few) if added else degrees
    return whole, total, own, min(2 * own, len(queries) - 1), added


@pytest.mark.parametrize(
    ("test", "statistic", "places"),
    [
        (weighted_changes, weighted, [(0, 0), (0, 1)]),
        (closed_form_changes, closed_form, [(0, 0), (0, 1)]),
        (mean_changes, mean_of, [(0, None), (0, 0), (0, 1)]),
    ],
)
def test_users_widen_an_interval_as_in_a_loop_over_queries_folds_and_both(test, statistic, places):
    rows = sessions_of(21, names(0, 12)), sessions_of(22, names(4, 16))
    a, b = (sample_from(own) for own in rows)
    parts = [[[row for row in own if row[2] != fold] for own in rows] for fold in range(3)]
    found = test(a, b, [tuple(sample_from(own) for own in part) for part in parts])
    all_added = []
    for number, place in enumerate(places):
        change, variance, degrees, of_test, added = variance_with_users(*rows, statistic, place, 3)
        reach = stats.t.ppf(0.975, degrees) * math.sqrt(variance)
        assert_changed(found, number, change, reach)
        assert found.p[number] == pytest.approx(
            2 * stats.t.sf(abs(change) / math.sqrt(variance), of_test), rel=1e-6
        )
        all_added.append(added)
    if test is mean_changes:
        assert all_added[0] > 0  # users of a fold click alike: that is more than chance


def test_a_mean_of_one_run_has_the_interval_of_a_loop_over_queries_folds_and_both():
    rows = sessions_of(31, names(0, 14))
    parts = [[row for row in rows if row[2] != fold] for fold in range(3)]
    found = mean_intervals(sample_from(rows), [sample_from(part) for part in parts])
    for number, place in enumerate([(0, None), (0, 0), (0, 1)]):
        mean, variance, degrees, _, added = variance_with_users((), rows, mean_of, place, 3)
        reach = stats.t.ppf(0.975, degrees) * math.sqrt(variance)
        assert_changed(found, number, mean, reach)
        assert added > 0 or number  # users of a fold click alike


def test_a_sample_has_not_changed_from_itself():
    sample = random_sample(6, names(0, 30))
    for test in (weighted_changes, closed_form_changes, within_changes, mean_changes):
        found = test(sample, sample)
        for values, expected in ((found.low, 0), (found.high, 0), (found.p, 1)):
            np.testing.assert_array_equal(values, np.full(4, expected))


def test_intervals_alone_are_read_on_fishers_scale_as_if_the_runs_were_independent():
    # r = 0.5 and 0.3 of 103 and 203 independent pairs: errors of artanh r are 1/sqrt(n - 3) = 0.1, 0.0707
    ends = [
        [r, math.tanh(math.atanh(r) - 1.959964 * error), math.tanh(math.atanh(r) + 1.959964 * error)]
        for r, error in ((0.5, 0.1), (0.3, 0.1 / math.sqrt(2)))
    ]
    found = from_intervals(np.array(ends[:1]), np.array(ends[1:]))
    z = (math.atanh(0.3) - math.atanh(0.5)) / math.sqrt(0.01 + 0.005)
    assert found.p[0] == pytest.approx(2 * stats.norm.cdf(z), rel=1e-6)
    (a, a_low, a_high), (b, b_low, b_high) = ends
    assert found.low[0] == pytest.approx(b - a - math.sqrt((b - b_low) ** 2 + (a_high - a) ** 2))
    assert found.high[0] == pytest.approx(b - a + math.sqrt((b_high - b) ** 2 + (a - a_low) ** 2))


def test_without_intervals_nothing_is_tested():
    found = from_intervals(
        np.array([[0.5, np.nan, np.nan], [1, 1, 1]]), np.array([[0.3, 0.2, 0.4], [0.9, 0.8, 1]])
    )
    assert np.isnan(found.p).all()
