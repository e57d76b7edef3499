"""A pattern table of four configurations and its judgments, small enough to work out by hand.

| query | results | sessions by clicked positions |
|---|---|---|
| q | a b c | none 3, first 2, third 1 |
| q | a b d | none 1, second 4 |
| q | a | none 5 |
| r | x y | first 7 |

Judged are a 3, b 1, c 0 and e 4 (never shown) for q, x 2 for r; d and y have no grade.
"""

import polars as pl

from clickassay.core.contracts.patterns import FUNNEL, PATTERN_CONFIGURATIONS, PATTERN_QUERIES, PATTERNS
from clickassay.core.settings import load_settings
from clickassay.judgments.join import cut_to_depth, look_up_grades
from clickassay.judgments.prepare import prepare_judgments
from clickassay.patterns.digests import configuration_id
from clickassay.patterns.lists import log_lists
from clickassay.patterns.table import PatternTable

LISTS = [("all", "q", "abc"), ("all", "q", "abd"), ("all", "q", "a"), ("all", "r", "xy")]
MASKS = [{0: 3, 1: 2, 4: 1}, {0: 1, 2: 4}, {0: 5}, {1: 7}]
GRADES = [("q", "a", 3), ("q", "b", 1), ("q", "c", 0), ("q", "e", 4), ("r", "x", 2)]


def table_of(lists=LISTS, masks=MASKS, *, stored_depth=3):
    """Return the pattern table of lists (market, query, letters) with sessions by mask."""
    names = [configuration_id(market, query, list(urls)) for market, query, urls in lists]
    configurations = [(name, *one[:2], list(one[2])) for name, one in zip(names, lists, strict=True)]
    patterns = [
        (name, 0, mask, sessions)
        for name, own in zip(names, masks, strict=True)
        for mask, sessions in own.items()
    ]
    queries = sorted({(market, query, 1) for market, query, _ in lists})
    formed = {}
    for (market, _, _), own in zip(lists, masks, strict=True):
        formed[market] = formed.get(market, 0) + sum(own.values())
    funnel = [("sessions", market, 0, "all", "formed", "", rows) for market, rows in formed.items()]
    return PatternTable(
        configurations=rows_in_form(PATTERN_CONFIGURATIONS, configurations),
        patterns=rows_in_form(PATTERNS, patterns),
        queries=rows_in_form(PATTERN_QUERIES, queries),
        funnel=rows_in_form(FUNNEL, funnel),
        info={"stored_depth": stored_depth},
    )


def rows_in_form(contract, rows):
    """Return rows as a frame in the form of a contract."""
    names = [column.name for column in contract.columns]
    return contract.canonical(pl.DataFrame(rows, schema=names, orient="row"))


def judgment_rows(rows, **columns):
    """Return (query, url, grade) rows as a frame, with judge and market 'all' unless columns are given."""
    frame = pl.DataFrame(rows, schema=["query", "url", "grade"], orient="row")
    filled = {"judge": ["all"] * len(rows), "market": ["all"] * len(rows)} | columns
    return frame.with_columns(pl.Series(name, values) for name, values in filled.items())


def prepared(table=None, rows=None, *, by_market=False, **settings):
    """Return the prepared judgments of the tiny table, or other rows for another."""
    queries = (table_of() if table is None else table).queries
    rows = judgment_rows(GRADES) if rows is None else rows
    return prepare_judgments(rows, queries, load_settings(**settings), by_market=by_market)


def judged_at(depth, table=None, rows=None, *, judge="all", by_market=False, **settings):
    """Return the judged configurations of the tiny table, or of another."""
    table = table_of() if table is None else table
    judgments = prepared(table, rows, by_market=by_market, **settings)
    graded = look_up_grades(log_lists(table.staged()), judgments, judge=judge, deepest=depth)
    return cut_to_depth(graded, depth=depth, max_grade=4)
