"""What a run says of its queries, and of the draws of Algorithm 3."""

from dataclasses import replace

import polars as pl
import pytest

from clickassay.core.contracts.patterns import PATTERN_QUERIES
from clickassay.core.settings import load_settings
from clickassay.jobs.analyse import analyse
from clickassay.jobs.inputs import Sources
from support.logs.tiny_table import judgment_rows, rows_in_form, table_of

# two lists of q, three of r, one of s; t is not judged
LISTS = [
    *(("all", "q", "ab"), ("all", "q", "ba")),
    *(("all", "r", "ab"), ("all", "r", "ca"), ("all", "r", "bc")),
    *(("all", "s", "ab"), ("all", "t", "ab")),
]
MASKS = [{0: 1, 1: 3}, {0: 2, 2: 2}, {3: 5, 1: 1}, {0: 4}, {2: 7, 1: 2, 0: 3}, {1: 2}, {1: 9}]
GRADES = [(query, url, grade) for query in "qrs" for url, grade in (("a", 4), ("b", 2), ("c", 0))]
USERS = {"q": 0b1011, "r": 2**64 - 1, "s": 2**63, "t": 0b11}


def run_of(folder, table, grades=GRADES, *, market=None, **settings):
    rows = judgment_rows(grades).select("query", "url", "grade")
    if market:
        rows = rows.with_columns(market=pl.lit(market))
    rows.write_parquet(folder / "judgments.parquet")
    options = load_settings(**{"depth": (2,), "iterations": 300, "click_models": ("NONE",)} | settings)
    found = analyse(table, Sources(judgments=folder / "judgments.parquet"), options)
    judged = found["queries"].join(found["configurations"], on=["market", "query"], how="semi")
    return found | {"queries": judged, "all queries": found["queries"]}


def tables_of(lists=LISTS, masks=MASKS):
    """Return a pattern table whose queries have the users above."""
    table = table_of(lists, masks, stored_depth=2)
    rows = [(market, query, USERS[query]) for market, query in sorted({row[:2] for row in lists})]
    return replace(table, queries=rows_in_form(PATTERN_QUERIES, rows))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return run_of(tmp_path_factory.mktemp("run"), tables_of())


def users(run):
    return run["queries"].select("market", "query", "users_at_least").rows()


def test_a_query_is_listed_in_the_markets_in_which_it_is_judged(tmp_path):
    lists = [("de", "q", "ab"), ("us", "q", "ab"), ("us", "s", "ab")]
    table = tables_of(lists, MASKS[:3])
    assert users(run_of(tmp_path, table)) == [("de", "q", 3), ("us", "q", 3), ("us", "s", 1)]
    assert users(run_of(tmp_path, table, market="de")) == [("de", "q", 3)]


def test_a_query_that_is_judged_at_one_depth_only_is_listed_once(tmp_path):
    found = run_of(tmp_path, tables_of(), [("q", "a", 1), ("r", "a", 1), ("r", "b", 1)], depth=(1, 2))
    assert found["configurations"].group_by("query").agg(pl.col("depth").unique().sort()).sort("query")[
        "depth"
    ].to_list() == [[1], [1, 2]]
    assert found["queries"]["query"].to_list() == ["q", "r"]


def test_where_no_query_has_two_configurations_there_is_no_draw(tmp_path):
    found = run_of(tmp_path, tables_of(LISTS[1:6:4], MASKS[1:6:4]))
    assert found["configurations"].height == 2
    assert found["draws"].is_empty()


@pytest.mark.parametrize("grades", [GRADES[:3], [("t", "z", 1)]])
def test_a_run_without_draws_still_names_the_metrics(grades, tmp_path, run):
    found = run_of(tmp_path, tables_of(LISTS[1:], MASKS[1:]), grades)
    assert found["draws"].is_empty()
    assert found["draws"].schema == run["draws"].schema


def test_queries_that_are_to_be_judged_next_are_listed_too(tmp_path):
    found = run_of(tmp_path, tables_of(), [("q", "a", 1), ("q", "b", 1)])
    proposed = found["next_judgments"]["query"].to_list()
    assert "r" in proposed
    assert set(found["all queries"]["query"]) == {*found["queries"]["query"], *proposed}
