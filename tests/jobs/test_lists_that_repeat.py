"""Lists that show a result twice, clicks that name one twice: each counts once, and what differs is said."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from clickassay.health.forms import alike_in_list
from support.logs import tiny


def fanned_out(frame, rows=tiny.ROWS):
    """Show each result of the first lists twice, one after the other."""
    twice = [[url for url in urls for _ in range(2)] for urls in frame["results"]]
    lists = [*twice[:rows], *frame["results"].to_list()[rows:]]
    return frame.with_columns(results=pl.Series(lists))


def tables_of(folder, searches, **more):
    folder.mkdir()
    return tiny.analysed(tiny.write_log(folder, searches=searches, **more))


def test_a_log_that_shows_each_result_twice_gives_the_numbers_of_the_one_that_does_not(tmp_path):
    plain, doubled = (
        tables_of(tmp_path / name, frame)
        for name, frame in (("plain", tiny.searches()), ("doubled", fanned_out(tiny.searches())))
    )
    for table in ("configurations", "patterns", "correlations", "statistics"):
        assert_frame_equal(plain[table], doubled[table])
    assert doubled["configurations"]["NDCG", "AP"].max().row(0) <= (1.0, 1.0)


@pytest.mark.parametrize(("rows", "status"), [(0, "ok"), (1, "ok"), (2, "caution"), (tiny.ROWS, "caution")])
def test_more_than_a_twentieth_of_such_lists_is_a_caution(tmp_path, rows, status):
    health = tables_of(tmp_path / "log", fanned_out(tiny.searches(), rows))["health"]
    row = health.row(by_predicate=pl.col("check") == "repeated_results", named=True)
    assert (row["status"], row["value"]) == (status, pytest.approx(rows / tiny.ROWS))


def with_fragments(sign):
    """Return the tables of the good log with the last part of each URL as a fragment: .../2 is .../#2."""
    url = pl.col("url").str.replace("example/", f"example/#{sign}", literal=True)
    lists = pl.col("results").list.eval(
        pl.element().str.replace("example/", f"example/#{sign}", literal=True)
    )
    searches = tiny.searches().with_columns(lists)
    return {
        "searches": searches,
        "clicks": tiny.clicks().with_columns(url),
        "judgments": tiny.judgments().with_columns(url),
    }


@pytest.mark.parametrize(
    ("sign", "settings"), [("/", {}), ("!", {}), ("", {"normalise_urls": False})], ids=["#/", "#!", "raw"]
)
@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
def test_results_that_only_their_fragment_tells_apart_are_results_of_their_own(
    tmp_path, sign, settings, engine
):
    tables = with_fragments(sign)
    found = tiny.analysed(tiny.write_log(tmp_path / "log", **tables), engine=engine, **settings)
    plain = tiny.analysed(tiny.write_log(tmp_path / "plain"))
    for name in ("statistics", "correlations"):
        assert_frame_equal(found[name], plain[name])


def test_anchors_of_one_page_are_shown_as_written_with_the_option_that_tells_them_apart(tmp_path):
    log = tiny.write_log(tmp_path / "log", **with_fragments(""))
    line = tiny.refused(
        log, "3 contradict each other", "add --no-normalise-urls; otherwise correct the file, or choose"
    )
    for number, grade in enumerate((4, 2, 0)):
        assert f"'http://maps.example/#{number}' has grade {grade}" in line
    outcome = tiny.inside(*log.options(), "--conflicts", "max")
    lists = f"({tiny.ROWS} of {tiny.ROWS}) contain a result twice"
    example = "search “1” shows “http://maps.example/#0” and “http://maps.example/#1”."
    for words in (lists, "In all of these, differently written URLs normalise to the same URL.", example):
        assert words in outcome.out
    assert "add --no-normalise-urls" in outcome.out
    assert "Check the join" not in outcome.out
    assert tiny.funnel(log.out)["lists", "shortened", "URLs with one normal form"] == tiny.ROWS


@pytest.mark.parametrize(("other", "form"), [("#2", "the final slash"), ("#/2", None), ("#!2", None)])
def test_a_page_is_not_taken_for_another_one_that_its_fragment_names(other, form):
    shown = [f"https://www.a.example/{other.replace('2', '1')}", "http://b.example"]
    alike = alike_in_list(f"http://a.example{other}", shown)
    assert (alike is None) if form is None else (alike[0] == shown[0] and form in alike[1])
