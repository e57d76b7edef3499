"""Tables of a small synthetic run that name queries, and the draws of two rankers, in plain loops.

Even queries of the world have five users or more, odd ones fewer; query 1 is missing from `queries`.
"""

import hashlib
import itertools

import numpy as np

from support.reports.report_world import (
    CLICKS,
    HOSTILE,
    PLAIN_OR_NOT,
    correlation,
    query_of,
    several,
    without_one,
)

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
            "market": market,
            "query": query_of(market, q),
            "users_at_least": users_of(q),
            "query_group": None,
            "digest": digest_of(market, query_of(market, q)).removeprefix("query "),
        }
        for market in markets
        for q in range(n_queries)
        if q != 1
    ]


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
                    **key,
                    "click_metric": "MeanRR",
                    "editorial_metric": PLAIN_OR_NOT[e],
                    "side": side,
                    "rank": rank,
                    "query": queries[q],
                    "n_sessions": int(n[place == q].sum()),
                    "without": float(without[q, e]),
                    "without_these": float(correlation(x, y, left[None, :])[0, at, e]),
                    "error_share": float(error[q, e] / error[:, e].sum()),
                }
            )
    return rows


def cascade_effect_rows(key, rows):
    """Results of the first queries with made-up clicks; the first is of a rare query, the second not."""
    first = list({row["query"]: row for row in rows}.values())[:MAX_EXAMPLES]
    order = sorted(range(len(first)), key=lambda place: place ^ 1)  # 1, 0, 3, 2 ...
    return [
        {
            **key,
            "rank": rank,
            "query": first[place]["query"],
            "url": first[place]["results"][0],
            "grade": 2,
            "position_alone": 1,
            "sessions_alone": 1_000 + rank,
            "ctr_alone": 0.9 - rank / 20,
            "average_ctr_alone": 0.4,
            "configuration_alone": f"alone {rank}",
            "better_url": first[place]["results"][1],
            "better_grade": 4,
            "better_position": 1,
            "position_below": 2,
            "sessions_below": 500 + rank,
            "ctr_below": rank / 100,
            "average_ctr_below": 0.2,
            "configuration_below": f"below {rank}",
            "min_excess_ctr_ratio": 10.0 - rank,
        }
        for rank, place in enumerate(order, start=1)
    ]
