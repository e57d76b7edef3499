"""Curves of runs: precision by recall, gain by rank with the ideal gain; two runs query by query."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from clickassay.core.records import Floats
from clickassay.metrics.editorial import discount, ideal_grades
from clickassay.metrics.lists import Block, Lists
from clickassay.metrics.ranked import RECALLS, precision_at_recalls, r_precision, share
from clickassay.studies.evaluation.forms import GAIN_CURVES, R_PRECISIONS, RECALL_PRECISION, in_form


def curve_tables(runs: Mapping[str, Lists], *, rel: int, depth: int) -> dict[str, pl.DataFrame]:
    """Return the tables of curves, by name; R-precisions are compared where there are two runs."""
    precisions, gains = [], []
    for name, lists in runs.items():
        precision = recall_precision(lists, rel=rel)
        precisions.append(pl.DataFrame({"run": name, "recall": RECALLS, "precision": precision}))
        ranks = {"run": name, "rank": np.arange(1, depth + 1)}
        gains.append(pl.DataFrame(ranks | gain_curves(lists, depth=depth)))
    apart = R_PRECISIONS.empty()
    if len(runs) == 2:
        (first, one), (other, two) = runs.items()
        difference = r_precision_differences(one, two, rel=rel)
        apart = pl.DataFrame({"query": one.queries, "difference": difference})
        apart = in_form(R_PRECISIONS, apart.with_columns(baseline=pl.lit(first), run=pl.lit(other)))
    return {
        RECALL_PRECISION.name: in_form(RECALL_PRECISION, pl.concat(precisions)),
        GAIN_CURVES.name: in_form(GAIN_CURVES, pl.concat(gains)),
        R_PRECISIONS.name: apart,
    }


def recall_precision(lists: Lists, *, rel: int) -> Floats:
    """Return the (11,) interpolated precision at recall 0, 0.1, ... 1, averaged over the queries.

    `rel` is the lowest grade that counts as relevant; results without a grade are not. A query without
    relevant results counts 0, as in trec_eval. Without queries every value is NaN.
    """
    total = np.zeros(len(RECALLS))
    for block in lists.blocks(None, exact=False):
        pool = lists.pool[block.rows]
        total += precision_at_recalls(_grades(block), pool, rel=rel).sum(axis=0)
    return _mean(total, lists)


def gain_curves(lists: Lists, *, depth: int) -> dict[str, Floats]:
    """Return the (depth,) columns of GAIN_CURVES, averaged over the queries (Jarvelin & Kekalainen 2000).

    The gain is the grade, its discount max(1, log2 i); a list that ends gains no more. Ideal lists have the
    judged results of each query by falling grade. ncg and ndcg are ratios of averages, 0..1.
    """
    gain, ideal = np.zeros(depth), np.zeros(depth)
    for block in lists.blocks(depth, exact=False):
        of_rank = _grades(block).sum(axis=0, dtype=np.float64)
        gain[: len(of_rank)] += of_rank
        ideal += ideal_grades(lists.pool[block.rows], depth).sum(axis=0, dtype=np.float64)
    # a mean of cumulated gains is the cumulated mean gain
    gain, ideal = _mean(gain, lists), _mean(ideal, lists)
    by_rank = np.array([discount("jk-log2", rank) for rank in range(1, depth + 1)])
    cg, ideal_cg = np.cumsum(gain), np.cumsum(ideal)
    dcg, ideal_dcg = np.cumsum(gain / by_rank), np.cumsum(ideal / by_rank)
    ratios = {"ncg": share(cg, ideal_cg), "ndcg": share(dcg, ideal_dcg)}
    return {"cg": cg, "dcg": dcg, "ideal_cg": ideal_cg, "ideal_dcg": ideal_dcg, **ratios}


def r_precision_differences(first: Lists, other: Lists, *, rel: int) -> Floats:
    """Return (Q,) R-precision of `other` - `first`, -1..1: the histogram of Baeza-Yates & Ribeiro-Neto."""
    return _r_precision(other, rel) - _r_precision(first, rel)


def _r_precision(lists: Lists, rel: int) -> Floats:
    values = np.zeros(len(lists.queries))
    for block in lists.blocks(None, exact=False):
        values[block.rows] = r_precision(_grades(block), lists.pool[block.rows], rel=rel)
    return values


def _grades(block: Block) -> np.ndarray:
    return np.maximum(block.grades, 0)


def _mean(total: Floats, lists: Lists) -> Floats:
    number = len(lists.queries)
    return total / number if number else np.full(len(total), np.nan)
