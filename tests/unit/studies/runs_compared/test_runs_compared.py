"""Two runs compared: intervals against loops that leave out queries, and sentences on the changes."""

import dataclasses
import math

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

from clickassay.core.records import SampleKey
from clickassay.correlation.jackknife import HEAVY_TAIL
from clickassay.studies.finished_run import FinishedRun
from clickassay.studies.runs_compared.compare import compare_runs
from clickassay.studies.runs_compared.noise import (
    from_intervals,
    mean_changes,
    weighted_changes,
    within_changes,
)
from clickassay.studies.runs_compared.numbers import DiffOptions
from clickassay.studies.runs_compared.watch import flag_findings
from clickassay.studies.runs_compared.words import alone_words, change_words, headline
from support.runs.given_runs import (
    COMMITTED,
    changed_info,
    changed_table,
    fingerprint,
    judgments,
    made,
    of_half,
)
from support.runs.given_sample import sample_of

FIRST = ("north", 5, "all", "MeanRR", "ERR")


# ---- noise ------------------------------------------------------------------------------------


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


def kept_without(sample, query):
    """The rows of a sample without a query that it may have."""
    place = sample.queries.index(query) if query in sample.queries else -1
    return sample.query_index != place


def looped(a, b, statistic, click, editorial):
    """Change, error and degrees of freedom: each query of either run left out of both, in plain loops."""

    def change_without(query):
        in_a, in_b = (statistic(sample, kept_without(sample, query), click, editorial) for sample in (a, b))
        return in_b - in_a

    queries = sorted(set(a.queries) | set(b.queries))
    values = [change_without(query) for query in queries]
    mean = math.fsum(values) / len(values)
    squares = [(value - mean) ** 2 for value in values]
    total, q = math.fsum(squares), len(queries)
    degrees = 2 / (math.fsum(square * square for square in squares) / total**2 - 1 / q)
    return change_without("none"), math.sqrt((q - 1) / q * total), min(4 * degrees, q - 1)


@pytest.mark.parametrize(
    ("of_a", "of_b"),
    [((0, 40), (0, 40)), ((0, 40), (100, 130)), ((0, 40), (20, 70))],
    ids=["the same queries", "other queries", "some queries in both"],
)
@pytest.mark.parametrize(("test", "statistic"), [(weighted_changes, weighted), (within_changes, closed_form)])
def test_a_change_is_tested_as_by_a_loop_over_the_queries_of_both_runs(test, statistic, of_a, of_b):
    a, b = random_sample(1, names(*of_a)), random_sample(2, names(*of_b))
    found = test(a, b)
    for place, (click, editorial) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        change, error, degrees = looped(a, b, statistic, click, editorial)
        reach = stats.t.ppf(0.975, degrees) * error
        assert found.b[place] - found.a[place] == pytest.approx(change, rel=1e-9)
        assert found.low[place] == pytest.approx(change - reach, rel=1e-7)
        assert found.high[place] == pytest.approx(change + reach, rel=1e-7)
        assert found.p[place] == pytest.approx(2 * stats.t.sf(abs(change) / error, degrees), rel=1e-6)


def error_of(sample, click, editorial):
    """The jackknife error of one weighted correlation, in a plain loop."""
    values = [weighted(sample, kept_without(sample, query), click, editorial) for query in sample.queries]
    q = len(values)
    return math.sqrt((q - 1) / q * math.fsum((value - np.mean(values)) ** 2 for value in values))


def test_errors_of_runs_without_a_common_query_add_up_and_cancel_for_clicks_that_are_nearly_the_same():
    a, b = random_sample(3, names(0, 80)), random_sample(4, names(100, 200))
    rng = np.random.default_rng(5)
    near = dataclasses.replace(a, click_values=a.click_values + 1e-3 * rng.normal(size=a.click_values.shape))
    apart, paired = (looped(a, other, weighted, 0, 0)[1] for other in (b, near))
    assert apart == pytest.approx(math.hypot(error_of(a, 0, 0), error_of(b, 0, 0)), rel=0.02)
    assert paired < 0.01 * apart
    widths = [found.high[0] - found.low[0] for found in (weighted_changes(a, b), weighted_changes(a, near))]
    assert widths[1] < 0.01 * widths[0]


