"""Click models of grades: planted values are recovered, and intervals have their stated coverage."""

from functools import partial

import numpy as np
import polars as pl
import pytest
from scipy.special import logit
from scipy.stats import t as student_t

from clickassay.click_models.by_grade import GROUPS, grade_log, grade_values
from clickassay.click_models.cascade import CascadeModel
from clickassay.click_models.catalogue import click_models
from clickassay.click_models.click_log import ClickLog
from clickassay.click_models.factorised import FactorisedModel
from clickassay.click_models.model import Response
from support.logs.click_logs import documents
from support.logs.drawn_clicks import simulate
from support.places import ROOT

ATTRACTION = np.array([0.1, 0.2, 0.4, 0.5, 0.8])
SATISFACTION = np.array([0.2, 0.3, 0.4, 0.6, 0.9])
EXAMINATION = np.array([1.0, 0.8, 0.6, 0.5, 0.4])


def planted(model, rng, *, queries=400, sessions=20_000):
    """Return lists of grades, the query of each, and its drawn patterns."""
    grades = rng.integers(0, 5, (2 * queries, 5))
    drawn = simulate(model, grades, np.sort(rng.integers(0, len(grades), sessions)), documents(5), rng)
    patterns = pl.DataFrame({"n": drawn.rows, "click_mask": drawn.masks, "sessions": drawn.sessions})
    return grades, np.arange(len(grades)) // 2, patterns


def fitted(name, grades, queries, patterns, max_grade=4):
    (kind,) = click_models([name])
    return grade_values(grade_log(grades, queries, patterns, max_grade=max_grade), kind.fit)


def dbn(gamma=0.9):
    return CascadeModel(ATTRACTION, SATISFACTION, (gamma * (1 - SATISFACTION))[:, None], gamma, {}, 0)


def test_planted_attraction_and_satisfaction_of_grades_are_recovered():
    found = fitted("DBN", *planted(dbn(), np.random.default_rng(1), sessions=200_000))
    assert found.model.attraction == pytest.approx(ATTRACTION, abs=0.01)
    assert found.model.satisfaction == pytest.approx(SATISFACTION, abs=0.05)
    assert np.all(found.low < ATTRACTION * SATISFACTION)
    assert np.all(found.high > ATTRACTION * SATISFACTION)


@pytest.mark.thorough
def test_intervals_have_their_stated_coverage():
    model = FactorisedModel(ATTRACTION, np.repeat(EXAMINATION[:, None], 5, axis=1), 0)
    held = []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        found = fitted("PBM", *planted(model, rng, queries=100, sessions=4_000))
        held.append((found.low <= ATTRACTION) & (found.high >= ATTRACTION))
    assert 0.92 < np.mean(held) < 0.98  # 600 of them, not independent
    page = (ROOT / "docs" / "reference" / "click-models.md").read_text(encoding="utf-8")
    assert f"in 120 simulated logs of PBM they covered {np.mean(held):.0%}" in page


def test_lists_of_the_same_grades_count_together_and_no_session_is_lost():
    grades = np.array([[0, 1], [0, 1], [1, 0]])
    patterns = pl.DataFrame(
        {"n": [0, 1, 1, 2], "fold": [0, 0, 1, 0], "click_mask": [1, 1, 1, 2], "sessions": [3, 4, 5, 6]}
    )
    log = grade_log(grades, np.zeros(3, dtype=np.int64), patterns, max_grade=2).log
    assert log.lists.tolist() == [[0, 1], [1, 0]]
    assert (log.rows.tolist(), log.masks.tolist(), log.sessions.tolist()) == ([0, 1], [1, 2], [12, 6])
    assert log.impressions().tolist() == [18, 18, 0]


def test_the_model_of_grades_is_that_of_a_log_whose_documents_are_grades():
    grades, queries, patterns = planted(dbn(), np.random.default_rng(2), sessions=3_000)
    rows, masks, sessions = (patterns[name].to_numpy() for name in patterns.columns)
    (kind,) = click_models(["DBN"])
    whole = kind.fit(ClickLog(grades, rows, masks, sessions, documents(5))).model
    found = fitted("DBN", grades, queries, patterns).model
    assert found.attraction == pytest.approx(whole.attraction, abs=1e-6)
    assert found.satisfaction == pytest.approx(whole.satisfaction, abs=1e-4)


def test_queries_are_left_out_whole_and_one_query_gives_no_interval():
    grades, queries, patterns = planted(dbn(), np.random.default_rng(3), queries=GROUPS + 5, sessions=2_000)
    log = grade_log(grades, queries, patterns, max_grade=4)
    assert len(np.unique(log.groups)) == GROUPS
    alone = fitted("PBM", grades, np.zeros_like(queries), patterns)
    assert np.isnan(alone.low).all()
    assert np.isfinite(alone.model.attraction).all()


def test_a_grade_that_is_never_shown_has_no_interval():
    grades, queries, patterns = planted(dbn(), np.random.default_rng(4), sessions=2_000)
    found = fitted("PBM", grades, queries, patterns, max_grade=6)
    assert found.impressions[5:].tolist() == [0, 0]
    assert np.isnan(found.low[5:]).all()
    assert np.isfinite(found.low[:5]).all()


@pytest.mark.parametrize("name", ["SDBN", "DBN", "PBM", "CCM"])
def test_intervals_are_those_of_fits_to_the_end_without_each_group(name):
    grades, queries, patterns = planted(dbn(), np.random.default_rng(5), sessions=5_000)
    log = grade_log(grades, queries, patterns, max_grade=4)
    (kind,) = click_models([name])
    found = grade_values(log, kind.fit)
    fit = partial(kind.fit, tolerance=1e-13, rounds=3000)
    parts = [log.log.some(log.groups[log.log.rows] != group) for group in np.unique(log.groups)]
    without = np.array([logit(fit(part).model.relevance) for part in parts])
    error = np.sqrt((GROUPS - 1) / GROUPS * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    width = logit(found.high) - logit(found.low)
    assert width == pytest.approx(2 * student_t.ppf(0.975, GROUPS - 1) * error, rel=2e-3)


def test_a_fit_that_no_response_leads_to_is_reached_by_rounds():
    grades, queries, patterns = planted(dbn(), np.random.default_rng(6), sessions=3_000)
    log = grade_log(grades, queries, patterns, max_grade=4).log
    (kind,) = click_models(["DBN"])
    alone = kind.fit(log)
    size = 2 * 5 + 1
    led_astray = kind.fit(log, near=Response(np.full(size, 0.5), -100 * np.eye(size)))
    assert led_astray.objectives == alone.objectives
    assert led_astray.model.relevance.tolist() == alone.model.relevance.tolist()
