"""Simulations of benchmarks/promises/calibration: worlds, truth, counts against numbers worked by hand."""

import math
import sys
from collections import Counter
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from support.places import ROOT
from support.processes import ran

BENCHMARKS = "benchmarks.promises.calibration"


def calibrated(out, *options):
    """Run the command from the root of the checkout."""
    assert ran(sys.executable, "-m", BENCHMARKS, *options, "--out", out, cwd=ROOT).stderr == ""


@pytest.fixture(scope="module")
def coverage_of_two_worlds(tmp_path_factory):
    """Return the folder that the command writes for two worlds of each kind and size."""
    out = tmp_path_factory.mktemp("calibration")
    calibrated(out, "--only", "coverage", "--worlds", 2)
    return out


def test_calibration_writes_a_row_for_each_kind_of_world_size_and_statistic(coverage_of_two_worlds):
    rows = pl.read_csv(coverage_of_two_worlds / "coverage.csv")
    assert rows.height == 5 * 3 * 6
    assert set(rows["worlds"]) == {2}
    assert set(rows["coverage"].drop_nulls()) <= {0.0, 0.5, 1.0}
    # a third of 50 queries have one configuration, so the closed form rests on fewer than 50
    small = rows.filter(queries=50, statistic="closed form", configurations="few")
    assert small["labelled"].to_list() == [1.0, 1.0]
    assert (rows.filter(queries=5000)["median_width"] < 2).all()
    assert (coverage_of_two_worlds / "coverage.svg").read_text(encoding="utf-8").startswith("<svg")


def test_the_page_of_calibration_has_the_tables_made_and_says_which_are_not(coverage_of_two_worlds):
    page = (coverage_of_two_worlds / "README.md").read_text(encoding="utf-8")
    assert page.count("\n| lognormal 1.15 | few | 50 | 2 |") == 6
    assert page.count("Not made yet.") == 10
    assert "$" not in page


@pytest.mark.thorough
def test_calibration_gives_the_same_numbers_from_one_process(coverage_of_two_worlds, tmp_path):
    calibrated(tmp_path, "--only", "coverage", "--worlds", 2, "--processes", 1)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"coverage.csv", "coverage.svg", "README.md"}
    for name in names:
        assert (tmp_path / name).read_bytes() == (coverage_of_two_worlds / name).read_bytes()


def test_coverage_counts_intervals_above_and_below_the_truth_and_those_with_a_caution(benchmark_module):
    rows = [  # truth 0.5: held, too high, held with a caution, missing, too low
        (0.4, 0.6, None),
        (0.6, 0.9, None),
        (0.0, 0.9, "few"),
        (None, None, "none"),
        (0.1, 0.3, None),
    ]
    frame = pl.DataFrame(rows, schema=["low", "high", "caution"], orient="row")
    frame = frame.with_columns(pl.lit("x").alias("key"), pl.lit(0.5).alias("truth"))
    (found,) = benchmark_module("coverage").summary(frame, "key").iter_rows(named=True)
    assert found["worlds"] == 5
    assert found["coverage"] == 2 / 4
    assert found["coverage_se"] == pytest.approx(0.25)
    assert (found["too_high"], found["too_low"], found["missing"]) == (0.25, 0.25, 0.2)
    assert found["mean_width"] == pytest.approx((0.2 + 0.3 + 0.9 + 0.2) / 4)
    assert found["labelled"] == 2 / 5
    assert found["coverage_unlabelled"] == pytest.approx(1 / 3)


def test_what_power_promised_is_set_against_the_same_queries_and_against_other_logs(benchmark_module):
    rows = [  # log, promised, least, most, what the thin log and the whole one have
        (0, 0.5, 0.2, 0.9, 4.0, 2.0),  # half as much: held; the other log: 6 / 4, above
        (1, 0.5, 0.4, 0.8, 5.0, 6.0),  # 1.2 times as much: above; the other log: 2 / 5, held
    ]
    frame = pl.DataFrame(rows, orient="row", schema=["log", "queries", "fewest", "most", "pilot", "needed"])
    frame = frame.with_columns(key=pl.lit("a"), factor=pl.lit(4), sessions=pl.lit(3.0), noise=pl.lit(0.6))
    (found,) = benchmark_module("power").summary(frame).iter_rows(named=True)
    assert (found["logs"], found["differences"]) == (2, 2)
    assert (found["needed_promised"], found["needed_found"]) == (0.5, pytest.approx(0.85))
    assert found["growth_promised"] == pytest.approx(math.sqrt(2))
    assert found["growth_found"] == pytest.approx((0.5 * 1.2) ** -0.25)
    shares = ("at_most_same", "in_range_same", "at_most_others", "in_range_others")
    assert [found[name] for name in shares] == [0.5] * 4