# ---- users ------------------------------------------------------------------------------------


def sessions_of(seed, names, *, folds=3):
    """Sessions (query, configuration, fold, click value); a fold's users click more or less everywhere."""
    rng = np.random.default_rng(seed)
    rows, habit = [], rng.normal(0, 0.5, folds)
    for query in names:
        for number in range(int(rng.integers(1, 4))):
            graded = rng.normal(size=2)
            for _ in range(int(rng.integers(folds, 12))):
                fold = int(rng.integers(folds))
                rows.append((query, number, fold, graded, 0.3 * graded[0] + habit[fold] + rng.normal()))
    return rows


def sample_from(rows):
    """The sample of some sessions: two editorial metrics, and one click metric."""
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
    """The mean over sessions of an editorial metric, or where that is None of a click metric."""
    values = sample.click_values[:, click] if editorial is None else sample.editorial_values[:, editorial]
    return DescrStatsW(values[kept], weights=sample.sessions[kept]).mean


def variance_with_users(a, b, statistic, place, folds):
    """Variance of a change and its degrees: queries, folds of users and both left out, in plain loops."""

    def change(*lacks):
        samples = [
            sample_from([row for row in rows if not any(lack(row) for lack in lacks)]) for rows in (a, b)
        ]
        of_a, of_b = (statistic(sample, np.full(len(sample.sessions), True), *place) for sample in samples)
        return of_b - of_a

    whole, queries = change(), sorted({row[0] for row in (*a, *b)})
    by_query = np.array([change(lambda row, q=query: row[0] == q) for query in queries])
    by_fold = np.array([change(lambda row, f=fold: row[2] == f) for fold in range(folds)])
    cells = np.array(
        [
            [change(lambda row, q=query, f=fold: (row[0], row[2]) == (q, f)) for fold in range(folds)]
            for query in queries
        ]
    )

    def spread(values):
        squares, n = (values - values.mean()) ** 2, len(values)
        degrees = 2 / max((squares**2).sum() / squares.sum() ** 2 - 1 / n, 2 / (n - 1))
        return (n - 1) / n * squares.sum(), degrees

    (of_queries, degrees), (of_users, few) = spread(by_query), spread(by_fold)
    degrees = min(4 * degrees, len(queries) - 1)
    by_chance = folds / (folds - 1) * ((cells - cells.mean(axis=1, keepdims=True)) ** 2).sum()
    added = max(of_users - by_chance, 0)
    total = of_queries + added
    return whole, total, min(total**2 / (of_queries**2 / degrees + added**2 / few), len(queries) - 1), added


