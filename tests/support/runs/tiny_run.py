"""A run small enough to work out by hand: its configurations, their clicks, and made-up correlations.

Click metrics follow from the patterns below; ERR is a round number, not that of the grades, so that
the answers can be worked out on paper. All other metrics are 0.
"""

from math import exp, sqrt
from pathlib import Path

import duckdb
import polars as pl

from clickassay.core.contracts.run import RUN_TABLES
from clickassay.metrics.clicks import CLICK_METRICS
from clickassay.metrics.editorial import EDITORIAL_METRICS

METRICS = (*CLICK_METRICS, *EDITORIAL_METRICS, "AP(rel=2)", "RR(rel=2)")

# market, judge, id, query, results, grades, sessions, ERR, UCTR, MeanRR
CONFIGURATIONS = [
    ("uk", "editor", "uk-m1", "myspace", "uk www fan", (4, 3, 0), 100, 0.9, 0.9, 0.8625),
    ("uk", "editor", "uk-m2", "myspace", "www fan uk", (3, 0, 4), 50, 0.6, 0.9, 41.666666666666664 / 50),
    ("uk", "editor", "uk-m3", "myspace", "fan www uk", (0, 3, 4), 40, 0.5, 0.75, 13.333333333333334 / 40),
    ("uk", "editor", "uk-p1", "maps", "m1 m2 m3", (1, 2, 0), 20, 0.2, 0.5, 0.3),
    ("uk", "editor", "uk-p2", "maps", "m2 m1 m3", (2, 1, 0), 10, 0.3, 0.4, 0.2),
    ("uk", "editor", "uk-w1", "weather", "w1 w2 w3", (4, 4, 3), 30, 0.95, 0.2, 0.2),
    ("uk", "editor", "uk-j1", "jobs", "j1 j2 j3", (4, 3, 2), 30, 0.96, 0.9, 0.9),
    ("uk", "editor", "uk-c1", "cats", "c1 c2 c3", (0, 0, 1), 20, 0.1, 0.45, 0.15),
    ("us", "editor", "us-n1", "news", "n1 n2", (2, 3), 10, 0.4, 0.8, 0.5),
    ("us", "model", "us-n1", "news", "n1 n2", (2, 1), 10, 0.3, 0.8, 0.5),
]

# id, fold, click mask (1 = first place, 2 = second, 3 = both, 4 = third), sessions
PATTERNS = [
    *(("uk-m1", 0, 0, 10), ("uk-m1", 0, 1, 50), ("uk-m1", 1, 1, 30), ("uk-m1", 0, 2, 5), ("uk-m1", 0, 3, 5)),
    *(("uk-m2", 0, 0, 5), ("uk-m2", 0, 1, 40), ("uk-m2", 0, 4, 5)),
    *(("uk-m3", 0, 0, 10), ("uk-m3", 0, 2, 20), ("uk-m3", 0, 4, 10)),
    *(("uk-p1", 0, 0, 10), ("uk-p1", 0, 1, 2), ("uk-p1", 0, 2, 8)),
    *(("uk-p2", 0, 0, 6), ("uk-p2", 0, 2, 4)),
    *(("uk-w1", 0, 0, 24), ("uk-w1", 0, 1, 6)),
    *(("uk-j1", 0, 0, 3), ("uk-j1", 0, 1, 27)),
    *(("uk-c1", 0, 0, 11), ("uk-c1", 0, 4, 9)),
    *(("us-n1", 0, 0, 2), ("us-n1", 0, 1, 2), ("us-n1", 0, 2, 6)),
    ("not-judged", 0, 7, 5000),
]

STATISTICS = [
    ("uk", 3, "editor", 5, 8, 300, 1200, 0.25),
    ("us", 2, "editor", 1, 1, 10, 40, 0.25),
    ("us", 2, "model", 1, 1, 10, 40, 0.25),
]

FUNNEL = [
    ("searches", "all", 0, "all", "read", "", 1500),
    ("searches", "all", 0, "all", "rejected", "null query", 15),
    ("searches", "all", 0, "all", "rejected", "null user_id", 0),
    ("searches", "all", 0, "all", "kept", "", 1485),
    ("sessions", "uk", 0, "all", "formed", "", 1200),
    ("sessions", "uk", 3, "editor", "too short", "fewer results than the depth", 200),
    ("sessions", "uk", 3, "editor", "not judged", "a result without a grade", 700),
    ("sessions", "uk", 3, "editor", "kept", "", 300),
    ("sessions", "us", 0, "all", "formed", "", 40),
    ("sessions", "us", 2, "model", "not judged", "a result without a grade", 30),
    ("sessions", "us", 2, "model", "kept", "", 10),
]

