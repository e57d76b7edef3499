"""Small synthetic runs for the report tests: consistent tables, made here in the plainest way.

A world is queries with a few configurations of graded results, and users who look from the top and
stop at a good result. Metrics are those of the oracle, correlations and intervals (twice the error
that leaving out queries gives) are computed with simple NumPy, far from the package; what the tests
judge is how the report presents these numbers, not the numbers.
"""

import hashlib
import itertools
import math
from collections import Counter
from functools import cache

import numpy as np

from support.oracle.oracle_intervals import holm
from support.oracle.oracle_metrics import CLICK_METRICS as CLICKS
from support.oracle.oracle_metrics import Configuration, click_metric, editorial_metrics

EDITORIAL = ("DCG", "NDCG", "AP", "RR", "ERR", "RBP", "AP(rel=2)", "RR(rel=2)")
BASELINES = ("MeanGrade", "MeanGrade@1", "P@1")
PLAIN_OR_NOT = (*EDITORIAL, *BASELINES)
FEW = "fewer than 50 queries"
HOSTILE = "<script>alert(1)</script>|`x`*_#{{7*7}}\u2028\n\"'&\\end{tabular}%$~^\u202e"
QUERY_TEXT = "a query that no report may show"
NAMED_TEXT = "a query that so many people ask"
HEADLINE = {"market": "m1", "depth": 5, "judge": "editor"}
RARE_HOST, NAMED_HOST = "http://rare.example/", "http://named.example/"


def click_values(mask, grades):
    places = tuple(p + 1 for p in range(len(grades)) if mask >> p & 1)
    return {name: click_metric(name, places, grades, 2) for name in CLICKS}


def editorial_values(grades, pool):
    """The metrics of PLAIN_OR_NOT."""
    return editorial_metrics(Configuration("", "", (), tuple(grades), (), tuple(pool)), {})


def correlation(x, y, w):
    """Weighted Pearson of x (N, C) and y (N, E) with weights w (B, N): (B, C, E)."""
    w = w / w.sum(1, keepdims=True)
    mx, my = w @ x, w @ y
    xy = np.einsum("bn,nc,ne->bce", w, x, y) - mx[:, :, None] * my[:, None, :]
    xx, yy = w @ x**2 - mx**2, w @ y**2 - my**2
    scale = xx[:, :, None] * yy[:, None, :]
    return np.where(scale > 1e-16, xy / np.sqrt(np.where(scale > 1e-16, scale, 1.0)), np.nan)


def session_masks(rng, grades, n):
    """Users read from the top, click with a chance that grows with the grade, and stop when satisfied."""
    masks = []
    taste = rng.random(len(grades)) * 0.45  # clicks on what looks good, whatever it is worth
    for _ in range(n):
        mask = 0
        for place, (grade, look, stop) in enumerate(zip(grades, *rng.random((2, len(grades))), strict=True)):
            if look < taste[place] + (2**grade - 1) / 24:
                mask |= 1 << place
                if stop < 0.6:
                    break
            if stop > 0.9:
                break
        masks.append(mask)
    return masks


def query_of(market, q):
    """Query number q: even ones have enough users to be named; hostile in a hostile market."""
    text = f"{QUERY_TEXT if q % 2 else NAMED_TEXT} {'w ' * (q % 5)}{q}"
    return f"=1+1 \u202e{text} {HOSTILE}" if market == HOSTILE else text


def url_of(market, q, result):
    """A result of query number q; hostile in a hostile market."""
    text = f"{RARE_HOST if q % 2 else NAMED_HOST}{q}/{result}"
    return text + HOSTILE if market == HOSTILE else text


