"""Lists that show a result twice, clicks that name one twice: each counts once, and what differs is said."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

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


@pytest.mark.parametrize("misplaced", [0, 3])
def test_positions_of_other_results_than_the_urls_are_counted(tmp_path, misplaced):
    shown = dict(tiny.searches().select("search_id", "results").iter_rows())
    clicks = tiny.clicks()
    places = [shown[row["search_id"]].index(row["url"]) + 1 for row in clicks.to_dicts()]
    wrong = [place % 3 + 1 for place in places[:misplaced]]
    with_places = clicks.with_columns(position=pl.Series(wrong + places[misplaced:]))
    found = tables_of(tmp_path / "log", tiny.searches(), clicks=with_places)
    plain = tables_of(tmp_path / "plain", tiny.searches())
    assert found["funnel"].filter(source="positions")["rows"].to_list() == ([misplaced] if misplaced else [])
    assert_frame_equal(found["patterns"], plain["patterns"])
