"""Archives, workbooks, files of other programs, pages in place of a table: the kind, and the step to take"""

import io
import shlex
import sqlite3
import subprocess
import sys
import tarfile
import zipfile

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import orc

from clickassay.inputs import foreign
from clickassay.inputs.columns import CANONICAL, IMPRESSIONS, OUTCOMES, SCORES
from support.logs import tiny
from support.tiers import first

TABLE = pl.DataFrame({"query": ["lamp", "lamp"], "url": ["a", "b"], "grade": [3, 0]})
CSV = TABLE.write_csv().encode()


def of_polars(write):
    made = io.BytesIO()
    getattr(TABLE, write)(made)
    return made.getvalue()


def zipped(*names):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in names:
            archive.writestr(name, CSV)
    return made.getvalue()


def tarred():
    made, member = io.BytesIO(), tarfile.TarInfo("j.csv")
    member.size = len(CSV)
    with tarfile.open(fileobj=made, mode="w") as archive:
        archive.addfile(member, io.BytesIO(CSV))
    return made.getvalue()


def of_orc():
    made = pa.BufferOutputStream()
    orc.write_table(TABLE.to_arrow(), made)
    return made.getvalue().to_pybytes()


def of_sqlite():
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create table t(query, url, grade)")
        return connection.serialize()


def of_duckdb(folder):
    with duckdb.connect(folder / "x.duckdb") as connection:
        connection.execute("create table t(query varchar)")
    return (folder / "x.duckdb").read_bytes()


KINDS = {
    "zip": (lambda _: zipped("j.csv"), "a zip archive", "unzip {file}, and give 'j.csv'"),
    "lfs": (
        lambda _: b"version https://git-lfs.github.com/spec/v1\noid sha256:44\nsize 12\n",
        "a Git LFS pointer", "git lfs pull",
    ),
    "page": (
        lambda _: b"\n<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>",
        "a web page (“Sign in”)", "signed in",
    ),
    "error": (
        lambda _: b'<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>',
        "an error message of the store (“AccessDenied”)", "copy it again",
    ),
    "columns": (
        lambda _: b'{"query":{"0":"lamp","1":"lamp"},"url":{"0":"a","1":"b"},"grade":{"0":3,"1":0}}',
        "JSON from pandas", 'orient="records", lines=True',
    ),
    "index": (lambda _: b'{"0":{"query":"lamp","url":"a","grade":3}}', "JSON from pandas", "records"),
    "split": (lambda _: b'{"columns":["query"],"index":[0],"data":[["a"]]}', "JSON from pandas", "records"),
    "values": (lambda _: b'[["lamp","a",3]]', "JSON from pandas", "records"),
    "xlsx": (lambda _: zipped("[Content_Types].xml", "xl/workbook.xml"), "an Excel workbook", "CSV UTF-8"),
    "two": (lambda _: zipped("a.csv", "b.csv"), "a zip archive", "unzip {file}"),
    "broken zip": (lambda _: b"PK\x03\x04 a part of one", "a zip archive", "unzip {file}"),
    "xls": (lambda _: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "an old Excel workbook", "CSV UTF-8"),
    "orc": (lambda _: of_orc(), "an ORC file", "{file} table.parquet"),
    "avro": (lambda _: of_polars("write_avro"), "an Avro file", "{file} table.parquet"),
    "arrow": (lambda _: of_polars("write_ipc"), "an Arrow (Feather) file", "{file} table.parquet"),
    "stream": (lambda _: of_polars("write_ipc_stream"), "an Arrow stream", "{file} table.parquet"),
    "sqlite": (lambda _: of_sqlite(), "an SQLite database", "sqlite3 -header -csv {file}"),
    "duckdb": (of_duckdb, "a DuckDB database", "--database {file}"),
    "tar": (lambda _: tarred(), "a tar archive", "tar xf {file}"),
    "pickle": (lambda _: b"\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94.", "a Python pickle", "to_parquet"),
    "xz": (lambda _: b"\xfd7zXZ\0\0\x04", "compressed with xz", "unxz -k {file}"),
}  # fmt: skip
LOG = ("--searches", "{searches}", "--clicks", "{clicks}")
DOORS = {
    "inspect": ("inspect", "{file}"),
    "patterns": ("patterns", "--searches", "{file}", "--clicks", "{clicks}", "--out", "{out}"),
    "import": ("import", "judgments", "{file}", "--out", "{out}"),
    "a named layout": ("import", "judgments", "{file}", "--layout", "table", "--out", "{out}"),
    "an importer of logs": ("import", "yandex", "{file}", "--out", "{out}"),
    "run": ("run", *LOG, "--judgments", "{file}", "--out", "{out}"),
    "evaluate": ("evaluate", "{file}", "{file}"),
    "judges": ("judges", "{file}"),
}
TWO, OTHERS = list(DOORS)[:2], list(DOORS)[2:]


