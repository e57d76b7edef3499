"""What the report says of ties between deciles and of scripts without spaces, by hand."""

import polars as pl

from clickassay.report.sections.classes import ties_note, unspaced_note


def test_borders_between_deciles_that_part_equally_frequent_queries_are_named():
    sessions = [*range(1, 15), 15, 15, 17, 18, 19, 19]  # two queries a decile; 15, 15 are in 8, 19, 19 in 10
    assert ties_note(sessions) == ""
    note = ties_note([1, 1, 1, *range(2, 19)])  # deciles 1 (1 1) and 2 (1 2)
    assert "between deciles 1 and 2 (1 session):" in note


def test_without_queries_there_are_no_ties():
    assert ties_note([]) == ""


def test_queries_in_scripts_without_spaces_are_counted():
    texts = [
        "red shoes",
        "\u6771\u4eac \u5929\u6c17",
        "\u0e01\u0e32\u0e41\u0e1f",
        "caf\u00e9",
        "\ud55c\uad6d \uc5b4",
    ]
    note = unspaced_note(pl.DataFrame({"query": texts}))
    assert "2 of 5 queries have letters of a script" in note
    assert unspaced_note(pl.DataFrame({"query": texts[:1]})) == ""
