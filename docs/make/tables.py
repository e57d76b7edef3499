"""Write the columns of docs/reference/tables.md from the contracts: `make pages`."""

import re
from collections import Counter
from itertools import groupby
from pathlib import Path

from clickassay.core.contracts.form import Column
from clickassay.core.contracts.patterns import (
    HEALTH,
    OUTCOMES,
    PATTERN_CONFIGURATIONS,
    PATTERN_QUERIES,
    PATTERNS,
    SHOWN,
    SIGNALS,
)
from clickassay.core.contracts.run import RUN_TABLES, TABLES_OF_TESTS

PAGE = Path(__file__).parents[1] / "reference" / "tables.md"
PATTERN_TABLES = (PATTERN_CONFIGURATIONS, PATTERNS, SHOWN, PATTERN_QUERIES, HEALTH, SIGNALS, OUTCOMES)
TABLES = {f"log {table.name}": table for table in PATTERN_TABLES} | {
    table.name: table for table in (*RUN_TABLES, *TABLES_OF_TESTS) if table not in PATTERN_TABLES
}
"""The tables by the name between the marks of the page; what both parts have stands there once."""

Cells = tuple[str, str]


def shared() -> dict[str, Column]:
    """Return the columns that several tables have, by name: of each name its most frequent meaning."""
    number = Counter(column for table in TABLES.values() for column in table.columns)
    found: dict[str, Column] = {}
    for column, tables in number.items():
        if tables > max(1, number[found[column.name]] if column.name in found else 0):
            found[column.name] = column
    return found


def content(name: str) -> str:
    """Return what stands between the marks of a table, or of the columns that several tables have."""
    several = shared()
    if name == "shared":
        return _table(_rows(list(several.values()), key=(), several={}))
    table = TABLES[name]
    about = table.grain.partition(": ")[2]  # the key says the rest
    sentence = f"{about[0].upper()}{about[1:]}.\n\n" if about else ""
    return f"{sentence}{_table(_rows(table.columns, key=table.key, several=several))}"


def _rows(columns: tuple[Column, ...] | list[Column], *, key: tuple[str, ...], several: dict) -> list[Cells]:
    """Return the rows of a table: neighbours explained elsewhere share one, ends that of their value."""
    groups = groupby(columns, key=lambda one: several.get(one.name) == one or _value(one))
    found = []
    for kind, group in groups:
        members = list(group)
        if kind is True:
            found.append((_names(members, key), ""))
        else:
            found.append((_typed(members, key), members[0].meaning.replace("lower end of ", "")))
    return found


def _typed(columns: list[Column], key: tuple[str, ...]) -> str:
    """Return names with their type; most are Float64, which the page says once."""
    dtype = "" if str(columns[0].dtype) == "Float64" else f" {columns[0].dtype}"
    return f"{_names(columns, key)}{dtype}"


def _value(column: Column) -> str:
    """Return the value of which a column is an end of an interval; its own name if it is not an end."""
    return column.name.removesuffix("_low").removesuffix("_high")


def _names(columns: list[Column], key: tuple[str, ...]) -> str:
    return ", ".join(f"**`{one.name}`**" if one.name in key else f"`{one.name}`" for one in columns)


def _table(rows: list[Cells]) -> str:
    return "\n".join(("| column | meaning |\n|---|---|", *(f"| {' | '.join(row)} |" for row in rows)))


def with_tables(page: str) -> str:
    """Return the page with its tables as they are today."""
    return re.sub(
        r"(?s)(<!-- columns of ([\w ]+) -->\n).*?(<!-- end -->)",
        lambda at: f"{at[1]}{content(at[2])}\n{at[3]}",
        page,
    )


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
