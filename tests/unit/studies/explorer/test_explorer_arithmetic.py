"""The steps of every metric give the value in the run, and are those of the papers."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clickassay.core.settings import Settings
from clickassay.metrics.catalogue import BASELINES, METRICS, editorial_values
from clickassay.metrics.clicks import CLICK_METRICS, good_masks
from clickassay.metrics.editorial import EDITORIAL_METRICS
from clickassay.metrics.names import parse
from clickassay.studies.explorer.arithmetic import click_arithmetic, editorial_arithmetic
from clickassay.studies.explorer.page import View, configuration, explored_run, points
from support.runs.sample_run import sample

OF_GRADES = [metric for metric in METRICS if {*metric.needs} <= {"grades", "pool", "size", "deepest"}]
OTHERS = [metric for metric in METRICS if metric not in OF_GRADES]
TAKEN = 8
"""Configurations of each market and depth that are looked at: some of the heaviest, some of the lightest."""


@pytest.fixture(scope="module")
def run():
    return explored_run(sample(), 1)


@pytest.fixture(scope="module")
def every(run):
    found = []
    for key in run.finished.samples:
        ids = points(run, View(key, "MeanRR", "ERR"))["configuration_id"]
        found += [configuration(run, key, identity) for identity in (*ids.head(TAKEN), *ids.tail(TAKEN))]
    return found


def spelled(name, grades, stored=0.0, seen=(0,) * 5, **settings):
    """Return the steps of a metric of one list, which has the value `stored` in the run."""
    return editorial_arithmetic(name, np.array(grades), np.array(seen), stored, Settings(**settings))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*EDITORIAL_METRICS, *BASELINES])
def test_the_steps_of_an_editorial_metric_reach_the_value_of_the_run(run, every, name):
    for shown in every:
        stored = shown.values[name]
        steps = editorial_arithmetic(name, shown.grades, shown.seen, stored, run.finished.settings)
        assert steps.value == pytest.approx(stored, abs=1e-12), shown.identity


@pytest.mark.parametrize("name", CLICK_METRICS)
def test_the_steps_of_a_click_metric_reach_the_value_of_the_run(run, every, name):
    for shown in every:
        (good,) = good_masks(shown.grades[None], run.finished.settings)
        steps = click_arithmetic(name, shown.masks, shown.mask_sessions, good)
        assert steps.value == pytest.approx(shown.values[name], abs=1e-12), shown.identity
        assert steps.steps["sessions"].sum() == shown.sessions


@pytest.mark.parametrize("metric", OF_GRADES, ids=lambda metric: metric.name)
@given(grades=st.lists(st.integers(0, 4), min_size=1, max_size=10))
def test_the_steps_of_every_metric_of_the_catalogue_reach_its_function_on_any_list(metric, grades):
    own = {
        "rel": "rel=1",
        "gamma": "gamma=0.7",
        "gains": "gains='0.1 0.2 0.2 0.7 1'",
        "utilities": "utilities='1 0.7 0.8 0.5 0.4 0.3 0.3 0.2 0.1 0'",
    }
    given_names = [f"{metric.name}({own[one.name]})" for one in metric.parameters if one.name in own]
    for spelling in (metric.name, *given_names, f"{metric.name}@1"):
        if metric.at is not None and spelling != f"{metric.name}@1":
            continue
        measure = parse(spelling, METRICS)
        (known,) = editorial_values(np.array([grades]), None, Settings(pool="shown"), (measure,))[1][0]
        steps = spelled(str(measure), grades, known, pool="shown")
        assert steps.value == pytest.approx(known, abs=1e-12)
        assert steps.note == ""


@pytest.mark.parametrize("name", [*(metric.name for metric in OTHERS if metric.at is None), "our_score"])
def test_what_has_no_function_of_the_grades_is_shown_as_the_run_has_it(name):
    shown = spelled(name, [3, 2], 0.3)
    assert (shown.value, shown.steps.columns) == (0.3, ["rank", "grade"])


def test_the_worked_example_of_err_has_the_published_steps():
    steps = spelled("ERR", [3, 2, 4], pool="shown")
    assert steps.formula == "sum over ranks r of (1/r) R(gr) prod_{i<r} (1 - R(gi))"
    chances = [7 / 16, 3 / 16, 15 / 16]
    assert steps.steps["alone at rank 1"].to_list() == chances
    assert steps.steps["alone at its rank"].to_list() == pytest.approx([7 / 16, 3 / 32, 15 / 48])
    expected = [7 / 16, 1 / 2 * 3 / 16 * 9 / 16, 1 / 3 * 15 / 16 * 13 / 16 * 9 / 16]
    assert steps.steps["adds below those above"].to_list() == pytest.approx(expected)
    assert steps.steps["so far"].to_list() == pytest.approx(np.cumsum(expected).tolist())


def test_what_a_list_of_nothing_is_worth_stands_apart():
    steps = spelled("DCG(gains='1 2 3 4 5')", [0, 2], pool="shown")
    nothing = 1 + 1 / math.log2(3)
    assert steps.totals[0] == ("all results of grade 0", pytest.approx(nothing))
    assert steps.value == pytest.approx(nothing + 2 / math.log2(3))


def test_the_steps_of_ndcg_are_shares_of_the_ideal_list_where_the_run_knows_it():
    # grades 0, 3 of a query whose results have grades 4, 3, 0: DCG = 7 / log2(3), ideal = 15 + 7 / log2(3)
    second = 7 / math.log2(3)
    steps = spelled("NDCG", [0, 3], second / (15 + second), [1, 0, 0, 1, 1])
    assert steps.steps["alone at rank 1"][1] == pytest.approx(7 / (15 + second))
    assert steps.note == ""


def test_what_only_all_judgments_tell_is_taken_from_the_run_and_said_so():
    # one of four relevant results is shown, at rank 2: AP = (1/2) / 4; with those shown alone it were 1/2
    steps = spelled("AP", [0, 3], 1 / 8, [1, 0, 0, 1, 0])
    assert steps.value == 1 / 8
    assert "By these it would be 0.5: all steps are 0.25 times theirs." in steps.note


def test_steps_that_miss_the_value_of_the_run_are_not_bent_to_it():
    assert spelled("ERR", [4], 0.5, [0, 0, 0, 0, 1]).value == 15 / 16


def test_a_search_succeeds_where_a_click_meets_a_good_result():
    steps = click_arithmetic("SS", np.array([0, 1, 2, 3]), np.array([4, 3, 2, 1]), good=0b10).steps
    assert dict(steps.select("clicked", "SS").iter_rows()) == {"nothing": 0, "1": 0, "2": 1, "1, 2": 1}


def test_every_session_of_a_page_is_in_its_patterns(every):
    patterns = pl.read_parquet(sample() / "patterns.parquet")
    for shown in every[:10]:
        own = patterns.filter(configuration_id=shown.identity)
        assert shown.rows["clicks"].to_list() == [
            sum(n for mask, n in own.select("click_mask", "sessions").iter_rows() if mask >> place & 1)
            for place in range(len(shown.grades))
        ]
