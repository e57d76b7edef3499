"""Row groups come from threads in the order of their rows, and few of them wait."""

import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clickassay.inputs.simulate import simulation as groups
from clickassay.inputs.simulate.rows import ClickRows
from clickassay.inputs.simulate.simulation import row_groups

SCHEMA = pa.schema({"search_id": pa.int64()})


def table_of(rows):
    return pa.table([pa.array(rows.search)], schema=SCHEMA)


def clicks(number):
    """Rows of a number of their own; the number 0 has none."""
    values = np.random.default_rng(number).integers(0, 2**62, 137 * number)
    return ClickRows.clicks(values, values, values % 1000)


def test_gathered_rows_stay_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr(groups, "ROW_GROUP", 300)
    parts = [clicks(number) for number in (0, 1, 2, 3, 0)]
    with row_groups(pq.ParquetWriter(tmp_path / "file", SCHEMA), table_of) as file:
        for rows in parts:
            file.add(rows)
    read = pq.ParquetFile(tmp_path / "file")
    assert [read.metadata.row_group(number).num_rows for number in range(read.num_row_groups)] == [411, 411]
    expected = np.concatenate([rows.search for rows in parts])
    assert read.read()["search_id"].to_pylist() == expected.tolist()


def test_without_rows_there_is_a_file_with_none(tmp_path):
    with row_groups(pq.ParquetWriter(tmp_path / "file", SCHEMA), table_of) as file:
        file.add(clicks(0))
    assert pq.read_table(tmp_path / "file").num_rows == 0


@pytest.mark.parametrize("when", [1, 5])
def test_an_error_while_a_row_group_is_made_is_raised(tmp_path, monkeypatch, when):
    monkeypatch.setattr(groups, "ROW_GROUP", 1)
    made = []

    def failing(rows):
        made.append(rows)
        if len(made) == when:
            raise OSError("no room")
        return table_of(rows)

    def write_all():
        with row_groups(pq.ParquetWriter(tmp_path / "file", SCHEMA), failing) as file:
            for number in range(1, 9):
                file.add(clicks(number))

    with pytest.raises(OSError, match="no room"):
        write_all()


def test_few_row_groups_wait_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(groups, "ROW_GROUP", 1)
    drawn, most, going_on = 0, [], threading.Event()

    def slow(rows):
        most.append(drawn)
        going_on.wait(0.01)
        return table_of(rows)

    with row_groups(pq.ParquetWriter(tmp_path / "file", SCHEMA), slow) as file:
        for _ in range(12):
            file.add(clicks(1))
            drawn += 1
    ahead = [at - place for place, at in enumerate(most)]
    assert max(ahead) <= groups.MOST_WAITING + 1
