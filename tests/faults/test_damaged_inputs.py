"""Damaged files of every input, cut or with other bytes, and paths that cannot be: one line, never a fault"""

import numpy as np
import polars as pl
import pytest

import clickassay as ca
from support.logs import tiny
from support.tiers import first

QUERIES = pl.DataFrame({"query": tiny.QUERIES, "kind": ["a", "b", "a"]})
OUTCOMES = pl.DataFrame({"search_id": range(1, 25), "value": [float(row) for row in range(24)]})
ASSIGNMENTS = pl.DataFrame({"user_id": range(1000, 1024), "variant": ["control", "new"] * 12})
SCORES = pl.DataFrame(
    {
        "query": [tiny.QUERIES[row % 3] for row in range(6)],
        "results": [tiny.results_of(row) for row in range(6)],
    }
).with_columns(value=pl.int_range(pl.len()).cast(pl.Float64))
SHOWN = (
    tiny.searches()
    .explode("results")
    .rename({"results": "url"})
    .with_columns(position=pl.int_range(pl.len()).over("search_id") + 1)
    .with_columns(clicked=pl.col("position") == 1)
)
FRAMES = {
    "impressions": SHOWN, "searches": tiny.searches(), "clicks": tiny.clicks(), "judgments": tiny.judgments(),
    "queries": QUERIES, "outcomes": OUTCOMES, "scores": SCORES, "assignments": ASSIGNMENTS,
    "rankings": tiny.judgments().rename({"grade": "score"}), "qrels": tiny.judgments(),
}  # fmt: skip
DAMAGES = (
    lambda file, place, _: file[:place],
    lambda file, place, _: file[:place] + bytes([file[place] ^ 0xFF]) + file[place + 1 :],
    lambda file, place, drawn: file[:place] + drawn.bytes(20) + file[place + 20 :],
    lambda file, place, _: file[:place] + b"\0" * 20 + file[place + 20 :],
    lambda file, place, _: file[:place] + file[place + 20 :],
)


def written(frame, file):
    if file.suffix == ".parquet":
        frame.write_parquet(file, compression="uncompressed")
        return
    lists = [name for name, dtype in frame.schema.items() if dtype == pl.List(pl.String)]
    frame.with_columns(pl.format('["{}"]', pl.col(name).list.join('","')) for name in lists).write_csv(file)


def command(what, file, log, out):
    """Return a command that reads the file as this input, and everything else from the good log."""
    if what in ("rankings", "qrels"):
        return [
            "evaluate",
            *((log.judgments, file) if what == "rankings" else (file, log.folder / "run.parquet")),
        ]
    if what == "impressions":
        return ["patterns", "--searches", file, "--depth", 3, "--out", out, "--force"]
    given = {"searches": log.searches, "clicks": log.clicks} | {what: file}
    name = "patterns" if what in ("searches", "clicks", "outcomes", "assignments") else "run"
    if name == "run":
        given = {"judgments": log.judgments} | given
    options = [part for one, path in given.items() for part in (f"--{one}", path)]
    return [name, *options, *(tiny.QUICK if name == "run" else ("--depth", 3)), "--out", out, "--force"]


@pytest.mark.parametrize("number", first(1, range(3)))
@pytest.mark.parametrize("ending", [".parquet", ".csv"])
@pytest.mark.parametrize("what", FRAMES)
def test_damage_anywhere_in_any_input_ends_in_one_line(tmp_path, what, ending, number):
    log, file = tiny.write_log(tmp_path / "log"), tmp_path / f"damaged{ending}"
    FRAMES["rankings"].write_parquet(log.folder / "run.parquet")
    written(FRAMES[what], file)
    whole, drawn = file.read_bytes(), np.random.default_rng([number, len(what), len(ending)])
    assert tiny.inside(*command(what, file, log, tmp_path / "out")).code == 0
    for damage in DAMAGES if what in ("impressions", "qrels") else DAMAGES[number % 5 :: 3]:
        file.write_bytes(damage(whole, int(drawn.integers(4, len(whole))), drawn))
        outcome = tiny.inside(*command(what, file, log, tmp_path / "out"), *QUIET[what])
        assert outcome.code in (0, 1, 2), outcome
        if outcome.code == 2:
            line = tiny.one_line(outcome)
            assert "damaged" in line or f"{OF.get(what, what)}: " in line or "run" in line
            assert "unwrap" not in line


OF = {"impressions": "searches", "rankings": "run"}
QUIET = {what: () if what in ("rankings", "qrels") else ("--max-rejected", 1) for what in FRAMES}


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_impressions_that_cannot_be_decoded_name_their_file(tmp_path, engine, ending):
    file = tmp_path / f"shown{ending}"
    written(SHOWN, file)
    if ending == ".parquet":
        tiny.overwritten(file)
    else:
        file.write_bytes(file.read_bytes()[:-30] + b"\xff\xfe" + file.read_bytes()[-28:])
    line = tiny.refusal("patterns", "--searches", file, "--out", tmp_path / "out", "--engine", engine)
    assert f"searches: cannot read {file}" in line
    assert "write it again" in line


IMPOSSIBLE = (
    *("a\0b.parquet", "days/*\0/x", "half \ud800.csv", "n" * 5000),
    *("http://h/../x", "s3://b/./x", "s3://b/a\0b"),
)


@pytest.mark.parametrize("path", IMPOSSIBLE)
@pytest.mark.parametrize("door", ["searches", "clicks", "judgments", "inspect", "qrels", "run"])
def test_a_path_that_cannot_be_is_refused_behind_every_door(tmp_path, door, path):
    log = tiny.write_log(tmp_path)
    inputs = {"searches": log.searches, "clicks": log.clicks, "judgments": log.judgments} | {door: path}
    doors = {
        "inspect": lambda: ca.inspect(path),
        "qrels": lambda: ca.evaluate(path, {"q": {"a": 1.0}}),
        "run": lambda: ca.evaluate({"q": {"a": 1}}, path),
    }
    with pytest.raises(ca.InputError) as caught:
        doors.get(door, lambda: ca.run(*(inputs[name] for name in ("searches", "clicks", "judgments"))))()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("path", ["a\0b", "half \ud800", "n" * 5000])
@pytest.mark.parametrize("opened", [ca.open_run, ca.open_patterns, ca.power, ca.learn])
def test_a_folder_that_cannot_be_is_refused_too(opened, path):
    with pytest.raises(ca.InputError, match="cannot be a path: "):
        opened(path)
