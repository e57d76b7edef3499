"""Examination from results at several positions: truth, error, an oracle, and where there is none."""

import numpy as np
import polars as pl
import pytest
from statsmodels.api import GLM, families

from clickassay.click_models.click_log import NO_DOCUMENT, ClickLog
from clickassay.click_models.factorised import fit_factorised
from clickassay.click_models.position_bias import LEAST_PAIRS, MOST_ERROR, position_bias
from support.places import ROOT

THETA = np.array([1, 0.6, 0.4, 0.25])


def log_of(lists, clicks, sessions, queries):
    """Make a log: (L, K) documents, and (L, S, K) clicks of S sessions of each list."""
    masks = (clicks << np.arange(lists.shape[1])).sum(axis=2)
    rows = np.repeat(np.arange(len(lists)), sessions)
    size = len(queries)
    documents = {"market": ["all"] * size, "query": queries, "url": [str(one) for one in range(size)]}
    return ClickLog(lists, rows, masks.ravel(), np.ones(len(rows), np.int64), pl.DataFrame(documents))


def world(seed, *, queries=80, lists=5, sessions=20, pool=6, spread=1.0):
    """Draw lists of a position-based world; queries differ in examination if `spread` is above 1."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(queries), lists)
    shown = of[:, None] * pool + np.stack([rng.permutation(pool)[: len(THETA)] for _ in of])
    alpha = rng.beta(1, 3, queries * pool)
    theta = np.minimum(1, THETA * spread ** rng.normal(size=(queries, 1)) ** (np.arange(len(THETA)) > 0))
    chance = alpha[shown] * theta[of]
    clicks = (rng.random((len(of), sessions, len(THETA))) < chance[:, None]).astype(np.int64)
    return log_of(shown, clicks, sessions, np.repeat([str(one) for one in range(queries)], pool))


def test_examination_and_its_error_are_those_of_a_poisson_regression_with_an_effect_for_each_result():
    log = world(1, queries=25, lists=3)
    sessions, clicks = log.by_list()
    cells = {}
    for row, shown in enumerate(log.lists):
        for place, document in enumerate(shown):
            one = cells.setdefault((int(document), place), [0, 0])
            one[0] += sessions[row]
            one[1] += clicks[row, place]
    clicked = {document for (document, _), (_, n) in cells.items() if n}
    moved = {document for document, _ in cells if sum((document, p) in cells for p in range(4)) > 1}
    kept = [(key, *n) for key, n in cells.items() if key[0] in clicked & moved]
    number = {document: at for at, document in enumerate(sorted(clicked & moved))}
    design = np.zeros((len(kept), 3 + len(number)))
    for at, ((document, place), _, _) in enumerate(kept):
        design[at, 3 + number[document]] = 1
        if place:
            design[at, place - 1] = 1
    query = [document // 6 for (document, _), _, _ in kept]
    model = GLM([n for _, _, n in kept], design, family=families.Poisson(), exposure=[n for _, n, _ in kept])
    fit = model.fit(
        cov_type="cluster",
        cov_kwds={"groups": np.array(query), "use_correction": False},
        maxiter=200,
        tol=1e-13,
    )
    found = position_bias(log)
    assert np.log(found.examination[1:]) == pytest.approx(fit.params[:3], abs=1e-7)
    groups = len(set(query))
    assert found.errors[1:] == pytest.approx(fit.bse[:3] * np.sqrt(groups / (groups - 1)), rel=1e-5)


def test_a_parameter_for_each_result_has_the_bias_that_the_page_names():
    found = {}
    for sessions in (30, 1):
        fits = (fit_factorised(world(seed, sessions=sessions), by_last_click=False) for seed in range(30))
        logs = [np.log(fit.model.examination[1:, 0]) - np.log(THETA[1:]) for fit in fits]
        found[sessions] = f"{np.mean(logs):.2f}".replace("-", "\N{MINUS SIGN}")
    page = (ROOT / "docs/explanation/decisions.md").read_text(encoding="utf-8")
    assert f"move log θ by {found[30]} at 30 sessions a ranking, by {found[1]} at one" in page


def test_results_at_one_position_tell_nothing():
    log = world(2)
    fixed = np.where(np.arange(len(log.lists))[:, None] % 5 == 0, log.lists, NO_DOCUMENT)
    found = position_bias(ClickLog(fixed, log.rows, log.masks, log.sessions, log.documents))
    assert found.pairs == 0
    assert f"0 pairs, {LEAST_PAIRS} needed" in found.missing(4)
    assert np.isnan(found.examination[1:]).all()


def test_too_few_queries_positions_without_a_link_and_large_errors_are_said():
    assert "(9, 10 needed)" in position_bias(world(3, queries=9, lists=30)).missing(4)
    log = world(4)
    only_last = log.lists.copy()
    only_last[:, 3] = int(log.lists.max()) - 5  # a document of the last query, never above
    only_last[:, :3] = np.where(only_last[:, :3] == only_last[0, 3], NO_DOCUMENT, only_last[:, :3])
    found = position_bias(ClickLog(only_last, log.rows, log.masks, log.sessions, log.documents))
    assert "links position 4 to the first" in found.missing(4)
    assert found.missing(3) is None
    few = position_bias(world(5, sessions=1, queries=40))
    assert f"above {MOST_ERROR}" in few.missing(4)
    assert few.missing(1) is None


def test_clicks_that_put_no_bound_on_examination_give_an_error_without_bound():
    rng = np.random.default_rng(6)
    lists = np.stack([rng.permutation(3)[:2] + 3 * (row % 60) for row in range(240)])
    clicks = np.zeros((240, 10, 2), np.int64)
    clicks[:, :, 1] = rng.random((240, 10)) < 0.3  # nobody clicks the first position
    queries = np.repeat([str(one) for one in range(60)], 3)
    found = position_bias(log_of(lists, clicks, 10, queries))
    assert found.missing(2) == "no result that was seen at several positions was clicked at the first"
    clicks[:, :, 0], clicks[:, :, 1] = clicks[:, :, 1], 0
    clicks[0, 0, 1] = 1  # the second position is hardly clicked
    assert "position 2" in position_bias(log_of(lists, clicks, 10, queries)).missing(2)
