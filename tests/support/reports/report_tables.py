"""Small made-up runs for the report tests: what is judged is how the report presents numbers, not these.

Numbers are drawn, around a level of each metric; those that a reader sees together agree with each other.
A rich run, and ones in which nearly nothing was kept.
"""

import hashlib
import itertools
import math
from functools import cache

import numpy as np
import polars as pl

from clickassay.core.contracts import run as contracts
from clickassay.core.contracts.correlation import ADDED
from support.oracle.oracle_intervals import holm
from support.oracle.oracle_metrics import CLICK_METRICS as CLICKS

EDITORIAL = ("DCG", "NDCG", "AP", "RR", "ERR", "RBP", "AP(rel=2)", "RR(rel=2)")
BASELINES = ("MeanGrade", "MeanGrade@1", "P@1")
PLAIN_OR_NOT = (*EDITORIAL, *BASELINES)
LEVELS = np.array([0.52, 0.38, 0.30, 0.50, 0.60, 0.49, 0.29, 0.25, 0.41, 0.54, 0.48])
"""About which the correlations of these metrics lie."""
FEW = "fewer than 50 queries"
HOSTILE = "<script>alert(1)</script>|`x`*_#{{7*7}}\u2028\n\"'&\\end{tabular}%$~^\u202e"
QUERY_TEXT = "a query that no report may show"
NAMED_TEXT = "a query that so many people ask"
HEADLINE = {"market": "m1", "depth": 5, "judge": "editor"}
RARE_HOST, NAMED_HOST = "http://rare.example/", "http://named.example/"
ITERATIONS = 1000
N_INFLUENTIAL = 5
MAX_EXAMPLES = 6


def query_of(market, q):
    """Query number q: even ones have enough users to be named; hostile in a hostile market."""
    text = f"{QUERY_TEXT if q % 2 else NAMED_TEXT} {'w ' * (q % 5)}{q}"
    return f"=1+1 \u202e{text} {HOSTILE}" if market == HOSTILE else text


def url_of(market, q, result):
    """A result of query number q; hostile in a hostile market."""
    text = f"{RARE_HOST if q % 2 else NAMED_HOST}{q}/{result}"
    return text + HOSTILE if market == HOSTILE else text


