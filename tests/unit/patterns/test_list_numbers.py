"""The lists of a pattern table by number, and their results by query and URL."""

from collections import Counter
from dataclasses import replace
from datetime import date

import numpy as np
import polars as pl
import pytest

from clickassay.core.errors import PatternError
from clickassay.core.settings import load_settings
from clickassay.jobs.analyse import analyse
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns
from clickassay.patterns import lists as module
from clickassay.patterns.lists import log_lists, number_results
from clickassay.patterns.table import Pieces
from support.logs.small_logs import session_counts, simulated
from support.logs.tiny_table import LISTS, MASKS, table_of

JUDGED = {"market": pl.String, "query": pl.String}


def counts_of(lists):
    rows = lists.patterns_by_id.join(lists.configurations, on="configuration_id")
    found = Counter()
    for row in rows.iter_rows(named=True):
        key = (row["market"], row["query"], tuple(row["results"]), row["fold"], row["click_mask"])
        found[key] += row["sessions"]
    return found


def judged(*rows):
    return pl.DataFrame(rows, schema=JUDGED, orient="row")


def test_all_lists_are_numbered_with_their_patterns():
    lists = log_lists(table_of().staged())
    assert counts_of(lists) == session_counts(table_of(), by_fold=True)
    shown = lists.configurations.select("query", pl.col("results").list.join(""), "sessions")
    assert sorted(shown.rows()) == [("q", "a", 5), ("q", "abc", 6), ("q", "abd", 5), ("r", "xy", 7)]
    assert lists.others.is_empty()
    assert lists.sessions_by_market() == {"all": 23}


def test_the_most_frequent_queries_of_each_market_are_looked_at_too(monkeypatch):
    monkeypatch.setattr(module, "MOST_FREQUENT", 1)
    shown = [("n", "few", "ab"), ("n", "many", "ab"), ("s", "few", "ab"), ("s", "none", "abc")]
    table = table_of(shown, [{0: 1}, {0: 9}, {0: 3}, {1: 2}])
    lists = log_lists(table.staged(), judged(("n", "other")))
    assert sorted(lists.configurations.select("market", "query").rows()) == [("n", "many"), ("s", "few")]
    assert sorted(lists.others.rows()) == [("n", 2, 1), ("s", 3, 2)]


def dated(lists=LISTS, masks=MASKS):
    """Return when lists were shown: all on one day."""
    sums = table_of(lists, masks).patterns.group_by("configuration_id").agg(pl.col("sessions").sum())
    return sums.with_columns(day=pl.lit(date(2026, 5, 1))).select("configuration_id", "day", "sessions")


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_pieces_of_any_size_are_the_same_lists(rows):
    table = replace(table_of(), shown=dated())
    staged, whole = table.staged(), log_lists(table.staged())
    cut = {
        name: Pieces(
            lambda of=name: (piece for whole in getattr(staged, of) for piece in whole.iter_slices(rows))
        )
        for name in ("configurations", "patterns", "queries", "shown")
    }
    lists = log_lists(replace(staged, **cut))
    assert lists.patterns.equals(whole.patterns)
    assert lists.configurations.equals(whole.configurations)
    assert lists.shown.equals(whole.shown)
    assert lists.shown["sessions"].sum() == 23


def broken(**frames):
    return replace(table_of(), **frames)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (broken(patterns=table_of(LISTS[1:], MASKS[1:]).patterns), "do not match"),
        (broken(configurations=table_of(LISTS[1:], MASKS[1:]).configurations), "do not match"),
        (broken(shown=dated(LISTS[1:], MASKS[1:])), "do not match"),
        (broken(queries=table_of().queries.filter(query="r")), "queries that its table of queries lacks"),
    ],
)
def test_tables_that_do_not_fit_are_refused(table, message):
    with pytest.raises(PatternError, match=message):
        log_lists(table.staged())


