"""Signals beside clicks: what plain Python finds, and in stores (engines and batches: test_outcomes)."""

from collections import Counter

import polars as pl
import pytest

from clickassay.core.errors import InputError
from clickassay.core.settings import load_settings
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns
from clickassay.jobs.stores import grow_store
from clickassay.patterns.store import PatternStore
from support.logs.messy import write_log
from support.logs.stores import times_of
from support.oracle.messy_signals import signal_log
from support.oracle.oracle_signals import signals_of
from support.tiers import first

NO_LIMIT = {"max_rejected": 1.0}


def files_of(seed, folder):
    """Write a log of a seed; return its searches and clicks, the rows, and settings."""
    searches, clicks, judgments, settings = signal_log(seed)
    paths = write_log(folder / "log", seed, searches=searches, clicks=clicks, judgments=judgments)
    return paths["searches"], paths["clicks"], (searches, clicks), settings


def chosen(settings, **more):
    names = ("depth", "idle_minutes", "idle_scope", "normalise_urls", "folds", "clock", "signal")
    own = {name: settings[name] for name in (*names, "satisfied_seconds", "last_click") if name in settings}
    return load_settings(**{**own, **NO_LIMIT, **more})


def as_rows(signals):
    columns = ("configuration_id", "fold", "signal", "click_mask", "sessions")
    return {row[:4]: row[4] for row in signals.select(columns).iter_rows()}


def counts_of(funnel, source, step=None):
    rows = funnel.filter(source=source)
    if step is not None:
        return dict(rows.filter(step=step).select("reason", "rows").iter_rows())
    return dict(rows.group_by("step").agg(pl.col("rows").sum()).iter_rows())


@pytest.mark.parametrize("seed", first(40, range(300)))
def test_signals_are_those_of_plain_python(seed, tmp_path):
    searches, clicks, rows, given = files_of(seed, tmp_path)
    settings = chosen(given)
    table = log_to_patterns(Sources(searches, clicks), settings)
    folds = {"folds": settings.folds, "depth": settings.depth}
    expected, names, dwell = signals_of(*rows, given | folds)
    if given["signal"] == ("none",):
        assert table.signals is None
        return
    assert table.signals is None or as_rows(table.signals) == expected
    assert table.signals is not None or not expected
    assert counts_of(table.funnel, "actions", "kept") == dict(names)
    found = counts_of(table.funnel, "dwell times")
    assert {step: found.get(step, 0) for step in dwell} == dict(dwell)


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize("seed", first(6, range(40)))
def test_a_store_fed_file_by_file_holds_the_signals_of_the_whole_log(seed, engine, tmp_path):
    searches, clicks, _, given = files_of(seed, tmp_path)
    whole = log_to_patterns(Sources(searches, clicks), chosen(given))
    try:
        for pair in cut_files(searches, clicks, tmp_path):
            grow_store(Sources(*pair), tmp_path / "store", chosen(given, engine=engine))
    except InputError as error:
        assert "already used" in str(error)  # noqa: PT017 - of one id in both files
        return
    store = PatternStore(tmp_path / "store")
    if store.damage():  # search ids that both files use
        return
    table = store.table()
    assert (table.signals is None) == (whole.signals is None)
    assert table.signals is None or as_rows(table.signals) == as_rows(whole.signals)
    for source in ("actions", "dwell times", "clicks"):
        assert counts_of(table.funnel, source) == counts_of(whole.funnel, source)


def cut_files(searches, clicks, folder):
    """Cut a log in two files each, by time; a row without one is in the first."""
    rows = [pl.read_parquet(one if one.is_file() else f"{one}/*.parquet") for one in (searches, clicks)]
    times = times_of(rows[0]).drop_nulls().sort()
    middle = times[len(times) // 2]
    pairs = []
    for number in (0, 1):
        places = folder / f"s{number}.parquet", folder / f"c{number}.parquet"
        for frame, place in zip(rows, places, strict=True):
            is_late = (times_of(frame) >= middle).fill_null(value=False)
            frame.filter(is_late if number else ~is_late).write_parquet(place)
        pairs.append(tuple(map(str, places)))
    return pairs


def test_the_draws_have_every_kind_of_trouble():
    seen = Counter()
    for seed in range(40):
        searches, rows, _, given = signal_log(seed)
        _, names, dwell = signals_of(searches, rows, {"folds": 16, **given})
        seen.update({*names, *dwell})
    assert {"purchase", "given", "next event", "last click", "of no use", "at one time"} <= set(seen)
