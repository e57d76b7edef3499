"""Tables on disk: Parquet of fixed bytes, ``run.duckdb``, and one line when they cannot be written."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from clickassay.core.errors import OutputError
from clickassay.core.output import SETTINGS_FILE, is_disk_full, published_folder, write_json
from clickassay.core.text import first_line


def write_database(tables: Mapping[str, pl.DataFrame], file: Path) -> None:
    """Write every frame as a table of its name into a new DuckDB database.

    With one thread: several cost half as much CPU time again, save little wall time, and make a larger file.
    With one compression of text (numbers keep theirs): the search for the best one takes half of the CPU
    time, to halve the file.
    """
    settings: dict[str, str | bool | int | float | list[str]] = {"threads": "1", "force_compression": "fsst"}
    with duckdb.connect(str(file), config=settings) as connection:
        for name, frame in tables.items():
            connection.from_arrow(frame.to_arrow(compat_level=pl.CompatLevel.newest())).create(name)


ROW_GROUP = 1 << 17


def write_table(frame: pl.DataFrame | pl.LazyFrame, file: Path) -> None:
    """Write a frame that is in its contract's form as Parquet: same rows, same bytes, in memory or not."""
    form: dict[str, Any] = {"compression": "zstd", "compression_level": 1, "row_group_size": ROW_GROUP}
    # level 1 costs a third less CPU than the default for files that are an eighth larger
    if isinstance(frame, pl.LazyFrame):
        _by_row_groups(frame).sink_parquet(file, statistics=True, **form)
        return
    starts = range(0, frame.height, ROW_GROUP)
    groups = [_copied(frame[first : first + ROW_GROUP]) for first in starts]
    pl.concat(groups or [frame], rechunk=False).write_parquet(file, statistics=True, **form)


def _by_row_groups(frame: pl.LazyFrame) -> pl.LazyFrame:
    def groups(
        _columns: list[str] | None, _predicate: pl.Expr | None, _rows: int | None, _size: int | None
    ) -> Iterator[pl.DataFrame]:
        yield from map(_copied, frame.collect_batches(chunk_size=ROW_GROUP, maintain_order=True))

    return register_io_source(groups, schema=frame.collect_schema(), is_pure=True)


def _copied(group: pl.DataFrame) -> pl.DataFrame:
    """Copy rows: a slice of lists keeps the whole buffer, and the sizes of pages would depend on it."""
    return group[np.arange(group.height)]


def write_tables(
    out: Path,
    tables: Mapping[str, pl.DataFrame],
    info: Mapping[str, object],
    *,
    picture: str | None = None,
    force: bool,
) -> None:
    """Write tables as Parquet, a picture, and how they were made into a folder, whole or not at all."""
    with published_folder(out, force=force) as folder, writing_tables():
        for name, frame in tables.items():
            write_table(frame, folder / f"{name}.parquet")
        if picture is not None:
            (folder / "examination.svg").write_text(picture, encoding="utf-8")
        write_json(folder / SETTINGS_FILE, info)


@contextmanager
def writing_tables() -> Iterator[None]:
    """Turn errors of DuckDB and Polars into one line; `published_folder` does so for the system's."""
    try:
        yield
    except (duckdb.Error, pl.exceptions.PolarsError) as error:
        if isinstance(error, duckdb.InterruptException) or "KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from None  # Ctrl-C while DuckDB writes, or looks at a frame
        if is_disk_full(error):
            raise
        reason = first_line(error)
        raise OutputError(
            f"cannot write the tables: {reason}; is the disk full? Free space or choose another --out"
        ) from error
