"""A pattern table whose log is misread says so wherever it is made, in the words of `inspect`."""

import json

import polars as pl
import pytest

import clickassay as ca
from support.logs import tiny

FINDING = "Finding: 100.0% (18 of 18) of the clicks name an unknown search_id."
EXAMPLE = "For example, a click names search “"


@pytest.fixture(scope="module")
def misread(tmp_path_factory):
    """Return a log of whose 18 clicks none has a search."""
    clicks = tiny.clicks().with_columns(pl.col("search_id") + 1000)
    return tiny.write_log(tmp_path_factory.mktemp("misread"), clicks=clicks)


PLACES = {
    "a folder": ("--out",), "a folder, by SQL": ("--engine", "duckdb", "--out"),
    "a store": ("--store",), "a store, by SQL": ("--engine", "duckdb", "--store"),
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_a_log_whose_clicks_have_no_search_ends_as_a_finding(misread, tmp_path, place):
    log = ("--searches", misread.searches, "--clicks", misread.clicks, "--depth", "3")
    told = [tiny.inside("patterns", *log, *PLACES[place], tmp_path / "made")]
    if "store" in place:  # nothing is new: the store is still of the same log
        told.append(tiny.inside("patterns", *log, *PLACES[place], tmp_path / "made"))
    for one in told:
        lines = one.out.splitlines()
        assert lines[0].startswith(FINDING)
        assert EXAMPLE in lines[0]
        assert "Write search_id the same way in both tables" in lines[0]
        assert (one.code, lines[-1]) == (1, "status: problem found")
    assert lines[0] in tiny.inside("inspect", *log).out.splitlines()


def test_programs_are_told_as_they_are_of_a_run(misread, tmp_path):
    log = ("--searches", misread.searches, "--clicks", misread.clicks, "--depth", "3")
    made = tiny.inside("patterns", *log, "--out", tmp_path / "made", "--json")
    ran = tiny.inside(*misread.options(out=tmp_path / "run"), "--json")
    assert made.code == ran.code == 1
    (finding,) = json.loads(made.out)["health"]
    assert finding in json.loads(ran.out)["health"]
    assert finding["check"] == "unmatched_clicks"


def test_python_shows_the_same(misread):
    table = ca.pattern_table(misread.searches, misread.clicks, depth=[3], progress=False)
    assert [one.check for one in table.findings] == ["unmatched_clicks"]
    assert str(next(table.parts())).startswith(FINDING)


def test_a_check_that_is_off_says_nothing(misread):
    off = ["unmatched_clicks=off"]
    table = ca.pattern_table(misread.searches, misread.clicks, depth=[3], health_limit=off, progress=False)
    assert table.findings == ()