@cache
def world(seed, market, judge, depth, n_queries):
    """Configurations of one sample as dicts; deeper samples hold fewer queries."""
    rng = np.random.default_rng([seed, len(market), ord(market[-1]), ord(judge[-1])])
    rows = []
    for q in range(n_queries):
        query = query_of(market, q)
        pool = rng.choice(5, size=24, p=[0.35, 0.3, 0.2, 0.1, 0.05])
        for c in range(int(rng.integers(1, 6))):
            order = rng.permutation(24)[:10]
            if rng.random() < 0.7:
                order = order[np.argsort(-(pool[order] + rng.normal(0, 1.3, 10)))]
            grades = [int(g) for g in pool[order]][:depth]
            masks = session_masks(rng, [int(g) for g in pool[order]], int(rng.integers(3, 40) * (1 + q % 7)))
            rows.append(
                {
                    "query": query, "id": f"{market}{judge}{q}-{c}", "grades": grades,
                    "pool": pool.tolist(), "results": [url_of(market, q, r) for r in order][:depth],
                    "full": masks, "masks": [mask & ((1 << depth) - 1) for mask in masks],
                }
            )  # fmt: skip
    return rows if depth <= 5 else rows[: len(rows) // 2]


def classes(queries, place, n, attribute):
    every = range(len(queries))
    yield "all", "all", set(every)
    words = [min(4, len(query.split()) % 4 + 1) for query in queries]
    for length in (1, 2, 3, 4):
        yield "length", "4+" if length == 4 else str(length), {q for q in every if words[q] == length}
    weight = np.bincount(place, n, minlength=len(queries))
    order = np.argsort(weight, kind="stable")
    for decile in range(10):
        yield "frequency", str(decile + 1), {int(order[r]) for r in every if 10 * r // len(queries) == decile}
    if attribute == "navigational":
        yield "navigational", "true", {q for q in every if q % 3 == 0}
        yield "navigational", "false", {q for q in every if q % 3}
    else:
        for third, label in enumerate(("low", "middle", "high")):
            yield "click_entropy", label, {q for q in every if 3 * q // len(queries) == third}
    yield f"intent {HOSTILE}", f"=1+1 {HOSTILE}", {q for q in every if q % 2}
    yield f"intent {HOSTILE}", "[news]", {q for q in every if q % 2 == 0}


def dealt_success(rows):
    """SS of each configuration if every session had a click pattern drawn from those of all."""
    patterns = Counter(mask for row in rows for mask in row["masks"])
    return np.array(
        [
            sum(times * click_values(mask, row["grades"])["SS"] for mask, times in patterns.items())
            / patterns.total()
            for row in rows
        ]
    )


def without_one(place, n):
    """Weights (Q, N) without each query."""
    return np.array([np.where(place == query, 1e-12, n) for query in np.unique(place)])


def error(values):
    """Standard error from (Q, ...) values without each query; NaN when one of them is not there."""
    return np.sqrt((len(values) - 1) / len(values) * ((values - values.mean(0)) ** 2).sum(0))


def ends(value, spread, errors=2):
    """Twice the error below and above; nothing when there is no error."""
    if not np.isfinite(spread):
        return None, None
    return float(value - errors * spread), float(value + errors * spread)


def together(value, spread):
    """Three errors below and above, as the interval that holds for a whole family."""
    return dict(zip(("simultaneous_low", "simultaneous_high"), ends(value, spread, 3), strict=True))


def doubt(low, n_queries):
    if low is None:
        return "no interval: too few queries vary"
    return FEW if n_queries < 50 else None


def class_rows(key, split, label, x, y, n, place, null):
    if len(n) == 0:
        return []
    value = correlation(x, y, n[None, :].astype(float))[0]
    dealt = correlation(null[:, None], y, n[None, :].astype(float))[0, 0]
    spread = error(correlation(x, y, without_one(place, n)))
    n_queries = len(set(place.tolist()))
    rows = []
    for c, e in itertools.product(range(len(CLICKS)), range(len(PLAIN_OR_NOT))):
        ok = bool(np.isfinite(value[c, e]))
        low, high = ends(value[c, e], spread[c, e]) if ok else (None, None)
        corrected = [None if end is None else 1.25 * end for end in (low, high)]
        nothing = 0.0 if CLICKS[c] != "SS" else float(dealt[e])
        rows.append(
            {
                **key, "split": split, "class": label, "click_metric": CLICKS[c],
                "editorial_metric": PLAIN_OR_NOT[e], "correlation": float(value[c, e]) if ok else None,
                "ci_low": low, "ci_high": high, **(together(value[c, e], spread[c, e]) if ok else {}),
                "noise_corrected": 1.25 * float(value[c, e]) if ok else None,
                "noise_corrected_low": None if CLICKS[c] == "QCTR" else corrected[0],
                "noise_corrected_high": None if CLICKS[c] == "QCTR" else corrected[1],
                "p_value": p_of(value[c, e] - nothing, spread[c, e]) if ok else None,
                "null_correlation": nothing if ok and np.isfinite(nothing) else None,
                "n_configurations": len(n), "n_queries": n_queries, "n_sessions": int(n.sum()),
                "reason": None if ok else "no variance", "caution": doubt(low, n_queries) if ok else None,
            }
        )  # fmt: skip
    return adjusted(rows)


def p_of(value, spread):
    """Normal p-value of a value with this error; None without one."""
    tested = np.isfinite(value) and np.isfinite(spread) and spread > 0
    return math.erfc(abs(value) / spread / math.sqrt(2)) if tested else None


def adjusted(rows):
    """The rows with adjusted p-values; the metrics of one click metric are a family."""
    families = [rows[at : at + len(PLAIN_OR_NOT)] for at in range(0, len(rows), len(PLAIN_OR_NOT))]
    return [
        {**row, "p_adjusted": p}
        for family in families
        for row, p in zip(family, holm([one["p_value"] for one in family]), strict=True)
    ]


def comparison_rows(key, x, y, n, place):
    value = correlation(x, y, n[None, :].astype(float))[0]
    return pair_rows(key, value, correlation(x, y, without_one(place, n)))


def pair_rows(key, value, left_out):
    """Rows of every two metrics, from (C, E) correlations and (Q, C, E) ones without a query each."""
    n_queries = len(left_out)
    rows = []
    for c in range(len(CLICKS)):
        family = []
        for a, b in itertools.combinations(range(len(PLAIN_OR_NOT)), 2):
            lead, spread = value[c, a] - value[c, b], error(left_out[:, c, a] - left_out[:, c, b])
            ok = bool(np.isfinite(lead))
            low, high = ends(lead, spread) if ok else (None, None)
            tested = low is not None and spread > 0
            family.append(
                {
                    **key, "click_metric": CLICKS[c], "metric_a": PLAIN_OR_NOT[a],
                    "metric_b": PLAIN_OR_NOT[b], "difference": lead if ok else None, "ci_low": low,
                    "ci_high": high, **(together(lead, spread) if ok else {}),
                    "error": spread if tested else None, "degrees": 1e6 if tested else None,
                    "p_value": math.erfc(abs(lead) / spread / math.sqrt(2)) if tested else None,
                    "queries_needed": math.ceil(n_queries * (4.2 * spread / lead) ** 2) if tested else None,
                    "n_queries": n_queries, "caution": doubt(low, n_queries) if ok else None,
                }
            )  # fmt: skip
        p_adjusted = holm([row["p_value"] for row in family])
        rows += [{**row, "p_adjusted": p} for row, p in zip(family, p_adjusted, strict=True)]
    return rows


def several(place):
    """The configurations of each query that has two or more."""
    groups = [np.flatnonzero(place == query) for query in np.unique(place)]
    return [group for group in groups if len(group) > 1]


def difference_comparison_rows(key, x, y, place):
    """Rows of every two metrics, of the closed form of Algorithm 3."""
    parts = np.array([np.cov(np.hstack([x, y])[group], rowvar=False) for group in several(place)])

    def closed_forms(sums):
        roots = np.sqrt(np.diagonal(sums, axis1=-2, axis2=-1))
        scaled = sums / roots[..., :, None] / roots[..., None, :]
        return scaled[..., : len(CLICKS), len(CLICKS) :]

    return pair_rows(key, closed_forms(parts.sum(0)), closed_forms(parts.sum(0) - parts))


def difference_rows(key, x, y, place, draws):
    groups = several(place)
    drawn = np.corrcoef(draws, rowvar=False)[: len(CLICKS), len(CLICKS) :]
    rows = []
    for c, e in itertools.product(range(len(CLICKS)), range(len(PLAIN_OR_NOT))):
        parts = np.array([np.cov(x[g, c], y[g, e])[[0, 0, 1], [0, 1, 1]] for g in groups])
        xx, xy, yy = parts.sum(0)
        exact = xy / math.sqrt(xx * yy)
        rest = np.array([xx, xy, yy]) - parts
        spread = error(rest[:, 1] / np.sqrt(rest[:, 0] * rest[:, 2]))
        low, high = ends(exact, spread)
        bounded = bool(e % 4) and CLICKS[c] != "QCTR" and low is not None
        rows.append(
            {
                **key, "click_metric": CLICKS[c], "editorial_metric": PLAIN_OR_NOT[e],
                "monte_carlo": drawn[c, e],
                "monte_carlo_se": (1 - drawn[c, e] ** 2) / math.sqrt(len(draws)), "exact": exact,
                "ci_low": low, "ci_high": high, **together(exact, spread),
                "noise_corrected": exact * 1.12 if e % 4 else None,
                "noise_corrected_low": low * 1.12 if bounded else None,
                "noise_corrected_high": high * 1.12 if bounded else None,
                "p_value": None if CLICKS[c] == "SS" else p_of(exact, spread),
                "sign_agreement": 0.5 + math.asin(exact) / math.pi, "n_queries": len(groups),
                "n_configurations": sum(map(len, groups)), "reason": None,
                "caution": doubt(low, len(groups)),
            }
        )  # fmt: skip
    return adjusted(rows)


ITERATIONS = 1000
N_INFLUENTIAL = 5
MAX_EXAMPLES = 6


def users_of(q):
    """Users of query number q, at least: 5, 11, 17 ... for even ones, at most 4 for odd ones."""
    return q % 5 if q % 2 else min(64, 5 + 3 * q)


MISSING = {(market, query_of(market, 1)) for market in ("m1", "m2", HOSTILE)}


def digest_of(market, query):
    """What stands for a rare query; one is missing from the table of queries."""
    if (market, query) in MISSING:
        return "query unknown"
    return f"query {hashlib.sha256(f'{market}{chr(10)}{query}'.encode()).hexdigest()[:6]}"


def query_rows(markets, n_queries):
    return [
        {
            "market": market, "query": query_of(market, q), "users_at_least": users_of(q),
            "query_group": None, "digest": digest_of(market, query_of(market, q)).removeprefix("query "),
        }
        for market in markets
        for q in range(n_queries)
        if q != 1
    ]  # fmt: skip


def drawn_differences(values, place, rng):
    """Mean over queries of A - B, two different configurations of each query: (iterations, metrics)."""
    groups = several(place)
    total = np.zeros((ITERATIONS, values.shape[1]))
    for group in groups:
        first = rng.integers(len(group), size=ITERATIONS)
        second = (first + rng.integers(1, len(group), size=ITERATIONS)) % len(group)
        total += values[group[first]] - values[group[second]]
    return total / len(groups)


def draw_rows(key, draws):
    names = (*CLICKS, *PLAIN_OR_NOT)
    return [
        {**key, "iteration": place, **dict(zip(names, values.tolist(), strict=True))}
        for place, values in enumerate(draws, start=1)
    ]


def influence_rows(key, x, y, n, place, queries):
    """The queries that move a correlation with MeanRR most, by leaving out one, and then all up to it."""
    at = CLICKS.index("MeanRR")
    value = correlation(x, y, n[None, :].astype(float))[0, at]
    without = correlation(x, y, without_one(place, n))[:, at]
    error = (without - without.mean(0)) ** 2
    rows = []
    for e, (side, sign) in itertools.product(range(len(PLAIN_OR_NOT)), (("raises", 1), ("lowers", -1))):
        gain = sign * (value[e] - without[:, e])
        order = [q for q in np.argsort(-gain, kind="stable")[:N_INFLUENTIAL] if gain[q] > 0]
        for rank, q in enumerate(order, start=1):
            left = np.where(np.isin(place, order[:rank]), 1e-12, n)
            rows.append(
                {
                    **key, "click_metric": "MeanRR", "editorial_metric": PLAIN_OR_NOT[e], "side": side,
                    "rank": rank, "query": queries[q], "n_sessions": int(n[place == q].sum()),
                    "without": float(without[q, e]),
                    "without_these": float(correlation(x, y, left[None, :])[0, at, e]),
                    "error_share": float(error[q, e] / error[:, e].sum()),
                }
            )  # fmt: skip
    return rows


def cascade_effect_rows(key, rows):
    """Results of the first queries with made-up clicks; the first is of a rare query, the second not."""
    first = list({row["query"]: row for row in rows}.values())[:MAX_EXAMPLES]
    order = sorted(range(len(first)), key=lambda place: place ^ 1)  # 1, 0, 3, 2 ...
    return [
        {
            **key, "rank": rank, "query": first[place]["query"], "url": first[place]["results"][0],
            "grade": 2, "position_alone": 1, "sessions_alone": 1_000 + rank, "ctr_alone": 0.9 - rank / 20,
            "average_ctr_alone": 0.4, "configuration_alone": f"alone {rank}",
            "better_url": first[place]["results"][1], "better_grade": 4, "better_position": 1,
            "position_below": 2, "sessions_below": 500 + rank, "ctr_below": rank / 100,
            "average_ctr_below": 0.2, "configuration_below": f"below {rank}",
            "min_excess_ctr_ratio": 10.0 - rank,
        }
        for rank, place in enumerate(order, start=1)
    ]  # fmt: skip
