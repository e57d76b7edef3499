"""Small synthetic runs for the report tests: a rich one, and ones in which nearly nothing was kept."""

import itertools
from functools import cache

import numpy as np
import polars as pl

from clickassay.core.contracts import run as contracts
from clickassay.core.contracts.correlation import ADDED
from support.reports.report_world import (
    CLICKS,
    PLAIN_OR_NOT,
    QUERY_TEXT,
    cascade_effect_rows,
    class_rows,
    classes,
    configurations,
    difference_rows,
    draw_rows,
    influence_rows,
    pair_rows,
    query_rows,
)

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
