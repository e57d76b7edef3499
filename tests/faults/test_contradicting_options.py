"""Orders that make no sense: places inside the inputs, batches that are not there, unused judgments."""

import shutil
from pathlib import Path

import pytest

from support.logs import tiny


@pytest.fixture
def log(tmp_path) -> Path:
    for what, rows in (("searches", tiny.searches()), ("clicks", tiny.clicks())):
        (tmp_path / what).mkdir()
        rows.write_parquet(tmp_path / what / "0.parquet")
    return tmp_path


def patterns(log: Path, *more: str) -> list[str]:
    inputs = [f"--searches={log / 'searches'}", f"--clicks={log / 'clicks'}"]
    return ["patterns", *inputs, "--depth=3", "--threads=1", "--quiet", *more]


@pytest.mark.parametrize("option", ["--out", "--store"])
@pytest.mark.parametrize("inside", ["searches/new", "clicks/a/new", "searches"])
@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_a_place_inside_the_log_is_refused_before_anything_is_written(log, option, inside, dry):
    said = tiny.refusal(*patterns(log, f"{option}={log / inside}", *dry))
    assert f"{log / inside} is inside {log / inside.split('/')[0]}" in said
    assert sorted(path.name for path in log.rglob("*")) == ["0.parquet", "0.parquet", "clicks", "searches"]


def test_a_place_beside_the_log_whose_name_begins_alike_is_fine(log):
    assert tiny.inside(*patterns(log, f"--out={log / 'searches-patterns'}")).code == 0


def test_judgments_without_only_judged_are_refused(log):
    said = tiny.refusal(*patterns(log, f"--out={log / 'out'}", f"--judgments={log / 'missing.csv'}"))
    assert "--only-judged" in said


@pytest.mark.parametrize("command", [["store", "info"], ["store", "verify"]])
def test_a_file_is_no_store(log, command):
    file = log / "file"
    file.write_text("no store")
    assert "is a file; choose a folder" in tiny.refusal(*command, str(file))
    assert "is a file; choose a folder" in tiny.refusal(*patterns(log, f"--store={file}"))


@pytest.mark.parametrize("order", [("--from", "2"), ("--from", "77"), ("--before", "2"), ("--before", "99")])
def test_a_batch_that_is_not_there_cannot_be_forgotten(log, order):
    """The last batch stays in particular: it holds the visits that are open."""
    store = log / "store"
    assert tiny.inside(*patterns(log, f"--store={store}")).code == 0
    before = shutil.copytree(store, log / "before")
    said = tiny.refusal("store", "forget", str(store), *order)
    assert f"no batch {order[1]}: its last is 1" in said
    assert {path.name for path in store.rglob("*")} == {path.name for path in before.rglob("*")}
    assert tiny.inside("store", "verify", store).code == 0


@pytest.mark.parametrize(
    ("option", "values", "words"),
    [
        ("--batch", ("week", "0", "-3", "1.5", ""), "must be auto, day, file or a number of searches"),
        ("--memory-limit", ("4", "GB", "four GB"), "as 4GB or 512MiB"),
    ],
)
def test_a_size_that_is_none_names_those_that_are(log, option, values, words):
    for value in values:
        assert words in tiny.refusal(*patterns(log, f"--out={log / 'out'}", f"{option}={value}"))


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_the_needs_of_an_engine_that_are_not_known_are_not_told(log, engine):
    said = tiny.refusal(*patterns(log, f"--out={log / 'out'}", "--dry-run", f"--engine={engine}"))
    assert f"--dry-run supports the engine arrays only; remove --engine {engine}" in said
