"""Curves: the two worked queries of a lecture on retrieval evaluation, and loops from the definitions."""

import math

import numpy as np
import pytest

from clickassay.inputs.text.trec import read_qrels, read_run
from clickassay.studies.evaluation.curves import gain_curves, r_precision_differences, recall_precision
from clickassay.studies.evaluation.lists import ranked_lists

# Berlin Chen's slides after Baeza-Yates & Ribeiro-Neto, Modern Information Retrieval (2011), section 4.3.5:
# graded results of two queries, and the gains of 15 results. The slide prints G_2 with its 1 at place 9; its
# own CG_2 and averages, and 1 / log2(8) in DCG, have it at place 8, as the book does.
JUDGED = {"q1": (3, 3, 3, 2, 2, 2, 1, 1, 1, 1), "q2": (3, 2, 1)}
GAINS = {
    "q1": (1, 0, 1, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 0, 3),
    "q2": (0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3),
}

# As printed, but that CG_1 (a 7), CG_2 (a 3) and NDCG (a 0.29) have an entry too many there: 16 for 15 ranks.
CG_1 = (1, 1, 2, 2, 2, 5, 5, 5, 5, 7, 7, 7, 7, 7, 10)
CG_2 = (0, 0, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 6)
DCG_1 = (1.0, 1.0, 1.6, 1.6, 1.6, 2.8, 2.8, 2.8, 2.8, 3.4, 3.4, 3.4, 3.4, 3.4, 4.2)
ICG_1 = (3, 6, 9, 11, 13, 15, 16, 17, 18, 19, 19, 19, 19, 19, 19)
IDCG_1 = (3.0, 6.0, 7.9, 8.9, 9.8, 10.5, 10.9, 11.2, 11.5, 11.8, 11.8, 11.8, 11.8, 11.8, 11.8)
MEAN_CG = (0.5, 0.5, 2.0, 2.0, 2.0, 3.5, 3.5, 4.0, 4.0, 5.0, 5.0, 5.0, 5.0, 5.0, 8.0)
MEAN_DCG = (0.5, 0.5, 1.5, 1.5, 1.5, 2.1, 2.1, 2.2, 2.2, 2.5, 2.5, 2.5, 2.5, 2.5, 3.3)
MEAN_ICG = (3.0, 5.5, 7.5, 8.5, 9.5, 10.5, 11.0, 11.5, 12.0, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5)
MEAN_IDCG = (3.0, 5.5, 6.8, 7.3, 7.7, 8.1, 8.3, 8.4, 8.6, 8.7, 8.7, 8.7, 8.7, 8.7, 8.7)
NCG = (0.17, 0.09, 0.27, 0.24, 0.21, 0.33, 0.32, 0.35, 0.33, 0.40, 0.40, 0.40, 0.40, 0.40, 0.64)
NDCG = (0.17, 0.09, 0.21, 0.20, 0.19, 0.25, 0.25, 0.26, 0.26, 0.29, 0.29, 0.29, 0.29, 0.29, 0.38)


def lists_of(gains, judged):
    """Return lists whose results have these gains; what is judged beyond them is in the pool alone."""
    run = {
        query: {f"d{place}": -place for place in range(1, len(places) + 1)} for query, places in gains.items()
    }
    qrels = {}
    for query, places in gains.items():
        left = list(judged[query])
        qrels[query] = {f"d{place}": grade for place, grade in enumerate(places, start=1) if grade}
        for grade in qrels[query].values():
            if grade in left:
                left.remove(grade)
        qrels[query] |= {f"unseen{number}": grade for number, grade in enumerate(left)}
    return ranked_lists(read_run(run), read_qrels(qrels), tuple(sorted(gains)), max_grade=3)


def curves_of(*queries):
    return gain_curves(lists_of({q: GAINS[q] for q in queries}, JUDGED), depth=15)


def printed(values, digits):
    """Return values rounded half up, as the lecture rounds them."""
    return tuple(math.floor(value * 10**digits + 0.5 + 1e-9) / 10**digits for value in values)


@pytest.mark.parametrize(
    ("queries", "curve", "digits", "expected"),
    [
        (["q1"], "cg", 0, CG_1), (["q2"], "cg", 0, CG_2), (["q1"], "dcg", 1, DCG_1),
        (["q1"], "ideal_cg", 0, ICG_1), (["q1"], "ideal_dcg", 1, IDCG_1),
        (["q1", "q2"], "cg", 1, MEAN_CG), (["q1", "q2"], "ideal_cg", 1, MEAN_ICG),
        (["q1", "q2"], "ideal_dcg", 1, MEAN_IDCG), (["q1", "q2"], "ncg", 2, NCG),
    ],
)  # fmt: skip
def test_the_worked_queries_have_the_printed_curves_at_all_fifteen_ranks(queries, curve, digits, expected):
    assert printed(curves_of(*queries)[curve], digits) == expected


