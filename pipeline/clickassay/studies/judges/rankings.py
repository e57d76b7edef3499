"""Whether judges put runs in the same order: tau, tau_AP, and pairs of runs that change with the judge.

An order of means is not known where runs hardly differ, so that neither is tau: percentile intervals of a
bootstrap over queries hold the true tau in 0 to 100% of worlds. The interval here goes by what is known of
each pair: a pair that differs significantly under both judges (Holm over the pairs of both) is in the same
order or not; any other may be either, also one on which the judges do not differ in these queries. Its ends
are the least and the largest tau-b of all these orders. It is wide where runs are close, and holds for all
pairs at once.
"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import polars as pl

from clickassay.core.records import Floats
from clickassay.correlation.uncertainty import intervals
from clickassay.studies.judges.forms import RANKING_PAIRS, RANKINGS


def rankings_under(
    judges: tuple[str, str], measure: str, values: tuple[Mapping[str, Floats], Mapping[str, Floats]]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compare the order of runs, by (Q,) values of each judge: rows of RANKINGS and RANKING_PAIRS."""
    runs = list(values[0])
    one, two = (np.column_stack([side[run] for run in runs]) for side in values)
    first, second = np.array(list(combinations(range(len(runs)), 2))).T
    of_one, of_two = (side[:, second] - side[:, first] for side in (one, two))
    tests = np.stack([intervals.t_test(of_one), intervals.t_test(of_two)])
    change, adjusted = of_two - of_one, intervals.holm(tests)
    mean, half = change.mean(axis=0), intervals.half_width(change)
    columns = {
        "baseline": [runs[at] for at in first], "run": [runs[at] for at in second],
        "difference_a": of_one.mean(axis=0), "p_holm_a": adjusted[0],
        "difference_b": of_two.mean(axis=0), "p_holm_b": adjusted[1],
        "change": mean, "ci_low": mean - half, "ci_high": mean + half,
        "p_holm": intervals.holm(intervals.t_test(change)),
    }  # fmt: skip
    same = {"judge_a": judges[0], "judge_b": judges[1], "measure": measure}
    pairs = _known(pl.DataFrame(columns), same)
    by_one, by_two = (pl.col(name).fill_null(1) < intervals.ALPHA for name in ("p_holm_a", "p_holm_b"))
    alike = pl.col("difference_a").sign() == pl.col("difference_b").sign()
    counted = pairs.select(  # pairs of runs by the judges under whom they differ significantly
        pairs=pl.len(),
        same=(by_one & by_two & alike).sum(),
        opposite=(by_one & by_two & ~alike).sum(),
        only_a=(by_one & ~by_two).sum(),
        only_b=(by_two & ~by_one).sum(),
        changed=(pl.col("p_holm").fill_null(1) < intervals.ALPHA).sum(),
    ).row(0, named=True)
    orders = _orders(one.mean(axis=0), two.mean(axis=0), intervals.holm(tests.ravel()).reshape(tests.shape))
    few = intervals.FEW_QUERIES if len(one) < intervals.MIN_QUERIES else None
    row = orders | counted | {"n_runs": len(runs), "n_queries": len(one), "caution": few}
    whole = _known(pl.DataFrame([row], infer_schema_length=None), same)
    return RANKINGS.canonical(whole), RANKING_PAIRS.canonical(pairs)


def _known(frame: pl.DataFrame, same: Mapping[str, str]) -> pl.DataFrame:
    named = frame.with_columns(**{name: pl.lit(text) for name, text in same.items()})
    return named.with_columns(pl.col(pl.Float64).fill_nan(None))


def _orders(one: Floats, two: Floats, p_values: Floats) -> dict[str, float]:
    """Return tau and tau_AP of the (S,) means, with their ends by (2, P) adjusted p-values of pairs."""
    runs = len(one)
    first, second = np.array(list(combinations(range(runs), 2))).T
    signs = [np.sign(side[second] - side[first]) for side in (one, two)]
    agree = signs[0] * signs[1]
    untied = np.prod([np.abs(sign).sum() for sign in signs])
    of_both = []
    for means in (one, two):
        # of tau_AP (Yilmaz, Aslam and Robertson 2008): 1 / (S - 1) of the runs above a rank i each count
        # 1 / (i - 1), i being the lower rank of the pair; their sum is 1
        rank = np.empty(runs)
        rank[np.argsort(-means, kind="stable")] = np.arange(runs)
        of_both.append(1 / np.maximum(rank[first], rank[second]) / (runs - 1))
    weights = np.mean(of_both, axis=0)
    known = (p_values < intervals.ALPHA).all(axis=0)  # false for NaN
    low, high = (np.where(known, agree, end) for end in (-1, 1))
    return {
        "tau": float(agree.sum() / np.sqrt(untied)) if untied else float("nan"),
        "tau_low": float(low.mean()),
        "tau_high": float(high.mean()),
        "tau_ap": float((weights * agree).sum()),
        "tau_ap_low": float((weights * low).sum()),
        "tau_ap_high": float((weights * high).sum()),
    }
