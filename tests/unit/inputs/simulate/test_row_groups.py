"""Row groups that are encoded apart give the file that one writer gives, byte by byte."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clickassay.inputs.simulate import row_groups as groups
from clickassay.inputs.simulate.footers import split_file
from clickassay.inputs.simulate.row_groups import row_groups
from clickassay.inputs.simulate.rows import ClickRows

OPTIONS = {"compression": "zstd", "use_dictionary": ["url"], "write_statistics": ["search_id"]}
SCHEMA = pa.schema({"search_id": pa.int64(), "url": pa.string(), "urls": pa.list_(pa.string())})


def table_of(rows):
    urls = [None if number % 7 == 0 else f"u{number % 50}" for number in rows.document.tolist()]
    return pa.table([pa.array(rows.search), pa.array(urls), pa.array([[url] for url in urls])], schema=SCHEMA)


def encoded(rows=None):
    buffer = pa.BufferOutputStream()
    with pq.ParquetWriter(buffer, SCHEMA, **OPTIONS) as file:
        if rows is not None:
            file.write_table(table_of(rows))
    return buffer.getvalue()


def clicks(number):
    """Rows whose row group has a size of its own; some numbers need many bytes."""
    values = np.random.default_rng(number).integers(-(2**62), 2**62, 100 + 37 * number)
    return ClickRows(values, values, np.abs(values) % 1000)


@pytest.mark.parametrize("number", [0, 1, 2, 14, 15, 40])  # lists of 15 and more have another header
def test_the_file_has_the_bytes_of_one_writer(number, tmp_path, monkeypatch):
    monkeypatch.setattr(groups, "ROW_GROUP", 1)
    every = [clicks(one) for one in range(number)]
    with pq.ParquetWriter(tmp_path / "plain", SCHEMA, **OPTIONS) as plain:
        for rows in every:
            plain.write_table(table_of(rows))
    with ThreadPoolExecutor(3) as pool, row_groups(tmp_path / "joined", pool, encoded(), encoded) as joined:
        for rows in every:
            joined.add(rows)
    assert (tmp_path / "joined").read_bytes() == (tmp_path / "plain").read_bytes()


def test_an_error_while_encoding_ends_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(groups, "ROW_GROUP", 1)

    def failing(_rows):
        raise OSError("no room")

    with (
        pytest.raises(OSError, match="no room"),
        ThreadPoolExecutor(1) as pool,
        row_groups(tmp_path / "file", pool, encoded(), failing) as file,
    ):
        file.add(clicks(1))


def test_few_row_groups_wait_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(groups, "ROW_GROUP", 1)
    waiting = []
    with ThreadPoolExecutor(1) as pool, row_groups(tmp_path / "file", pool, encoded(), encoded) as file:
        for number in range(12):
            file.add(clicks(number))
            waiting.append(len(file._waiting))
    assert max(waiting) == groups.THREADS


def test_a_footer_with_a_type_that_parquet_does_not_use_is_refused():
    footer = bytes([0x1B, 0])  # field 1 is a map
    file = b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    with pytest.raises(ValueError, match="a Parquet footer with a value of type 11"):
        split_file(memoryview(file))


def test_gathered_rows_stay_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr(groups, "ROW_GROUP", 300)
    parts = [clicks(number) for number in (0, 1, 2, 3)]
    with ThreadPoolExecutor(2) as pool, row_groups(tmp_path / "file", pool, encoded(), encoded) as file:
        for rows in parts:
            file.add(rows)
    read = pq.ParquetFile(tmp_path / "file")
    assert [read.metadata.row_group(number).num_rows for number in range(read.num_row_groups)] == [411, 211]
    expected = np.concatenate([rows.search for rows in parts])
    assert read.read()["search_id"].to_pylist() == expected.tolist()