def test_the_printed_mean_dcg_is_that_of_the_two_curves_once_they_are_rounded():
    # the lecture rounds DCG_1 and DCG_2 to a decimal and then averages, which is 0.05 off at most
    rounded = np.array([printed(curves_of(query)["dcg"], 1) for query in ("q1", "q2")])
    assert printed(rounded.mean(axis=0), 1) == MEAN_DCG
    assert curves_of("q1", "q2")["dcg"] == pytest.approx(MEAN_DCG, abs=0.1 - 1e-9)


def test_the_printed_ndcg_is_ours_and_at_rank_15_that_of_rounded_averages():
    assert printed(curves_of("q1", "q2")["ndcg"], 2)[:14] == NDCG[:14]
    assert printed([MEAN_DCG[14] / MEAN_IDCG[14]], 2) == NDCG[14:]  # 3.3 / 8.7; unrounded it is 0.3736


@pytest.fixture(scope="module")
def random_lists():
    """Return lists of 40 queries, of different lengths, and what they are made of."""
    rng = np.random.default_rng(5)
    gains = {f"q{n:02}": rng.choice((0, 0, 1, 2, 3), rng.integers(13)).tolist() for n in range(40)}
    judged = {
        query: sorted(
            [*(grade for grade in own if grade), *rng.choice((1, 2, 3), n % 3).tolist()], reverse=True
        )
        for n, (query, own) in enumerate(gains.items())
    }
    gains = {query: own for query, own in gains.items() if own and judged[query]}
    return lists_of(gains, judged), gains, judged


def cumulated(gains, depth):
    total, dcg, found = 0, 0.0, []
    for rank in range(1, depth + 1):
        gain = gains[rank - 1] if rank <= len(gains) else 0
        total, dcg = total + gain, dcg + (gain if rank == 1 else gain / math.log2(rank))
        found.append((total, dcg))
    return np.array(found, dtype=float).T


def test_gain_curves_and_differences_of_r_precision_are_those_of_loops_over_queries(random_lists):
    lists, gains, judged = random_lists
    found = gain_curves(lists, depth=9)
    cg, dcg = np.mean([cumulated(gains[query], 9) for query in lists.queries], axis=0)
    ideal_cg, ideal_dcg = np.mean([cumulated(judged[query], 9) for query in lists.queries], axis=0)
    for ours, theirs in ((found["cg"], cg), (found["dcg"], dcg), (found["ideal_cg"], ideal_cg)):
        assert ours == pytest.approx(theirs, rel=1e-12)
    assert found["ndcg"] == pytest.approx(dcg / ideal_dcg, rel=1e-12)
    turned = {query: own[::-1] for query, own in gains.items()}
    found = r_precision_differences(lists, lists_of(turned, judged), rel=2)
    for query, difference in zip(lists.queries, found, strict=True):
        wanted = sum(grade >= 2 for grade in judged[query])
        hits = [sum(grade >= 2 for grade in own[query][:wanted]) for own in (gains, turned)]
        assert difference == pytest.approx((hits[1] - hits[0]) / wanted if wanted else 0, abs=1e-12)
    assert (found != 0).sum() >= 5


def interpolated(gains, judged, rel, tenth):
    wanted = sum(grade >= rel for grade in judged)
    needed = math.floor(tenth * wanted / 10 + 0.5)
    precisions = [0.0]
    for rank in range(1, len(gains) + 1):
        hits = sum(grade >= rel for grade in gains[:rank])
        if hits >= needed and wanted:
            precisions.append(hits / rank)
    return max(precisions)


@pytest.mark.parametrize("rel", [1, 2])
def test_the_recall_precision_curve_is_the_average_of_loops_over_queries(random_lists, rel):
    lists, gains, judged = random_lists
    expected = [
        np.mean([interpolated(gains[query], judged[query], rel, tenth) for query in lists.queries])
        for tenth in range(11)
    ]
    assert recall_precision(lists, rel=rel) == pytest.approx(expected, rel=1e-12)


def test_curves_do_not_depend_on_how_many_queries_are_computed_at_once(random_lists, monkeypatch):
    lists = random_lists[0]
    whole = gain_curves(lists, depth=9)["dcg"], recall_precision(lists, rel=1)
    monkeypatch.setattr("clickassay.metrics.lists.MOST_CELLS", 1)
    piecewise = gain_curves(lists, depth=9)["dcg"], recall_precision(lists, rel=1)
    for one, other in zip(whole, piecewise, strict=True):
        assert one == pytest.approx(other, rel=1e-13)


def test_a_query_without_a_list_counts_as_nothing_found():
    qrels = read_qrels({"a": {"d": 2}, "b": {"d": 2}})
    lists = ranked_lists(read_run({"a": {"d": 1.0}}), qrels, ("a", "b"), max_grade=2)
    assert recall_precision(lists, rel=1) == pytest.approx([0.5] * 11)
    assert gain_curves(lists, depth=3)["ncg"] == pytest.approx([0.5] * 3)
