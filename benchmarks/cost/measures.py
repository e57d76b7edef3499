"""Measures of `evaluate` against pytrec_eval, ranx and cwl-eval: the same numbers, and how long they take.

    python -m benchmarks.cost.measures [--queries 10000] [--docs 100] [--repeats 5]

Needs `pip install "ranx==0.3.21" "cwl-eval==1.0.12" "pandas<3"`; peers that are not there are named.

Ten measures of 10,000 queries with 100 results, 60 of them judged per query. What is timed, in one process,
is the way from dicts `{query: {doc: number}}` to the ten values of every query, the median of some repeats
taken in turn; ranx is called once before (its compiler's warm-up), and also timed from objects of its own,
made before. A check value is the mean of the ten means: it must be the same for all.
"""

import argparse
import importlib.util
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from benchmarks.lib.measuring import machine
from clickassay import evaluate

LINEAR = "nDCG(dcg='log2')"
OURS = f"AP {LINEAR} {LINEAR}@10 RR P@10 R@100 Rprec Success@10 P@100 {LINEAR}@100"
TREC = (
    "map",
    "ndcg",
    "ndcg_cut_10",
    "recip_rank",
    "P_10",
    "recall_100",
    "Rprec",
    "success_10",
    "P_100",
    "ndcg_cut_100",
)
FAMILIES = {
    *("map", "ndcg", "recip_rank", "Rprec"),
    *("ndcg_cut.10,100", "P.10,100", "recall.100", "success.10"),
}
RANX = [
    *("map", "ndcg", "ndcg@10", "mrr", "precision@10", "recall@100", "r-precision", "hit_rate@10"),
    *("precision@100", "ndcg@100"),
]
Dicts = Mapping[str, Mapping[str, Any]]


