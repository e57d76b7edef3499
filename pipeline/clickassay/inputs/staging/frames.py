"""Tables in memory: held as they are, or written as Parquet into the scratch folder, as files like others."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.core.errors import InputError
from clickassay.core.files.output import is_disk_full
from clickassay.core.files.scratch import scratch_file
from clickassay.core.files.tables import scan_parquet
from clickassay.inputs.files import READ_ERRORS, unreadable_file
from clickassay.inputs.sources.fingerprint import ROWS, FileFingerprint, Origin
from clickassay.inputs.sources.mapping import Names, needed_columns, spelled_out
from clickassay.inputs.staging.made import Made


class Frame:
    """A table in memory: a frame of Polars, eager or lazy, or what hands its columns over as Arrow does.

    table: of Polars, pandas, PyArrow, or a relation of DuckDB.
    """

    def __init__(self, table: Any) -> None:  # noqa: ANN401 - of any library
        self._table = table

    def __str__(self) -> str:
        return "the given frame"

    @property
    def is_lazy(self) -> bool:
        """Whether its rows are not there yet."""
        return isinstance(self._table, pl.LazyFrame)

    def lazy(self, what: str) -> pl.LazyFrame:
        """Return its rows.

        Raises InputError if it is no table.
        """
        if isinstance(self._table, pl.LazyFrame):
            return self._table
        if isinstance(self._table, list | tuple | set):
            path = next((str(one) for one in self._table if isinstance(one, str | Path)), None)
            if path is not None:
                raise InputError(
                    f"{what}: a list with {path!r:.80}; give several files as one folder or glob, such as "
                    '"logs/2024-*.parquet"'
                )
            if any(hasattr(one, "columns") for one in self._table):
                raise InputError(f"{what}: a list of frames; put them together, as pl.concat([a, b])")
        try:
            # of a relation of DuckDB by its own way: a stream of Arrow with an INTERVAL ends the process
            of_duckdb = type(self._table).__name__ == "DuckDBPyRelation"
            return (self._table.pl() if of_duckdb else pl.DataFrame(self._table)).lazy()
        except Exception as error:
            kind = type(self._table).__name__
            raise InputError(
                f"{what}: {kind} is not a table; give a path, or a frame of Polars, pandas, Arrow or DuckDB"
            ) from error


def framed(what: str, frame: Frame, names: Names, *, held: bool = False) -> Made:
    """Put the needed columns of a frame where files are expected.

    what: name of the input.
    names: the columns that it calls otherwise.
    held: whether the rows may stay in memory: then the file has the columns alone. A lazy frame is written in
      pieces, since its rows may not fit.

    Raises InputError if it is no table.
    """
    try:
        return _framed(what, frame, names, held=held)
    except READ_ERRORS as error:
        if is_disk_full(error):
            raise
        raise unreadable_file(what, frame, error) from error


def _framed(what: str, frame: Frame, names: Names, *, held: bool) -> Made:
    rows = frame.lazy(what)
    schema = rows.collect_schema()
    needed = needed_columns(what, schema.names(), names)
    rows = rows if needed is None else rows.select(needed)
    if needed is None and what != "queries":  # a column is missing: the message names those that there are
        lost = [name for name, dtype in schema.items() if dtype == pl.Object]
        rows = rows.head(_FEW).with_columns(pl.lit(None).alias(name) for name in lost)
    if texts := spelled_out(what, rows.collect_schema(), names):
        return _as_json(what, frame, rows, texts)
    file = scratch_file(f"{frame} of {what}", f"{what}.parquet")
    if held and not frame.is_lazy:
        eager = rows.collect()
        eager.clear().write_parquet(file)
        if (
            scan_parquet(file).collect_schema() == eager.schema
        ):  # else its types are others once it was written
            return Made(file, {file: Origin((_fingerprint(file.name, eager),))}, {file: eager})
    rows.sink_parquet(file, compression="uncompressed")
    return Made(file)


_FEW = 1_000
"""Rows that are looked at where a table cannot be read."""


def _as_json(what: str, frame: Frame, rows: pl.LazyFrame, texts: Sequence[str]) -> Made:
    """Write rows as JSON lines, where times and numbers may be texts, as in a file of text."""
    columns = []
    for name, dtype in rows.collect_schema().items():
        if name in texts:
            columns.append(pl.col(name).cast(pl.String).str.strip_chars().replace("", None))
        elif isinstance(dtype, pl.Datetime):
            utc = pl.col(name) if dtype.time_zone is None else pl.col(name).dt.convert_time_zone("UTC")
            zone = "" if dtype.time_zone is None else "Z"
            columns.append(utc.dt.strftime(f"%Y-%m-%dT%H:%M:%S%.f{zone}"))
        else:
            columns.append(pl.col(name))
    file = scratch_file(f"{frame} of {what}", f"{what}.jsonl")
    rows.select(columns).sink_ndjson(file)
    if not file.stat().st_size:  # no rows, which have no types in JSON
        file = scratch_file(f"{frame} of {what}", f"{what}.parquet")
        rows.head(0).with_columns(pl.lit(None).alias(name) for name in texts).sink_parquet(file)
    return Made(file)


def _fingerprint(name: str, rows: pl.DataFrame) -> FileFingerprint:
    """Return the identity of a table in memory: of its columns and rows, however its memory is laid out."""
    digest = hashlib.sha256(repr(rows.schema).encode())
    digest.update(rows.hash_rows(seed=0).to_numpy().tobytes())
    size = sum(map(_bytes, rows.get_columns()))
    return FileFingerprint(name, "", size, f"{ROWS}:{digest.hexdigest()}")


def _bytes(column: pl.Series) -> int:
    """Return the bytes of the values: of texts their letters, eight of each other value."""
    if isinstance(column.dtype, pl.List | pl.Array):
        return _bytes(column.explode())
    if isinstance(column.dtype, pl.Struct):
        return sum(map(_bytes, column.struct.unnest().get_columns()))
    return int(column.str.len_bytes().sum()) if column.dtype == pl.String else 8 * len(column)
