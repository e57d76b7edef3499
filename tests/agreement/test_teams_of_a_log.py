"""Interleaved lists of a log: what plain Python finds, on every engine, at once and in a store."""

from collections import Counter

import polars as pl
import pytest

from agreement.test_arms_of_a_log import ENGINES, Given, in_form, logs, store_of, table_of
from agreement.test_signals_agree import chosen
from clickassay.core.contracts.patterns import INTERLEAVED
from clickassay.core.errors import InputError
from clickassay.jobs.inputs import Sources, open_log
from clickassay.logs.arrays.steps import teams
from clickassay.logs.assignments import prepare_assignments
from support.logs.messy import write_log
from support.oracle.messy_teams import log_with_teams
from support.oracle.oracle_log import normalise_query
from support.oracle.oracle_teams import interleaved


def given(seed, folder, *, judged=None, change=None):
    """Write the log of a seed; in half of the logs there are arms too."""
    searches, clicks, judgments, assignments, spans, own = log_with_teams(seed)
    for row in searches if change else ():
        change(row)
    paths = write_log(folder / "log", seed, searches=searches, clicks=clicks, judgments=judgments)
    ends = [
        f"{test}.{key}={day}"
        for test, days in spans.items()
        for key, day in zip(("from", "until"), days, strict=True)
        if day is not None
    ]
    settings = chosen(own, test=ends, only_judged=judged is not None)
    files = paths["searches"], paths["clicks"]
    inputs = open_log(Sources(*files), settings.model_copy(update={"only_judged": False}), by_file=True)
    arms = prepare_assignments(
        in_form(assignments) if seed % 4 < 2 else None, inputs.log_here().searches, settings
    )
    more = {} if judged is None else {"is_kept": lambda market, query: market is not None and query in judged}
    expected = interleaved(searches, clicks, own, spans, **more)
    return Given(inputs, settings, None, arms, files, expected)


def as_rows(table):
    """Return the table and its counts, in the form of the oracle."""
    counts = table.funnel.filter(pl.col("source").is_in(["teams", "interleaved"]))
    return (
        {row[:-1]: row[-1] for row in table.interleaved.iter_rows()},
        Counter({row[:3]: row[3] for row in counts.select("source", "step", "reason", "rows").iter_rows()}),
    )


@logs(40, range(300))
def test_teams_are_those_of_plain_python(seed, engine, tmp_path):
    log = given(seed, tmp_path)
    table = table_of(engine, log, tmp_path / "made")
    assert as_rows(table) == log.expected
    assert table.interleaved.equals(INTERLEAVED.canonical(table.interleaved))


@pytest.mark.parametrize("seed", range(3))
def test_drafts_of_more_bits_than_a_key_has_are_added_up_apart(seed, tmp_path, monkeypatch):
    monkeypatch.setattr(teams, "DRAFT_BITS", 1)
    log = given(seed, tmp_path)
    assert as_rows(table_of("arrays in batches", log, tmp_path / "made")) == log.expected


@logs(10, range(300, 360))
def test_teams_are_of_queries_that_are_kept(seed, engine, tmp_path):
    queries = {row["query"] for row in log_with_teams(seed)[0] if row["query"] is not None}
    judged = sorted({normalise_query(query) for query in queries})[::2]
    log = given(seed, tmp_path, judged=judged)
    kept = pl.DataFrame({"query": judged}).select(pl.lit(None, pl.String).alias("market"), "query")
    assert as_rows(table_of(engine, log, tmp_path / "made", kept)) == log.expected


@logs(12, range(60))
def test_a_store_in_two_runs_holds_the_teams_of_the_whole_log(seed, engine, tmp_path):
    log = given(seed, tmp_path)
    store = store_of(engine, log, tmp_path)
    assert store is None or as_rows(store.table()) == log.expected


@pytest.mark.parametrize("engine", ENGINES)
def test_a_log_without_teams_has_no_table(engine, tmp_path):
    log = given(1, tmp_path, change=lambda row: row.pop("teams"))
    table = table_of(engine, log, tmp_path / "made")
    assert table.interleaved is None
    assert not {"teams", "interleaved"} & {*table.funnel["source"]}


@pytest.mark.parametrize("engine", ENGINES)
def test_ids_in_the_wrong_column_are_refused(engine, tmp_path):
    def with_ids(row):
        row |= {"teams": [f"{row['search_id']}-{place}" for place, _ in enumerate(row["results"] or ())]}

    log = given(1, tmp_path, change=with_ids)
    with pytest.raises(InputError, match=r"teams: \d+ rankers, such as .*; is this the right column\?"):
        table_of(engine, log, tmp_path / "made")


def test_the_draws_have_every_kind_of_trouble(tmp_path):
    seen = Counter()
    for seed in range(30):
        (tmp_path / str(seed)).mkdir()
        rows, counts = given(seed, tmp_path / str(seed)).expected
        seen.update({key for key, n in counts.items() if n})
        seen["signals"] += any(key[7] != "click" for key in rows)
        seen["alone"] += any(key[2] == "" for key in rows)
        seen["three"] += len({key[1:3] for key in rows if key[0].startswith("colours")}) > 3
        seen["clicked"] += any(key[8] & (key[5] | key[6]) for key in rows)
    assert len(seen) == 11
    assert min(seen.values()) >= 5, seen
