"""The form of tables: columns, types, order and keys."""

import itertools

import polars as pl
import pytest

from clickassay.core.contracts.form import Column, ContractError, Table
from clickassay.core.contracts.patterns import PATTERN_CONFIGURATIONS, PATTERN_QUERIES
from clickassay.core.contracts.run import RUN_TABLES

TABLES = (*RUN_TABLES, PATTERN_CONFIGURATIONS, PATTERN_QUERIES)
PAIR = Table(
    "pair", "one row per name", ("name",), Column("name", pl.String, "n"), Column("size", pl.Int8, "s")
)
OPEN = Table("open", "one row per name", ("name",), *PAIR.columns, more_floats=True)

# method 10, by hand: columns that a run has at least


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"{table.name}-{len(table.columns)}")
def test_keys_are_columns_and_every_column_says_what_it_means(table):
    names = [column.name for column in table.columns]
    assert set(table.key) <= set(names)
    assert len(names) == len(set(names))
    assert all(len(column.meaning.split()) >= 2 for column in table.columns)
    assert table.empty().columns == names
    assert table.canonical(table.empty()).equals(table.empty())


def test_a_frame_is_put_into_order_of_columns_types_and_key():
    frame = pl.DataFrame({"size": [3, 1, 2], "name": ["b", None, "a"]})
    expected = pl.DataFrame(
        {"name": [None, "a", "b"], "size": [1, 2, 3]}, schema={"name": pl.String, "size": pl.Int8}
    )
    for rows in itertools.permutations(range(3)):
        assert PAIR.canonical(frame[list(rows)]).equals(expected)
        assert PAIR.canonical(frame[list(rows)]).schema == expected.schema


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["name"], "missing columns size"),
        (["name", "size", "more", "most"], "unknown columns more, most"),
        (["size", "more"], "missing columns name; unknown columns more"),
    ],
)
def test_missing_and_unknown_columns_are_refused(columns, words):
    with pytest.raises(ContractError) as refused:
        PAIR.canonical(pl.DataFrame({column: [1] for column in columns}))
    assert str(refused.value) == f"table pair: {words}"


def test_a_key_that_occurs_twice_is_refused():
    with pytest.raises(ContractError, match="table pair: the key name is not unique"):
        PAIR.canonical(pl.DataFrame({"name": ["a", "a"], "size": [1, 2]}))


@pytest.mark.parametrize("size", [1000, "x", [1]])
def test_a_value_that_does_not_fit_its_type_is_refused(size):
    with pytest.raises((ContractError, pl.exceptions.PolarsError)):
        PAIR.canonical(pl.DataFrame({"name": ["a"], "size": [size]}))


def test_where_metrics_may_follow_they_keep_their_order_as_floats():
    result = OPEN.canonical(pl.DataFrame({"z": [1], "size": [1], "a": [True], "name": ["x"]}))
    assert list(result.schema.items()) == [
        ("name", pl.String), ("size", pl.Int8), ("z", pl.Float64), ("a", pl.Float64),
    ]  # fmt: skip
