"""The laws of the planted worlds, found again by the whole pipeline on small logs.

In an exact world the mean of a click metric of a configuration is its law's offline metric times a
factor, so the two correlate perfectly but for the noise of a finite number of sessions.
"""

import math

import polars as pl
import pytest

from clickassay.core.settings import load_settings
from clickassay.inputs.simulate.worlds import WORLDS
from clickassay.jobs.analyse import analyse
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns
from clickassay.metrics.clicks import CLICK_METRICS
from support.logs.small_logs import simulated

EXACT = [name for name, world in WORLDS.items() if world.law.editorial_metric]
CHANCE = 3.5  # standard errors: 70 pairs pass this by chance in 97 of 100 logs; the seed is fixed


@pytest.fixture(scope="module")
def run_of(tmp_path_factory):
    """Return a function that simulates a world and analyses its log; each world once."""
    runs = {}

    def run(world):
        if world not in runs:
            log = simulated(
                tmp_path_factory.mktemp(world) / "log", world, searches=60_000, queries=30, seed=5
            )
            chosen = load_settings(iterations=200, depth=[5, 10], click_models=("NONE",))
            table = log_to_patterns(Sources(log["searches"], log["clicks"]), chosen)
            runs[world] = analyse(table, Sources(judgments=log["judgments"], queries=log["queries"]), chosen)
        return runs[world]

    return run


def overall(frame, depth, click_metric):
    """Return the unsplit correlations of a click metric, highest first."""
    rows = frame.filter(pl.col("split") == "all", depth=depth, click_metric=click_metric)
    return rows.sort("correlation", descending=True, nulls_last=True)


def test_four_worlds_have_an_exact_law():
    assert sorted(EXACT) == ["cascade", "dcg", "rbp", "rr"]


@pytest.mark.parametrize("depth", [5, 10])
@pytest.mark.parametrize("world", EXACT)
def test_the_pair_of_the_law_correlates_and_comes_first(run_of, world, depth):
    law = WORLDS[world].law
    row = overall(run_of(world)["correlations"], depth, law.click_metric)
    assert row["correlation"][0] > 0.95
    first = row.filter(pl.col("correlation") > row["correlation"][0] - 1e-12)["editorial_metric"].to_list()
    assert law.editorial_metric in first


@pytest.mark.parametrize("world", EXACT)
def test_the_means_of_the_law_lie_on_a_line_through_zero_with_its_factor(run_of, world):
    law = WORLDS[world].law
    rows = run_of(world)["configurations"].filter(depth=10)
    weighted = {
        name: float((rows[name] * rows["n_sessions"]).sum())
        for name in (law.click_metric, law.editorial_metric)
    }
    assert weighted[law.click_metric] == pytest.approx(law.factor * weighted[law.editorial_metric], rel=0.03)


@pytest.mark.parametrize("world", EXACT)
def test_the_law_is_found_between_two_rankers_and_taking_noise_out_comes_nearer_to_it(run_of, world):
    law = WORLDS[world].law
    pair = {"depth": 10, "click_metric": law.click_metric, "editorial_metric": law.editorial_metric}
    (row,) = run_of(world)["differences"].filter(**pair).iter_rows(named=True)
    assert row["exact"] > 0.8
    corrected = 1.0 if row["noise_corrected"] is None else row["noise_corrected"]
    assert corrected >= row["exact"] - 1e-9
    assert abs(corrected - 1) <= 0.05


def test_max_rr_is_rr_exactly_where_users_click_the_first_relevant_result(run_of):
    rows = run_of("rr")["configurations"].filter(depth=10)
    assert rows["MaxRR"].to_list() == pytest.approx(rows["RR"].to_list(), abs=1e-12)


@pytest.mark.parametrize("depth", [5, 10])
def test_clicks_that_heed_nothing_correlate_with_nothing_beyond_chance(run_of, depth):
    rows = run_of("null")["differences"].filter(pl.col("click_metric") != "SS", depth=depth)
    assert rows.height > 30
    for row in rows.iter_rows(named=True):
        standard_error = (row["ci_high"] - row["ci_low"]) / (2 * 1.96)
        assert math.fabs(row["exact"]) < CHANCE * standard_error, (
            row["click_metric"],
            row["editorial_metric"],
        )


def test_success_finds_something_even_there_because_it_looks_at_the_grades(run_of):
    rows = run_of("null")["differences"].filter(click_metric="SS", depth=10)
    assert rows.filter(editorial_metric="DCG")["ci_low"].item() > 0.2


def test_every_session_of_an_exact_world_is_a_search_and_is_judged(run_of):
    for world in EXACT:
        statistics = run_of(world)["statistics"]
        assert statistics["n_sessions"].to_list() == [60_000, 60_000]
        assert statistics["coverage"].to_list() == [1.0, 1.0]


def test_the_web_has_no_exact_law_but_its_clicks_tell_something(run_of):
    rows = run_of("web")["correlations"].filter(pl.col("split") == "all", depth=5)
    assert set(rows["market"]) == {"north", "south"}
    assert rows.filter(pl.col("click_metric").is_in(CLICK_METRICS[:3]))["correlation"].max() < 0.95
    assert rows.filter(click_metric="MeanRR", editorial_metric="ERR")["ci_low"].min() > 0