@pytest.mark.thorough
def test_logs_that_are_thinned_promise_what_the_whole_has(benchmark_module):
    found = benchmark_module("power").of_kind(("rbp", 5000, 60, 2, 3))
    assert found["factor"].to_list() == [2, 4, 16]
    assert found["differences"].to_list() == [30] * 3
    assert found["at_most_same"].min() > 0.7


def test_a_gain_counts_where_the_log_tells_and_its_interval_leaves_out_0(benchmark_module):
    rows = [  # apparent, gain, low, high, tells
        (0.3, 0.2, 0.1, 0.3, True),
        (0.3, 0.1, 0.05, 0.2, False),
        (0.2, -0.2, -0.3, -0.1, True),
        (0.0, 0.1, -0.1, 0.3, True),
    ]
    frame = pl.DataFrame(rows, orient="row", schema=["apparent", "gain", "low", "high", "tells"])
    named = {"world": "w", "queries": 60, "objective": "rankers", "positions": "fixed"}
    frame = frame.with_columns(**{name: pl.lit(value) for name, value in named.items()})
    (found,) = benchmark_module("learning").summary(frame).to_dicts()
    assert found["apparent"] == pytest.approx(0.2)
    assert found["gain"] == pytest.approx(0.05)
    assert (found["tells"], found["gain_claimed"], found["loss_claimed"]) == (0.75, 0.25, 0.25)


@pytest.mark.thorough
def test_simulated_logs_ignore_grades_or_follow_them(benchmark_module):
    learning = benchmark_module("learning")
    agreements = {}
    for world, true in learning.WORLDS.items():
        observed = learning.log_of(world, 4000, np.random.default_rng(1))
        values = learning.GradeMap(
            learning.PAPER if true is None else true, 1 / np.arange(1, learning.DEPTH + 1)
        ).values(observed.grades)
        covariances = np.cov(values, observed.clicks, aweights=observed.sessions)
        agreements[world] = covariances[0, 1] / np.sqrt(covariances[0, 0] * covariances[1, 1])
    assert abs(agreements["clicks ignore grades"]) < 0.08  # weights are uneven: three standard errors
    assert agreements["ERR is right"] > 0.3
    assert agreements["other values are right"] > 0.3


def test_a_false_alarm_is_a_p_value_below_five_percent(benchmark_module):
    rows = [
        (0.04, None, 0.01, 0.04),
        (0.5, "few", 0.03, 0.3),
        (None, None, None, None),
        (0.2, None, 0.2, 1.0),
    ]
    names = ["p_value", "caution", "least_p", "least_adjusted"]
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(pl.lit("x").alias("key"))
    (found,) = benchmark_module("alarms").summary(frame, "key").iter_rows(named=True)
    assert (found["alarms"], found["labelled"], found["family"]) == (0.25, 0.25, 0.25)
    assert found["alarms_unlabelled"] == pytest.approx(1 / 3)
    assert found["family_unadjusted"] == 0.5


def test_a_judge_is_found_where_p_is_below_five_percent(benchmark_module):
    rows = [(300, 0.04, "a"), (200, 0.5, None), (0, None, None), (100, 0.01, "b")]
    frame = pl.DataFrame(rows, schema=["pairs", "p_value", "supported"], orient="row")
    (found,) = benchmark_module("judges").summary(frame.with_columns(key=pl.lit("x")), "key").to_dicts()
    assert (found["trials"], found["pairs"], found["decided"], found["first"]) == (4, 150, 0.5, 0.25)
    assert found["decided_se"] == pytest.approx(0.25)


def test_the_pages_have_the_figures_of_the_committed_tables():
    folder = ROOT / "reports" / "calibration"
    users = pl.read_csv(folder / "users.csv").to_dicts()
    shares = {(row["searches"], row["numbers"], row["folds"]): f"{100 * row['alarms']:.1f}" for row in users}
    page = (folder / "README.md").read_text(encoding="utf-8")
    for searches, numbers in {key[:2] for key in shares}:
        cells = [searches, numbers, "60", *(shares[searches, numbers, folds] for folds in (1, 2, 16))]
        assert f"| {' | '.join(cells)} |" in page
    of_16, without = (
        {
            kind: [float(share) for key, share in shares.items() if key[1:] == (kind, folds)]
            for _, kind, _ in shares
        }
        for folds in (16, 1)
    )
    told = (ROOT / "docs" / "reference" / "diff.md").read_text(encoding="utf-8")
    for kind, found in of_16.items():
        assert f"in {min(found)} to {max(found)} % for {kind}" in told
    kinds = ("means of click metrics", "means of editorial metrics", "weighted correlations")
    first, second, third = (max(without[kind]) for kind in kinds)
    assert f"in up to {first} %, {second} % and {third} %" in told
    for row in pl.read_csv(folder / "judges.csv").to_dicts():
        assert f"| {row['world']} | {row['judges']} | {row['trials']} | {row['pairs']:.0f} |" in page


