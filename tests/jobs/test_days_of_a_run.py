"""When lists were shown: from the pattern table to the samples of a run, in memory and from its folder."""

import shutil

import numpy as np
import polars as pl
import pytest

from clickassay.core.errors import ReportError
from clickassay.core.progress import silent
from clickassay.correlation.within import users
from clickassay.correlation.within.groups import query_groups
from clickassay.findings.arrays import graded_sample
from clickassay.findings.run import open_run
from clickassay.jobs.analyse import analyse
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import stored_patterns
from clickassay.jobs.strata import measure_strata, split_users
from clickassay.judgments.prepare import prepare_judgments
from clickassay.metrics.scoring import formed_sessions
from clickassay.patterns.table import write_patterns
from support.places import SAMPLE
from support.runs.given_runs import SETTINGS, judgments, made, patterns


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return made(tmp_path_factory.mktemp("days") / "run")


def rows_of(shown):
    columns = (shown.rows.tolist(), shown.days.tolist(), shown.sessions.tolist())
    return list(zip(*columns, strict=True))


def test_samples_that_are_measured_have_the_same_days_as_those_read_from_the_run(folder):
    run, table = open_run(folder), patterns()
    rows = judgments().with_columns(judge=pl.lit("all"), market=pl.lit("all"))
    graded = prepare_judgments(rows, table.queries, SETTINGS, by_market=False)
    split, formed = split_users(table.staged(), None, SETTINGS), formed_sessions(table.funnel)
    strata = measure_strata(split, formed, graded, SETTINGS, silent, rule="drop")
    assert strata.shown.equals(run.tables["shown"])
    for sample in strata.samples:
        assert rows_of(sample.shown) == rows_of(graded_sample(run, sample.key).sample.shown)


def test_a_table_that_was_made_before_there_were_days_is_read_and_its_run_has_none(tmp_path):
    write_patterns(patterns(), tmp_path)
    (tmp_path / "shown.parquet").unlink()
    table = stored_patterns(tmp_path)
    assert table.shown is None
    assert analyse(table, Sources(judgments=SAMPLE["judgments"]), SETTINGS)["shown"].is_empty()


def test_a_run_that_has_lost_its_days_is_refused(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "run", ignore=shutil.ignore_patterns("shown.parquet"))
    with pytest.raises(ReportError, match=r"shown\.parquet"):
        graded_sample(open_run(tmp_path / "run"), open_run(folder).samples[0])


def test_what_users_move_does_not_depend_on_how_many_units_are_summed_at_once(folder, monkeypatch):
    run = open_run(folder)
    (place,) = query_groups([graded_sample(run, run.samples[0]).sample])
    few = np.arange(len(place.groups.n_lists)) < 3  # most blocks have no unit of this class
    slopes = place.split(place.groups.values.sum(axis=0)).slopes[None]
    chosen = {"all": (~few | few, slopes), "few": (few, slopes)}
    found = []
    for at_once in (2**8, 1):
        monkeypatch.setattr(users, "UNITS_AT_ONCE", at_once)
        found.append(users.moved_by_folds(place.parts, place.groups.places, chosen))
    for name in chosen:
        whole, one = (moved[name] for moved in found)
        assert one.by_fold == pytest.approx(whole.by_fold, abs=1e-12, nan_ok=True)
        assert one.by_chance == pytest.approx(whole.by_chance, abs=1e-12, nan_ok=True)