def main() -> None:
    """Compare values, then times; print both in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--docs", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    qrels, run = world(options.queries, options.docs)
    print(f"<!-- {machine()} -->\n")
    same_numbers(*world(1_000, options.docs, seed=2))
    ways = {**ours(qrels, run), **pytrec(qrels, run), **ranx(qrels, run)}
    times: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ways}
    for _ in range(options.repeats):
        for name, way in ways.items():
            times[name].append(timed(way))
    print("| from | CPU s | wall s | check value | CPU against ours from dicts |\n|---|---|---|---|---|")
    own = median(cpu for cpu, _, _ in times["clickassay, dicts"])
    for name, rows in times.items():
        cpu, wall = median(row[0] for row in rows), median(row[1] for row in rows)
        print(f"| {name} | {cpu:.2f} | {wall:.2f} | {rows[0][2]:.12f} | {cpu / own:.2f} |")


def world(queries: int, docs: int, seed: int = 1) -> tuple[Dicts, Dicts]:
    """Return judgments of grades 0..4, and a run whose scores are all different."""
    rng = np.random.default_rng(seed)
    names = [f"document-{number}" for number in range(10 * docs)]
    qrels, run = {}, {}
    for number in range(queries):
        judged = rng.permutation(len(names))[: 6 * docs // 10]
        shown = rng.permutation(len(names))[:docs]
        mixed = np.unique(np.concatenate([judged[: docs // 3], shown]))[:docs]
        grades = rng.choice(5, len(judged), p=[0.5, 0.2, 0.15, 0.1, 0.05])
        scores = rng.permutation(len(mixed)) + rng.random()
        qrels[f"q{number}"] = {names[doc]: int(grade) for doc, grade in zip(judged, grades, strict=True)}
        run[f"q{number}"] = {names[doc]: float(one) for doc, one in zip(mixed, scores, strict=True)}
    return qrels, run


def timed(way: Callable[[], float]) -> tuple[float, float, float]:
    """Return CPU seconds, wall seconds and the check value of a way."""
    cpu, wall = time.process_time(), time.perf_counter()
    value = way()
    return time.process_time() - cpu, time.perf_counter() - wall, value


def ours(qrels: Dicts, run: Dicts) -> dict[str, Callable[[], float]]:
    """Return the ways of clickassay: from dicts, and from Polars frames."""
    frames = [
        pl.DataFrame(
            [(query, doc, value) for query, docs in table.items() for doc, value in docs.items()],
            schema=["query", "doc", last],
            orient="row",
        )
        for table, last in ((qrels, "grade"), (run, "score"))
    ]

    def mean(*tables: object) -> float:
        return float(np.mean(evaluate(*tables, OURS).means["mean"].to_list()))

    return {"clickassay, dicts": lambda: mean(qrels, run), "clickassay, frames": lambda: mean(*frames)}


def pytrec(qrels: Dicts, run: Dicts) -> dict[str, Callable[[], float]]:
    """Return the way of pytrec_eval, from dicts."""
    if importlib.util.find_spec("pytrec_eval") is None:
        print("pytrec_eval is not installed")
        return {}
    import pytrec_eval  # noqa: PLC0415

    def mean() -> float:
        found = pytrec_eval.RelevanceEvaluator(qrels, FAMILIES).evaluate(run)
        return float(np.mean([[of[name] for of in found.values()] for name in TREC]))

    return {"pytrec_eval, dicts": mean}


def ranx(qrels: Dicts, run: Dicts) -> dict[str, Callable[[], float]]:
    """Return the ways of ranx, after its warm-up: from dicts, and from objects of its own."""
    if importlib.util.find_spec("ranx") is None:
        print("ranx is not installed")
        return {}
    from ranx import Qrels, Run  # noqa: PLC0415
    from ranx import evaluate as by_ranx  # noqa: PLC0415

    made = Qrels.from_dict(qrels), Run.from_dict(run)

    def mean(*tables: object) -> float:
        return float(np.mean(list(by_ranx(*tables, RANX).values())))

    mean(*made)
    return {
        "ranx, dicts": lambda: mean(Qrels.from_dict(qrels), Run.from_dict(run)),
        "ranx, its own objects": lambda: mean(*made),
    }


def same_numbers(qrels: Dicts, run: Dicts) -> None:
    """Compare every value of every query with ranx and cwl-eval; stop at the first that differs."""
    more = "AP(over='retrieved') RBP(p=0.8,rel=1) DCG(dcg='log2')@10 DCG@10"
    found = evaluate(qrels, run, f"{OURS} {more}")
    values = {
        name: dict(zip(rows["query"], rows["value"], strict=True))
        for (name,), rows in found.per_query.group_by("measure")
    }
    for peer, compare in (("ranx", _like_ranx), ("cwl", _like_cwl)):
        if importlib.util.find_spec(peer) is None:
            print(f"{peer} is not installed")
            continue
        print(f"- {peer}: {compare(qrels, run, values):,} values of {len(run):,} random lists are the same")


def _like_ranx(qrels: Dicts, run: Dicts, values: Mapping[str, Mapping[str, float]]) -> int:
    from ranx import Qrels, Run  # noqa: PLC0415
    from ranx import evaluate as by_ranx  # noqa: PLC0415

    pairs = {
        "AP(rel=1)": "map", LINEAR: "ndcg", f"{LINEAR}@10": "ndcg@10", "RR(rel=1)": "mrr",
        "P(rel=1)@10": "precision@10",
        "R(rel=1)@100": "recall@100", "Rprec(rel=1)": "r-precision", "Success(rel=1)@10": "hit_rate@10",
        "DCG(dcg='log2')@10": "dcg@10", "DCG(dcg='exp-log2')@10": "dcg_burges@10",
    }  # fmt: skip
    tables = Qrels.from_dict(qrels), Run.from_dict(run)
    theirs = by_ranx(*tables, list(pairs.values()), return_mean=False)
    queries = sorted(run)
    for ours_name, name in pairs.items():
        own = [values[ours_name][query] for query in queries]
        np.testing.assert_allclose(own, theirs[name], atol=1e-9, err_msg=name)
    return len(pairs) * len(queries)


def _like_cwl(qrels: Dicts, run: Dicts, values: Mapping[str, Mapping[str, float]]) -> int:
    from cwl.ruler.cwl_ruler import APCWLMetric, PrecisionCWLMetric, Ranking, RBPCWLMetric, RRCWLMetric  # noqa: PLC0415

    metrics = {
        "P(rel=1)@10": PrecisionCWLMetric(10), "RR(rel=1)": RRCWLMetric(),
        "AP(rel=1,over='retrieved')": APCWLMetric(), "RBP(p=0.8,rel=1)": RBPCWLMetric(0.8),
    }  # fmt: skip
    for query, shown in run.items():
        ranked = sorted(shown, key=shown.__getitem__, reverse=True)
        gains = [float(qrels[query].get(doc, 0) > 0) for doc in ranked]
        ranking = Ranking(query, gains, [1.0] * len(gains))
        for name, metric in metrics.items():
            metric.measure(ranking)
            np.testing.assert_allclose(values[name][query], metric.expected_utility, atol=1e-9, err_msg=name)
    return len(metrics) * len(run)


if __name__ == "__main__":
    main()
