"""Inputs that are replaced while a run reads them: no run has the digest of one and numbers of another."""

import hashlib
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from clickassay.core.errors import InputError
from clickassay.core.progress import Event
from clickassay.core.settings import load_settings
from clickassay.inputs import tables
from clickassay.inputs.importers.ubi import import_ubi
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import make_patterns
from clickassay.jobs.run import make_run
from clickassay.studies.evaluation.job import evaluate_files
from support.logs import tiny
from support.places import IMPORTED


def replaced_at(message, file):
    """Return a progress callback that puts another file in place of one when a stage begins."""

    def callback(event):
        if event.message.startswith(message) and not file.with_name("done").exists():
            rows = pl.read_parquet(file)
            rows.head(rows.height - 1).write_parquet(file.with_name("done"))
            shutil.copy(file.with_name("done"), file.with_name("new"))
            file.with_name("new").replace(file)

    return callback


def parquet(log, name):
    file = log.folder / f"{name}.parquet"
    assert file.is_file()
    return file


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize("name", ["searches", "clicks"])
def test_a_log_that_is_replaced_while_it_is_read_leaves_no_pattern_table(log, engine, name):
    paths = [str(parquet(log, one)) for one in ("searches", "clicks")]
    replace = replaced_at("writing" if engine == "duckdb" else "forming sessions", parquet(log, name))
    settings = load_settings(depth=[3], engine=engine, max_rejected=0.9)
    with pytest.raises(InputError, match=rf"{name}\.parquet was changed while it was read; run again"):
        make_patterns(Sources(*paths), log.out, settings, progress=replace)
    assert not log.out.exists()


@pytest.fixture
def log(tmp_path):
    return tiny.write_log(tmp_path / "log")


def run_of(log, **more):
    paths = [str(parquet(log, one)) for one in ("searches", "clicks", "judgments")]
    settings = load_settings(
        depth=[3], iterations=5, max_rejected=0.9, click_models=("NONE",), clock="2026-06-30"
    )
    make_run(Sources(*paths), settings, out=log.out, **more)


def test_judgments_that_are_replaced_while_they_are_read_leave_no_run(log, monkeypatch):
    replace = replaced_at("reading", parquet(log, "judgments"))
    read = tables.collected
    monkeypatch.setattr(tables, "collected", lambda *given: (replace(Event("reading")), read(*given))[1])
    with pytest.raises(InputError, match=r"^judgments: .* was changed while it was read; run again$"):
        run_of(log)
    assert not log.out.exists()


def test_a_run_has_digest_and_numbers_of_the_judgments_that_it_read_whatever_comes_later(tmp_path):
    kept, replaced = (tiny.write_log(tmp_path / name) for name in ("kept", "replaced"))
    run_of(kept)
    run_of(replaced, progress=replaced_at("forming sessions", parquet(replaced, "judgments")))
    assert parquet(replaced, "judgments").with_name("done").exists()
    digests = [
        json.loads((log.out / "settings.json").read_text())["inputs"]["judgments"]["digest"]
        for log in (kept, replaced)
    ]
    assert digests[0] == digests[1]
    for table in ("funnel", "configurations", "correlations", "health"):
        assert (kept.out / f"{table}.parquet").read_bytes() == (
            replaced.out / f"{table}.parquet"
        ).read_bytes()


def shorter_at(message, file):
    """Return a progress callback that takes the last line of a file away when a stage begins."""

    def callback(event):
        if event.message.startswith(message):
            kept = file.read_text(encoding="utf-8").splitlines()[:-1]
            file.with_name("new").write_text("\n".join(kept), encoding="utf-8")
            file.with_name("new").replace(file)

    return callback


def test_a_log_that_is_replaced_while_it_is_imported_leaves_no_folder(tmp_path):
    log = Path(shutil.copy(IMPORTED / "ubi" / "pages_from_impressions" / "log.jsonl", tmp_path))
    with pytest.raises(InputError, match=r"log\.jsonl was changed while it was read; run again$"):
        import_ubi([log], out=tmp_path / "out", progress=shorter_at("putting searches together", log))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["qrels", "system"])
def test_files_that_are_replaced_while_they_are_evaluated_leave_no_numbers(tmp_path, name):
    qrels, ranking = tmp_path / "qrels", tmp_path / "system"
    qrels.write_text("q 0 a 1\nq 0 b 0\n", encoding="utf-8")
    ranking.write_text("q Q0 a 1 2 system\nq Q0 b 2 1 system\n", encoding="utf-8")
    identity = evaluate_files(qrels, [ranking], "AP").inputs["run system"]
    assert identity == {
        "name": "system",
        "bytes": ranking.stat().st_size,
        "sha256": hashlib.sha256(ranking.read_bytes()).hexdigest(),
    }
    with pytest.raises(InputError, match=rf"{name} was changed while it was read; run again$"):
        evaluate_files(qrels, [ranking], "AP", progress=shorter_at("evaluating", tmp_path / name))
