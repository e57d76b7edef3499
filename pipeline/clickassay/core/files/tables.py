"""Tables on disk: Parquet of fixed bytes, ``run.duckdb``, and one line when they cannot be written."""

import glob
import itertools
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from clickassay.core.errors import ClickassayError, OutputError
from clickassay.core.files.output import SETTINGS_FILE, is_disk_full, published_folder, write_json
from clickassay.core.text import escape
from clickassay.core.text.words import first_line


@contextmanager
def interrupts_later() -> Iterator[None]:
    """Let a Ctrl-C, heard by the main thread alone, wait: in an import of DuckDB it aborts the process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    usual = signal.signal(signal.SIGINT, lambda number, _frame: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if usual is None else usual)
    if heard:
        signal.raise_signal(signal.SIGINT)


def write_database(names: Iterable[str], folder: Path, file: Path) -> None:
    """Write Parquet files of a folder, `<name>.parquet`, as tables of these names into a new DuckDB database.

    With one thread (several take more CPU time, and a larger file), one compression of text (a search for the
    best takes longer), and one transaction (each waits for the disk).
    """
    with interrupts_later():
        import duckdb  # noqa: PLC0415 - most commands write no database

    settings: dict[str, str | bool | int | float | list[str]] = {
        "threads": "1",
        "force_compression": "dict_fsst",
    }
    with duckdb.connect(str(file), config=settings) as connection:
        connection.begin()
        for name in names:
            path = glob.escape(str(folder / f"{name}.parquet"))
            connection.read_parquet(path, hive_partitioning=False).create(name)
        connection.commit()


# an INTERVAL is read as a record: Polars panics at one otherwise, in a column that nobody reads too
pl.Config.load('{"environment": {"POLARS_IMPORT_INTERVAL_AS_STRUCT": "1"}}')


def scan_parquet(files: Path | Sequence[Path]) -> pl.LazyFrame:
    """Return the rows of Parquet files, unread; names are taken as they are, with any signs."""
    names = [files] if isinstance(files, Path) else list(files)
    return pl.scan_parquet(names, glob=False, hive_partitioning=False)


ROW_GROUP = 1 << 17


def write_table(rows: pl.DataFrame | pl.LazyFrame | Iterable[pl.DataFrame], file: Path) -> None:
    """Write rows in their contract's form, a frame or pieces (at least one), as Parquet: the same bytes."""
    form: dict[str, Any] = {"compression": "zstd", "compression_level": 1, "row_group_size": ROW_GROUP}
    # level 1 costs a third less CPU than the default for files that are an eighth larger
    if isinstance(rows, pl.DataFrame):
        groups = list(_row_groups([rows]))
        pl.concat(groups, rechunk=False).write_parquet(file, statistics=True, **form)
        return
    if isinstance(rows, pl.LazyFrame):  # without rows there are no batches
        rows = itertools.chain([rows.clear().collect()], rows.collect_batches(maintain_order=True))
    pieces, failed = _row_groups(rows), list[Exception]()
    first = next(pieces)

    def each(*_: object) -> Iterator[pl.DataFrame]:
        try:
            yield from itertools.chain([first], pieces)
        except ClickassayError as error:
            failed.append(error)  # Polars would make an error of its own of it
            raise

    source = register_io_source(each, schema=first.schema, is_pure=True)
    try:
        source.sink_parquet(file, statistics=True, **form)
    except pl.exceptions.PolarsError as error:
        raise (failed or [error])[0] from None


def _row_groups(pieces: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    held: list[pl.DataFrame] = []
    for piece in pieces:
        held.append(piece)
        if sum(rows.height for rows in held) <= ROW_GROUP:
            continue
        whole = pl.concat(held)
        last = (whole.height - 1) // ROW_GROUP * ROW_GROUP
        yield from (_copied(whole[first : first + ROW_GROUP]) for first in range(0, last, ROW_GROUP))
        held = [whole[last:]]
    yield _copied(pl.concat(held))


def _copied(group: pl.DataFrame) -> pl.DataFrame:
    """Copy rows: a slice of lists keeps the whole buffer, and the sizes of pages would depend on it."""
    return group[np.arange(group.height)]


def write_tables(
    out: Path,
    tables: Mapping[str, pl.DataFrame],
    info: Mapping[str, object],
    *,
    texts: Mapping[str, str] | None = None,
    also: Callable[[Path], object] | None = None,
    force: bool,
) -> None:
    """Write tables as Parquet, texts by file name, what `also` writes, and how they were made, atomically."""
    with published_folder(out, force=force) as folder, writing_tables():
        for name, frame in tables.items():
            write_table(frame, folder / f"{name}.parquet")
        for name, text in (texts or {}).items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
        if also is not None:
            also(folder)
        write_json(folder / SETTINGS_FILE, info)


@contextmanager
def writing_tables() -> Iterator[None]:
    """Turn errors of DuckDB and Polars into one line; `published_folder` does so for the system's."""
    try:
        yield
    except _errors_of_writing() as error:
        if type(error).__name__ == "InterruptException" or "KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from None  # Ctrl-C while DuckDB writes, or looks at a frame
        if is_disk_full(error):
            raise
        reason = first_line(error)
        raise OutputError(
            f"cannot write the tables: {reason}; is the disk full? Free space or choose another --out"
        ) from error


def _errors_of_writing() -> tuple[type[Exception], ...]:
    duckdb: Any = sys.modules.get("duckdb")
    return (pl.exceptions.PolarsError, *((duckdb.Error,) if duckdb else ()))


_EMPTY_LINE = '""'


def as_csv(frame: pl.DataFrame) -> str:
    r"""Return `frame` as CSV that neither a spreadsheet nor a parser misreads; lines end with ``\n``."""
    return "\n".join([*csv_lines(frame), ""])


def csv_lines(frame: pl.DataFrame) -> list[str]:
    """Return the lines of `as_csv`: heads, then a line for each row."""
    lines = [",".join(map(escape.csv, frame.columns))]
    if frame.width:
        cells = [_cells(column).alias(str(place)) for place, column in enumerate(frame)]
        lines += pl.DataFrame(cells).select(pl.concat_str(pl.all(), separator=",")).to_series().to_list()
    # parsers would skip a line that is all empty
    return [line or _EMPTY_LINE for line in lines]


def _cells(column: pl.Series) -> pl.Series:
    if column.dtype.is_integer():
        return column.cast(pl.String).fill_null("") if column.null_count() else column.cast(pl.String)
    if column.dtype.is_float():
        values = column.cast(pl.Float64)
        size = np.abs(values.to_numpy())
        # null, NaN, and what Python writes with an exponent; of all others both write the same digits
        (places,) = np.nonzero(~(((size >= 1e-4) & (size < 1e16)) | (size == 0)))
        rare = values.gather(places).to_list()
        texts = ["" if value is None else str(value) for value in rare]
        return values.cast(pl.String).scatter(places, texts)
    if column.dtype == pl.String:
        known = column.unique()
        return column.replace_strict(known, [escape.csv(text) for text in known.to_list()])
    return pl.Series([escape.csv(value) for value in column.to_list()], dtype=pl.String)


def as_json(frame: pl.DataFrame) -> str:
    """Return `frame` as a JSON array of records, a record a line."""
    body = ",\n".join(f"  {escape.json(row)}" for row in frame.iter_rows(named=True))
    return f"[\n{body}\n]\n" if body else "[]\n"