def configurations(seed, market, depth, judge, n_queries):
    """Configurations of one sample as rows, and the numbers of their queries; deep samples have fewer."""
    rng = np.random.default_rng([seed, len(market), ord(market[-1]), ord(judge[-1])])
    numbers = [q for q in range(n_queries // (1 if depth <= 5 else 2)) for _ in range(rng.integers(1, 6))]
    key = {"market": market, "depth": depth, "judge": judge}
    rows = [
        {
            **key, "configuration_id": f"{market}{judge}{q}-{place}", "query": query_of(market, q),
            "results": [url_of(market, q, result) for result in rng.permutation(24)[:depth]],
            "grades": rng.choice(5, size=depth, p=[0.35, 0.3, 0.2, 0.1, 0.05]).tolist(),
            "n_sessions": int(rng.integers(3, 40) * (1 + q % 7)),
            **dict(zip((*CLICKS, *PLAIN_OR_NOT), rng.random(len(CLICKS) + len(PLAIN_OR_NOT)), strict=True)),
        }
        for place, q in enumerate(numbers)
    ]  # fmt: skip
    return rows, np.array(numbers), rng


def classes(queries, place, n, attribute):
    every = range(len(queries))
    yield "all", "all", set(every)
    words = [min(4, len(query.split()) % 4 + 1) for query in queries]
    for length in (1, 2, 3, 4):
        yield "length", "4+" if length == 4 else str(length), {q for q in every if words[q] == length}
    order = np.argsort(np.bincount(place, n, minlength=len(queries)), kind="stable")
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


def estimate(name, value, error, n_queries, *, nothing=0.0):
    """A value with twice its error on both sides, three times for a family; NaN is none."""
    ok, sure = bool(np.isfinite(value)), bool(np.isfinite(value + error))
    ends = {
        f"{side}{end}": float(value + sign * errors * error) if sure else None
        for side, errors in (("ci_", 2), ("simultaneous_", 3))
        for end, sign in (("low", -1), ("high", 1))
    }
    doubt = (FEW if n_queries < 50 else None) if sure else "no interval: too few queries vary"
    p = math.erfc(abs(value - nothing) / error / math.sqrt(2)) if sure else None
    found = {name: float(value) if ok else None, **ends, "p_value": p, "n_queries": n_queries}
    return found | {"caution": doubt if ok else None}


def adjusted(rows):
    """The rows with adjusted p-values: those of one click metric are a family."""
    return [
        {**row, "p_adjusted": p}
        for _, family in itertools.groupby(rows, lambda row: row["click_metric"])
        for own in [list(family)]
        for row, p in zip(own, holm([one["p_value"] for one in own]), strict=True)
    ]


def class_rows(key, split, label, n, n_queries, rng):
    """Correlations of a class; none of one configuration, no interval of one query."""
    if len(n) == 0:
        return []
    rows = []
    for (c, click), (e, name) in itertools.product(enumerate(CLICKS), enumerate(PLAIN_OR_NOT)):
        value = LEVELS[e] - 0.02 * c + rng.normal(0, 0.003) if len(n) > 1 else np.nan
        nothing = 0.1 - 0.005 * e if click == "SS" else 0.0
        error = rng.uniform(0.03, 0.05) if n_queries > 1 else np.nan
        own = estimate("correlation", value, error, n_queries, nothing=nothing)
        value, *bounds = (
            own[column] and 1.25 * own[column] for column in ("correlation", "ci_low", "ci_high")
        )
        low, high = (None, None) if click == "QCTR" else bounds
        rows.append(
            {
                **key, "split": split, "class": label, "click_metric": click, "editorial_metric": name, **own,
                "noise_corrected": value, "noise_corrected_low": low, "noise_corrected_high": high,
                "null_correlation": None if value is None else nothing, "n_configurations": len(n),
                "n_sessions": int(n.sum()), "reason": "no variance" if value is None else None,
            }
        )  # fmt: skip
    return adjusted(rows)


def pair_rows(key, rows, name, n_queries, rng):
    """Every two metrics of each click metric: the difference of their values in `rows`."""
    values = {(row["click_metric"], row["editorial_metric"]): row[name] for row in rows}
    pairs = []
    for click, (a, b) in itertools.product(CLICKS, itertools.combinations(PLAIN_OR_NOT, 2)):
        error = rng.uniform(0.02, 0.05)
        own = estimate("difference", values[click, a] - values[click, b], error, n_queries)
        needed = math.ceil(n_queries * (4.2 * error / own["difference"]) ** 2)
        pairs.append(
            {
                **key, "click_metric": click, "metric_a": a, "metric_b": b, **own, "error": error,
                "degrees": 1e6, "queries_needed": needed,
            }
        )  # fmt: skip
    return adjusted(pairs)


def difference_rows(key, place, rng):
    """The closed forms of differences; some have no noise-corrected value, some no bound of it."""
    lists = np.unique(place, return_counts=True)[1]
    rows = []
    for (c, click), (e, name) in itertools.product(enumerate(CLICKS), enumerate(PLAIN_OR_NOT)):
        exact, se = LEVELS[e] - 0.03 * c + rng.normal(0, 0.003), 0.03
        own = estimate("exact", exact, rng.uniform(0.02, 0.04), int((lists > 1).sum()))
        bounds = [own[end] * 1.12 if e % 4 and click != "QCTR" else None for end in ("ci_low", "ci_high")]
        rows.append(
            {
                **key, "click_metric": click, "editorial_metric": name, **own,
                "p_value": None if click == "SS" else own["p_value"],
                "monte_carlo": exact + rng.normal(0, se), "monte_carlo_se": se,
                "noise_corrected": exact * 1.12 if e % 4 else None, "noise_corrected_low": bounds[0],
                "noise_corrected_high": bounds[1], "sign_agreement": 0.5 + math.asin(exact) / math.pi,
                "n_configurations": int(lists[lists > 1].sum()), "reason": None,
            }
        )  # fmt: skip
    return adjusted(rows)


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


def draw_rows(key, rng):
    """Differences of two rankers, half of which clicks and metrics have in common."""
    names = (*CLICKS, *PLAIN_OR_NOT)
    values = rng.normal(size=(ITERATIONS, 1)) + rng.normal(size=(ITERATIONS, len(names)))
    return [
        {**key, "iteration": place, **dict(zip(names, row, strict=True))}
        for place, row in enumerate((0.05 * values).tolist(), start=1)
    ]


def influence_rows(key, queries, rng):
    """Five queries on each side, the most influential first; their correlations with MeanRR."""
    rows = []
    for name, (side, sign) in itertools.product(PLAIN_OR_NOT, (("raises", -1), ("lowers", 1))):
        for rank, query in enumerate(rng.permutation(queries)[:N_INFLUENTIAL].tolist(), start=1):
            without = 0.4 + sign * 0.01 / rank
            rows.append(
                {
                    **key, "click_metric": "MeanRR", "editorial_metric": name, "side": side, "rank": rank,
                    "query": query, "n_sessions": 10 * rank, "without": without,
                    "without_these": 0.4 + sign * 0.01 * rank, "error_share": 0.1 / rank,
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


SHA = "0123456789abcdef" * 4


def funnel_rows(markets, depths, judges, kept, n_all):
    """Counts at every step; the parts of each source add up to what was read."""
    sessions = sum(n_all.values())
    plain = [
        ("searches", "read", "", sessions + 300),
        ("searches", "rejected", "null user_id", 61),
        ("searches", "rejected", "null in results", 17),
        ("searches", "repeated", "delivered again", 222),
        ("searches", "kept", "", sessions),
        ("clicks", "read", "", sessions + 400),
        ("clicks", "rejected", "null url", 40),
        ("clicks", "unmatched", "no usable search", 210),
        ("clicks", "out of time", "beyond the idle limit", 150),
        ("clicks", "kept", "", sessions),
        ("judgments", "read", "", 9_000),
        ("judgments", "repeated", "same judgment again", 14),
        ("judgments", "no query", "its query is not in the log", 886),
        ("judgments", "kept", "", 8_100),
    ]
    rows = [(source, "all", 0, "all", step, reason, number) for source, step, reason, number in plain]
    for depth in depths:
        lost = {"elsewhere": 900 // depth, "again": 70}
        reasons = {"elsewhere": "not in the top results", "again": "same result clicked again"}
        rows += [("clicks", "all", depth, "all", step, reasons[step], n) for step, n in lost.items()]
        rows.append(("clicks", "all", depth, "all", "in patterns", "", sessions - sum(lost.values())))
    for market in markets:
        rows.append(("sessions", market, 0, "all", "formed", "", n_all[market]))
        for depth, judge in itertools.product(depths, judges):
            here = ("sessions", market, depth, judge)
            left = n_all[market] - kept[market, depth, judge]
            rows.append((*here, "too short", "fewer results than the depth", left // 10))
            rows.append((*here, "not judged", "a result without a grade", left - left // 10))
            rows.append((*here, "kept", "", kept[market, depth, judge]))
    return frame_of("funnel", rows).to_dicts()


def frame_of(name, rows):
    """Rows of a table of a run, as tuples or by column; what they do not say is null."""
    (table,) = (table for table in contracts.RUN_TABLES if table.name == name)
    width = len(table.columns)
    rows = [(*row, *[None] * (width - len(row))) if isinstance(row, tuple) else row for row in rows]
    return pl.DataFrame(rows, schema=table.empty().schema, orient="row")


def sample_tables(seed, market, depth, judge, n_queries, attribute):
    """Rows by table."""
    rows, place, rng = configurations(seed, market, depth, judge, n_queries)
    queries = list(dict.fromkeys(row["query"] for row in rows))
    n = np.array([row["n_sessions"] for row in rows])
    key = {"market": market, "depth": depth, "judge": judge}
    correlations = []
    for split, label, chosen in classes(queries, place, n, attribute):
        keep = np.isin(place, sorted(chosen))
        correlations += class_rows(key, split, label, n[keep], len(chosen), rng)
    differences = difference_rows(key, place, rng)
    patterns = [
        {"configuration_id": row["configuration_id"], "fold": 0, "click_mask": mask, "sessions": 1 + mask}
        for row in rows
        for mask in range(3)
    ]
    overall = [row for row in correlations if row["split"] == "all"]
    return {
        "configurations": rows, "correlations": correlations,
        "comparisons": pair_rows(key, overall, "correlation", len(queries), rng),
        "difference_comparisons": pair_rows(key, differences, "exact", len(queries), rng),
        "differences": differences, "patterns": patterns, "draws": draw_rows(key, rng),
        "influence": influence_rows(key, queries, rng), "cascade_effects": cascade_effect_rows(key, rows),
    }  # fmt: skip


@cache
def run_tables(
    markets=("m1", "m2"),
    depths=(5, 10),
    judges=("editor", "llm"),
    *,
    seed=1,
    n_queries=60,
    attribute="navigational",
):
    """The tables of a whole run; do not change what is returned, it is shared."""
    rows = {"queries": query_rows(markets, n_queries)}
    statistics, kept, n_all = [], {}, {}
    for market, depth, judge in itertools.product(markets, depths, judges):
        size = n_queries if market == markets[0] else n_queries // 2
        size = size if judge == judges[0] else size * 7 // 8  # the first judge has judged most
        for name, more in sample_tables(seed, market, depth, judge, size, attribute).items():
            rows.setdefault(name, []).extend(more)
        key = (market, depth, judge)
        own = [row for row in rows["configurations"] if (row["market"], row["depth"], row["judge"]) == key]
        kept[key] = sum(row["n_sessions"] for row in own)
        n_all.setdefault(market, 17 * kept[key])
        counts = (len({row["query"] for row in own}), len(own), kept[key], n_all[market])
        statistics.append((*key, *counts, kept[key] / n_all[market]))
    rows["statistics"] = frame_of("statistics", statistics).to_dicts()
    rows["funnel"] = funnel_rows(markets, depths, judges, kept, n_all)
    alike = {
        **{"ceiling": 0.9, "sign_agreement": 0.6},  # within queries nothing is else
        **{"periods": 8, "user_folds": 16, "taken_out": 22, "moments": 5.5, "side_by_side": 0.8},
    }
    rows["within"] = [row | alike for row in rows.get("correlations", [])]
    rows["within_comparisons"] = [
        row | dict.fromkeys(column.name for column in ADDED) for row in rows.get("comparisons", [])
    ]
    rows["within_influence"] = [row | {"query_market": row["market"]} for row in rows.get("influence", [])]
    return {
        table.name: table.canonical(framed(table, rows.get(table.name)))
        for table in contracts.ANALYSED_TABLES
    }


def small_tables():
    """A run of one market and depth with two judges."""
    return run_tables(("m1",), (5,), ("a", "b"), n_queries=12)


def framed(table, rows):
    if table.name == "patterns":
        rows = list({(row["configuration_id"], row["click_mask"]): row for row in rows}.values())
    return pl.DataFrame(rows, infer_schema_length=None) if rows else table.empty()


def empty_tables():
    """A run in which nothing at all was read."""
    return {table.name: table.empty() for table in contracts.ANALYSED_TABLES}


def nothing_kept_tables():
    """A run with sessions, none of which is fully judged."""
    tables = empty_tables()
    tables["statistics"] = frame_of("statistics", [("all", 5, "all", 0, 0, 0, 900, 0.0)])
    rows = [
        ("searches", "all", 0, "all", "read", "", 950),
        ("searches", "all", 0, "all", "kept", "", 950),
        ("sessions", "all", 0, "all", "formed", "", 900),
        ("sessions", "all", 5, "all", "not judged", "a result without a grade", 880),
        ("sessions", "all", 5, "all", "too short", "fewer results than the depth", 20),
    ]
    tables["funnel"] = frame_of("funnel", rows)
    return canonical(tables)


def one_configuration_tables():
    """A run that kept a single configuration: nothing varies, every value has a reason instead."""
    tables = nothing_kept_tables()
    key = {"market": "all", "depth": 5, "judge": "all"}
    tables["statistics"] = frame_of("statistics", [("all", 5, "all", 1, 1, 12, 900, 12 / 900)])
    tables["configurations"] = pl.DataFrame(
        [
            {
                **key, "configuration_id": "a", "query": QUERY_TEXT, "results": list("abcde"),
                "grades": [4, 0, 2, 0, 0], "n_sessions": 12,
                **dict.fromkeys((*CLICKS, *PLAIN_OR_NOT), 0.5),
            }
        ]
    )  # fmt: skip
    tables["patterns"] = frame_of("patterns", [("a", 0, 1, 12)])
    alone = {**key, "n_configurations": 1, "n_queries": 1, "reason": "one configuration"}
    cells = [
        {**alone, "click_metric": click, "editorial_metric": editorial}
        for click, editorial in itertools.product(CLICKS, PLAIN_OR_NOT)
    ]
    every = {"split": "all", "class": "all", "n_sessions": 12}
    tables["correlations"] = frame_of("correlations", [cell | every for cell in cells])
    tables["differences"] = frame_of("differences", [cell | {"n_queries": 0} for cell in cells])
    return canonical(tables)


def canonical(tables):
    return {table.name: table.canonical(tables[table.name]) for table in contracts.ANALYSED_TABLES}


def run_info(**changes):
    info = {
        "settings": {
            "depth": [5, 10], "idle_minutes": 60.0, "idle_scope": "user", "normalise_urls": True,
            "scale": ["bad", "fair", "good", "excellent", "perfect"], "max_grade": 4, "relevant_grade": 3,
            "success_grade": 2, "persistence": 0.8, "pool": "judged", "iterations": 1000, "seed": 0,
            "threads": None, "min_users": 5,
        },
        "inputs": {
            name: {"names": [f"{name}.parquet"], "files": 1, "bytes": 1_234_567, "digest": f"sha256:{SHA}"}
            for name in ("searches", "clicks", "judgments", "queries")
        },
        "versions": {"clickassay": "0.1.0", "polars": "2.1.0", "duckdb": "2.0.0"},
        "command": "clickassay run --searches data/searches.parquet --out run",
        "seed": 0,
        "skipped_attributes": ["topic"],
        "has_navigational": True,
        "notes": ["the log is in order of time"],
    }  # fmt: skip
    return {**info, **changes}
