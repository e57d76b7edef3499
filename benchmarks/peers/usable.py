"""Logs that peers can read: they reject no rows, so those that cannot be used are taken out before.

python -m benchmarks.peers.usable LOG OUT
"""

import shutil
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq

DICTIONARY_BYTES = 1 << 26
"""Room for all texts of a row group, so that each is written once."""


def main(log: Path, out: Path) -> None:
    """Copy a log without the rows that clickassay rejects, row group by row group in the form it has."""
    shutil.copytree(log, out, ignore=shutil.ignore_patterns("searches.parquet", "clicks.parquet"))
    for name in ("searches", "clicks"):
        source = pq.ParquetFile(log / f"{name}.parquet")
        with writer_like(source, out / f"{name}.parquet") as file:
            for group in range(source.num_row_groups):
                file.write_table(usable(source.read_row_group(group)))


def writer_like(source: Any, path: Path) -> Any:
    """Open a file of the columns of another, compressed and encoded as there: else it costs more to read."""
    group = source.metadata.row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    texts = [column.path_in_schema for column in columns if column.physical_type == "BYTE_ARRAY"]
    others = [column.path_in_schema for column in columns if column.path_in_schema not in texts]
    return pq.ParquetWriter(path, source.schema_arrow, compression=columns[0].compression.lower(),
                            use_dictionary=texts, dictionary_pagesize_limit=DICTIONARY_BYTES,
                            column_encoding=dict.fromkeys(others, "DELTA_BINARY_PACKED"))  # fmt: skip


def usable(rows: Any) -> Any:  # PyArrow has no types
    """Return the rows of a table without a null, without results, or with a null among them."""
    frame = pl.DataFrame(rows)
    kept = pl.all_horizontal(pl.all().is_not_null())
    if "results" in frame.columns:
        kept &= (pl.col("results").list.len() > 0) & ~pl.col("results").list.contains(None)
    return rows.filter(frame.select(kept).to_series().to_arrow())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
