"""What the checks say of judgments that do not fit a log or a scale, and nothing of those just below."""

import polars as pl
import pytest

from clickassay.core.settings import Settings
from clickassay.health.checks import BY_NAME, checked
from clickassay.health.measures import order_numbers, order_words
from clickassay.jobs.health import log_measures, whole_health
from clickassay.jobs.inputs import Sources, open_log
from clickassay.jobs.patterns import log_table
from clickassay.judgments.prepare import judged_queries, prepare_judgments
from clickassay.patterns.lists import log_lists
from tests.support.logs.sick import SICK, healthy
from tests.support.logs.sick_judgments import SICK_JUDGMENTS, WELL_JUDGED, healthy_judgments

SEARCHES, CLICKS = healthy()
JUDGMENTS = healthy_judgments()
OF_TIME = {"no_idle_gaps", "standing_time", "silent_hours"}  # tests/unit/health
BY_ORDER = {"reversed_grades"}  # below
OF_ATTRIBUTES = {"no_query_attributes"}  # test_overlap_of_small_logs
OF_IDS = {"positions_from_zero", "ambiguous_clicks"}  # tests/unit/health
OF_ROWS = {"times_without_zone", "many_markets", "repeated_results", "misplaced_clicks"}  # by their own tests


def found_in(folder, change_searches, change_judgments):
    searches, clicks = str(folder / "searches.parquet"), str(folder / "clicks.parquet")
    change_searches(SEARCHES).write_parquet(searches)
    CLICKS.write_parquet(clicks)
    settings = Settings()
    table = log_table(open_log(Sources(searches, clicks), settings), settings)
    rows = change_judgments(JUDGMENTS).with_columns(judge=pl.lit("all"), market=pl.lit("all"))
    queries = pl.concat(table.queries)
    graded = prepare_judgments(rows, queries, settings, by_market=False)
    judged = judged_queries(rows, by_market=False)
    found = whole_health(log_measures(table, settings), table, log_lists(table), (graded, judged), settings)
    of_clicks = {"clicks_elsewhere", "flat_clicks"}  # clicks keep their URLs where lists change theirs
    return [one for one in found if one.fires and one.check not in of_clicks]


@pytest.mark.parametrize("name", SICK_JUDGMENTS)
def test_what_is_wrong_with_judgments_is_named(name, tmp_path):
    searches, judgments, expected, words = SICK_JUDGMENTS[name]
    found = found_in(tmp_path, searches, judgments)
    assert {one.check: one.status for one in found} == expected
    said = " ".join(one.text for one in found)
    assert [word for word in words if word not in said] == [], said


@pytest.mark.parametrize("name", WELL_JUDGED)
def test_nothing_is_said_of_judgments_just_below(name, tmp_path):
    assert found_in(tmp_path, *WELL_JUDGED[name]) == []


def test_every_check_has_a_log_that_fires_it():
    fired = {name for _, _, expected, _ in (*SICK.values(), *SICK_JUDGMENTS.values()) for name in expected}
    assert fired | OF_TIME | BY_ORDER | OF_ATTRIBUTES | OF_IDS | OF_ROWS == set(BY_NAME)


@pytest.mark.parametrize(("high", "status"), [(-0.01, "finding"), (0.01, "ok")])
def test_a_scale_that_runs_the_other_way_is_named_with_its_labels(high, status):
    scale = ("perfect", "good", "bad")
    words = order_words(pl.Series([2, 0, 2, 1]), scale)
    assert words == "the grades seen are 0 (perfect), 1 (good) and 2 (bad), read as worst to best"
    (found,) = checked(order_numbers(20, -0.3, -0.5, high, words))
    assert found.status == status
    if status == "finding":
        assert "0 (perfect), 1 (good) and 2 (bad), read as worst to best" in found.sentence
        assert "worst first in --scale" in found.remedy.replace("`", "")


def test_grades_without_labels_are_named_by_number():
    assert order_words(pl.Series([7, 0]), ()) == "the grades seen are 0 and 7, read as worst to best"
