"""Offline metrics against other libraries; those of trec_eval are in test_trec_reference."""

import math
import shutil

import ir_measures
import numpy as np
import pytest
import pytrec_eval
import rankkit
from rankkit.data import Run
from sklearn.metrics import dcg_score, ndcg_score

from clickassay.core.settings import Settings
from clickassay.metrics.catalogue import METRICS, editorial_values
from clickassay.metrics.names import parse

DEPTH = 8
GAINS = {grade: 2**grade - 1 for grade in range(5)}


@pytest.fixture(scope="module")
def world():
    """Forty queries: shown grades (40, 8), and the grades of all judged results, the shown ones first."""
    rng = np.random.default_rng(11)
    judged = [rng.choice(5, size=rng.integers(DEPTH, 25), p=[0.5, 0.2, 0.15, 0.1, 0.05]) for _ in range(40)]
    return np.array([grades[:DEPTH] for grades in judged], dtype=np.int8), judged


def ours(world, name, settings=None):
    shown, judged = world
    pool = np.array([np.bincount(grades, minlength=5) for grades in judged])
    _, found = editorial_values(shown, pool, settings or Settings(), (parse(name, METRICS),))
    return found[:, 0]


def trec_form(world):
    _, judged = world
    qrels = {str(q): {f"d{i}": int(g) for i, g in enumerate(grades)} for q, grades in enumerate(judged)}
    run = {q: {f"d{i}": float(-i) for i in range(DEPTH)} for q in qrels}
    return qrels, run


def by_ir_measures(world, measure):
    found = {item.query_id: item.value for item in measure.iter_calc(*trec_form(world))}
    return np.array([found[str(q)] for q in range(len(found))])


@pytest.mark.parametrize(
    "name",
    [
        *("AP(rel=3)@5", "AP(rel=2)@8", "AP(rel=1)@1", "RR(rel=3)@5", "RR(rel=2)@8", "RR(rel=4)@8"),
        *("P(rel=3)@1", "P(rel=2)@5", "P(rel=1)@8"),
    ],
)
def test_ap_rr_and_precision_are_those_of_ir_measures_under_the_same_name(world, name):
    expected = by_ir_measures(world, ir_measures.parse_measure(name))
    np.testing.assert_allclose(ours(world, name), expected, atol=1e-12)


@pytest.mark.parametrize("depth", [1, 5, 8])
def test_ndcg_is_that_of_ir_measures_with_exponential_gains(world, depth):
    expected = by_ir_measures(world, ir_measures.nDCG(gains=GAINS) @ depth)
    np.testing.assert_allclose(ours(world, f"NDCG@{depth}"), expected, atol=1e-12)


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval is a Perl script")
@pytest.mark.parametrize("name", ["ERR@5", "ERR@8", "nDCG(dcg='exp-log2')@5"])
def test_err_and_ndcg_are_those_of_gdeval_to_its_five_digits(world, name):
    expected = by_ir_measures(world, ir_measures.parse_measure(name))
    np.testing.assert_allclose(ours(world, name), expected, atol=6e-6)


def test_dcg_and_ndcg_of_the_shown_results_are_those_of_scikit_learn(world):
    shown, _ = world
    gains = 2.0**shown - 1
    order = np.tile(-np.arange(DEPTH), (len(shown), 1))
    for depth in (3, 8):
        expected = [dcg_score([g], [o], k=depth) for g, o in zip(gains, order, strict=True)]
        np.testing.assert_allclose(ours(world, f"DCG@{depth}"), expected, rtol=1e-12)
    expected = [ndcg_score([g], [o]) for g, o in zip(gains, order, strict=True)]
    np.testing.assert_allclose(ours(world, "NDCG", Settings(pool="shown")), expected, atol=1e-12)


LINEAR = "NDCG(gains='0 1 2 3 4')"


@pytest.mark.parametrize("depth", [1, 5, 8])
def test_ndcg_of_linear_gains_is_that_of_trec_eval_and_ir_measures(world, depth):
    qrels, run = trec_form(world)
    found = pytrec_eval.RelevanceEvaluator(qrels, {f"ndcg_cut.{depth}"}).evaluate(run)
    expected = [found[str(q)][f"ndcg_cut_{depth}"] for q in range(len(qrels))]
    np.testing.assert_allclose(ours(world, f"{LINEAR}@{depth}"), expected, atol=1e-12)
    theirs = by_ir_measures(world, ir_measures.nDCG @ depth)
    np.testing.assert_allclose(ours(world, f"{LINEAR}@{depth}"), theirs, atol=1e-12)


def test_ndcg_of_any_gains_is_that_of_ir_measures_with_the_same_gains(world):
    expected = by_ir_measures(world, ir_measures.nDCG(gains={1: 1, 2: 1, 3: 4, 4: 9}) @ 5)
    np.testing.assert_allclose(ours(world, "NDCG(gains='0 1 1 4 9')@5"), expected, atol=1e-12)


def test_ndcg_of_linear_gains_of_the_shown_results_is_that_of_scikit_learn(world):
    shown, _ = world
    expected = [ndcg_score([row], [-np.arange(DEPTH)]) for row in shown]
    np.testing.assert_allclose(ours(world, LINEAR, Settings(pool="shown")), expected, atol=1e-12)


@pytest.mark.parametrize("rel", [2, 3])
def test_err_of_sure_chances_is_the_reciprocal_rank_of_ir_measures(world, rel):
    chances = " ".join(str(int(grade >= rel)) for grade in range(5))
    expected = by_ir_measures(world, ir_measures.RR(rel=rel) @ DEPTH)
    np.testing.assert_allclose(ours(world, f"ERR(gains='{chances}')"), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "theirs"), [("ERR", "err"), ("NDCG", "ndcg"), ("AP(rel=1)", "map"), ("RR(rel=1)", "mrr")]
)
def test_err_ndcg_ap_and_rr_are_those_of_rankkit(world, name, theirs):
    qrels, _ = trec_form(world)
    ranking = tuple(f"d{i}" for i in range(DEPTH))
    found = [rankkit.score(Run(q, ranking, grades), theirs, k=5, max_grade=4) for q, grades in qrels.items()]
    assert None not in found
    np.testing.assert_allclose(ours(world, f"{name}@5"), found, atol=1e-12)


def test_rbp_is_a_plain_sum(world):
    shown, _ = world
    expected = [
        (1 - 0.7) * math.fsum((2.0**grade - 1) / 16 * 0.7**place for place, grade in enumerate(row))
        for row in shown.tolist()
    ]
    np.testing.assert_allclose(ours(world, "RBP(p=0.7)"), expected, rtol=1e-13)
