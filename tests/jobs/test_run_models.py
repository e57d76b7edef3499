"""Click models as a stage of a run: a cell for each market and depth, drawn where there are many lists."""

import polars as pl
import pytest

from clickassay.click_models.catalogue import click_models
from clickassay.core.settings import load_settings
from clickassay.jobs import click_models as run_models
from clickassay.jobs.analyse import analyse
from clickassay.jobs.click_models import ClickedLists, compare_models
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns
from support.logs.small_logs import simulated

TABLES = ("click_models", "click_positions", "click_grades")


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return simulated(tmp_path_factory.mktemp("run-models") / "log", searches=6_000, queries=40)


def analysed(log, **settings):
    options = load_settings(iterations=10, **settings)
    table = log_to_patterns(Sources(log["searches"], log["clicks"]), options)
    return analyse(table, Sources(judgments=log["judgments"]), options)


@pytest.fixture(scope="module")
def found(log):
    return analysed(log)


def test_every_market_and_depth_has_its_models(found):
    cells = found["statistics"].select("market", "depth").unique().sort("market", "depth")
    for name in TABLES:
        assert found[name].select("market", "depth").unique().sort("market", "depth").equals(cells), name
    assert found["click_models"]["model"].unique().sort().to_list() == ["DBN", "PBM", "UBM"]
    places = found["click_positions"].group_by("depth").agg(pl.col("position").max()).rows()
    assert sorted(places) == [(5, 5), (10, 10)]
    assert found["click_grades"]["grade"].unique().sort().to_list() == [0, 1, 2, 3, 4]
    assert found["click_grades"]["model"].unique().to_list() == ["DBN"]


def test_rankings_are_held_out_at_the_greatest_depth_of_each_market(found):
    held_out, statistics = found["click_held_out"], found["statistics"]
    deepest = statistics.group_by("market").agg(pl.col("depth").max()).sort("market")
    assert held_out.select("market", "depth").unique().sort("market").rows() == deepest.rows()
    assert set(held_out["model"]) >= {"DBN", "PBM", "UBM"}
    told = held_out.filter(pl.col("reason").is_null())
    assert told.group_by("market", "click_metric").agg(pl.col("is_best").sum())["is_best"].to_list() == [
        1
    ] * (told.select("market", "click_metric").n_unique())
    best = held_out.drop_nulls("correlation").filter(behind=0).select("market", "click_metric", "model")
    tenths = found["click_calibration"]
    assert tenths.join(best, on=("market", "click_metric", "model"), how="anti").is_empty()


def test_models_are_those_of_the_command_on_the_same_lists(found):
    rows = found["configurations"].filter(market="north", depth=5)
    lists = rows.select("market", "configuration_id", "query", "results").sort("configuration_id")
    _, tables = compare_models(
        ClickedLists(lists, found["patterns"], 5),
        click_models(["PBM"]),
        pseudo_count=1,
        held_out=0.25,
        seed=0,
        market="north",
    )
    own = {"market": "north", "depth": 5, "model": "PBM"}
    for name, table in tables.items():
        assert found[name].filter(**own).equals(table), name


def test_models_that_know_no_satisfaction_are_asked_where_there_is_no_other(log):
    grades = analysed(log, click_models=("GCTR", "PBM", "UBM"))["click_grades"]
    assert grades["model"].unique().sort().to_list() == ["PBM", "UBM"]
    assert grades["attraction"].equals(grades["relevance"].rename("attraction"))


def test_where_lists_are_many_whole_queries_are_drawn_by_the_seed(log, found, monkeypatch):
    monkeypatch.setattr(run_models, "MOST_LISTS", 60)
    some = [analysed(log, seed=seed)["click_models"].filter(market="north", depth=5) for seed in (1, 1, 2)]
    whole = found["click_models"].filter(market="north", depth=5)
    assert some[0].equals(some[1])
    assert not some[0].equals(some[2])
    for one in some:
        assert 0 < one["n_fitted"][0] < 0.7 * whole["n_fitted"][0]


def test_a_query_with_more_lists_than_that_is_drawn_alone(log, monkeypatch):
    monkeypatch.setattr(run_models, "MOST_LISTS", 1)
    one = analysed(log)
    assert (one["click_models"]["n_fitted"] > 0).all()
    assert (one["click_grades"].group_by("market", "depth", "grade").len()["len"] == 1).all()


def test_a_market_in_which_nothing_was_clicked_says_so_and_the_others_have_models(log, tmp_path):
    options = load_settings(iterations=10, depth=[5])
    table = log_to_patterns(Sources(log["searches"], log["clicks"]), options)
    south = table.configurations.filter(market="south")["configuration_id"].implode()
    silent = pl.when(pl.col("configuration_id").is_in(south)).then(0).otherwise("click_mask")
    patterns = table.patterns.with_columns(silent.cast(pl.Int64).alias("click_mask"))
    summed = patterns.group_by("configuration_id", "fold", "click_mask").agg(pl.col("sessions").sum())
    unclicked = type(table)(table.configurations, summed, table.queries, table.funnel, table.info)
    models = analyse(unclicked, Sources(judgments=log["judgments"]), options)["click_models"]
    assert models.filter(market="north")["perplexity"].null_count() == 0
    assert models.filter(market="south")["perplexity"].null_count() == 3
    assert "click" in models.filter(market="south")["reason"][0]
