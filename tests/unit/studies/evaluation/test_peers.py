"""The measures of a thousand random lists, against tools that people use, where conventions coincide."""

import shutil

import ir_measures
import numpy as np
import pytest
import pytrec_eval
import rankkit
from rankkit.data import Run
from sklearn.metrics import dcg_score, ndcg_score

from clickassay import evaluate, measures
from clickassay.metrics.names import parse_measure

QUERIES = 1_000


@pytest.fixture(scope="module")
def world():
    """Judgments of grades -1..4 and a run with unjudged results, lists of 1 to 40, as dicts."""
    rng = np.random.default_rng(5)
    qrels, run = {}, {}
    for number in range(QUERIES):
        docs = [f"d{doc}" for doc in range(60)]
        judged = rng.choice(docs, size=rng.integers(1, 40), replace=False)
        grades = rng.choice([-1, 0, 1, 2, 3, 4], size=len(judged), p=[0.1, 0.4, 0.2, 0.15, 0.1, 0.05])
        qrels[f"q{number}"] = {str(doc): int(grade) for doc, grade in zip(judged, grades, strict=True)}
        shown = rng.choice(docs, size=rng.integers(1, 41), replace=False)
        scores = rng.choice(200, size=len(shown)) / 7  # many ties
        run[f"q{number}"] = {str(doc): float(score) for doc, score in zip(shown, scores, strict=True)}
    return qrels, run


def ours(world, *names, **options):
    """Return {name as asked: {query: value}}."""
    found = evaluate(*world, list(names), **options)
    assert len(found.measures) == len(names)
    asked = dict(zip(map(str, found.measures), names, strict=True))
    values = {name: {} for name in names}
    for row in found.per_query.iter_rows(named=True):
        values[asked[row["measure"]]][row["query"]] = row["value"]
    return values


TREC = {
    "map": "map", "ndcg": "nDCG(dcg='log2')", "recip_rank": "recip_rank",
    "Rprec": "Rprec(rel=1)", "bpref": "Bpref(rel=1)",
    "infAP": "infAP(rel=1)", "set_P": "set_P", "set_recall": "set_recall", "set_F": "set_F",
    "P_5": "P_5", "P_30": "P_30", "recall_10": "recall_10", "ndcg_cut_5": "ndcg_cut_5",
    "ndcg_cut_30": "ndcg_cut_30", "map_cut_10": "map_cut_10", "success_5": "success_5",
}  # fmt: skip


@pytest.mark.parametrize("level", [1, 3])
def test_pytrec_eval_gives_the_same(world, level):
    qrels, run = world
    families = {name.rstrip("0123456789").rstrip("_") if "_" in name else name for name in TREC}
    theirs = pytrec_eval.RelevanceEvaluator(
        qrels, families | {"P", "recall", "success"}, relevance_level=level
    ).evaluate(run)
    names = {
        name: spelled if level == 1 or "ndcg" in name else at_level(spelled, level)
        for name, spelled in TREC.items()
    }
    found = ours(world, *names.values(), average_over="both")
    for name, spelled in names.items():
        for query, value in found[spelled].items():
            assert value == pytest.approx(theirs[query][name], abs=1e-9), (name, query)


def test_names_of_other_tools_have_their_values_and_interpolated_precision_that_of_pytrec_eval(world):
    qrels, run = world
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg_cut", "P", "recall", "success"}).evaluate(
        run
    )
    found = ours(world, measures.map, "hit_rate@10", "F1@10", "ndcg_cut.10", average_over="both")
    for query, values in theirs.items():
        precision, recall = values["P_10"], values["recall_10"]
        f1 = 2 * precision * recall / (precision + recall) if precision else 0.0
        wanted = (values["map"], values["success_10"], f1, values["ndcg_cut_10"])
        assert [one[query] for one in found.values()] == pytest.approx(wanted, abs=1e-9)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"iprec_at_recall"}).evaluate(run)
    compared = 0
    for level in (0.0, 0.1, 0.3, 0.5, 1.0):
        found = ours(world, f"IPrec(rel=1)@{level}")[f"IPrec(rel=1)@{level}"]
        for query, value in found.items():
            wanted = level * sum(grade > 0 for grade in qrels[query].values())
            if int(wanted + 0.9) == int(wanted + 0.5):
                compared += 1
                assert value == pytest.approx(theirs[query][f"iprec_at_recall_{level:.2f}"], abs=1e-9)
    assert compared > 2_000


def at_level(name, level):
    return str(parse_measure(name)).replace("rel=1", f"rel={level}")