def plain_truth(pool, metric):
    """Return the four true values of a metric, from their definitions, configuration by configuration."""
    products = squares = real = sampled = 0.0
    rows = list(
        zip(pool.sessions.tolist(), pool.chances.tolist(), pool.metrics[:, metric].tolist(), strict=True)
    )
    total = sum(n for n, _, _ in rows)
    mean_y, mean_x = sum(n * y for n, y, _ in rows) / total, sum(n * x for n, _, x in rows) / total
    for n, y, x in rows:
        products += n * (y - mean_y) * (x - mean_x)
        squares += n * (x - mean_x) ** 2
        real += n * (y - mean_y) ** 2
        sampled += n * (y * (1 - y) / n)
    within = [0.0, 0.0, 0.0, 0.0]
    for start, size in zip(pool.starts.tolist(), pool.sizes.tolist(), strict=True):
        if size < 2:
            continue
        own = rows[start : start + size]
        mean_y, mean_x = sum(y for _, y, _ in own) / size, sum(x for _, _, x in own) / size
        within[0] += sum((y - mean_y) * (x - mean_x) for _, y, x in own) / (size - 1)
        within[1] += sum((x - mean_x) ** 2 for _, _, x in own) / (size - 1)
        within[2] += sum((y - mean_y) ** 2 for _, y, _ in own) / (size - 1)
        within[3] += sum(y * (1 - y) / n for n, y, _ in own) / size
    return (
        products / math.sqrt(squares * (real + sampled)),
        products / math.sqrt(squares * real),
        within[0] / math.sqrt(within[1] * (within[2] + within[3])),
        within[0] / math.sqrt(within[1] * within[2]),
    )


@pytest.mark.parametrize("many", [False, True])
def test_the_truth_of_a_pool_is_that_of_its_definition(benchmark_module, many):
    worlds = benchmark_module("worlds")
    pool = worlds.make_pool(worlds.Nature("lognormal", 1.15, many), 3, queries=40)
    true = worlds.truth(pool)
    for metric in range(len(pool.names)):
        found = [
            values[metric]
            for values in (true.correlation, true.corrected, true.within, true.within_corrected)
        ]
        assert found == pytest.approx(plain_truth(pool, metric), abs=1e-12)


def test_exchanged_metrics_keep_the_values_of_a_query_and_come_in_every_order(benchmark_module):
    worlds = benchmark_module("worlds")
    rng = np.random.default_rng(4)
    pool = worlds.make_pool(worlds.Nature("lognormal", 1.15, True), 3, queries=100)
    before = worlds.with_metrics(worlds.draw(pool, 600, rng), "far", "first", "near")
    after = worlds.exchanged(before, rng)
    orders = Counter()
    for query in range(600):
        mine = before.query_index == query
        old, new = before.editorial_values[mine].T.tolist(), after.editorial_values[mine].T.tolist()
        assert sorted(old) == sorted(new)
        if len({tuple(column) for column in old}) == 3:
            orders[tuple(old.index(column) for column in new)] += 1
    assert len(orders) == 6
    assert min(orders.values()) > sum(orders.values()) / 12  # a sixth each, but for chance


def test_bootstrap_intervals_are_those_of_scipy_up_to_chance(benchmark_module):
    methods = benchmark_module("methods")
    rng = np.random.default_rng(8)
    weights = rng.lognormal(0, 1, 200)
    sums = np.stack([weights, weights * rng.exponential(1, 200)], axis=1)
    statistic = methods.Statistic(sums, lambda values: values[..., 1] / values[..., 0], bounded=False)
    found = methods.bootstrap_intervals(statistic, methods.resample_counts(200, 4000, rng))
    for name, method in ((methods.PERCENTILE, "percentile"), (methods.BCA, "BCa")):
        known = stats.bootstrap(
            tuple(sums.T), lambda n, y, axis: y.sum(axis) / n.sum(axis), paired=True, vectorized=True,
            n_resamples=4000, method=method, rng=rng,
        ).confidence_interval  # fmt: skip
        assert found[name] == pytest.approx(tuple(known), abs=0.04 * (known.high - known.low))


def test_the_error_of_a_ratio_in_a_resample_is_that_of_the_delta_method(benchmark_module):
    methods = benchmark_module("methods")
    sums = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0], [4.0, 3.0]])
    statistic = methods.Statistic(sums, lambda values: values[..., 1] / values[..., 0], bounded=False)
    counts = np.array([[1.0, 1.0, 1.0, 1.0], [2.0, 0.0, 1.0, 1.0]])
    # 7/8: (sum (y - 7/8 n)^2)^(1/2) / 8, and 8/7 for the resample
    by_hand = [
        math.sqrt((9 / 8) ** 2 + (-6 / 8) ** 2 + (1 / 8) ** 2 + (-4 / 8) ** 2) / 8,
        math.sqrt(2 * (6 / 7) ** 2 + (-1 / 7) ** 2 + (-11 / 7) ** 2) / 7,
    ]
    assert methods.standard_errors(statistic, counts @ sums, counts) == pytest.approx(by_hand, rel=1e-6)


