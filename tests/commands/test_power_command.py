"""`clickassay power` on a run of the sample log, and a run read back as arrays."""

import json
import re
import shutil

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2, norm, t

from clickassay.core.records import SampleChoice
from clickassay.findings.arrays import graded_sample
from clickassay.findings.run import open_run
from support.logs import tiny
from support.runs.given_runs import judgments, made


@pytest.fixture
def run(whole):
    return whole


def table_of(said: str) -> list[list[str]]:
    """Return the rows of numbers: queries, the ends of their range, lists where there are any, sessions."""
    rows = [
        line.split(")")
        for line in said.splitlines()
        if ("(" in line and "times)" in line) or "pilot)" in line
    ]
    return [row[1].replace(",", "").replace(" to ", " ").split() for row in rows]


def test_it_tells_queries_and_sessions_for_four_lengths_of_the_log(run):
    said = tiny.said_by("power", run, "--pair", "ERR,DCG", "--difference", "0.05")
    rows = [[int(cell) for cell in row] for row in table_of(said)]
    assert [len(row) for row in rows] == [4, 5, 4, 4]
    queries, fewest, most, *_ = zip(*(row[:3] for row in rows), strict=True)
    for numbers in (queries, fewest, most):
        assert list(numbers) == sorted(numbers, reverse=True)
    assert all(low <= number <= high for number, low, high in zip(queries, fewest, most, strict=True))
    lists = pl.read_parquet(run / "configurations.parquet")
    several = lists.filter(pl.len().over("market", "query") >= 2)
    judged = several["query"].n_unique()  # in any market
    ratio = several.height / judged
    assert rows[1][3] == pytest.approx(ratio * queries[1], abs=ratio + 1)
    kind = "queries with two fully judged rankings"
    assert f"top 5: {judged:,} {kind}, {several.height:,} configurations" in said
    answer = f"Detecting a difference of 0.05 takes about {queries[1]:,} {kind}; you have {judged:,}."
    assert said.splitlines()[0] == answer
    assert "The difference is the pilot's own" not in said
    enough = tiny.said_by("power", run, "--pair", "ERR,DCG", "--difference", "0.9")
    assert enough.startswith(f"Your {judged:,} {kind} are enough to detect a difference of 0.9 (about ")


def test_a_smaller_difference_a_higher_chance_or_more_tests_take_more_queries(run):
    def queries(*more):
        ended = tiny.inside("power", run, "--pair", "ERR,AP", *more)
        return int(table_of(ended.out)[1][0])

    base = queries("--difference", "0.05")
    assert queries("--difference", "0.025") == pytest.approx(4 * base, rel=0.01)
    assert queries("--difference", "0.05", "--power", "0.95") > base
    one = queries("--difference", "0.05", "--comparisons", "1")
    assert one < queries("--difference", "0.05", "--comparisons", "10")
    assert one < base  # by default the pairs of the run are one family


def test_a_small_pilot_and_a_small_plan_have_cautions(tmp_path):
    judged = judgments()
    some = judged["query"].unique().sort().head(12)
    few = made(tmp_path / "few", judged.filter(pl.col("query").is_in(some.to_list())))
    said = tiny.said_by("power", few, "--pair", "ERR,AP", "--difference", "1.5")
    (queries,) = re.findall(r"Unreliable: the pilot has (\d+) queries, fewer than 50\.", said)
    assert int(queries) <= 12
    assert "Judge at least 50 queries: intervals are unreliable with fewer." in said


def difference_in(run, table, market):
    rows = pl.read_parquet(run / f"{table}.parquet")
    own = rows.filter(click_metric="MeanRR", metric_a="AP", metric_b="ERR", market=market, depth=5)
    return own.row(0, named=True)


ASKED = [
    ((), "within_comparisons", "all"),
    (("--market", "south"), "within_comparisons", "south"),
    (("--question", "queries"), "comparisons", "north"),
]
"""Options, and the table and market whose difference they are about."""


