"""Laws of the pattern table: what a log's counts must obey whatever the log is."""

from collections import Counter
from datetime import UTC, date, datetime

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from clickassay.core.settings import load_settings
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import make_patterns
from clickassay.jobs.run import make_run
from clickassay.patterns.table import read_patterns, write_patterns
from support.logs.small_logs import (
    URLS,
    drawn_logs,
    funnel_counts,
    patterns_of,
    query_buckets,
    session_counts,
    simulated,
)
from support.logs.stores import assert_same, differing
from support.logs.tiny import files_of
from support.logs.tiny_table import judged_at, judgment_rows

few = settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
DAY = 24 * 3_600_000

CLOCK = "2026-11-01"


def later(rows, by_ms, *, ids_by=0):
    return [
        row | {"timestamp": row["timestamp"] + by_ms, "search_id": row["search_id"] + ids_by} for row in rows
    ]


def rows_where(frame, **wanted):
    return int(frame.filter(**wanted)["rows"].sum())


@few
@given(drawn_logs(), st.integers(1, 10))
def test_pattern_counts_add_up_to_the_sessions_formed(log, depth):
    table = patterns_of(*log, depth=[depth])
    formed = rows_where(table.funnel, source="sessions", step="formed")
    left_out = rows_where(table.funnel, source="sessions", step="left out")
    assert table.patterns["sessions"].sum() + left_out == formed


@few
@given(drawn_logs(), st.integers(1, 10))
def test_the_bits_of_the_masks_are_the_clicks_that_the_funnel_says_are_in_patterns(log, depth):
    table = patterns_of(*log, depth=[depth])
    for cut in range(1, depth + 1):
        bits = sum(
            (mask % 2**cut).bit_count() * sessions
            for mask, sessions in table.patterns.select("click_mask", "sessions").iter_rows()
        )
        assert bits == rows_where(table.funnel, source="clicks", step="in patterns", depth=cut)


@few
@given(drawn_logs(), st.integers(1, 10))
def test_clicks_read_are_the_clicks_of_all_fates_at_every_depth(log, depth):
    searches, clicks = log
    funnel = patterns_of(searches, clicks, depth=[depth]).funnel.filter(source="clicks")
    without_depth = funnel.filter((pl.col("depth") == 0) & (pl.col("step") != "read"))
    assert without_depth["rows"].sum() == len(clicks)
    for cut in range(1, depth + 1):
        assert rows_where(funnel, depth=cut) == rows_where(funnel, step="kept")


def assert_sum(whole, one, other):
    """Hold that the counts of a table are those of two others together."""
    sessions, ours, theirs = (session_counts(table, by_fold=True) for table in (whole, one, other))
    assert sessions == ours + theirs
    assert query_buckets(whole) == query_buckets(one, other)
    assert funnel_counts(whole.funnel) == funnel_counts(one.funnel) + funnel_counts(other.funnel)


@few
@given(drawn_logs(), st.sampled_from(("day", "week")), st.sampled_from(("auto", "1", "3")))
def test_the_days_of_each_list_add_up_to_its_patterns(log, periods, batch):
    table = patterns_of(*log, periods=periods, batch=batch)
    sums = [
        rows.group_by("configuration_id").agg(pl.col("sessions").sum()).sort("configuration_id")
        for rows in (table.shown, table.patterns)
    ]
    assert sums[0].equals(sums[1])
    assert periods == "day" or set(table.shown["day"].dt.weekday()) <= {1}


@pytest.mark.parametrize("batch", ["auto", "day", "1"])
@pytest.mark.parametrize(
    ("periods", "days"),
    [
        ("day", {date(2009, 3, 1): 2, date(2009, 3, 2): 1, date(2009, 3, 8): 1}),
        ("week", {date(2009, 2, 23): 2, date(2009, 3, 2): 2}),
        ("none", None),
    ],
)
def test_a_session_is_of_the_day_in_utc_of_its_first_search(periods, days, batch):
    """The first of March 2009 was a Sunday: a session that began in its last minute goes on."""
    monday = round(datetime(2009, 3, 2, tzinfo=UTC).timestamp() * 1000)
    times = [(1, -30_000), (1, 600_000), (2, -1), (3, 0), (4, 6 * DAY)]
    searches = [
        {"search_id": place, "user_id": user, "query": "q", "timestamp": monday + after, "results": ["a"]}
        for place, (user, after) in enumerate(times)
    ]
    clicks = [{"search_id": 1, "timestamp": monday + 700_000, "url": "a"}]
    shown = patterns_of(searches, clicks, periods=periods, batch=batch).shown
    assert (None if shown is None else dict(shown.select("day", "sessions").iter_rows())) == days


@few
@given(drawn_logs((1, 2)), drawn_logs((3, 4)))
def test_users_are_independent_so_the_table_of_all_is_the_sum_of_tables(ours, theirs):
    searches, clicks = ours
    more_searches, more_clicks = theirs
    one, other = patterns_of(searches, clicks, folds=2), patterns_of(more_searches, more_clicks, folds=2)
    both = patterns_of(searches + more_searches, clicks + more_clicks, folds=2)
    assert_sum(both, one, other)


