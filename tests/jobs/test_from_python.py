"""A run from Python: the tables of the command, from frames of any library; what it shows and keeps."""

import pickle
import threading

import duckdb
import polars as pl
import pytest

import clickassay as ca
from clickassay.api.given import SettingsGiven
from clickassay.core.contracts.run import RUN_TABLES
from clickassay.core.settings import Settings
from support.logs import tiny

QUICK = {"depth": [3], "iterations": 10, "click_models": "none", "clock": "2026-06-30"}


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return tiny.write_log(tmp_path_factory.mktemp("log"))


@pytest.fixture(scope="module")
def frames():
    return {"searches": tiny.searches(), "clicks": tiny.clicks(), "judgments": tiny.judgments()}


@pytest.fixture(scope="module")
def run(log):
    return ca.run(log.searches, log.clicks, log.judgments, **QUICK)


KINDS = {
    "Polars": lambda frame: frame,
    "lazy": lambda frame: frame.lazy(),
    "Arrow": lambda frame: frame.to_arrow(),
    "pandas": lambda frame: frame.to_pandas(),
    "DuckDB": lambda frame: duckdb.from_arrow(frame.to_arrow()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_frames_of_any_library_give_the_tables_of_their_files(run, frames, kind):
    pytest.importorskip("pandas") if kind == "pandas" else None
    again = ca.run(**{name: KINDS[kind](frame) for name, frame in frames.items()}, **QUICK)
    assert again == run


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
def test_tables_are_those_of_the_command_to_the_byte(log, frames, tmp_path, engine):
    tiny.said_by(*log.options(out=tmp_path / "command"), "--clock", "2026-06-30", "--engine", engine)
    settings = {"iterations": 10, "depth": [3], "click_models": "none", "threads": 1}
    ca.run(**frames, **settings, clock="2026-06-30", engine=engine).save(tmp_path / "python")
    for table in RUN_TABLES:
        name = f"{table.name}.parquet"
        assert (tmp_path / "python" / name).read_bytes() == (tmp_path / "command" / name).read_bytes(), name


def test_every_setting_is_a_keyword_and_every_table_an_attribute(run):
    assert set(SettingsGiven.__annotations__) == set(Settings.model_fields)
    for table in RUN_TABLES:
        assert isinstance(getattr(run, table.name), pl.DataFrame)
        assert table.name in dir(run)
    with pytest.raises(AttributeError, match="a run has no nothing; its tables are statistics, "):
        run.nothing  # noqa: B018 - asked for on purpose
    with pytest.raises(ca.ClickassayError, match="unknown setting dept; did you mean depth"):
        ca.run("x", "y", "z", dept=3)


def test_a_run_is_kept_as_it_is(run, tmp_path):
    again = pickle.loads(pickle.dumps(run))  # noqa: S301 - our own
    opened = ca.open_run(run.save(tmp_path / "run"))
    for other in (again, opened):
        assert other == run
        assert repr(other) == repr(run)
        assert other.decision == run.decision
    assert opened.query("SELECT count(*) AS n FROM correlations")["n"][0] == run.correlations.height
    with pytest.raises(ca.ClickassayError, match="exists already"):
        run.save(tmp_path / "run")
    run.save(tmp_path / "run", force=True)
    assert run != ca.run(tiny.searches(), tiny.clicks(), tiny.judgments().head(3), **QUICK)


def test_it_says_what_the_command_says_and_shows_itself_in_a_notebook(run, log, tmp_path):
    said = tiny.said_by(*log.options(out=tmp_path / "run"))
    told = run.decision
    for text in (told.sentence, told.next_step):
        assert text in said
        assert text in repr(run)
    page = run._repr_html_()
    assert "<script" not in page
    assert "http" not in page.replace("data:image", "")
    assert told.sentence.split(":")[0] in page


def test_what_comes_from_a_log_is_escaped_in_a_notebook(log):
    run = ca.run(log.searches, log.clicks, log.judgments, **QUICK, title="<b>x</b>")
    assert "<b>x</b>" not in run._repr_html_()


def test_the_page_alone_is_written_as_a_new_file(run, tmp_path):
    page = run.report(tmp_path / "run.html")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(ca.ClickassayError):
        run.report(tmp_path / "run.html")


def test_runs_in_threads_do_not_know_each_other(run, frames):
    found = []

    def again():
        found.append(ca.run(**frames, **QUICK))

    threads = [threading.Thread(target=again) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one == run for one in found] == [True] * 3


def test_nothing_is_written_unless_asked_for(frames, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ca.run(**frames, **QUICK).query("SELECT 1")
    assert list(tmp_path.iterdir()) == []
