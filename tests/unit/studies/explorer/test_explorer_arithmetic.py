"""The steps of every metric give the value in the run, and are those of the papers."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clickassay.core.errors import SettingsError
from clickassay.core.settings import Settings
from clickassay.metrics.catalogue import BASELINES, METRICS, MODEL_METRICS, editorial_values
from clickassay.metrics.clicks import CLICK_METRICS, good_masks
from clickassay.metrics.editorial import EDITORIAL, EDITORIAL_METRICS, PLAIN
from clickassay.metrics.names import parse
from clickassay.metrics.ranked import RANKED, P
from clickassay.studies.explorer.arithmetic import (
    GradedConfiguration,
    click_arithmetic,
    editorial_arithmetic,
    positions,
)
from clickassay.studies.explorer.read import ExploredRun, configuration, explored_run, points, query_labels
from support.runs.sample_run import sample

OF_GRADES = [metric for metric in METRICS if metric in (*EDITORIAL, *PLAIN, P)]
WITHOUT_STEPS = [
    *("RBP(rel=3)@2", "AP(over='cut')@2", "DCG(dcg='log2')@2", "IPrec@0.1"),
    *(f"{metric.name}@2" for metric in RANKED if metric != P and metric.at is None),
]
TAKEN = 25
"""Configurations of each market and depth that are looked at: some of the heaviest, some of the lightest."""


GIVEN = ("DCG(gains='0 1 2 5 9')", "ERR(gains='0 0.1 0.2 0.5 1',utilities='1 0.8 0.7')")


def taken(run: ExploredRun):
    for key in run.keys:
        labels = query_labels(run, key)
        ids = points(run, key, click_metric="MeanRR", editorial_metric="ERR", members=None)[
            "configuration_id"
        ]
        for identity in (*ids.head(TAKEN), *ids.tail(TAKEN)):
            yield configuration(run, key, identity, labels)


@pytest.fixture(scope="module")
def run():
    return explored_run(sample(), 1)


@pytest.fixture(scope="module")
def every(run):
    return tuple(taken(run))


def spelled(name, grades, stored=0.0, seen=(0,) * 5, **settings):
    """Return the steps of a metric of one list, which has the value `stored` in the run."""
    graded = GradedConfiguration(np.array(grades), np.array(seen), {name: stored})
    return editorial_arithmetic(name, graded, Settings(**settings))


@pytest.mark.parametrize("name", [*EDITORIAL_METRICS, *BASELINES])
def test_the_steps_of_an_editorial_metric_reach_the_value_of_the_run(run, every, name):
    for shown in every:
        graded = GradedConfiguration(shown.grades, shown.seen, shown.values)
        steps = editorial_arithmetic(name, graded, run.finished.settings)
        assert steps.value == pytest.approx(shown.values[name], abs=1e-12), shown.identity


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
    spellings = [
        metric.name,
        *(
            f"{metric.name}({own[item.name]})"
            for item in metric.parameters
            if item.name in own and (metric.name, item.name) != ("RBP", "rel")
        ),
    ]
    for spelling in (*spellings, f"{spellings[-1]}@1"):
        name = str(parse(spelling, METRICS))
        measures = (parse(name, METRICS),)
        (known,) = editorial_values(np.array([grades]), None, Settings(pool="shown"), measures)[1][0]
        steps = spelled(name, grades, known, pool="shown")
        assert steps.value == pytest.approx(known, abs=1e-12)
        assert steps.note == ""


@pytest.mark.parametrize("name", WITHOUT_STEPS)
def test_a_measure_without_written_steps_shows_the_grades_and_the_run_s_value(name):
    metric = parse(name, METRICS).metric
    shown = spelled(name, [3, 2, 4], 0.3)
    assert (shown.value, shown.steps.columns) == (0.3, ["rank", "grade"])
    assert shown.steps.height == (3 if metric.at else 2)
    assert metric.source in shown.note


@pytest.mark.parametrize("metric", MODEL_METRICS, ids=lambda metric: metric.name)
def test_what_a_click_model_expects_is_shown_as_the_run_has_it(metric):
    name = f"{metric.name}@2"
    shown = spelled(name, [3, 2, 4], 0.3)
    assert (shown.value, shown.steps["grade"].to_list()) == (0.3, [3, 2])
    assert "does not keep it" in shown.note


def test_the_worked_example_of_err_has_the_published_steps():
    steps = spelled("ERR", [3, 2, 4], pool="shown").steps
    expected = [7 / 16, 1 / 2 * 3 / 16 * 9 / 16, 1 / 3 * 15 / 16 * 13 / 16 * 9 / 16]
    assert steps["product"].to_list() == pytest.approx(expected)
    assert steps["reaches it"].to_list() == pytest.approx([1, 9 / 16, 9 / 16 * 13 / 16])


def test_the_steps_of_given_gains_say_what_each_grade_is_worth():
    of_dcg, of_err = (spelled(name, [3, 2, 4], pool="shown") for name in GIVEN)
    assert of_dcg.formula == "Σ gain(g) / log2(rank + 1), gain(0..4) = 0, 1, 2, 5, 9"
    assert of_dcg.steps["gain"].to_list() == [5, 2, 9]
    assert of_err.formula == "Σ φ(rank) · R(g) · Π above (1 - R), R(0..4) = 0, 0.1, 0.2, 0.5, 1"
    assert of_err.steps["φ(rank)"].to_list() == [1, 0.8, 0.7]
    assert of_err.steps["product"].to_list() == pytest.approx([0.5, 0.8 * 0.2 * 0.5, 0.7 * 0.5 * 0.8])


def test_the_steps_of_ndcg_show_the_ideal_list_where_the_run_knows_it():
    # grades 0, 3 of a query whose results have grades 4, 3, 0: DCG = 7 / log2(3), ideal = 15 + 7 / log2(3)
    second = 7 / math.log2(3)
    steps = spelled("NDCG", [0, 3], second / (15 + second), [1, 0, 0, 1, 1])
    assert steps.steps["ideal grade"].to_list() == [4, 3]
    assert dict(steps.totals)["ideal DCG"] == pytest.approx(15 + second)
    assert steps.note == ""


def test_what_only_all_judgments_tell_is_worked_out_backwards_and_said_so():
    # one of four relevant results is shown, at rank 2: AP = (1/2) / 4
    steps = spelled("AP", [0, 3], 1 / 8, [1, 0, 0, 1, 0])
    assert dict(steps.totals)["R"] == 4
    assert "computed backwards" in steps.note


@pytest.mark.parametrize("name", ["AP", "NDCG"])
def test_a_value_of_nothing_does_not_pretend_to_know_what_it_is_divided_by(name):
    steps = spelled(name, [0, 0], 0.0, [2, 0, 0, 0, 0])
    assert steps.value == 0
    assert "does not matter" in steps.note
    assert len(steps.totals) == 2


def test_steps_that_miss_the_value_of_the_run_are_not_bent_to_it():
    assert spelled("ERR", [4], 0.5, [0, 0, 0, 0, 1]).value == 15 / 16


@pytest.mark.parametrize("name", ["MaxRR", "MinRR", "MeanRR", "PLC", "QCTR", "UCTR"])
def test_what_is_spelled_out_of_a_pattern_is_its_value(name):
    masks = np.arange(1 << 6, dtype=np.int64)
    steps = click_arithmetic(name, masks, np.ones(64, dtype=np.int64), 0).steps
    for words, value in steps.select("computed", name).iter_rows():
        assert float(worked_out(words)) == pytest.approx(value)


def worked_out(words: str) -> Fraction:
    """Read ``(1/2 + 1/3) / 2`` or ``2/3``."""
    if words.startswith("("):
        inside, _, count = words[1:].partition(") / ")
        return sum(map(Fraction, inside.split(" + ")), Fraction(0)) / int(count)
    return Fraction(words)


def test_a_search_succeeds_where_a_click_meets_a_good_result():
    steps = click_arithmetic("SS", np.array([0, 1, 2, 3]), np.array([4, 3, 2, 1]), good=0b10).steps
    said = dict(steps.select("clicked", "computed").iter_rows())
    assert said == {"nothing": "0", "1": "0 (none good)", "2": "1 (good at 2)", "1, 2": "1 (good at 2)"}
    assert steps["SS"].to_list() == [0, 0, 1, 1]


def test_positions_of_a_mask_count_from_one():
    assert positions(0) == []
    assert positions(0b1000000101) == [1, 3, 10]


def test_a_metric_without_steps_is_refused_by_name():
    with pytest.raises(SettingsError, match="no steps of a click metric CTR; known are UCTR"):
        click_arithmetic("CTR", np.array([0]), np.array([1]), 0)
    with pytest.raises(SettingsError, match="unknown metric MAP"):
        spelled("MAP", [0])


def test_every_session_of_a_page_is_in_its_patterns(every):
    patterns = pl.read_parquet(sample() / "patterns.parquet")
    for shown in every[:10]:
        own = patterns.filter(configuration_id=shown.identity)
        assert shown.clicks().tolist() == [
            sum(n for mask, n in own.select("click_mask", "sessions").iter_rows() if mask >> place & 1)
            for place in range(len(shown.grades))
        ]