def test_a_best_metric_is_claimed_when_it_beats_every_other_and_only_then(benchmark_module):
    better_than_all = benchmark_module("recovery").better_than_all
    names = ["DCG", "NDCG", "AP", "RR", "ERR", "RBP", "P@1"]
    rows = [
        (a, b, names.index(b) - names.index(a), 0.01 if "AP" in (a, b) else 0.2)
        for a, b in combinations(names, 2)
    ]
    # AP is told apart from each other one, and the fifth of six; P@1 is not asked
    lifted = [(a, b, 1.0 if a == "AP" else -1.0 if b == "AP" else d, p) for a, b, d, p in rows]
    columns = ["metric_a", "metric_b", "difference", "p_adjusted"]
    pairs = pl.DataFrame(lifted, schema=columns, orient="row", strict=False)
    assert better_than_all(pairs, alpha=0.05) == "AP"
    assert better_than_all(pairs.with_columns(p_adjusted=pl.lit(0.05)), alpha=0.05) is None
    assert better_than_all(pairs.with_columns(p_adjusted=pl.lit(0.05)), alpha=None) == "AP"
    beaten = (pl.col("metric_a") == "AP") & (pl.col("metric_b") == "RBP")
    lost = pairs.with_columns(difference=pl.when(beaten).then(-1.0).otherwise("difference"))
    assert better_than_all(lost, alpha=0.05) is None
    assert better_than_all(lost, alpha=None) is None


def test_runs_are_counted_by_what_they_claim(benchmark_module):
    rows = [
        ("cascade", "ERR", "ERR", "ERR"),
        ("cascade", "ERR", "RR", None),
        ("cascade", "ERR", "RR", "RR"),
        ("cascade", "ERR", "ERR", None),
        ("null", None, "RR", "RR"),
        ("null", None, "RR", None),
    ]
    frame = pl.DataFrame(rows, schema=["world", "planted", "first", "claimed"], orient="row")
    frame = frame.with_columns(searches=pl.lit(9), queries=pl.lit(3), click_metric=pl.lit("MeanRR"))
    cascade, null = benchmark_module("recovery").summary(frame).rows(named=True)
    assert (cascade["runs"], cascade["claims"], cascade["first"]) == (4, 0.5, 0.5)
    assert (cascade["right"], cascade["wrong"], cascade["right_of_claims"]) == (0.25, 0.25, 0.5)
    assert (null["runs"], null["claims"], null["right"], null["wrong"]) == (2, 0.5, 0.0, 0.5)
    assert null["first"] is None


def test_algorithm_3_on_a_small_sample_lies_near_its_closed_form(benchmark_module):
    work, rankers = benchmark_module("work"), benchmark_module("rankers")
    runs = rankers.of_chunk(work.Chunk(work.REAL[1], 50, 0, 6, 0))
    assert runs["exact"].n_unique() == 1
    assert runs["monte_carlo"].n_unique() == 6
    gap = runs["monte_carlo"] - runs["exact"]
    assert (gap.abs() < 5 * runs["error"]).all()
    (row,) = rankers.summary(runs).rows(named=True)
    assert row["within"] == sum(abs(g) <= 1.96 * e for g, e in zip(gap, runs["error"], strict=True)) / 6
    assert row["n_queries"] == 50


def test_the_cost_is_of_all_tables_at_both_depths(benchmark_module):
    rows = benchmark_module("cost").measured(0, queries=40, configurations=150)
    assert rows["table"].to_list() == ["correlations", "differences", "comparisons"] * 2
    # 7 click metrics, 11 editorial: by all, 4 lengths, 10 tenths and 3 thirds; once; 55 pairs
    assert rows["rows"].to_list() == [77 * 18, 77, 7 * 55] * 2


def test_cautions_find_the_worlds_whose_intervals_are_too_short():
    rows = pl.read_csv(ROOT / "reports" / "calibration" / "tails.csv")
    short = rows.filter(pl.col("coverage") < 0.9)
    assert short.height > 0
    assert (short["labelled"] > 0.8).all()
    lognormal = rows.filter(pl.col("weights").str.starts_with("lognormal"))
    assert (lognormal["labelled"] < 0.1).all()
    trusted = rows.filter(pl.col("labelled") < 0.5)["coverage_unlabelled"]
    assert ((trusted > 0.93) & (trusted < 0.981)).all()
