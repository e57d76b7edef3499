"""Tables in memory: held as they are, or written as Parquet into the scratch folder, as files like others."""

import hashlib
from typing import Any

import polars as pl

from clickassay.core.errors import InputError
from clickassay.core.files.scratch import scratch_file
from clickassay.core.files.tables import scan_parquet
from clickassay.core.text.words import first_line
from clickassay.inputs.sources.fingerprint import ROWS, FileFingerprint, Origin
from clickassay.inputs.sources.mapping import Names, needed_columns
from clickassay.inputs.staging.made import Made


class Frame:
    """A table in memory: a frame of Polars, eager or lazy, or what hands its columns over as Arrow does.

    Parameters
    ----------
    table
        Of Polars, pandas, PyArrow, or a relation of DuckDB.
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

        Raises
        ------
        InputError
            If it is no table.
        """
        if isinstance(self._table, pl.LazyFrame):
            return self._table
        try:
            return pl.DataFrame(self._table).lazy()
        except Exception as error:
            kind = type(self._table).__name__
            raise InputError(
                f"{what}: {kind} is no table: {first_line(error)}; give a path, or a frame of Polars, "
                "pandas, Arrow or DuckDB"
            ) from error


def framed(what: str, frame: Frame, names: Names, *, held: bool = False) -> Made:
    """Put the needed columns of a frame where files are expected.

    Parameters
    ----------
    what
        Name of the input.
    names
        The columns that it calls otherwise.
    held
        Whether the rows may stay in memory: then the file has the columns alone. A lazy frame is written in
        pieces, since its rows may not fit.

    Raises
    ------
    InputError
        If it is no table.
    """
    rows = frame.lazy(what)
    needed = needed_columns(what, rows.collect_schema().names(), names)
    rows = rows if needed is None else rows.select(needed)
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