# split, class, click metric, offline metric, correlation, low, high,
# configurations, queries, sessions, reason
CORRELATIONS = [
    ("all", "all", "MeanRR", "DCG", 0.45, 0.35, 0.55, 8, 5, 300, None),
    ("all", "all", "MeanRR", "NDCG", 0.3, 0.2, 0.4, 8, 5, 300, None),
    ("all", "all", "MeanRR", "ERR", 0.5, 0.4, 0.6, 8, 5, 300, None),
    ("all", "all", "UCTR", "DCG", 0.2, 0.1, 0.3, 8, 5, 300, None),
    ("all", "all", "UCTR", "NDCG", None, None, None, 8, 5, 300, "no variance of NDCG"),
    ("all", "all", "UCTR", "ERR", 0.15, 0.05, 0.25, 8, 5, 300, None),
    ("frequency", "1", "MeanRR", "ERR", None, None, None, 1, 1, 20, "one configuration"),
    ("frequency", "1", "MeanRR", "DCG", None, None, None, 1, 1, 20, "one configuration"),
    ("frequency", "10", "MeanRR", "ERR", 0.7, 0.6, 0.8, 3, 1, 190, None),
    ("frequency", "10", "MeanRR", "DCG", 0.65, 0.55, 0.75, 3, 1, 190, None),
    ("frequency", "2", "MeanRR", "ERR", 0.4, 0.1, 0.6, 2, 1, 30, None),
    ("frequency", "2", "UCTR", "DCG", 0.85, 0.8, 0.9, 2, 1, 30, None),
    ("frequency", "2", "UCTR", "ERR", 0.9, 0.8, 1.0, 2, 1, 30, None),
    ("length", "1", "MeanRR", "ERR", 0.9, 0.8, 1.0, 8, 5, 300, None),
    ("all", "all", "MeanRR", "MeanGrade@1", 0.99, 0.9, 1.0, 8, 5, 300, None),
]

# market, split, class, click metric, offline metric, correlation, low, high, ceiling, sign agreement,
# configurations, queries, sessions, reason
WITHIN = [
    ("all", "all", "all", "MeanRR", "DCG", 0.2, 0.1, 0.3, 0.5, 0.564, 5, 2, 200, None),
    ("all", "all", "all", "MeanRR", "ERR", 0.25, 0.15, 0.35, 0.5, 0.58, 5, 2, 200, None),
    ("all", "all", "all", "MeanRR", "AP", 0.2, 0.0, 0.4, 0.5, 0.564, 5, 2, 200, None),
    ("all", "length", "1", "MeanRR", "ERR", 0.9, 0.8, 1.0, 0.5, 0.856, 5, 2, 200, None),
    ("uk", "all", "all", "MeanRR", "ERR", 0.3, 0.1, 0.5, None, 0.597, 4, 2, 190, None),
    ("uk", "all", "all", "UCTR", "ERR", None, None, None, None, None, 4, 2, 190, "no variance of UCTR"),
]

# click metric, offline metric, Monte Carlo, its standard error, exact, low, high, noise corrected,
# sign agreement, queries, configurations, reason
DIFFERENCES = [
    ("MeanRR", "DCG", 0.3, 0.02, 0.31, 0.2, 0.4, 0.35, 0.6, 2, 5, None),
    ("MeanRR", "ERR", 0.5, 0.02, 0.44, 0.3, 0.6, None, 0.65, 2, 5, None),
    ("UCTR", "NDCG", None, None, None, None, None, None, None, 2, 5, "no variance of NDCG"),
]

# click metric, pair of offline metrics, difference of their correlations, low, high, the same for all pairs
# at once, p, adjusted p, queries needed, queries, caution
COMPARISONS = [
    ("MeanRR", "DCG", "NDCG", 0.15, 0.05, 0.25, 0.0, 0.3, 0.01, 0.02, 4.0, 5, None),
    ("MeanRR", "DCG", "ERR", -0.05, -0.09, -0.01, -0.11, 0.01, 0.02, 0.02, 4.0, 5, None),
    ("MeanRR", "NDCG", "ERR", -0.2, -0.3, -0.1, -0.35, -0.05, 0.002, 0.006, 3.0, 5, None),
    ("UCTR", "DCG", "ERR", 0.05, -0.02, 0.12, -0.055, 0.155, 0.2, 0.2, 17.0, 5, "fewer than 50 queries"),
]

