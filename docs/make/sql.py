"""Write sql/README.md, the steps of the log stage and which reads which: `make pages`."""

import re
from collections.abc import Iterable
from functools import cache
from itertools import takewhile
from pathlib import Path

import sqlglot
from sqlglot import exp

from clickassay.core.files.sql import sql_text
from clickassay.logs.sql.steps import GIVEN, SEARCH_IDS, SEQUENCE, If, IfRows, Step

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "sql" / "README.md"
IDS = "steps/0_search_ids"
TITLES = {
    IDS: "search ids",
    "steps/1_read_searches": "read searches",
    "steps/2_normalise_urls": "normalise URLs",
    "steps/3_clean_searches": "clean searches",
    "steps/4_clicks": "clicks",
    "steps/5_visits": "visits",
    "steps/6_sessions": "sessions",
    "steps/7_patterns": "patterns",
    "steps/8_carry_over": "carry over",
    "steps/9_signals": "signals",
    "steps/9_outcomes": "outcomes",
    "steps/9_tests": "A/B tests",
    "checks": "checks",
    "funnel": "funnel",
}
"""Folders of the sequence, in the order of reading."""

PROPERTIES = {
    "only_judged": ("only judged queries are kept", "all queries are kept"),
    "is_open": ("for sessions that may still grow", "for sessions that can grow no more"),
    "periods": ("sessions are counted by day or week", "they are not"),
    "has_number_ids": ("search ids are numbers", "search ids are text"),
    "signals": ("clicks have actions, or dwell times count", "clicks are all"),
    "satisfied": ("satisfied clicks are a signal", "they are none"),
    "actions_alone": ("actions are signals, satisfied clicks are none", ""),
    "outcomes": ("outcomes are counted", "no outcome is counted"),
    "tests": ("the log has A/B tests", "it has none"),
    "tests_of_clicks": ("the log has A/B tests, and clicks are all", ""),
    "teams": ("searches name rankers", "they name none"),
    "every_visit": ("satisfied clicks or outcomes are counted", "only clicks and actions are counted"),
}
"""Text of a condition that holds, and of one that does not."""

TOP = """# The SQL of the log stage

From a log to its pattern table, one SELECT a file. The first line of a file describes one row of its result.
`make pages` makes this page from the files and from the sequence that
[`logs/sql/steps.py`](../pipeline/clickassay/logs/sql/steps.py) declares. The engines DuckDB and Spark run it.
The default engine makes the same bytes with arrays: its modules, in
[`logs/arrays/steps`](../pipeline/clickassay/logs/arrays/steps/__init__.py), have the names of the
folders below.

| folder | content |
|---|---|
| `steps/` | the sequence; its numbers are the order of reading |
| `checks/` | SELECTs that must find no row; otherwise nothing is written |
| `funnel/` | counts of the rows that go on or leave at each step, from which the funnel is made |
| `macros/` | functions that engines spell differently: the same names, in a file for each engine |
| `questions/` | the ready questions of `clickassay query`, over the tables of a finished run |

A step makes the table of its name, or the one that the second column names; then several files make that
table, each under another condition. A step reads tables of its own folder or of one with a lower number. The
exception is folder 0, which finds search ids that repeat. Of a log in batches (a store), it runs before the
first batch, with steps of 1 and 3 over the searches of these ids. A log in one batch is read once: its ids
are looked at when folder 1 has read them.

"""

GIVEN_TOP = """
## Inputs

Tables that are there before the first step.

| table | rows |
|---|---|
"""

HEAD = """
| file | makes | one row per … | when | reads | read by |
|---|---|---|---|---|---|
"""


@cache
def tables_read(step: str) -> frozenset[str]:
    """Return the names of the tables that the SELECT of a step reads."""
    tree = sqlglot.parse_one(sql_text(step), dialect="duckdb")
    own = {part.alias for part in tree.find_all(exp.CTE)}
    return frozenset(table.name for table in tree.find_all(exp.Table)) - own


def first_comment(step: str) -> str:
    """Return the first comment of a step, which describes its rows, without the dashes."""
    lines = takewhile(lambda line: line.startswith("--"), sql_text(step).splitlines())
    return " ".join(line.removeprefix("-- ") for line in lines)


def makes_table(step: Step) -> bool:
    """Return whether later steps can read the table of a step."""
    return step.kind in ("view", "stage")


def sql_page() -> str:
    """Return the whole page as Markdown."""
    given = "".join(f"| `{name}` | {_cell(rows)} |\n" for name, rows in GIVEN.items())
    parts = [_folder(folder) for folder in TITLES]
    return TOP + _graph() + GIVEN_TOP + given + "".join(parts)


def _graph() -> str:
    edges = {(maker.folder, reader.folder) for maker, reader in _readings()}
    lines = [f"    {_node(folder)}{_label(folder)}" for folder in TITLES]
    lines += [
        f"    {_node(one)} {'-->' if other.startswith('steps/') else '-.->'} {_node(other)}"
        for one in TITLES
        for other in TITLES
        if (one, other) in edges and other not in {one, IDS}
    ]
    return "```mermaid\ngraph LR\n" + "\n".join(lines) + "\n```\n"


@cache
def _readings() -> tuple[tuple[Step, Step], ...]:
    """Return pairs: a step that makes a table, and one that reads it.

    A table of a batch replaces that of the same name from the pass over search ids.
    """
    found = []
    for place, reader in enumerate(SEQUENCE):
        for table in tables_read(reader.file):
            makers = [at for at in range(place) if SEQUENCE[at].name == table and makes_table(SEQUENCE[at])]
            of_batch = [at for at in makers if at >= len(SEARCH_IDS)]
            found += [(SEQUENCE[at], reader) for at in of_batch or makers]
    return tuple(found)


def _node(folder: str) -> str:
    return f"s{folder.rpartition('/')[2]}" if _number(folder) else folder


def _label(folder: str) -> str:
    number = _number(folder)
    return f"[{number} {TITLES[folder]}]" if number else f"[({TITLES[folder]})]"


def _number(folder: str) -> str:
    return "".join(re.findall(r"/(\d)_", folder))


def _folder(folder: str) -> str:
    files = dict.fromkeys(step.file for step in SEQUENCE if step.folder == folder)
    return f"\n## {folder.rpartition('/')[2]}\n{HEAD}" + "".join(map(_row, files))


def _row(file: str) -> str:
    steps = [step for step in SEQUENCE if step.file == file]
    others = dict.fromkeys(step.name for step in steps if step.name != file.rpartition("/")[2])
    readers = dict.fromkeys(reader.file for maker, reader in _readings() if maker in steps)
    cells = (
        _link(file),
        " ".join((steps[-1].kind, *(f"`{name}`" for name in others))),
        _rows(file),
        _condition(steps[-1].when),  # the pass over search ids has conditions of its own
        _names(sorted(tables_read(file))),
        _names(reader.rpartition("/")[2] for reader in readers),
    )
    return f"| {' | '.join(cells)} |\n"


def _condition(when: If | IfRows | None) -> str:
    if isinstance(when, If):
        return PROPERTIES[when.property][0 if when.so else 1]
    return "" if when is None else f"`{when.table}` has {'rows' if when.so else 'no row'}"


def _link(file: str) -> str:
    return f"[{file.rpartition('/')[2]}]({file}.sql)"


def _rows(file: str) -> str:
    return _cell(first_comment(file).removeprefix("one row per ").removeprefix("no row: "))


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(sql_page(), encoding="utf-8")
