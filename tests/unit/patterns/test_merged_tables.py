"""Pattern tables of parts of a log, added up: a store of a year holds the same lists a hundred times."""

import weakref

from hypothesis import given
from hypothesis import strategies as st

from clickassay.core.contracts.patterns import PATTERN_CONFIGURATIONS, PATTERNS
from clickassay.patterns.table import merge_tables
from support.logs.tiny_table import LISTS, table_of

SESSIONS = st.lists(st.integers(0, 9), min_size=len(LISTS), max_size=len(LISTS)).filter(any)


def part(sessions):
    """Return the table of a part of a log: so many sessions of each list, none = not shown there."""
    shown = [(one, {0: number}) for one, number in zip(LISTS, sessions, strict=True) if number]
    return table_of(*zip(*shown, strict=True))


@given(st.lists(SESSIONS, min_size=1, max_size=6))
def test_each_list_stands_once_with_the_sessions_of_all_parts(numbers):
    merged = merge_tables(part(of_part) for of_part in numbers)
    whole = part([sum(of_list) for of_list in zip(*numbers, strict=True)])
    for contract, name in ((PATTERN_CONFIGURATIONS, "configurations"), (PATTERNS, "patterns")):
        rows = contract.canonical(getattr(merged, name))  # refuses a key that occurs twice
        assert rows.equals(getattr(whole, name))
    assert merged.funnel["rows"].sum() == sum(map(sum, numbers))


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
