"""What a metric adds to a baseline within queries: against regressions of statsmodels."""

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import t

from clickassay.core.records import Shown
from clickassay.correlation.comparisons import within_comparisons
from clickassay.correlation.within.groups import query_groups
from support.one_correlation import jackknife
from unit.correlation.test_within import sample_of


def world(seed, adds, queries=16, lists=3, sessions=40):
    """Clicks that follow the first result, and what else a metric knows as much as `adds` says."""
    rng = np.random.default_rng(seed)
    size = queries * lists
    first, more = rng.integers(0, 5, size), rng.normal(size=size)
    clicks = 0.2 * first + adds * more + rng.normal(size=size)
    metrics = {"NDCG": first + more, "MeanGrade@1": first, "P@1": first > 2, "ERR": first + 0.1 * more}
    names = np.repeat([f"q{query:02}" for query in range(queries)], lists)
    return sample_of(names, rng.integers(1, sessions, size), clicks, metrics)


def regression(sample, metric, baseline, kept, *more):
    """Return the partial correlation of clicks with a metric: t / sqrt(t² + degrees of freedom)."""
    at = [sample.editorial_names.index(name) for name in (metric, baseline)]
    query = sample.query_index[kept]
    x = [
        sample.editorial_values[kept][:, at],
        query[:, None] == np.unique(query),
        *(one[kept] for one in more),
    ]
    n = sample.sessions[kept]
    fit = sm.WLS(sample.click_values[kept, 0], np.hstack(x).astype(float), weights=n / (n + 4)).fit()
    return fit.tvalues[0] / np.sqrt(fit.tvalues[0] ** 2 + fit.df_resid)


def rows_of(sample):
    every = within_comparisons(query_groups([sample])[0]).to_dicts()
    return {frozenset((row["metric_a"], row["metric_b"])): row for row in every}


@pytest.mark.parametrize("seed", range(3))
def test_values_and_errors_are_those_of_regressions_without_each_query(seed):
    sample = world(seed, adds=0.3)
    rows = rows_of(sample)
    for metric, baseline in (("NDCG", "MeanGrade@1"), ("NDCG", "P@1"), ("ERR", "MeanGrade@1")):
        row = rows[frozenset((metric, baseline))]
        everything = np.ones(len(sample.sessions), bool)
        value = regression(sample, metric, baseline, everything)
        assert row["partial"] == pytest.approx(value, abs=1e-9)
        q = len(sample.queries)
        left = [regression(sample, metric, baseline, sample.query_index != query) for query in range(q)]
        error, degrees = jackknife(np.arctanh(left))
        margin = t.ppf(0.975, degrees) * error
        ends = np.tanh(np.arctanh(value) + np.array([-margin, margin]))
        assert [row["partial_low"], row["partial_high"]] == pytest.approx(ends, abs=1e-9)
        p = 2 * t.sf(abs(np.arctanh(value)) / error, min(2 * degrees, q - 1))
        assert row["partial_p_value"] == pytest.approx(p, rel=1e-6)


def test_periods_are_regressors_too():
    sample = world(5, adds=0.3, queries=40)
    size = len(sample.sessions)
    counts = np.random.default_rng(6).integers(1, 9, (size, 4))
    counts[0] += counts.sum(axis=0).max() - counts.sum(axis=0)  # as many on each day: each is a period
    shares = counts / counts.sum(axis=1, keepdims=True)
    shown = Shown(np.repeat(np.arange(size), 4), np.tile(np.arange(4), size), counts.ravel())
    sample = replace(sample, sessions=counts.sum(axis=1), shown=shown)
    row = rows_of(sample)[frozenset(("NDCG", "P@1"))]
    everything = np.ones(size, bool)
    value = regression(sample, "NDCG", "P@1", everything, shares[:, 1:])
    assert row["partial"] == pytest.approx(value, abs=1e-9)
    assert row["partial"] != pytest.approx(regression(sample, "NDCG", "P@1", everything), abs=1e-3)


def test_only_a_metric_and_a_baseline_have_one_and_none_where_they_are_the_same():
    sample = world(1, adds=0.3)
    values = np.column_stack([sample.editorial_values, 2 * sample.editorial_values[:, 1]])
    sample = replace(sample, editorial_names=(*sample.editorial_names, "Twice"), editorial_values=values)
    known = {pair for pair, row in rows_of(sample).items() if row["partial"] is not None}
    metrics = {
        frozenset((metric, one)) for metric in ("NDCG", "ERR", "Twice") for one in ("MeanGrade@1", "P@1")
    }
    assert known == metrics - {frozenset(("Twice", "MeanGrade@1"))}
