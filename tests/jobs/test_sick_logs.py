"""What a log's health checks say of sick logs, and that they say nothing of their healthy neighbours."""

import polars as pl
import pytest

from clickassay.core.settings import Settings
from clickassay.health.checks import checked, checks_with
from clickassay.health.measures import list_numbers
from clickassay.jobs.health import in_order, log_measures
from clickassay.jobs.inputs import Sources, open_log
from clickassay.jobs.patterns import log_table
from clickassay.judgments.join import clicks_by_position
from clickassay.patterns.lists import log_lists
from support.logs import tiny
from support.logs.sick import NEIGHBOURS, SICK, healthy

SEARCHES, CLICKS = healthy()


def found_in(folder, change_searches, change_clicks, **more):
    searches, clicks = str(folder / "searches.parquet"), str(folder / "clicks.parquet")
    change_searches(SEARCHES).write_parquet(searches)
    change_clicks(CLICKS).write_parquet(clicks)
    settings = Settings(**more)
    inputs = open_log(Sources(searches, clicks), settings)
    table = log_table(inputs, settings)
    lists = log_lists(table)
    positions = list(clicks_by_position(lists, table.stored_depth))
    of_lists = checked(list_numbers(lists, positions, table.stored_depth), checks_with(settings.health_limit))
    found = (*in_order(log_measures(table, settings, inputs.log), settings), *of_lists)
    return [one for one in found if one.fires]


@pytest.mark.parametrize("name", SICK)
def test_a_sick_log_is_named(name, tmp_path):
    searches, clicks, expected, words = SICK[name]
    found = found_in(tmp_path, searches, clicks)
    assert {one.check: one.status for one in found} == expected
    said = " ".join(one.text for one in found)
    assert [word for word in words if word not in said] == []
    assert all(one.remedy for one in found)


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_nothing_is_said_of_its_healthy_neighbour(name, tmp_path):
    assert found_in(tmp_path, *NEIGHBOURS[name]) == []


def test_a_limit_moves_a_check_or_turns_it_off(tmp_path):
    searches, clicks, _, _ = SICK["a night without clicks"]
    assert found_in(tmp_path, searches, clicks, health_limit=("days_without_clicks=1",)) == []
    assert found_in(tmp_path, searches, clicks, health_limit=("days_without_clicks=off",)) == []


@pytest.mark.parametrize("name", ["60% of the ids broken", "a few ids broken"])
def test_the_number_is_that_of_the_clicks_that_were_broken(name, tmp_path):
    searches, clicks, _, _ = SICK[name]
    broken = int((clicks(CLICKS)["search_id"] != CLICKS["search_id"]).sum())
    (found,) = found_in(tmp_path, searches, clicks)
    assert found.value == broken / CLICKS.height
    assert f"({broken:,} of {CLICKS.height:,})" in found.sentence


@pytest.mark.parametrize(("markets", "fires"), [(20, False), (21, True)])
def test_more_than_twenty_markets_are_a_caution_with_some_of_their_names(tmp_path, markets, fires):
    names = [f"m{row % markets:02d}" for row in range(tiny.ROWS)]
    log = tiny.write_log(tmp_path, searches=tiny.searches().with_columns(market=pl.Series(names)))
    health = tiny.analysed(log)["health"].row(by_predicate=pl.col("check") == "many_markets", named=True)
    assert (health["value"], health["status"]) == (markets, "caution" if fires else "ok")
    assert ("'m00', 'm01', 'm02'" in health["sentence"]) == fires


def test_a_market_that_is_called_as_all_markets_are_is_refused_if_there_is_another(tmp_path):
    rows = tiny.searches().with_row_index("row")
    name = pl.when(pl.col("row") % 2 == 0).then(pl.lit("all")).otherwise(pl.lit("uk"))
    log = tiny.write_log(tmp_path, searches=rows.with_columns(market=name).drop("row"))
    told = "searches: a market is called 'all', which means all markets combined; rename this market"
    assert told in tiny.refused(log)
    looked_at = tiny.inside("inspect", log.folder, "--depth", "3")
    assert (looked_at.code, told in looked_at.out + looked_at.err) == (1, True)
