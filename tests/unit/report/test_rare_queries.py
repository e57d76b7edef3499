"""A query that few users issued is named nowhere: not on the page, in its files, nor next to it."""

import csv
import re

import polars as pl
import pytest

from clickassay.findings.run import run_of as read_run
from clickassay.report.build import markdown_report, write_report
from support.reports.report_runs import drawn, page_of, report_of, settings_with
from support.reports.report_tables import (
    BASELINES,
    NAMED_HOST,
    NAMED_TEXT,
    QUERY_TEXT,
    RARE_HOST,
    digest_of,
    query_of,
    run_info,
    run_tables,
    small_tables,
    users_of,
)


def texts_of(folder):
    """Every text in the folder, including the files packed into the page; not the picture."""
    paths = [path for path in folder.rglob("*.*") if path.suffix != ".png"]
    assert {path.name for path in paths} >= {"report.html", "report.md", "summary.json", "summary.md"}
    texts = {path.name: path.read_text(encoding="utf-8") for path in paths}
    packed = {f"packed {name}": data.decode("utf-8") for name, data in page_of(folder).files.items()}
    return texts | packed


def rows_of(path, market):
    """Pairs of market and query of a CSV file."""
    with path.open(encoding="utf-8", newline="") as stream:
        pairs = [(row["market"], row["query"]) for row in csv.DictReader(stream)]
    return [pair for pair in pairs if pair[0] == market]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["full", "small", "hostile", "one configuration"])
def test_no_rare_query_and_no_result_of_one_appears_anywhere(reports, name):
    for where, text in texts_of(reports[name]).items():
        assert QUERY_TEXT not in text, where
        assert RARE_HOST not in text, where
        assert RARE_HOST.replace(":", "\\:") not in text, where


@pytest.mark.parametrize("name", ["full", "hostile"])
def test_a_query_of_enough_users_is_named_in_the_two_sections_that_name_any(reports, name):
    texts = texts_of(reports[name])
    places = {where for where, text in texts.items() if NAMED_TEXT in text}
    files = {"influence", "influence_queries", "within_influence_queries", "figure2_cascade_effects"}
    packed = {f"packed {file}" for file in files} & set(texts)  # large files are not in the page
    assert packed
    assert places == {
        *("report.html", "report.md", "figure2_cascade_effects.tex"),
        *("influence_queries.tex", "within_influence_queries.tex"),
        *(f"{file}.csv" for file in files),
        *packed,
    }
    assert NAMED_HOST in texts["figure2_cascade_effects.csv"]


def test_every_query_of_the_tables_is_named_or_has_its_digest(reports):
    tables = run_tables()
    enough = {query_of("m1", q) for q in range(60) if users_of(q) >= 5 and q != 1}
    for table, file in (("influence", "influence"), ("cascade_effects", "figure2_cascade_effects")):
        frame = tables[table].filter(market="m1")
        if table == "influence":
            frame = frame.filter(~pl.col("editorial_metric").is_in(BASELINES))
        found = {query for _, query in rows_of(reports["full"] / "tables" / f"{file}.csv", "m1")}
        assert found == {query if query in enough else digest_of("m1", query) for query in frame["query"]}


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """The small run with the highest border: 64 users."""
    folder = tmp_path_factory.mktemp("strict")
    queries = small_tables()["queries"].with_columns(pl.min_horizontal("users_at_least", pl.lit(63)))
    tables = {**small_tables(), "queries": queries.cast({"users_at_least": pl.Int32})}
    write_report(*drawn(tables, settings_with(min_users=64)), folder)
    return folder


def test_with_the_highest_border_no_query_appears_and_the_report_says_so(strict):
    texts = texts_of(strict)
    for where, text in texts.items():
        assert QUERY_TEXT not in text, where
        assert NAMED_TEXT not in text, where
        assert "example/" not in text, where
    assert "6 examples of rare queries cannot be shown." in texts["report.md"]
    assert "A query is named only if at least 64 users issued it" in texts["report.html"]


def test_the_rule_is_in_both_documents_and_follows_the_setting():
    report = report_of(small_tables(), settings_with(min_users=7))
    assert "A query is named only if at least 7 users issued it" in markdown_report(report)
    assert report_of(small_tables(), settings_with(min_users=1)).rule == "Every query is named."


def test_a_run_that_does_not_say_has_a_border_of_five_users():
    info = run_info()
    del info["settings"]["min_users"]
    assert read_run(small_tables(), info).labels.min_users == 5


def test_digests_are_no_secret_of_the_page_but_have_six_digits_only(reports):
    page = (reports["full"] / "report.md").read_text(encoding="utf-8")
    assert re.findall(r"query [0-9a-f]{6}\b", page)
    assert not re.findall(r"query [0-9a-f]{7,}", page)
