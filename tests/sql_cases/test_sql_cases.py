"""Each folder of `cases` is a tiny log with one idea, and the pattern table and funnel worked out by hand.

``searches.jsonl`` and ``clicks.csv`` (or ``.jsonl``, where ids are integers) are the log, ``settings.toml``
the settings, ``expected/patterns.csv`` the whole pattern table (results with spaces between), and
``expected/funnel.csv`` the whole funnel at depth 0 and at the depths that it names.
"""

import csv
from pathlib import Path

import polars as pl
import pytest

from pipeline.run_patterns import log_to_patterns
from pipeline.settings import load_settings

CASES = sorted(path for path in (Path(__file__).parent / "cases").iterdir() if path.is_dir())
FUNNEL = ("source", "market", "depth", "step", "reason", "rows")


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def case(request):
    return request.param


@pytest.fixture(scope="module")
def table(case):
    """Return the pattern table that the pipeline makes of the case."""
    searches, clicks = next(case.glob("searches.*")), next(case.glob("clicks.*"))
    file = case / "settings.toml"
    return log_to_patterns(searches, clicks, load_settings(file if file.exists() else None))


def rows_of(file):
    """Return the rows of a CSV file as dicts; counts, masks, folds and depths are integers."""
    integers = {"sessions", "click_mask", "fold", "depth", "rows"}
    with file.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    return [{name: int(value) if name in integers else value for name, value in row.items()} for row in rows]


def in_order(rows):
    return sorted(rows, key=lambda row: [(type(value).__name__, value) for value in row.values()])


def test_the_pattern_table_is_the_one_worked_out_by_hand(case, table):
    expected = rows_of(case / "expected" / "patterns.csv")
    joined = table.patterns.join(table.configurations, on="configuration_id", how="full", coalesce=True)
    found = joined.with_columns(pl.col("results").list.join(" ")).select(expected[0].keys()).to_dicts()
    assert in_order(found) == in_order(expected)


def test_the_funnel_is_the_one_worked_out_by_hand(case, table):
    expected = rows_of(case / "expected" / "funnel.csv")
    depths = {0, table.stored_depth} | {row["depth"] for row in expected}
    found = table.funnel.filter(pl.col("depth").is_in(sorted(depths))).select(FUNNEL).to_dicts()
    assert in_order(found) == in_order(expected)


def test_a_case_says_its_idea_in_its_first_line(case):
    first = (case / "README.md").read_text(encoding="utf-8").splitlines()[0]
    assert len(first.split()) >= 5
    assert first.endswith(".")


def test_cases_are_found():
    assert len(CASES) >= 30
