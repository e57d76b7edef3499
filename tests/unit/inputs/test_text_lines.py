"""Text files have one front door: what compresses or marks them is no matter, what cannot be read is said."""

import gzip
import json
import os
import shlex
import tempfile
from collections import Counter
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clickassay.core.errors import InputError
from clickassay.inputs.columns import JUDGMENTS
from clickassay.inputs.importers.ratings import ReadOptions, read_judgment_file
from clickassay.inputs.tables import collected, read_input
from clickassay.inputs.text import lines as door
from clickassay.inputs.text.detect import recognise
from clickassay.inputs.text.lines import lines
from clickassay.inputs.text.trec import read_qrels, read_run

TEXT = "1 0 a 1\n1 0 é 2\n"


def zstd(text: bytes) -> bytes:
    return pa.Codec("zstd").compress(text, asbytes=True)


PACKED = {
    "plain": bytes,
    "gzip": gzip.compress,
    "gzip in two parts": lambda text: gzip.compress(text[:5]) + gzip.compress(text[5:]),
    "zstd": zstd,
    "zstd in two parts": lambda text: zstd(text[:5]) + zstd(text[5:]),
}


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["no mark", "a mark"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("packed", PACKED)
def test_compression_and_byte_order_marks_and_line_ends_are_no_matter(tmp_path, packed, end, mark):
    file = tmp_path / "a name that says nothing"
    file.write_bytes(PACKED[packed]((mark + TEXT.replace("\n", end)).encode()))
    assert list(lines(file)) == [(1, "1 0 a 1"), (2, "1 0 é 2")]
    assert read_qrels(file).rows() == [("1", "a", 1), ("1", "é", 2)]
    assert recognise(file).layout.name == "qrels"


SIGNS = ("\xa0", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\u3000")
"""What Python's `splitlines` and `split` take for ends of lines, or for blanks."""


@pytest.mark.parametrize("sign", SIGNS)
def test_only_line_feeds_end_lines_for_what_recognises_files_as_for_what_reads_them(tmp_path, sign):
    reason = f"shows{sign}a{sign}lamp"
    rows = [{"query": "lamp", "docid": f"d{number}", "rating": 1, "reason": reason} for number in range(3)]
    table = [",".join(rows[0]), *(f'lamp,d{number},1,"{reason}"' for number in range(3))]
    texts = {
        "a.jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows),
        "b.json": json.dumps(rows, ensure_ascii=False, indent=1),
        "c.csv": "\n".join(table),
    }
    if ord(sign) < 32:  # JSON escapes these
        texts = {"c.csv": texts["c.csv"]}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
        assert recognise(tmp_path / name).layout.name == "quepid"
        assert len(read_judgment_file(tmp_path / name, ReadOptions(), Counter()).ratings) == 3


def test_a_no_break_space_is_part_of_a_name_in_trec_files(tmp_path):
    (tmp_path / "qrels").write_text("1 0 a\xa0b 1\n1 0 c 0\n", encoding="utf-8")
    assert recognise(tmp_path / "qrels").layout.name == "qrels"
    assert read_qrels(tmp_path / "qrels").rows() == [("1", "a\xa0b", 1), ("1", "c", 0)]


def read_lines(file):
    return list(lines(file))


def read_table(file):
    return collected(read_input("judgments", file, JUDGMENTS))


READERS = [read_lines, recognise, read_qrels, read_run]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("read", [*READERS, read_table])
def test_utf_16_is_named_with_the_command_that_helps(tmp_path, read, encoding):
    file = tmp_path / "it's.csv"
    file.write_bytes("query,url,grade\nq,a,1\n".encode(encoding))
    with pytest.raises(InputError, match="is in UTF-16") as caught:
        read(file)
    command = str(caught.value).split("convert it: ")[1]
    words = shlex.split(command)
    assert (words[0], words[3:6]) == ("iconv", ["-t", "utf-8", str(file)])
    assert file.read_bytes().decode(words[2]) == "query,url,grade\nq,a,1\n"


@pytest.mark.parametrize("read", [*READERS, read_table])
def test_a_pipe_is_called_one(tmp_path, read):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match=r"pipe\.csv is a pipe, which can be read only once"):
        read(tmp_path / "pipe.csv")


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl"])
@pytest.mark.parametrize("read", [read_lines, read_qrels, read_run, read_table])
@pytest.mark.parametrize("packed", ["gzip", "zstd"])
def test_an_endless_line_in_a_small_archive_is_refused_before_an_engine_meets_it(
    tmp_path, monkeypatch, packed, read, name
):
    monkeypatch.setattr(door, "LONGEST_LINE", 10_000)
    monkeypatch.setattr(door, "_BLOCK_BYTES", 1_000)
    (tmp_path / name).write_bytes(PACKED[packed](b"query,url,grade\n" + b"x" * 100_000))
    with pytest.raises(InputError, match=r"line 2: found .*, expected lines of at most 10,000 bytes"):
        read(tmp_path / name)


@given(lengths=st.lists(st.integers(0, 30), max_size=12), block=st.integers(1, 8))
def test_every_line_of_a_table_is_measured_however_its_blocks_lie(lengths, block):
    text = b"\n".join(b"x" * length for length in lengths)
    too_long = [number for number, length in enumerate(lengths, 1) if length > 8]
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(door, "LONGEST_LINE", 8)
        patch.setattr(door, "_BLOCK_BYTES", block)
        file = Path(folder) / "x.csv"
        file.write_bytes(text)
        if too_long:
            with pytest.raises(InputError, match=rf"line {too_long[0]}: found"):
                door.check_lines("searches", file)
        else:
            door.check_lines("searches", file)


@pytest.mark.parametrize("read", [read_lines, read_qrels, recognise])
@pytest.mark.parametrize("packed", ["gzip", "zstd"])
def test_an_archive_that_breaks_off_is_refused_in_one_line(tmp_path, read, packed):
    whole = PACKED[packed](os.urandom(30_000).hex().encode())
    (tmp_path / "x.txt").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"cannot read .*x\.txt") as caught:
        read(tmp_path / "x.txt")
    assert "\n" not in str(caught.value)


def test_one_array_of_json_is_named_with_the_command_that_helps(tmp_path):
    (tmp_path / "x.json").write_text('[\n{"query": "q", "url": "a", "grade": 1}]')
    with pytest.raises(InputError, match=r"one JSON array, .* jq -c '\.\[\]'"):
        read_table(tmp_path / "x.json")


@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
def test_blanks_around_names_and_cells_of_a_table_are_no_part_of_them(tmp_path, name):
    text = (
        "query, url ,\tgrade\nlamp, p1 , 3\n lamp,p2,0\n"
        if name == "x.csv"
        else "query\t url\tgrade \nlamp\t p1\t3\nlamp\tp2\t0 "
    )
    (tmp_path / name).write_text(text)
    found = read_table(tmp_path / name).select("query", "url", pl.col("grade").str.strip_chars())
    assert found.rows() == [("lamp", "p1", "3"), ("lamp", "p2", "0")]