@pytest.mark.parametrize(("options", "table", "market"), ASKED)
def test_power_says_somewhat_more_than_the_number_that_the_report_calls_the_least(
    run, options, table, market
):
    found = json.loads(tiny.inside("power", run, "--pair", "AP,ERR", *options, "--json").out)
    row = difference_in(run, table, market)
    assert (found["market"], found["pilot"]["difference"]) == (market, pytest.approx(row["difference"]))
    assert found["question"] == ("queries" if options[:1] == ("--question",) else "rankings")
    (same,) = (need for need in found["required"] if need["factor"] == 1)
    assert row["queries_needed"] <= same["queries"] <= 2 * row["queries_needed"]
    assert same["fewest"] < row["queries_needed"] < same["most"]
    assert found["pilot"]["queries"] == row["n_queries"]


@pytest.mark.parametrize("current", [None, "NDCG"])
def test_by_default_it_is_the_test_of_the_decision(run, tmp_path, current):
    pilot = run if current is None else made(tmp_path / "run", current=current)
    tests = pl.read_parquet(pilot / "within_comparisons.parquet").filter(
        pl.col("p_value").is_not_null(), click_metric="MeanRR", market="all", depth=5
    )
    with_current = pl.any_horizontal(pl.col("metric_a", "metric_b") == "NDCG")
    for pair in ("AP,NDCG", "AP,ERR"):
        against = current is not None and current in pair
        family = tests.filter(with_current) if against else tests
        which = "all others against NDCG" if against else "all pairs"
        found = json.loads(tiny.inside("power", pilot, "--pair", pair, "--json").out)
        assert (found["comparisons"], found["family"]) == (family.height, which)
        names = pair.split(",")
        row = tests.filter(pl.col("metric_a").is_in(names), pl.col("metric_b").is_in(names)).row(
            0, named=True
        )
        # the first step of Holm: p times the tests is below 0.05 where a difference is so many errors wide
        errors = t.ppf(1 - 0.05 / family.height / 2, min(2 * row["degrees"], row["n_queries"] - 1))
        needed = row["n_queries"] * ((errors + norm.ppf(0.8)) * row["error"] / row["difference"]) ** 2
        (same,) = (need for need in found["required"] if need["factor"] == 1)
        fewest = needed * row["degrees"] / chi2.ppf(0.975, row["degrees"])
        assert same["fewest"] == pytest.approx(fewest, abs=1)
        said = tiny.inside("power", pilot, "--pair", pair).out
        assert f"one of {family.height} comparisons ({which}), each tested at" in said
    assert "of 3 comparisons, each tested at" in tiny.inside("power", pilot, "--comparisons", "3").out


def test_uneven_sessions_are_said_where_they_matter(run):
    told = "Other queries can need far more: a few frequent queries dominate the pilot."
    assert told in tiny.inside("power", run, "--pair", "AP,ERR", "--question", "queries").out
    assert told not in tiny.inside("power", run, "--pair", "AP,ERR").out  # weights are bounded


@pytest.mark.parametrize(("options", "table", "market"), ASKED)
def test_without_a_difference_that_of_the_run_is_taken(run, options, table, market):
    row = difference_in(run, table, market)
    said = tiny.inside("power", run, "--pair", "AP,ERR", *options).out
    assert row["difference"] < 0
    assert f"is {-row['difference']:.3f} lower than that of ERR" in said
    assert f"a difference of {-row['difference']:.3g} " in said.splitlines()[0]
    ends = f"{row['ci_low']:.3g} to {row['ci_high']:.3g}"
    assert f"The difference is the pilot's own, which is uncertain: 95% CI {ends}." in said


TESTS = ("--question", "tests")