@few
@given(drawn_logs(), st.integers(-10_000 * DAY, 20_000 * DAY))
def test_shifting_all_times_changes_nothing(log, by_ms):
    searches, clicks = log
    assume(631_152_000_000 + DAY < searches[0]["timestamp"] + by_ms < 4_133_980_800_000 - DAY)
    moved = patterns_of(later(searches, by_ms), later(clicks, by_ms), clock="2100-01-01")
    assert set(differing(patterns_of(searches, clicks), moved)) <= {
        "shown",
        "health",
    }  # which counts days and minutes


@few
@given(drawn_logs(), drawn_logs(), st.sampled_from(("user", "query")))
def test_two_days_with_an_idle_night_between_add_up_to_the_log_of_both(first, second, scope):
    searches, clicks = first
    more_searches, more_clicks = second
    tomorrow = later(more_searches, DAY, ids_by=10_000), later(more_clicks, DAY, ids_by=10_000)
    whole = patterns_of(searches + tomorrow[0], clicks + tomorrow[1], idle_scope=scope)
    one, other = patterns_of(searches, clicks, idle_scope=scope), patterns_of(*tomorrow, idle_scope=scope)
    assert_sum(whole, one, other)


@few
@given(drawn_logs(), st.randoms(use_true_random=False))
def test_the_order_of_rows_is_irrelevant(log, random):
    searches, clicks = log
    shuffled = random.sample(searches, len(searches)), random.sample(clicks, len(clicks))
    assert_same(patterns_of(searches, clicks), patterns_of(*shuffled))


@few
@given(drawn_logs(range(1, 7)), st.integers(2, 5))
def test_folds_sum_to_the_unfolded_table(log, folds):
    searches, clicks = log
    unfolded, folded = patterns_of(searches, clicks, folds=1), patterns_of(searches, clicks, folds=folds)
    assert session_counts(folded) == session_counts(unfolded)
    assert set(unfolded.patterns["fold"]) <= {0}
    assert set(folded.patterns["fold"]) <= set(range(folds))


def test_all_sessions_of_a_user_are_in_one_fold_and_folds_share_the_users(tmp_path):
    searches = [
        {
            "search_id": 10 * user + day,
            "user_id": user,
            "query": f"user {user}",
            "timestamp": 10**12 + day * DAY,
        }
        | {"results": ["a"]}
        for user in range(60)
        for day in range(3)
    ]
    table = patterns_of(searches, [], folds=3)
    users = (
        table.patterns.join(table.configurations, on="configuration_id")
        .group_by("query")
        .agg("fold", "sessions")
    )
    assert users["sessions"].to_list() == [[3]] * 60
    sizes = Counter(users["fold"].list.first())
    assert set(sizes) == {0, 1, 2}
    assert min(sizes.values()) >= 8  # 20 are expected; fewer than 8 of 60 has a chance below 0.0002


@few
@given(drawn_logs(), st.integers(1, 7), st.dictionaries(st.sampled_from(URLS), st.integers(0, 4), min_size=5))
def test_a_shallow_table_is_the_cut_of_a_deeper_one(log, depth, grades):
    searches, clicks = log
    judged = judgment_rows([(query, url, grade) for query in "qr" for url, grade in grades.items()])
    shallow, deep = (
        judged_at(depth, patterns_of(searches, clicks, depth=depths), judged)
        for depths in ([depth], [depth, 8])
    )
    assert shallow.rows.equals(deep.rows)
    assert shallow.patterns.equals(deep.patterns)
    assert shallow.grades.tolist() == deep.grades.tolist()
    assert shallow.pool.tolist() == deep.pool.tolist()
    assert (shallow.too_short, shallow.not_judged) == (deep.too_short, deep.not_judged)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return simulated(tmp_path_factory.mktemp("pattern-table") / "log", searches=1_000, queries=12)


@pytest.fixture(scope="module")
def stored(log, tmp_path_factory):
    place = tmp_path_factory.mktemp("pattern-table") / "patterns"
    return make_patterns(
        Sources(log["searches"], log["clicks"]), place, load_settings(depth=[5], clock=CLOCK)
    )


def test_a_report_on_the_stored_table_is_the_run_on_the_log(log, stored, tmp_path):
    chosen = load_settings(depth=[5], iterations=20, clock=CLOCK)
    _, told = make_run(Sources(*log.values()), chosen, out=tmp_path / "run")
    _, told_again = make_run(
        Sources(judgments=log["judgments"], queries=log["queries"]),
        chosen,
        patterns=stored,
        out=tmp_path / "report",
    )
    assert told == told_again
    run, report = files_of(tmp_path / "run"), files_of(tmp_path / "report")
    assert run.keys() == report.keys()
    differing = {name for name in run if run[name] != report[name]}
    assert differing <= {"run.duckdb"}  # a database file is not canonical


def test_a_stored_table_is_read_as_it_was_written(stored, tmp_path):
    table = read_patterns(stored)
    assert table.stored_depth == 5
    write_patterns(table, tmp_path)
    assert files_of(tmp_path) == files_of(stored)


def test_a_table_holds_no_user(stored):
    columns = {name for file in stored.glob("*.parquet") for name in pl.read_parquet_schema(file)}
    assert {name for name in columns if "user" in name} == {"user_buckets"}
