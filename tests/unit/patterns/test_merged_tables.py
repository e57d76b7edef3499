"""Pattern tables of parts of a log, added up: a store of a year holds the same lists a hundred times."""

import weakref
from collections import Counter
from dataclasses import replace
from datetime import date

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from clickassay.core.contracts.patterns import PATTERN_CONFIGURATIONS, PATTERNS, SHOWN
from clickassay.patterns.lists import log_lists
from clickassay.patterns.table import merge_tables
from support.logs.tiny_table import LISTS, table_of

SESSIONS = st.lists(st.integers(0, 9), min_size=len(LISTS), max_size=len(LISTS)).filter(any)


def part(sessions):
    """Return the table of a part of a log: so many sessions of each list, none = not shown there."""
    shown = [(one, {0: number}) for one, number in zip(LISTS, sessions, strict=True) if number]
    return table_of(*zip(*shown, strict=True))


@settings(max_examples=25)
@given(st.lists(SESSIONS, min_size=1, max_size=6))
def test_each_list_stands_once_with_the_sessions_of_all_parts(numbers):
    merged = merge_tables(part(of_part) for of_part in numbers)
    whole = part([sum(of_list) for of_list in zip(*numbers, strict=True)])
    for contract, name in ((PATTERN_CONFIGURATIONS, "configurations"), (PATTERNS, "patterns")):
        rows = contract.canonical(getattr(merged, name))  # refuses a key that occurs twice
        assert rows.equals(getattr(whole, name))
    assert merged.funnel["rows"].sum() == sum(map(sum, numbers))


def dated(sessions, day):
    """Return such a part whose sessions are of one day; None where its days are not known."""
    table, rows = part(sessions), part(sessions).patterns.select("configuration_id", "sessions")
    if day is None:
        return table
    return replace(table, shown=SHOWN.canonical(rows.with_columns(day=pl.lit(date(2026, 5, day)))))


@settings(max_examples=25)
@given(st.lists(st.tuples(SESSIONS, st.sampled_from((None, 1, 2))), min_size=1, max_size=6))
def test_sessions_of_parts_without_days_have_none_beside_those_of_other_parts(parts):
    merged = merge_tables(dated(*one) for one in parts)
    if not any(day for _, day in parts):
        assert merged.shown is None
        return
    expected = Counter()
    for sessions, day in parts:
        own = dated(sessions, None).patterns.select("configuration_id", "sessions")
        expected.update({(name, day and date(2026, 5, day)): count for name, count in own.iter_rows()})
    staged = merged.staged()
    rows = staged.collected().shown  # refuses rows out of order
    assert {tuple(row[:2]): row[2] for row in rows.iter_rows()} == expected
    lists = log_lists(staged)
    names = lists.configurations["configuration_id"]
    assert {(names[n], day): count for n, day, count in lists.shown.iter_rows()} == expected


def test_lists_of_no_part_but_the_last_are_held_beside_the_sum():
    held = []

    def parts():
        yield part([1, 1, 1, 1])
        for _ in range(4):
            assert sum(frame() is not None for frame in held) <= 1
            table = part([1, 2, 0, 3])
            held.append(weakref.ref(table.configurations))
            yield table
            del table

    assert merge_tables(parts()).configurations.height == len(LISTS)
    assert len(held) == 4
