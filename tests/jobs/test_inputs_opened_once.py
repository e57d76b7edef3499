"""A job opens each of its inputs once, and looks at the health of the log once, whatever is wrong with it."""

from collections import Counter

import polars as pl
import pytest

from clickassay.core.settings import load_settings
from clickassay.health import measures
from clickassay.inputs import tables
from clickassay.jobs.inputs import Sources
from clickassay.jobs.inspect import inspect_log
from clickassay.jobs.patterns import make_patterns
from clickassay.jobs.run import make_run
from clickassay.jobs.stores import grow_store
from support.logs import tiny

SETTINGS = {"depth": [3], "iterations": 5, "max_rejected": 0.9, "click_models": ("NONE",)}


@pytest.fixture
def log(tmp_path):
    """Return a log whose clicks are on no result, so that rows that show it are looked for."""
    clicks = tiny.clicks().with_columns(url=pl.lit("elsewhere"))
    return tiny.write_log(tmp_path, clicks=clicks)


@pytest.fixture
def queries(log):
    file = log.folder / "queries.parquet"
    pl.DataFrame({"query": ["q"], "navigational": [True]}).write_parquet(file)
    return str(file)


@pytest.fixture
def counted(monkeypatch):
    """Count openings by input, and looks at the health of the log."""
    counts = Counter()
    opening, checking = tables.find_files, measures.log_numbers

    def find_files(what, path):
        counts[what] += 1
        return opening(what, path)

    def log_numbers(*given):
        counts["health"] += 1
        return checking(*given)

    monkeypatch.setattr(tables, "find_files", find_files)
    monkeypatch.setattr(measures, "log_numbers", log_numbers)
    return counts


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize("only_judged", [False, True])
def test_a_run_opens_each_input_once(log, queries, counted, engine, only_judged):
    settings = load_settings(**SETTINGS, engine=engine, only_judged=only_judged)
    _, findings = make_run(Sources(log.searches, log.clicks, log.judgments, queries), settings, out=log.out)
    (check,) = [one for one in findings.health if one.check == "clicks_elsewhere"]
    assert "elsewhere" in check.example
    assert counted == {"searches": 1, "clicks": 1, "judgments": 1, "queries": 1, "health": 1}


def test_a_report_opens_judgments_and_queries_once(log, queries, counted):
    make_patterns(Sources(log.searches, log.clicks), log.out, load_settings(**SETTINGS))
    assert counted == {"searches": 1, "clicks": 1}
    counted.clear()
    make_run(
        Sources(judgments=log.judgments, queries=queries),
        load_settings(**SETTINGS),
        patterns=log.out,
        out=log.folder / "report",
    )
    assert counted == {"judgments": 1, "queries": 1, "health": 1}


def test_a_store_opens_each_input_once_and_judgments_only_where_they_are_used(log, tmp_path, counted):
    for only_judged in (False, True):
        counted.clear()
        settings = load_settings(**SETTINGS, only_judged=only_judged)
        place = tmp_path / f"store-{only_judged}"
        grow_store(Sources(log.searches, log.clicks, judgments=log.judgments), place, settings)
        assert counted == {"searches": 1, "clicks": 1, **({"judgments": 1} if only_judged else {})}


def test_an_inspection_opens_each_input_once(log, queries, counted):
    paths = {"searches": log.searches, "clicks": log.clicks, "judgments": log.judgments, "queries": queries}
    inspect_log(paths, load_settings(**SETTINGS))
    assert counted == dict.fromkeys((*paths, "health"), 1)
