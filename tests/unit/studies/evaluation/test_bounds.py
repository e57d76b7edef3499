"""Bounds of every measure against every way to grade the results without a grade, or to grade none."""

from itertools import product

import numpy as np
import pytest

from clickassay import evaluate
from clickassay.metrics.names import MEASURES, parse_measure
from support.tiers import first

TOP = 3
CUTS = ("", "@1", "@2", "@4")
BARE = [metric.name for metric in MEASURES if metric.at is None]
VARIANTS = [
    "nDCG(dcg='log2')", "nDCG(dcg='jk-log2')", "nDCG(dcg='exp-log2',ideal='uncut')", "nDCG(ideal='shown')",
    "nDCG(dcg='log2',ideal='shown')", "nDCG(gains='0 0 1 1')", "nDCG(gains='2 3 3 9')",
    "NCG(gains='1 1 2 9')",
    "DCG(dcg='jk-log2')", "CG(gains='1 2 3 4')", "AP(rel=2)", "AP(rel=2,over='retrieved')",
    "AP(rel=2,over='cut')", "R(rel=2)", "F(rel=2,beta=3)", "E(rel=2,beta=0.3)", "RR(rel=3)", "Rprec(rel=2)",
    "Bpref(rel=2)", "infAP(rel=2)", "P(rel=4)", "RBP(rel=2)", "RBP(p=0.3,gains='0.1 0.1 0.5 1')",
    "ERR(gains='0.2 0.2 0.6 1')", "ERR(gamma=0.9)", "ERR(utilities='1 3 0 2 1')",
    "ERR(gains='0.1 0.2 0.6 0.9',utilities='1 0.2 4')", "nDCG(judged_only=True)", "AP(unjudged=1)",
    "Judged(judged_only=True)", "Novelty(rel=2)", "Coverage(rel=2)",
]  # fmt: skip
NAMES = [f"{name}{cut}" for name in (*BARE, *VARIANTS) for cut in CUTS]
NAMES += ["IPrec", "IPrec(rel=2)@0.1", "IPrec(rel=2)@0.5", "IPrec@1"]
USERS = {"Coverage", "Novelty", "RelativeRecall", "RecallEffort"}


def world(seed):
    """Return the grades of a list (None = no grade) and of other judged results, and what a user knows."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 8))
    shown = [int(grade) for grade in rng.integers(0, TOP + 1, size)]
    for place in rng.permutation(size)[: rng.integers(1, 4)]:
        shown[place] = None
    others = [int(grade) for grade in rng.integers(0, TOP + 1, rng.integers(0, 6))]
    return shown, others, [f"d{place}" for place in range(size) if rng.random() < 0.5]


def completions(shown):
    holes = [place for place, grade in enumerate(shown) if grade is None]
    for grades in product(range(TOP + 1), repeat=len(holes)):
        whole = list(shown)
        for place, grade in zip(holes, grades, strict=True):
            whole[place] = grade
        yield whole


def judgments(shown, others):
    judged = {f"d{place}": grade for place, grade in enumerate(shown) if grade is not None}
    return judged | {f"e{place}": grade for place, grade in enumerate(others)} | {"other": 0}


def values(lists, others, known, names, **options):
    """Return the (lists, names) table of an evaluation in which each list is a query of its own."""
    qrels = {f"{n:04}": judgments(shown, others) for n, shown in enumerate(lists)}
    run = {query: {f"d{n}": float(-n) for n in range(len(lists[0]))} for query in qrels}
    of_users = {"known": dict.fromkeys(qrels, known), "expected": dict.fromkeys(qrels, 2)}
    given = of_users if any(name.partition("(")[0].partition("@")[0] in USERS for name in names) else {}
    found = evaluate(qrels, run, names, max_grade=TOP, **given, **options)
    return found.per_query


def table(frame, column, number):
    return frame[column].to_numpy().reshape(-1, number)


@pytest.mark.slow
@pytest.mark.parametrize("seed", first(12, range(120)))
def test_bounds_are_the_extremes_over_every_way_to_grade_whatever_the_measure(seed):
    shown, others, known = world(seed)
    names = list(dict.fromkeys(map(str, map(parse_measure, NAMES))))
    every = values(list(completions(shown)), others, known, names)
    bounds = values([shown], others, known, names, bounds=True)
    number = bounds.height
    seen = table(every, "value", number)
    for row, name in enumerate(bounds["measure"]):
        found, own = (bounds["low"][row], bounds["high"][row]), bounds["value"][row]
        assert found[0] <= own <= found[1]
        extremes = min(own, seen[:, row].min()), max(own, seen[:, row].max())
        assert found == pytest.approx(extremes, abs=1e-12), (name, shown, others)
