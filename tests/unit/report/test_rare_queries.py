"""A query that few users issued is named nowhere: not on the page, in its files, nor beside it."""

import csv
import hashlib
import re

import polars as pl
import pytest

from clickassay.core.privacy import QueryNames, digest, run_key
from clickassay.report.build import build_report, markdown_report, write_report
from clickassay.report.model import read_run
from support.reports.report_queries import digest_of, users_of
from support.reports.report_runs import page_of, settings_with
from support.reports.report_tables import run_info, run_tables, small_tables
from support.reports.report_world import BASELINES, NAMED_HOST, NAMED_TEXT, QUERY_TEXT, RARE_HOST, query_of


def texts_of(folder):
    """Every text that a reader of the folder can come by, the files packed into the page among them."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.rglob("*.*")}
    packed = {f"packed {name}": data.decode("utf-8") for name, data in page_of(folder).files.items()}
    return texts | packed


def rows_of(path, market):
    """Pairs of market and query of a CSV file."""
    with path.open(encoding="utf-8", newline="") as stream:
        pairs = [(row["market"], row["query"]) for row in csv.DictReader(stream)]
    return [pair for pair in pairs if pair[0] == market]


def users(*rows):
    schema = {"market": pl.String, "query": pl.String, "users_at_least": pl.Int32, "digest": pl.String}
    known = [(*row, digest_of(*row[:2]).removeprefix("query ")) for row in rows]
    return pl.DataFrame(known, schema=schema, orient="row")


@pytest.mark.parametrize("name", ["full", "small", "hostile", "one configuration"])
def test_no_rare_query_and_no_result_of_one_appears_anywhere(reports, name):
    for where, text in texts_of(reports[name][0]).items():
        assert QUERY_TEXT not in text, where
        assert RARE_HOST not in text, where
        assert RARE_HOST.replace(":", "\\:") not in text, where


@pytest.mark.parametrize("name", ["full", "hostile"])
def test_a_query_of_enough_users_is_named_in_the_two_sections_that_name_any(reports, name):
    texts = texts_of(reports[name][0])
    places = {where for where, text in texts.items() if NAMED_TEXT in text}
    files = {"influence", "influence_queries", "figure2_collapses"}
    assert places == {
        *("report.html", "report.md", "figure2_collapses.tex", "influence_queries.tex"),
        *(f"{file}.csv" for file in files),
        *(f"packed {file}" for file in files),
    }
    assert NAMED_HOST in texts["figure2_collapses.csv"]


def test_every_query_of_the_tables_is_named_or_has_its_digest(reports):
    tables = run_tables()
    enough = {query_of("m1", q) for q in range(60) if users_of(q) >= 5 and q != 1}
    for table, file in (("influence", "influence"), ("collapses", "figure2_collapses")):
        frame = tables[table].filter(market="m1")
        if table == "influence":
            frame = frame.filter(~pl.col("editorial_metric").is_in(BASELINES))
        found = {query for _, query in rows_of(reports["full"][0] / "tables" / f"{file}.csv", "m1")}
        assert found == {query if query in enough else digest_of("m1", query) for query in frame["query"]}


def test_below_the_border_of_users_a_query_is_rare_and_on_it_named():
    names = QueryNames(users(("m", "four", 4), ("m", "five", 5)), min_users=5)
    assert names.name({"market": "m", "query": "five"}) == "five"
    assert names.name({"market": "m", "query": "four"}) == digest_of("m", "four")


def test_a_query_that_is_missing_from_the_table_is_rare():
    names = QueryNames(users(("m", "known", 64)), min_users=1)
    assert not names.may_be_named({"market": "m", "query": "unknown"})
    assert names.may_be_named({"market": "m", "query": "known"})


def test_users_of_one_market_do_not_count_for_another():
    names = QueryNames(users(("east", "q", 64), ("west", "q", 1)), min_users=5)
    assert names.may_be_named({"market": "east", "query": "q"})
    assert not names.may_be_named({"market": "west", "query": "q"})
    frame = pl.DataFrame({"market": ["west", "east", "west"], "query": ["q"] * 3, "url": ["u", "u", "v"]})
    found = names.renamed(frame, "url")
    assert found.columns == frame.columns
    assert found["query"].to_list() == [digest_of("west", "q"), "q", digest_of("west", "q")]
    assert found["url"].to_list() == [None, "u", None]


def test_a_digest_cannot_be_told_from_the_text_without_the_queries_of_the_run():
    rows = [("m", "my own name", 1), ("m", "weather", 60), ("n", "my own name", 1)]
    columns = ["market", "query", "users_at_least"]
    one = run_key(pl.DataFrame(rows, schema=columns, orient="row"))
    other = run_key(pl.DataFrame([("m", "my own name", 2), *rows[1:]], schema=columns, orient="row"))
    assert one == run_key(pl.DataFrame(rows[::-1], schema=columns, orient="row"))
    found = {digest(key, market, "my own name") for key in (one, other) for market in ("m", "n")}
    assert len(found) == 4
    assert all(re.fullmatch("[0-9a-f]{6}", name) for name in found)
    sha = hashlib.sha256(f"{one}\nm\nmy own name".encode()).hexdigest()
    assert digest(one, "m", "my own name") == sha[:6]


def test_no_rows_stay_no_rows_of_the_same_form():
    frame = pl.DataFrame(schema={"market": pl.String, "query": pl.String, "url": pl.String})
    assert QueryNames(users(), min_users=5).renamed(frame, "url").schema == frame.schema


def test_text_of_a_named_query_that_cannot_be_seen_is_spelled_out():
    names = QueryNames(users(("m", "a\u202eb\x1b", 9)), min_users=5)
    assert names.name({"market": "m", "query": "a\u202eb\x1b"}) == "a\\u202eb\\x1b"


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """The small run with the highest border: 64 users."""
    folder = tmp_path_factory.mktemp("strict")
    queries = small_tables()["queries"].with_columns(pl.min_horizontal("users_at_least", pl.lit(63)))
    tables = {**small_tables(), "queries": queries.cast({"users_at_least": pl.Int32})}
    write_report(tables, settings_with(min_users=64), folder)
    return folder


def test_with_the_highest_border_no_query_appears_and_the_report_says_so(strict):
    texts = texts_of(strict)
    for where, text in texts.items():
        assert QUERY_TEXT not in text, where
        assert NAMED_TEXT not in text, where
        assert "example/" not in text, where
    assert "6 examples of rare queries cannot be shown." in texts["report.md"]
    assert "A query is named only if at least 64 users issued it" in texts["report.html"]


def test_the_rule_is_told_in_both_documents_and_follows_the_setting():
    report = build_report(small_tables(), settings_with(min_users=7))
    assert "A query is named only if at least 7 users issued it" in markdown_report(report)
    assert build_report(small_tables(), settings_with(min_users=1)).rule == "Every query is named."


def test_a_run_that_does_not_say_has_a_border_of_five_users():
    info = run_info()
    del info["settings"]["min_users"]
    assert read_run(small_tables(), info).names.min_users == 5


def test_digests_are_no_secret_of_the_page_but_have_six_digits_only(reports):
    page = (reports["full"][0] / "report.md").read_text(encoding="utf-8")
    assert re.findall(r"query [0-9a-f]{6}\b", page)
    assert not re.findall(r"query [0-9a-f]{7,}", page)
