"""Each folder of `cases` is a tiny log with one idea, and the pattern table and funnel worked out by hand.

``searches.jsonl`` and ``clicks.csv`` (or ``.jsonl``, where ids are integers) are the log, ``settings.toml``
the settings, ``expected/patterns.csv`` the whole pattern table (results with spaces between; summed over
folds unless it names them), ``expected/shown.csv``, where days matter, the same by day, and
``expected/funnel.csv`` the whole funnel at depth 0 and at the depths that it names. Each case runs on every
engine (on Spark a tenth of them each time, see conftest.py), and all of them leave the same bytes; the
plain-Python oracle leaves the same rows.
"""

import csv
import json
import tomllib
from collections import Counter
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from clickassay.patterns.table import read_patterns
from support.oracle.oracle_log import log_to_sessions, pattern_table
from support.spark.spark_logs import ENGINES, differing_tables, made_by

CASES = sorted(path for path in (Path(__file__).parent / "cases").iterdir() if path.is_dir())
FUNNEL = ("source", "market", "depth", "step", "reason", "rows")


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def case(request):
    return request.param


@pytest.fixture(scope="module", params=ENGINES)
def made(request, case, tmp_path_factory):
    """Return the folder that an engine leaves of the case, and that of the default engine."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    searches, clicks = next(case.glob("searches.*")), next(case.glob("clicks.*"))
    file = case / "settings.toml"
    out = tmp_path_factory.mktemp(case.name)
    engines = dict.fromkeys((request.param, ENGINES[0]))
    folders = [
        made_by(engine, searches, clicks, out / engine, file=file if file.exists() else None)
        for engine in engines
    ]
    return folders[0], folders[-1]


@pytest.fixture(scope="module")
def table(made):
    """Return the pattern table that an engine makes of the case."""
    return read_patterns(made[0])


def rows_of(file):
    """Return the rows of a CSV file as dicts; counts, masks, folds and depths are integers."""
    integers = {"sessions", "click_mask", "fold", "depth", "rows", "position"}
    with file.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    return [{name: int(value) if name in integers else value for name, value in row.items()} for row in rows]


def in_order(rows):
    return sorted(rows, key=lambda row: [(type(value).__name__, value) for value in row.values()])


@pytest.mark.parametrize("name", ["patterns", "shown"])
def test_the_pattern_table_is_the_one_worked_out_by_hand(case, table, name):
    joined = getattr(table, name).join(table.configurations, on="configuration_id", how="full", coalesce=True)
    rows = joined.with_columns(pl.col("results").list.join(" "), pl.col("^day$").cast(pl.String))
    file = case / "expected" / f"{name}.csv"
    expected = rows_of(file if file.exists() else case / "expected" / "patterns.csv")
    known = [column for column in expected[0] if column in rows.columns]
    found, wanted = Counter(), Counter()
    for row in rows.select(known).to_dicts():
        found[tuple(row.values())[:-1]] += row["sessions"]
    for row in expected:
        wanted[tuple(row[column] for column in known)[:-1]] += row["sessions"]
    assert found == wanted


def test_the_funnel_is_the_one_worked_out_by_hand(case, table):
    expected = rows_of(case / "expected" / "funnel.csv")
    depths = {0, table.stored_depth} | {row["depth"] for row in expected}
    found = table.funnel.filter(pl.col("depth").is_in(sorted(depths))).select(FUNNEL).to_dicts()
    assert in_order(found) == in_order(expected)


def test_every_engine_leaves_the_bytes_of_the_default_one(made):
    assert differing_tables(*made) == []


def log_rows(file):
    """Return the rows of one half of a log as the oracle takes them, times in milliseconds."""
    lines = file.read_text(encoding="utf-8").splitlines()
    rows = rows_of(file) if file.suffix == ".csv" else map(json.loads, lines)
    times = "{timestamp}+00:00"
    return [
        row | {"timestamp": round(1000 * datetime.fromisoformat(times.format(**row)).timestamp())}
        for row in rows
    ]


def test_the_oracle_leaves_what_is_worked_out_by_hand(case):
    settings = tomllib.loads((case / "settings.toml").read_text(encoding="utf-8"))
    deepest, counts = settings["depth"], Counter()
    settings["depth"] = tuple(range(1, deepest + 1))
    halves = (log_rows(next(case.glob(f"{half}.*"))) for half in ("searches", "clicks"))
    table = pattern_table(log_to_sessions(*halves, settings, counts), settings)
    expected = rows_of(case / "expected" / "patterns.csv")
    found = Counter()
    for (name, fold, mask), sessions in table["patterns"].items():
        market, query, results = table["configurations"][name]
        row = {"market": market, "query": query, "results": " ".join(results), "fold": fold}
        row |= {"click_mask": mask}
        found[tuple(row[column] for column in expected[0] if column != "sessions")] += sessions
    assert found == {tuple(row.values())[:-1]: row["sessions"] for row in expected}
    days = case / "expected" / "shown.csv"
    found = Counter()
    for (name, day), sessions in table["shown"].items():
        market, query, results = table["configurations"][name]
        found[market, query, " ".join(results), str(day)] += sessions
    assert not days.exists() or found == {tuple(row.values())[:-1]: row["sessions"] for row in rows_of(days)}
    expected = rows_of(case / "expected" / "funnel.csv")
    depths = {0, deepest} | {row["depth"] for row in expected}
    steps = [(*key[:3], *key[4:], rows) for key, rows in counts.items() if key[2] in depths and rows]
    assert in_order(dict(zip(FUNNEL, step, strict=True)) for step in steps) == in_order(expected)


def test_a_case_says_its_idea_in_its_first_line(case):
    first = (case / "README.md").read_text(encoding="utf-8").splitlines()[0]
    assert len(first.split()) >= 5
    assert first.endswith(".")


def test_cases_are_found():
    assert len(CASES) >= 30