@pytest.mark.slow
def test_a_report_has_the_same_numbers_whatever_is_only_counted(tmp_path, monkeypatch):
    log = simulated(tmp_path / "log", searches=1_200, queries=25)
    some = pl.read_parquet(log["judgments"]).filter(pl.col("query").hash() % 3 == 0)
    some.write_parquet(tmp_path / "some.parquet")
    for settings in ({}, {"unjudged": "model"}):
        options = load_settings(iterations=2, depth=[3, 6], click_models="none", **settings)
        table = log_to_patterns(Sources(log["searches"], log["clicks"]), options)
        monkeypatch.setattr(module, "MOST_FREQUENT", 10_000)
        whole = analyse(table, Sources(judgments=tmp_path / "some.parquet"), options)
        monkeypatch.setattr(module, "MOST_FREQUENT", 1)
        less = analyse(table, Sources(judgments=tmp_path / "some.parquet"), options)
        assert whole["statistics"]["coverage"].max() < 1
        assert not less["next_judgments"].equals(whole["next_judgments"])
        for name, frame in whole.items():
            if name not in {"next_judgments", "queries"}:  # these have the queries that are proposed
                assert frame.equals(less[name]), name


def test_lists_that_are_only_counted_are_no_users_of_a_half(monkeypatch):
    """Queries of 10,001st rank have lists in the table, but no session of these users."""
    monkeypatch.setattr(module, "MOST_FREQUENT", 0)
    nobody = log_lists(table_of().staged(), judged(("n", "other")), users=pl.col("fold") == 1)
    assert nobody.sessions_by_market() == {}


def test_a_table_that_changes_while_it_is_read_is_refused():
    staged, read = table_of().staged(), []

    def patterns():
        read.append(1)
        (frame,) = staged.patterns
        return [frame.with_columns(pl.col("sessions") + len(read))]

    with pytest.raises(PatternError, match="changed while it was read"):
        log_lists(replace(staged, patterns=Pieces(patterns)))


def test_a_table_of_an_older_version_whose_list_shows_a_result_twice_is_refused():
    lists = log_lists(table_of([("all", "q", "aba"), ("all", "q", "abc")], [{1: 2}, {0: 1}]).staged())
    with pytest.raises(PatternError, match=r"1 ranking of 2 show a result twice, .* older .* make .* again"):
        _ = lists.results


LISTS = [["a", "b", "c"], ["c", "a"], [], ["a", "b"], ["b", "ä", "a", "a"]]
QUERY = np.array([1, 1, 0, 3, 1])


def fixed(value):
    return lambda texts: np.full(len(texts), value, np.uint64)


@pytest.mark.parametrize("fingerprints", [None, fixed(7)], ids=["hash", "all alike"])
def test_two_places_share_a_number_if_query_and_url_are_the_same(fingerprints):
    options = {} if fingerprints is None else {"fingerprints": fingerprints}
    found = number_results(pl.Series(LISTS), QUERY, **options)
    places = {
        (query, url, int(number))
        for query, urls, numbers in zip(QUERY, LISTS, found.numbers, strict=True)
        for url, number in zip(urls, numbers, strict=False)
    }
    assert len(places) == len({place[:2] for place in places}) == len({place[2] for place in places}) == 6
    assert sorted(place[2] for place in places) == list(range(6))
    named = {(QUERY[row], url) for row, url in zip(found.lists, found.urls, strict=True)}
    assert named == {place[:2] for place in places}
    assert all(found.urls[number] == url for _, url, number in places)


def test_the_top_of_a_list_ends_with_it():
    found = number_results(pl.Series(LISTS), QUERY)
    assert (found.top(6) >= 0).sum(axis=1).tolist() == [3, 2, 0, 2, 4]
    assert (found.top(2) >= 0).sum(axis=1).tolist() == [2, 2, 0, 2, 2]
    assert found.top(2)[0].tolist() == found.numbers[0, :2].tolist()


def test_no_lists_have_no_results():
    found = number_results(pl.Series([], dtype=pl.List(pl.String)), np.zeros(0, np.int64))
    assert (found.numbers.shape, found.top(3).shape, len(found.urls)) == ((0, 0), (0, 3), 0)
