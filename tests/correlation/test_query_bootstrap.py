"""The query bootstrap against loops over the same draws, NumPy's percentiles, and theory."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from statsmodels.stats.weightstats import DescrStatsW

from pipeline.correlation import resampling
from pipeline.correlation.resampling import (
    Grouping,
    child,
    p_value,
    percentile_interval,
    resampled_statistics,
    resampled_sums,
)
from pipeline.correlation.weighted import moment_correlations, query_moments

ROOT = Path(__file__).parents[2]


def test_resampled_correlations_are_those_of_a_loop_over_the_same_draws(make_sample):
    sample = make_sample(1)
    queries = len(sample.queries)
    starts = np.flatnonzero(np.diff(sample.query_index, prepend=-1))
    moments = query_moments(sample.click_values, sample.editorial_values, sample.sessions, starts)
    found = moment_correlations(resampled_sums(moments, 25, np.random.default_rng(8)), 2, 3)
    draws = np.random.default_rng(8).integers(0, queries, size=(25, queries))
    both = np.concatenate([sample.click_values, sample.editorial_values], axis=1)
    for resample, drawn in zip(found, draws, strict=True):
        rows = [row for query in drawn for row in np.flatnonzero(sample.query_index == query)]
        expected = DescrStatsW(both[rows], weights=sample.sessions[rows]).corrcoef[:2, 2:]
        np.testing.assert_allclose(resample, expected, rtol=1e-10)


def test_drawing_in_chunks_draws_the_same(monkeypatch):
    contributions = np.arange(21.0).reshape(7, 3)
    whole = resampled_sums(contributions, 50, np.random.default_rng(2))
    monkeypatch.setattr(resampling, "CELLS", 30)
    monkeypatch.setattr(resampling, "FEWEST_ROWS", 4)  # four resamples of seven queries at once
    assert resampled_sums(contributions, 50, np.random.default_rng(2)).tolist() == whole.tolist()


@pytest.mark.parametrize("queries_per_cell", [1, 16, 10_000])  # all groupings crossed, some, none
def test_classes_of_all_groupings_share_the_resamples(monkeypatch, queries_per_cell):
    monkeypatch.setattr(resampling, "QUERIES_PER_CELL", queries_per_cell)
    rng = np.random.default_rng(1)
    contributions = rng.normal(size=(90, 4))
    labels = [np.zeros(90, dtype=int), rng.integers(0, 3, 90), rng.integers(1, 5, 90)]
    groupings = [
        Grouping(each, size, lambda sums: sums) for each, size in zip(labels, (1, 3, 6), strict=True)
    ]
    found = resampled_statistics(contributions, groupings, 20, np.random.default_rng(8))
    draws = np.random.default_rng(8).integers(0, 90, size=(20, 90))
    for each, size, sums in zip(labels, (1, 3, 6), found, strict=True):
        looped = np.zeros((size, 20, 4))
        for resample, drawn in enumerate(draws):
            for query in drawn:
                looped[each[query], resample] += contributions[query]
        np.testing.assert_allclose(sums, looped, atol=1e-12)


def test_a_class_that_no_query_was_drawn_of_has_no_correlation():
    sums = np.zeros((2, 3, 1 + 2 * 2 + 2 * 1 + 2))
    sums[0, :, 0] = 5
    assert np.isnan(moment_correlations(sums, 2, 1)).all()


def test_every_resample_draws_as_many_queries_as_there_are():
    sums = resampled_sums(np.ones((9, 1)), 40, np.random.default_rng(0))
    assert sums.ravel().tolist() == [9.0] * 40


def test_the_spread_of_resampled_means_is_the_standard_error():
    values = np.random.default_rng(4).normal(size=400)
    means = resampled_sums(values[:, None], 4000, np.random.default_rng(5))[:, 0] / 400
    assert means.std() == pytest.approx(values.std() / 20, rel=0.05)
    assert means.mean() == pytest.approx(values.mean(), abs=4 * values.std() / 20 / np.sqrt(4000))


@given(arrays(np.float64, st.tuples(st.integers(2, 30), st.just(2)), elements=st.floats(-1, 1)))
def test_the_interval_is_numpys_percentiles(values):
    low, high = percentile_interval(values)
    np.testing.assert_allclose(low, np.percentile(values, 2.5, axis=0), atol=1e-15)
    np.testing.assert_allclose(high, np.percentile(values, 97.5, axis=0), atol=1e-15)


def test_resamples_without_a_value_are_left_out_of_the_interval():
    values = np.random.default_rng(3).normal(size=(40, 3))
    values[::3, 1] = np.nan
    low, high = percentile_interval(values)
    np.testing.assert_allclose(low, np.nanpercentile(values, 2.5, axis=0), rtol=1e-13)
    np.testing.assert_allclose(high, np.nanpercentile(values, 97.5, axis=0), rtol=1e-13)


@pytest.mark.parametrize(("missing", "has_interval"), [(0, True), (5, True), (6, False), (10, False)])
def test_there_is_no_interval_when_more_than_half_of_the_resamples_have_no_value(missing, has_interval):
    values = np.arange(10.0)
    values[:missing] = np.nan
    low, high = percentile_interval(values[:, None])
    assert np.isfinite([low[0], high[0], p_value(values[:, None])[0]]).tolist() == [has_interval] * 3


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([1, 2, 3, 4], 2 * 1 / 5),
        ([-1, -2, -3, -4], 2 * 1 / 5),
        ([-1, 2, 3, 4], 2 * 2 / 5),
        ([-1, -1, 3, 4], 1),
        ([0, 0, 0, 0], 1),
        ([1e-16, 2e-17, 1e-15, 0], 1),  # two metrics that are one up to rounding
        ([1, 2, 3, float("nan")], 2 * 1 / 4),
    ],
)
def test_the_p_value_counts_resamples_on_the_other_side_of_0_and_the_sample_itself(differences, expected):
    assert p_value(np.array(differences, dtype=np.float64)[:, None])[0] == pytest.approx(expected)


def test_without_a_difference_the_p_value_is_small_as_often_as_it_says():
    rng = np.random.default_rng(12)
    small = 0
    for _ in range(300):
        values = rng.normal(size=(60, 1))
        small += p_value(resampled_sums(values, 199, rng))[0] <= 0.1
    assert 0.05 < small / 300 < 0.16


def test_a_child_generator_depends_on_seed_and_names_only():
    def draw(seed, *names, before=0):
        rng = np.random.default_rng(seed)
        rng.random(before)
        return child(rng, *names).integers(0, 2**62)

    assert draw(1, "a", "b") == draw(1, "a", "b", before=9)
    assert len({draw(1, "a", "b"), draw(2, "a", "b"), draw(1, "ab"), draw(1, "b", "a"), draw(1)}) == 5


def test_children_of_spawned_generators_differ():
    first, second = np.random.default_rng(1).spawn(2)
    assert child(first, "a").integers(0, 2**62) != child(second, "a").integers(0, 2**62)


SCRIPT = """
import hashlib, json
import numpy as np
from pipeline.correlation.resampling import resampled_sums
from pipeline.correlation.rankers import Within, ranker_differences
rng = np.random.default_rng(0)
sums = resampled_sums(rng.normal(size=(3000, 90)), 300, np.random.default_rng(1))
sizes = np.full(500, 6)
within = Within(rng.normal(size=(3000, 15)), 7, np.arange(0, 3000, 6), sizes, np.arange(3000))
deltas = ranker_differences(within, iterations=300, rng=np.random.default_rng(2))
print(json.dumps([hashlib.md5(array.tobytes()).hexdigest() for array in (sums, deltas)]))
"""


def test_the_number_of_threads_does_not_change_a_bit():
    def run(threads):
        names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **dict.fromkeys(names, threads)}
        return json.loads(subprocess.check_output([sys.executable, "-c", SCRIPT], env=environment))

    assert run("1") == run("2") == run("8")