@pytest.mark.parametrize(
    ("kind", "ending", "doors"),
    [
        *((kind, ending, TWO) for kind in KINDS for ending in (".csv", ".parquet")),
        *((kind, ending, TWO) for kind in ("zip", "xlsx", "values") for ending in (".xlsx", ".json")),
        *((kind, ".csv", OTHERS) for kind in ("zip", "page", "columns", "avro")),
    ],
)
def test_the_kind_and_the_step_are_said_behind_every_door(tmp_path, kind, ending, doors):
    make, words, step = KINDS[kind]
    log, file = tiny.write_log(tmp_path / "log"), tmp_path / f"table{ending}"
    file.write_bytes(make(tmp_path))
    places = {"file": file, "out": tmp_path / "out", "searches": log.searches, "clicks": log.clicks}
    for door in doors:
        outcome = tiny.inside(*(part.format(**places) for part in DOORS[door]))
        said = outcome.out if door == "inspect" else tiny.one_line(outcome)
        assert outcome.code == (1 if door == "inspect" else 2), (door, outcome)
        assert [one for one in (words, step.format(file=file)) if one not in said] == [], (door, said)
        assert not (tmp_path / "out").exists()


def test_init_names_what_is_no_table(tmp_path, monkeypatch):
    tiny.write_log(tmp_path)
    (tmp_path / "lfs.parquet").write_bytes(KINDS["lfs"][0](tmp_path))
    monkeypatch.chdir(tmp_path)
    outcome = tiny.inside("init")
    assert outcome.code == 0
    told = outcome.out + outcome.err + (tmp_path / "clickassay.toml").read_text()
    assert "lfs.parquet: a Git LFS pointer, not the file; fetch it: git lfs pull" in told


@pytest.mark.parametrize("kind", first(1, ["avro", "orc", "arrow", "stream"]))
def test_the_step_to_parquet_works_as_it_is_typed(tmp_path, kind):
    file = tmp_path / "it's a table.bin"
    file.write_bytes(KINDS[kind][0](tmp_path))
    step = foreign.foreign_kind(file, file.read_bytes()[: foreign.FIRST_BYTES])[1].partition(": ")[2]
    typed = step.replace("python", shlex.quote(sys.executable), 1)
    subprocess.run(["sh", "-c", typed], check=True, cwd=tmp_path)
    assert pl.read_parquet(tmp_path / "it's a table.parquet").equals(TABLE)


def test_the_line_that_makes_six_fields_of_a_run_of_three_works_as_it_is_typed(tmp_path):
    (tmp_path / "a.run").write_text("q a 0.8\nq b 0.9\n")
    line = tiny.refusal("evaluate", tiny.write_log(tmp_path / "log").judgments, tmp_path / "a.run")
    subprocess.run(["sh", "-c", line.partition("six fields: ")[2]], check=True, cwd=tmp_path)
    assert (tmp_path / "scores.run").read_text() == "q Q0 a 0 0.8 run\nq Q0 b 0 0.9 run\n"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("table.csv", "write_parquet", "is Parquet by its first bytes; rename it to table.parquet"),
        ("table.parquet", "write_csv", "is text, not Parquet; rename it to table.csv"),
    ],
)
def test_a_wrong_ending_is_said(tmp_path, name, content, words):
    getattr(tiny.searches().drop("results"), content)(tmp_path / name)
    tiny.refused(tiny.write_log(tmp_path / "log", searches=tmp_path / name), "searches: ", words)


def test_a_dict_of_documents_called_0_is_no_table_of_pandas(tmp_path):
    assert foreign.foreign_kind(tmp_path / "x", b'{"query": {"0": 1, "1": 2}, "q2": {"0": 1}}') is None


WANTED = {
    want.name: want for columns in (*CANONICAL.values(), IMPRESSIONS, OUTCOMES, SCORES) for want in columns
}


@pytest.mark.parametrize("name", WANTED)
def test_a_table_of_pandas_is_known_by_any_column_that_comes_first(tmp_path, name):
    values = {"texts": ["a"], "flag": True, "text": "lamp"}
    value = values.get(WANTED[name].kind, 1)
    for orient in ("columns", "index"):
        text = pd.DataFrame({name: [value]}).to_json(orient=orient)
        assert foreign.foreign_kind(tmp_path / "x", text.encode()) is not None, text