@pytest.mark.parametrize(
    ("test", "statistic", "places"),
    [
        (weighted_changes, weighted, [(0, 0), (0, 1)]),
        (within_changes, closed_form, [(0, 0), (0, 1)]),
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
        change, variance, degrees, added = variance_with_users(*rows, statistic, place, 3)
        reach = stats.t.ppf(0.975, degrees) * math.sqrt(variance)
        assert found.b[number] - found.a[number] == pytest.approx(change, rel=1e-9)
        assert found.low[number] == pytest.approx(change - reach, rel=1e-6)
        assert found.high[number] == pytest.approx(change + reach, rel=1e-6)
        assert found.p[number] == pytest.approx(
            2 * stats.t.sf(abs(change) / math.sqrt(variance), degrees), rel=1e-6
        )
        all_added.append(added)
    if test is mean_changes:
        assert all_added[0] > 0  # users of a fold click alike: that is more than chance


def test_a_sample_has_not_changed_from_itself():
    sample = random_sample(6, names(0, 30))
    for test in (weighted_changes, within_changes, mean_changes):
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


# ---- two runs ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return made(tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture(scope="module")
def halves(tmp_path_factory):
    folder = tmp_path_factory.mktemp("halves")
    return tuple(made(folder / str(half), of_half(judgments(), half)) for half in (0, 1))


COLUMNS = ("market", "depth", "judge", "click_metric", "editorial_metric")


def at(place=FIRST):
    """The overall row of a place."""
    return pl.all_horizontal(
        pl.col("split") == "all", *(pl.col(n) == v for n, v in zip(COLUMNS, place, strict=True))
    )


def number(diff, place=FIRST):
    return diff.numbers.filter(at(place), table="correlations").row(0, named=True)


def test_the_committed_run_does_not_differ_from_itself():
    diff = compare_runs(COMMITTED, COMMITTED, DiffOptions(splits=True))
    rows = sum(
        pl.read_parquet(COMMITTED / f"{name}.parquet").height for name in ("correlations", "differences")
    )
    assert diff.numbers.filter(pl.col("table") != "means").height == rows
    assert set(diff.numbers["status"]) <= {"same", "no value"}
    assert (diff.flips.height, diff.highest.height) == (0, 0)
    assert {entry.status for entry in diff.entries} == {"same"}
    assert flag_findings(diff.numbers, 1e-9)["finding"].sum() == 0


def test_every_number_of_both_runs_stands_beside_the_other_with_its_change(halves):
    diff = compare_runs(*halves)
    for table, value in (("correlations", "correlation"), ("differences", "exact")):
        stated = []
        for run in halves:
            rows = pl.read_parquet(run / f"{table}.parquet")
            rows = rows.filter(pl.col("split") == "all") if table == "correlations" else rows
            stated.append({row[:5]: row[5] for row in rows.select(*COLUMNS, value).iter_rows()})
        found = diff.numbers.filter(table=table)
        assert found.height == len(stated[0])
        for row in found.iter_rows(named=True):
            place = tuple(row[name] for name in COLUMNS)
            assert (row["a"], row["b"]) == (stated[0][place], stated[1][place])
            assert row["change"] == pytest.approx(row["b"] - row["a"], abs=1e-15)
            assert row["ci_low"] < row["change"] < row["ci_high"]
            assert row["tested_by"] == "queries and users left out"


def test_runs_of_other_queries_share_none_and_err_as_both_intervals_say(halves):
    diff = compare_runs(*halves)
    both = diff.overlap.select("queries_both", "configurations_both").unique().rows()
    assert both == [(0, 0)]
    counted = pl.read_parquet(halves[0] / "statistics.parquet").sort("market")["n_queries"].to_list()
    assert diff.overlap.sort("market")["queries_a"].to_list() == counted
    half_width = [
        (row["ci_high"] - row["ci_low"]) / 2
        for run in halves
        for row in pl.read_parquet(run / "correlations.parquet").filter(at()).iter_rows(named=True)
    ]
    # as from independent samples of queries; what two folds of users show between them can only add to it
    row = number(diff)
    assert (row["ci_high"] - row["ci_low"]) / 2 > 0.85 * math.hypot(*half_width)
    samples = [FinishedRun(run).sample(SampleKey("north", 5, "all")).sample for run in halves]
    found = weighted_changes(*(sample.narrowed(["MeanRR"], ["ERR"]) for sample in samples))
    assert (found.high[0] - found.low[0]) / 2 == pytest.approx(math.hypot(*half_width), rel=0.15)


@pytest.mark.parametrize("table", ["correlations", "differences"])
def test_p_values_are_adjusted_over_all_rows_of_their_table(halves, table):
    rows = compare_runs(*halves).numbers.filter(table=table)
    expected = multipletests(rows["p_value"].to_numpy(), method="holm")[1]
    np.testing.assert_allclose(rows["p_adjusted"].to_numpy(), expected, rtol=1e-12)
    assert (rows["status"] == "beyond noise").to_list() == [p < 0.05 for p in expected]


def test_numbers_that_are_the_same_are_no_tests_and_weaken_none(whole, tmp_path):
    def lowered(rows):
        columns = ("correlation", "ci_low", "ci_high")
        return rows.with_columns(
            pl.when(at()).then(pl.col(name) - 0.2).otherwise(name).alias(name) for name in columns
        )

    diff = compare_runs(whole, changed_table(whole, tmp_path / "other", "correlations", lowered))
    tested = diff.numbers.filter(pl.col("p_value").is_not_null())
    assert set(diff.numbers.filter(table="means")["status"]) == {"same"}
    assert tested.select("click_metric", "editorial_metric", "status").rows() == [
        ("MeanRR", "ERR", "beyond noise")
    ]
    assert tested["p_adjusted"].to_list() == tested["p_value"].to_list()


def test_classes_of_queries_are_tested_by_their_intervals_and_leave_the_overall_rows_alone(halves):
    overall, every = (compare_runs(*halves, DiffOptions(splits=splits)).numbers for splits in (False, True))
    classes = every.filter(pl.col("split") != "all")
    assert every.filter(pl.col("split") == "all").equals(overall)
    assert set(classes.filter(pl.col("p_value").is_not_null())["tested_by"]) == {"intervals"}
    assert {"length", "frequency"} <= set(classes["split"])


def test_a_number_that_its_configurations_do_not_give_is_tested_by_intervals(whole, halves, tmp_path):
    def raise_one(rows):
        raised = pl.when(at()).then(pl.col("correlation") + 0.001).otherwise("correlation")
        return rows.with_columns(raised.alias("correlation"))

    other = changed_table(halves[0], tmp_path / "other", "correlations", raise_one)
    diff = compare_runs(whole, other)
    assert number(diff)["tested_by"] == "intervals"
    assert number(diff, place=(*FIRST[:4], "DCG"))["tested_by"] == "queries and users left out"
    assert change_words(number(diff)).endswith("tested from intervals alone")


def test_a_large_drop_of_one_metric_is_beyond_noise_and_comes_first(whole, tmp_path):
    rng = np.random.default_rng(0)
    mixed = judgments().with_columns(pl.col("grade").gather(rng.permutation(judgments().height)))
    diff = compare_runs(whole, made(tmp_path / "mixed", mixed))
    assert number(diff)["status"] == "beyond noise"
    assert number(diff)["change"] < -0.2
    told = headline(diff)
    assert "fell beyond noise; the clearest: the correlation of " in told
    assert told.index("means of click metrics") < told.index("weighted correlations")


def test_the_end_that_is_nearer_to_no_change_comes_first_in_words():
    row = {"table": "correlations", "depth": 5} | dict.fromkeys(("market", "judge", "split", "class"), "all")
    row |= {"click_metric": "MeanRR", "editorial_metric": "ERR", "change": -0.031, "ci_low": -0.05}
    row |= {"ci_high": -0.01, "p_adjusted": 0.004, "status": "beyond noise", "tested_by": "queries left out"}
    row |= {"a": 0.431, "b": 0.4}
    assert change_words(row) == (
        "the correlation of ERR with MeanRR (depth 5) fell from 0.431 to 0.4, by 0.031 [0.01, 0.05], beyond "
        "noise (adjusted p 0.004)"
    )
    mean = row | {"table": "means", "click_metric": None, "change": 0.031, "a": 0.4, "b": 0.431}
    assert change_words(mean | {"ci_low": 0.01, "ci_high": 0.05}) == (
        "mean ERR (depth 5) rose from 0.4 to 0.431, by 0.031 [0.01, 0.05], beyond noise (adjusted p 0.004)"
    )


# ---- means ------------------------------------------------------------------------------------


def test_means_are_those_over_sessions_and_families_are_adjusted_each_by_itself(halves):
    diff = compare_runs(*halves)
    rows = [pl.read_parquet(run / "configurations.parquet").filter(market="north") for run in halves]
    means = diff.numbers.filter(table="means", market="north")
    for row in means.iter_rows(named=True):
        name = row["editorial_metric"] or row["click_metric"]
        stated = [
            DescrStatsW(own[name].to_numpy(), weights=own["n_sessions"].to_numpy()).mean for own in rows
        ]
        assert (row["a"], row["b"]) == pytest.approx(stated, rel=1e-12)
        assert row["ci_low"] < row["change"] < row["ci_high"]
        assert (row["click_metric"] is None) == (row["family"] == "means of editorial metrics")
        assert row["caution"] == HEAVY_TAIL  # one caution is enough
    assert means.height == 7 + 11
    for family in ("means of editorial metrics", "means of click metrics"):
        own = diff.numbers.filter(family=family)
        expected = multipletests(own["p_value"].to_numpy(), method="holm")[1]
        np.testing.assert_allclose(own["p_adjusted"].to_numpy(), expected, rtol=1e-12)


def test_a_mean_that_rises_is_said_to_rise_although_its_correlation_falls(whole, tmp_path):
    rng = np.random.default_rng(0)  # grades drawn anew, without regard to the results, and high ones
    raised = judgments().with_columns(
        grade=pl.Series(rng.choice([2, 3, 4], judgments().height), dtype=pl.Int8)
    )
    diff = compare_runs(
        whole, made(tmp_path / "raised", raised), DiffOptions(metrics=("ERR",), markets=("north",))
    )
    told = headline(diff).split("; the clearest: ")
    assert told[1].startswith("mean ERR (market north, depth 5) rose from ")
    assert number(diff)["change"] < -0.1
    assert " fell from " in told[-2]
    assert "correlation of ERR with " in told[-2]
    assert "ERR with" not in told[0] + told[1].split(".")[0]


# ---- what only one run has --------------------------------------------------------------------


def drop_first(rows):
    return rows.filter(~at())


def empty_first(rows):
    none = pl.when(at()).then(None)
    return rows.with_columns(
        *(none.otherwise(name).alias(name) for name in ("correlation", "ci_low", "ci_high")),
        reason=pl.when(at()).then(pl.lit("clicks are the same")).otherwise("reason"),
    )


@pytest.mark.parametrize(
    ("change", "reason"), [(drop_first, "not computed"), (empty_first, "clicks are the same")]
)
def test_a_number_that_is_gone_is_a_finding_and_one_that_came_is_none(whole, tmp_path, change, reason):
    less = changed_table(whole, tmp_path / "less", "correlations", change)
    for runs, status, finding in (((whole, less), "only in A", True), ((less, whole), "only in B", False)):
        numbers = flag_findings(compare_runs(*runs).numbers, 0.5, beyond_noise=True)
        row = numbers.filter(at(), table="correlations").row(0, named=True)
        assert (row["status"], row["reason"], row["finding"]) == (status, reason, finding)
        assert numbers["finding"].sum() == int(finding)


def test_what_only_one_run_computed_is_named_by_what_the_other_lacks(whole, tmp_path):
    def without_dcg(rows):
        return rows.filter(pl.col("editorial_metric") != "DCG")

    less = changed_table(whole, tmp_path / "less", "correlations", without_dcg)
    numbers = compare_runs(whole, less, DiffOptions(click_metrics=("MeanRR",))).numbers.filter(
        table="correlations"
    )
    assert alone_words(numbers, "only in A") == "2 numbers only in A: editorial metric DCG"
    assert alone_words(numbers, "only in B") is None


def test_another_depth_has_nothing_to_compare_with(whole, tmp_path):
    other = made(tmp_path / "three", depth=(3,))
    diff = compare_runs(whole, other, DiffOptions(metrics=("ERR",), click_metrics=("UCTR",)))
    assert set(diff.numbers["status"]) == {"only in A", "only in B"}
    # in two markets: the means of ERR and UCTR, their correlation and its closed form
    assert alone_words(diff.numbers, "only in A") == "8 numbers only in A: depth 5"
    assert headline(diff) == (
        "The setting depth changed; no number is in both runs; 8 numbers only in A; 8 numbers only in B."
    )


# ---- a watch ----------------------------------------------------------------------------------


def test_a_finding_is_a_change_above_the_threshold_and_where_asked_not_within_noise():
    statuses = [
        "beyond noise",
        "within noise",
        "not tested",
        "beyond noise",
        "same",
        "only in B",
        "only in A",
    ]
    changes = [-0.2, 0.2, 0.2, 0.1, 0.0, None, None]
    numbers = pl.DataFrame({"change": changes, "status": statuses})
    numbers = numbers.with_columns(table=pl.lit("correlations"))
    assert flag_findings(numbers, 0.1)["finding"].to_list() == [True, True, True, False, False, False, True]
    assert flag_findings(numbers, 0.1, beyond_noise=True)["finding"].to_list() == [
        *(True, False, True, False, False, False, True)
    ]
    assert not flag_findings(numbers, None)["finding"].any()
    assert not flag_findings(numbers.with_columns(table=pl.lit("means")), 0.1)["finding"].any()


# ---- order of metrics -------------------------------------------------------------------------


def compared_pair(difference, p, pair=("DCG", "ERR")):
    """Set one comparison of the table; all others are not significant."""

    def change(rows):
        wanted = {"metric_a": "DCG", "metric_b": "ERR", "click_metric": "MeanRR", "market": "north"}
        own = pl.all_horizontal(pl.col(name) == value for name, value in wanted.items())
        return rows.with_columns(
            pl.when(own).then(difference).otherwise("difference").alias("difference"),
            pl.when(own).then(p).otherwise(1.0).alias("p_adjusted"),
            pl.when(own).then(pl.lit(pair[0])).otherwise("metric_a").alias("metric_a"),
            pl.when(own).then(pl.lit(pair[1])).otherwise("metric_b").alias("metric_b"),
        )

    return change


@pytest.mark.parametrize(
    ("of_a", "of_b", "expected"),
    [
        ((0.1, 0.01), (-0.1, 0.02), "reversed"),
        ((0.1, 0.01), (0.1, 0.05), "no longer significant"),
        ((-0.1, 0.3), (-0.1, 0.049), "newly significant"),
        ((0.1, 0.01), (0.1, None), "no longer significant"),
        ((0.1, 0.01), (0.2, 0.01), None),
        ((0.1, 0.2), (-0.2, 0.2), None),
        ((0.1, 0.01), (-0.2, 0.01, ("ERR", "DCG")), None),  # the same order, spelled the other way round
        ((0.1, 0.01), (0.2, 0.01, ("ERR", "DCG")), "reversed"),
    ],
)
def test_a_comparison_flips_when_significance_comes_goes_or_changes_sides(
    whole, tmp_path, of_a, of_b, expected
):
    runs = [
        changed_table(whole, tmp_path / name, "comparisons", compared_pair(*given))
        for name, given in (("a", of_a), ("b", of_b))
    ]
    found = compare_runs(*runs, DiffOptions(metrics=("ERR",), click_metrics=("MeanRR",))).flips
    pairs = found.select("market", "metric_a", "metric_b", "what").rows()
    assert pairs == ([("north", "DCG", "ERR", expected)] if expected else [])


def test_the_highest_correlation_may_be_a_baselines(whole, tmp_path):
    def raised(rows):
        highest = pl.col("editorial_metric").replace_strict(
            {"RR": 0.97, "P@1": 0.99}, default=pl.col("correlation")
        )
        own = (
            (pl.col("click_metric") == "MeanRR") & (pl.col("market") == "north") & (pl.col("split") == "all")
        )
        return rows.with_columns(pl.when(own).then(highest).otherwise("correlation").alias("correlation"))

    before = pl.read_parquet(whole / "correlations.parquet").filter(
        market="north",
        split="all",
        click_metric="MeanRR",
    )
    best = max(before.iter_rows(named=True), key=lambda row: row["correlation"])
    other = changed_table(whole, tmp_path / "other", "correlations", raised)
    (row,) = compare_runs(whole, other).highest.to_dicts()
    assert (row["market"], row["click_metric"]) == ("north", "MeanRR")
    assert (row["highest_a"], row["correlation_a"]) == (best["editorial_metric"], best["correlation"])
    assert (row["highest_b"], row["correlation_b"], row["significant"]) == ("P@1", 0.99, False)
    pair = sorted([best["editorial_metric"], "P@1"])
    sign = 0.2 if pair[0] == best["editorial_metric"] else -0.2  # each leads significantly in its run

    def led(side):
        def change(rows):
            own = (pl.col("click_metric") == "MeanRR") & (pl.col("market") == "north")
            own &= pl.concat_list("metric_a", "metric_b").list.sort() == pair
            first = pl.when(pl.col("metric_a") == pair[0]).then(side).otherwise(-side)
            return rows.with_columns(
                pl.when(own).then(first).otherwise("difference").alias("difference"),
                pl.when(own).then(0.01).otherwise("p_adjusted").alias("p_adjusted"),
            )

        return change

    before = changed_table(whole, tmp_path / "before", "comparisons", led(sign))
    after = changed_table(other, tmp_path / "after", "comparisons", led(-sign))
    assert compare_runs(before, after).highest["significant"].to_list() == [True]
    assert compare_runs(before, other).highest["significant"].to_list() == [False]
    assert compare_runs(whole, other, DiffOptions(metrics=("AP",))).highest.is_empty()


# ---- inputs, settings, versions, sizes --------------------------------------------------------


def entries_after(whole, tmp_path, change):
    diff = compare_runs(whole, changed_info(whole, tmp_path / "other", change))
    return {(entry.kind, entry.name): entry for entry in diff.entries if entry.status != "same"}, diff


def test_an_input_is_the_same_by_its_content_and_not_by_its_name(whole, tmp_path):
    def change(info):
        info["inputs"]["searches"] = fingerprint(1, 1000, "renamed.parquet")
        info["inputs"]["judgments"]["sha256"] = "f" * 64
        info["inputs"]["queries"] = fingerprint(3, 7)

    found, diff = entries_after(whole, tmp_path, change)
    assert {(name, entry.status) for (_, name), entry in found.items()} == {
        ("judgments", "changed"),
        ("queries", "only in B"),
    }
    assert found["input", "judgments"].b.endswith("sha256 ffffffffffff")
    assert found["input", "queries"].b == "part.parquet: 3 files, 7 bytes, sha256 000000000000"
    numbers = f"all {diff.numbers.height} numbers are the same."
    assert headline(diff) == f"Nothing but the inputs judgments and queries changed; {numbers}"


def test_settings_versions_and_records_have_both_values_and_the_command_is_not_compared(whole, tmp_path):
    def change(info):
        info["settings"]["persistence"] = 0.9
        del info["settings"]["folds"]
        info["versions"]["polars"] = "99"
        info["notes"] = ["<odd>"]
        info["command"] = "another"

    found, diff = entries_after(whole, tmp_path, change)
    told = {key: (entry.status, entry.a, entry.b) for key, entry in found.items()}
    assert told.pop(("version", "polars"))[2] == '"99"'
    assert told == {
        ("setting", "persistence"): ("changed", "0.8", "0.9"),
        ("setting", "folds"): ("only in A", "2", None),
        ("record", "notes"): ("changed", "[]", '["<odd>"]'),
    }
    assert headline(diff).startswith(
        "Nothing but the settings folds and persistence, versions and the record notes changed; all "
    )


def test_sizes_stand_beside_each_other(whole, halves):
    sizes = compare_runs(whole, halves[0], DiffOptions(markets=("north",))).sizes
    stated = [
        pl.read_parquet(run / "statistics.parquet").filter(market="north").row(0, named=True)
        for run in (whole, halves[0])
    ]
    for row in sizes.iter_rows(named=True):
        before, after = (run[row["quantity"]] for run in stated)
        assert (row["a"], row["b"], row["change"]) == (before, after, after - before)
    assert sizes["quantity"].to_list() == [
        *("n_queries", "n_configurations", "n_sessions", "n_all_sessions", "coverage")
    ]
