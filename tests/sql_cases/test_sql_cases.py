"""Each folder of `cases` is a tiny log with one idea, and the pattern table and funnel worked out by hand.

``searches.jsonl`` and ``clicks.csv`` (or ``.jsonl``, where ids are integers) are the log, ``settings.toml``
the settings, ``expected/patterns.csv`` the whole pattern table (results with spaces between; summed over
folds unless it names them), ``expected/shown.csv``, where days matter, the same by day, and
``expected/funnel.csv`` the whole funnel at depth 0 and at the depths that it names. Each case runs on every
engine, and all of them leave the same bytes; the plain-Python oracle leaves the same rows. On Spark those
that differ in their rows alone are one log (`packed_cases`), of which the funnel is the sum of theirs; the
others run where there is time (conftest.py).
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
from support.spark.packed_cases import TARGETS, of_case, target_of, write_pack
from support.spark.spark_logs import ENGINES, differing_tables, made_by

CASES = sorted(path for path in (Path(__file__).parent / "cases").iterdir() if path.is_dir())
FUNNEL = ("source", "market", "depth", "step", "reason", "rows")


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def case(request):
    return request.param


@pytest.fixture(scope="session")
def packs(tmp_path_factory):
    """Return what the default engine and Spark leave of the cases that lie in a pack, by their targets."""
    made = {}
    for target in TARGETS:
        folder = tmp_path_factory.mktemp("pack")
        paths = write_pack([case for case in CASES if target_of(case) == target], target, folder)
        made[target] = [made_by(name, *paths, folder / name, depth=[3]) for name in ("spark", ENGINES[0])]
    return made


@pytest.fixture(scope="module", params=ENGINES)
def made(request, case, tmp_path_factory):
    """Return the folder that an engine leaves of the case or of its pack, and that of the default engine."""
    if request.param == "spark":
        request.getfixturevalue("spark")
        if target_of(case):
            return request.getfixturevalue("packs")[target_of(case)]
    searches, clicks = next(case.glob("searches.*")), next(case.glob("clicks.*"))
    out = tmp_path_factory.mktemp(case.name)
    engines = dict.fromkeys((request.param, ENGINES[0]))
    folders = [
        made_by(engine, searches, clicks, out / engine, file=case / "settings.toml") for engine in engines
    ]
    return folders[0], folders[-1]


@pytest.fixture(scope="module")
def cases(case, made):
    """Return the cases of which the table was made: the case, or those of its pack."""
    in_pack = made[0].name == "spark" and made[0].parent.name.startswith("pack")
    return [one for one in CASES if target_of(one) == target_of(case)] if in_pack else [case]


@pytest.fixture(scope="module")
def table(made):
    """Return the pattern table that an engine makes of the case, or of its pack."""
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
def test_the_pattern_table_is_the_one_worked_out_by_hand(case, cases, table, name):
    table = table if cases == [case] else of_case(table, case)
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


def test_the_funnel_is_the_one_worked_out_by_hand(cases, table):
    expected, found = Counter(), Counter()
    depths = {0, table.stored_depth}
    for case in cases:
        rows = rows_of(case / "expected" / "funnel.csv")
        depths |= {row["depth"] for row in rows if cases == [case]}
        for *key, number in (row.values() for row in rows if row["depth"] in depths):
            expected[tuple(key)] += number
    for source, market, *key, number in table.funnel.select(FUNNEL).iter_rows():
        if key[0] in depths:
            found[source, market if len(cases) == 1 else "all", *key] += number
    assert found == expected


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
