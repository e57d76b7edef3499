"""A stored pattern table that is missing, incomplete, broken or something else: one line, nothing left."""

import json
from pathlib import Path

import polars as pl
import pytest

from support.logs import tiny


@pytest.fixture
def stored(tmp_path) -> tiny.Log:
    log = tiny.write_log(tmp_path)
    tiny.counted(log)
    return log


def twice(file: Path) -> None:
    rows = pl.read_parquet(file)
    pl.concat([rows, rows]).write_parquet(file)


def edited(**changes: object):
    """Return a function that changes settings.json; None takes an entry away."""

    def edit(file: Path) -> None:
        info = {**json.loads(file.read_text(encoding="utf-8")), **changes}
        file.write_text(json.dumps({name: value for name, value in info.items() if value is not None}))

    return edit


FAULTS = [
    ("settings.json", Path.unlink, "is not a pattern table; `clickassay patterns"),
    ("run.duckdb", lambda file: file.write_bytes(b""), "folder of a run, not a pattern table"),
    ("settings.json", lambda file: file.write_text("{"), "is broken"),
    ("settings.json", lambda file: file.write_bytes(b"\xff\xfe"), "is broken"),
    ("settings.json", lambda file: file.write_text("[]"), "is broken: it is not a JSON object"),
    ("settings.json", edited(stored_depth="ten"), "is broken"),
    ("settings.json", edited(stored_depth=None), "its settings.json has no stored_depth"),
    ("settings.json", edited(inputs=None), "is broken"),
    *(("settings.json", edited(settings=used), "is broken") for used in ({}, 5, ["folds"])),
    *(
        (f"{name}.parquet", fault, "is broken")
        for name in ("configurations", "patterns", "queries", "funnel")
        for fault in (Path.unlink, tiny.cut_short, tiny.overwritten, lambda file: file.write_bytes(b""))
    ),
    ("patterns.parquet", lambda file: pl.DataFrame({"a": [1]}).write_parquet(file), "missing columns"),
    ("patterns.parquet", twice, "is not unique"),
]


@pytest.mark.parametrize(("name", "fault", "words"), FAULTS)
def test_a_broken_pattern_table_is_refused(stored, tmp_path, name, fault, words):
    fault(stored.out / name)
    before = tiny.tree(tmp_path)
    options = ("--judgments", stored.judgments, *tiny.QUICK[:6], "--out", str(tmp_path / "report"))
    line = tiny.refusal("report", "--patterns", stored.out, *options)
    assert words in line
    assert str(stored.out) in line
    assert tiny.tree(tmp_path) == before


def test_the_report_of_a_whole_pattern_table_is_made(stored, tmp_path):
    options = ("--judgments", stored.judgments, *tiny.QUICK[:6], "--out", str(tmp_path / "report"))
    tiny.said_by("report", "--patterns", stored.out, *options)
    assert (tmp_path / "report" / "report.html").stat().st_size > 100_000