@pytest.mark.parametrize(
    ("more", "word"),
    [
        (["--pair", "ERR"], "two different metrics"),
        (["--pair", "ERR,XYZ"], "XYZ is not in this run; it has"),
        (["--pair", "ERR,RBP(p=0.5,max_rel=4)"], "RBP(p=0.5,max_rel=4) is not in this run; it has"),
        (["--click-metric", "dwell"], "dwell is not in this run; it has"),
        (["--difference", "0"], "from 0.0001 to 2"),
        (["--difference", "-inf"], "from 0.0001 to 2"),
        (["--difference", "-0.05"], "the size of the difference, whichever metric is ahead"),
        (["--alpha", "1e-300"], "expected 1e-12 or more"),
        (["--comparisons", "1000000000000000"], "expected 1e-12 or more"),
        (["--power", "1"], "between 0.5 and 0.999"),
        (["--alpha", "0"], "between 0 and 0.5"),
        (["--depth", "7"], "no judged configurations of depth 7; it has"),
        (["--market", "west", "--judge", "me"], "of market west, judge me"),
        ([*TESTS, "--difference", "2"], "a share of the mean from 0.0001 to 1, e.g. 0.01"),
        ([*TESTS, "--changed", "0"], "above 0, at most 1"),
        ([*TESTS, "--pair", "ERR,DCG"], "a test is planned for each metric of the run"),
        ([*TESTS, "--power", "1"], "between 0.5 and 0.999"),
        ([*TESTS, "--click-metric", "dwell"], "click metric dwell is not in this run"),
        (["--changed", "0.5"], "--changed is for tests; add --question tests"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(run, more, word):
    assert word in tiny.refusal("power", run, *more)


# ---- tests that are planned ---------------------------------------------------------------------
def planned(run, *more):
    return json.loads(tiny.said_by("power", run, *TESTS, *more, "--json"))


def test_a_test_that_is_planned_needs_users_and_judged_queries(run):
    said = tiny.said_by("power", run, "--question", "tests", "--difference", "0.02")
    found = planned(run, "--difference", "0.02")
    assert found["answer"] in said.replace("\n", " ")
    users = [one for one in found["required"] if one["units"] == "users"]
    assert [one["change"] for one in users] == pytest.approx([0.01, 0.02, 0.04, 0.1])
    needed = [one["needed"] for one in users]
    assert needed[0] == pytest.approx(4 * needed[1], rel=0.01)
    statistics, searches = (pl.read_parquet(run / f"{name}.parquet") for name in ("statistics", "health"))
    sessions = statistics.filter(depth=5)["n_all_sessions"].sum()
    assert found["users"]["sessions"] == sessions
    each = searches.filter(check="one_search_each")["value"][0]
    assert 1 < sessions / found["users"]["units"] <= each
    metrics = {one["metric"] for one in found["required"] if one["units"] == "queries"}
    assert {"ERR", "NDCG", "DCG"} <= metrics
    (metric,) = {
        one["metric"] for one in found["required"] if one["units"] == "queries" and one["change"] > 0.05
    }
    assert metric == "NDCG"
    assert f"judged queries for {metric}" in found["answer"]


def test_a_test_needs_less_for_larger_changes_less_power_or_fewer_changed_queries(run):
    def sizes(*more):
        found = planned(run, "--difference", "0.05", *more)["required"]
        own = [
            one["needed"] for one in found if one["change"] == 0.05 and one["metric"] in ("MeanRR", "NDCG")
        ]
        assert len(own) == 2
        return own

    base = sizes()
    for more in (("--power", "0.95"), ("--alpha", "0.01"), ("--comparisons", "10")):
        assert all(a > b for a, b in zip(sizes(*more), base, strict=True))
    users, queries = sizes("--changed", "0.25")
    assert users == base[0]
    assert queries < 0.3 * base[1]
    assert sizes("--click-metric", "MeanRR") == base
    default = planned(run)
    assert default["change"] == 0.01  # that of the run's settings


def test_a_folder_that_is_no_run_or_a_broken_one_is_refused_by_file(run, tmp_path):
    assert "no settings.json" in tiny.refusal("power", tmp_path)
    broken = shutil.copytree(run, tmp_path / "broken")
    (broken / "patterns.parquet").write_bytes(b"PAR1")
    assert "patterns.parquet is broken" in tiny.refusal("power", broken)
    (broken / "patterns.parquet").unlink()
    assert "no patterns.parquet" in tiny.refusal("power", broken)


def sample_of(run, **wanted):
    finished = open_run(run)
    return graded_sample(finished, finished.key(SampleChoice(**wanted))).sample


def test_a_run_read_back_has_the_metrics_that_were_written(run):
    sample = sample_of(run, market="south", depth=5)
    rows = pl.read_parquet(run / "configurations.parquet").filter(market="south")
    rows = rows.sort("query", "configuration_id")
    np.testing.assert_allclose(sample.click_values, rows.select(sample.click_names).to_numpy(), atol=1e-12)
    np.testing.assert_array_equal(sample.editorial_values, rows.select(sample.editorial_names).to_numpy())
    np.testing.assert_array_equal(sample.sessions, rows["n_sessions"].to_numpy())
    assert [sample.queries[place] for place in sample.query_index] == rows["query"].to_list()
    assert sample.configuration_ids.to_list() == rows["configuration_id"].to_list()
