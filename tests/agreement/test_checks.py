"""The checks of sessionisation stop a run whose numbers would be wrong, instead of writing it."""

import duckdb
import polars as pl
import pytest

from clickassay.core.errors import EngineError
from clickassay.core.files.sql import sql_text
from support.logs.small_logs import click, patterns_of, search

SEARCHES = [
    search(1, 0, "ab", user=1, query="q"),
    search(2, 0, "cd", user=2, query="r"),
    search(3, 0, "ab", user=3, query="q"),
]
CLICKS = [click(1, 1, "b"), click(2, 1, "c")]


def with_text_ids(rows):
    return [row | {"search_id": f"s{row['search_id']}"} for row in rows]


def weakened(monkeypatch, concerns):
    """Let the fingerprints that `concerns` picks by their seeds be the same for all texts."""
    strong = pl.Expr.hash

    def weak(self, *seeds, **named):
        fingerprint = strong(self, *seeds, **named)
        return fingerprint - fingerprint if concerns(seeds) else fingerprint

    monkeypatch.setattr(pl.Expr, "hash", weak)


def test_with_fingerprints_as_they_are_the_log_passes():
    assert patterns_of(SEARCHES, CLICKS).patterns["sessions"].sum() == 3


def test_two_queries_that_share_a_fingerprint_stop_the_run(monkeypatch):
    weakened(monkeypatch, lambda seeds: seeds == (0,))
    with pytest.raises(EngineError, match="two queries share a fingerprint"):
        patterns_of(SEARCHES, CLICKS)


def test_lists_of_two_queries_that_share_a_fingerprint_stop_the_run(monkeypatch):
    weakened(monkeypatch, lambda seeds: seeds == (2,))
    with pytest.raises(EngineError, match="the lists of two queries share a fingerprint"):
        patterns_of(SEARCHES, CLICKS)


def test_two_search_ids_that_share_a_fingerprint_stop_the_run(monkeypatch):
    searches, clicks = with_text_ids(SEARCHES), with_text_ids(CLICKS)
    assert patterns_of(searches, clicks).patterns["sessions"].sum() == 3
    weakened(monkeypatch, lambda seeds: seeds == ())
    with pytest.raises(EngineError, match="two search ids share a fingerprint"):
        patterns_of(searches, clicks, max_rejected=1)


@pytest.mark.parametrize(
    ("sessions", "searches", "firsts", "found"),
    [
        ([2, 3], 5, [0, 1], False),
        ([2, 3], 6, [0, 0], False),  # the second search of a session of two
        ([2, 3], 6, [0, 1], True),  # a search in no session
        ([2, 3], 5, [0, 0], True),  # a search in two
        ([], 0, [], False),
    ],
)
def test_searches_and_sessions_must_add_up(sessions, searches, firsts, found):
    with duckdb.connect(config={"threads": 1}) as connection:
        for name, columns in (
            ("session_patterns", {"sessions": sessions}),
            ("searches", {"search_fp": list(range(searches))}),
            ("session_searches", {"row_nr": list(range(len(firsts))), "first_nr": firsts}),
        ):
            connection.register(name, pl.DataFrame(columns, dict.fromkeys(columns, pl.Int64)).to_arrow())
        assert bool(connection.sql(sql_text("checks/searches_not_in_one_session")).fetchall()) == found
