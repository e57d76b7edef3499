"""The committed sample report is what the code of this checkout makes of the sample log."""

import json

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from clickassay.core.contracts.run import RUN_TABLES
from clickassay.core.settings import load_settings
from clickassay.jobs.run import make_run
from support.places import ROOT, SAMPLE

COMMITTED = ROOT / "reports" / "sample"
CLOCK = "2026-02-01"
AGAIN = "make it again with `make report` and commit it"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    out = tmp_path_factory.mktemp("sample") / "run"
    command = json.loads((COMMITTED / "settings.json").read_text(encoding="utf-8"))["command"]
    make_run(*SAMPLE.values(), out, load_settings(clock=CLOCK), command=command)
    return out


@pytest.mark.parametrize("table", [table.name for table in RUN_TABLES])
def test_the_committed_tables_are_those_of_the_code(fresh, table):
    ours, theirs = (pl.read_parquet(folder / f"{table}.parquet") for folder in (fresh, COMMITTED))
    assert_frame_equal(ours, theirs, rel_tol=1e-9, abs_tol=1e-12)


def test_the_committed_report_in_words_is_that_of_the_code(fresh):
    ours, theirs = ((folder / "report.md").read_text(encoding="utf-8") for folder in (fresh, COMMITTED))
    assert ours == theirs, AGAIN


def test_the_committed_report_has_every_file_but_the_database(fresh):
    ours, theirs = (
        {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
        for folder in (fresh, COMMITTED)
    )
    assert ours - theirs <= {"run.duckdb"}, AGAIN
    assert theirs <= ours, AGAIN


def test_the_committed_report_names_the_settings_of_today():
    recorded = json.loads((COMMITTED / "settings.json").read_text(encoding="utf-8"))["settings"]
    assert recorded == load_settings(clock=CLOCK).model_dump(mode="json"), AGAIN