@pytest.mark.parametrize(
    "name",
    [
        "nDCG(dcg='log2')@10", "nDCG(dcg='log2')", "nDCG(dcg='log2',judged_only=True)@5",
        "P(rel=2)@5", "AP(rel=2)",
        "AP(rel=2,judged_only=True)@10", "RR(rel=2)", "RR(rel=1,judged_only=True)", "R(rel=3)@10",
        "Success(rel=4)@3", "Rprec(rel=2)", "Bpref(rel=2)", "infAP(rel=3)", "P(rel=1,judged_only=True)@10",
        "Success(rel=1,judged_only=True)@5",
    ],
)  # fmt: skip
def test_ir_measures_gives_the_same_for_the_same_name(world, name):
    assert ours(world, name)[name] == pytest.approx(by_ir_measures(world, name), abs=1e-9)


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval is a Perl script")
def test_ir_measures_err_is_gdevals_to_its_five_decimals(world):
    # gdeval wants numbers for queries
    world = [{query[1:]: of for query, of in part.items()} for part in positive(untied(world))]
    theirs = by_ir_measures(world, "ERR@10")
    assert ours(world, "ERR@10", max_grade=4)["ERR@10"] == pytest.approx(theirs, abs=0.6e-5)


def positive(world):
    """Give no grade below 0."""
    qrels, run = world
    return {q: {doc: max(0, grade) for doc, grade in grades.items()} for q, grades in qrels.items()}, run


def untied(world):
    """Give every result a score of its own, in the order of ties that is documented."""
    qrels, run = world
    ranked = {q: sorted(shown, key=lambda doc: (shown[doc], doc), reverse=True) for q, shown in run.items()}
    return qrels, {q: {doc: float(-place) for place, doc in enumerate(docs)} for q, docs in ranked.items()}


def by_ir_measures(world, name):
    """Return {query: value}."""
    found = ir_measures.iter_calc([ir_measures.parse_measure(name)], *world)
    return {item.query_id: item.value for item in found}


def test_f_is_the_set_f_of_ir_measures(world):
    found = ours(world, "F(rel=2,beta=2)")["F(rel=2,beta=2)"]
    theirs = by_ir_measures(world, "SetF(rel=2,beta=2.0)")
    precision, recall = (ours(world, name)[name] for name in ("P(rel=2)", "R(rel=2)"))
    for query, value in found.items():
        both = precision[query], recall[query]
        assert value == pytest.approx(5 * both[0] * both[1] / (4 * both[0] + both[1]) if all(both) else 0)
        assert (value > 0) == (theirs[query] > 0)


def test_rbp_is_a_plain_sum_and_with_rel_a_sum_of_ones(world):
    qrels, run = untied_world = positive(untied(world))
    found = ours(untied_world, "RBP(p=0.7)@20", "RBP(p=0.7,rel=2)")
    for query, shown in run.items():
        grades = [qrels[query].get(doc, 0) for doc in sorted(shown, key=shown.get, reverse=True)]
        graded = sum(0.3 * (2**grade - 1) / 16 * 0.7**place for place, grade in enumerate(grades[:20]))
        binary = sum(0.3 * (grade >= 2) * 0.7**place for place, grade in enumerate(grades))
        assert found["RBP(p=0.7)@20"][query] == pytest.approx(graded, abs=1e-12)
        assert found["RBP(p=0.7,rel=2)"][query] == pytest.approx(binary, abs=1e-12)


def test_judged_is_that_of_ir_measures_where_no_grade_is_below_0(world):
    world = positive(untied(world))
    found = ours(world, "Judged@10")["Judged@10"]
    assert found == pytest.approx(by_ir_measures(world, "Judged@10"), abs=1e-12)


def test_dcg_and_the_ndcg_of_what_is_shown_are_scikit_learns(world):
    qrels, run = positive(untied(world))
    found = ours((qrels, run), "DCG(dcg='log2')@10", "nDCG(dcg='log2',ideal='shown')")
    for query in list(run)[:300]:
        ranked = sorted(run[query], key=run[query].get, reverse=True)
        grades = np.array([[qrels[query].get(doc, 0) for doc in ranked]])
        if grades.size < 2:
            continue
        scores = -np.arange(grades.size)[None].astype(float)
        dcg = dcg_score(grades, scores, k=10, ignore_ties=True)
        assert found["DCG(dcg='log2')@10"][query] == pytest.approx(dcg, abs=1e-9)
        assert found["nDCG(dcg='log2',ideal='shown')"][query] == pytest.approx(
            ndcg_score(grades, scores, ignore_ties=True), abs=1e-9
        )


@pytest.mark.parametrize(
    ("name", "theirs"), [("ERR(max_rel=4)@10", "err"), ("nDCG(dcg='exp-log2')@10", "ndcg"), ("DCG@10", "dcg")]
)
def test_rankkit_gives_the_same(world, name, theirs):
    qrels, run = positive(untied(world))
    found = ours((qrels, run), name)[name]
    for query, shown in run.items():
        ranked = tuple(sorted(shown, key=shown.get, reverse=True))
        if theirs == "dcg":
            value = rankkit.dcg([2 ** qrels[query].get(doc, 0) - 1 for doc in ranked], 10)
        else:
            value = rankkit.score(Run(query, ranked, qrels[query]), theirs, k=10, max_grade=4)
        assert found[query] == pytest.approx(value or 0, abs=1e-9)