# market, depth, click metric, offline metric, judges, their correlations, difference, low, high, p,
# adjusted p, queries needed, queries, caution, configurations, sessions
JUDGE_COMPARISONS = [
    ("us", 2, "MeanRR", "DCG", "editor", "model", 0.4, 0.3, 0.1, 0.0, 0.2, 0.05, 0.1, 30.0, 9, None, 12, 90),
    ("us", 2, "MeanRR", "ERR", "editor", "model", 0.5, 0.2, 0.3, 0.1, 0.5, 0.01, 0.02, 8.0, 9, None, 12, 90),
]

# market, depth, judges, shares of the upper result, difference, low, high, p, adjusted p, queries needed,
# queries, caution, pairs, clicks, supported
JUDGE_DISAGREEMENTS = [
    ("us", 2, "editor", "model", 0.6, 0.4, 0.2, 0.1, 0.3, 0.01, 0.02, 8.0, 9, None, 12, 90, "editor")
]


# www in second place: 20 of 40 below fan (0), 10 of 100 below uk (4); second places have 42 clicks in 300
WWW_FALLS = 20.5 / 41 * 101 / 10.5 * exp(-1.96 * sqrt(1 / 20.5 - 1 / 41 + 1 / 10.5 - 1 / 101))
# rank, query, URL, grade, its place alone with sessions, CTR, average and id, the better result, place below
CASCADE_EFFECTS = [
    (
        *(1, "myspace", "www", 3, 2, 40, 0.5, 42 / 300, "uk-m3"),
        *("uk", 4, 1, 2, 100, 0.1, 42 / 300, "uk-m1", WWW_FALLS),
    )
]


NOTHING = (None,) * 8
"""Noise-corrected correlation, intervals, two p-values, null correlation: no question asks for them."""


def configuration_row(row):
    """Return the record of one row like those of CONFIGURATIONS, with 0 for the metrics not given."""
    market, judge, identity, query, results, grades, sessions, err, uctr, mean_rr = row
    values = dict.fromkeys(METRICS, 0.0) | {"ERR": err, "UCTR": uctr, "MeanRR": mean_rr}
    key = {"market": market, "depth": len(grades), "judge": judge, "configuration_id": identity}
    rest = {"query": query, "results": results.split(), "grades": list(grades), "n_sessions": sessions}
    return key | rest | values


def tables() -> dict[str, pl.DataFrame]:
    """Return the tables of the run by name."""
    uk = ("uk", 3, "editor")
    rows = {
        "statistics": [(*row, None, None) for row in STATISTICS],
        "funnel": FUNNEL,
        "patterns": PATTERNS,
        "correlations": [(*uk, *row[:7], *NOTHING, *row[7:], None) for row in CORRELATIONS],
        "within": [
            (row[0], *uk[1:], *row[1:8], *NOTHING, *row[8:10], *NOTHING[:5], *row[10:], None)
            for row in WITHIN
        ],
        "differences": [(*uk, *row[:8], *NOTHING[:6], *row[8:], None) for row in DIFFERENCES],
        "judge_comparisons": JUDGE_COMPARISONS,
        "judge_disagreements": JUDGE_DISAGREEMENTS,
        "cascade_effects": [(*uk, *row) for row in CASCADE_EFFECTS],
        "comparisons": [(*uk, *row[:8], None, None, *row[8:]) for row in COMPARISONS],
    }
    frames = {
        table.name: pl.DataFrame(rows.get(table.name, []), schema=table.empty().schema, orient="row")
        for table in RUN_TABLES
        if table.name != "configurations"
    }
    return frames | {"configurations": pl.DataFrame([configuration_row(row) for row in CONFIGURATIONS])}


def write_run(file: Path, frames: dict[str, pl.DataFrame]) -> Path:
    """Write `frames`, put into the form of their contracts, as the database `file`."""
    with duckdb.connect(str(file)) as connection:
        for table in RUN_TABLES:
            connection.register("frame", table.canonical(frames[table.name]))
            connection.execute(f"CREATE TABLE {table.name} AS SELECT * FROM frame")
            connection.unregister("frame")
    return file
