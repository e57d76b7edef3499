"""Tables in memory, written as Parquet into the scratch folder: from there on they are files like others."""

from typing import Any

import polars as pl

from clickassay.core.errors import InputError
from clickassay.core.files.scratch import scratch_file
from clickassay.core.text.words import first_line
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


def framed(what: str, frame: Frame, names: Names) -> Made:
    """Write the needed columns of a frame as Parquet.

    Parameters
    ----------
    what
        Name of the input.
    names
        The columns that it calls otherwise.

    Raises
    ------
    InputError
        If it is no table.
    """
    rows = frame.lazy(what)
    needed = needed_columns(what, rows.collect_schema().names(), names)
    file = scratch_file(f"{frame} of {what}", f"{what}.parquet")
    (rows if needed is None else rows.select(needed)).sink_parquet(file, compression="uncompressed")
    return Made(file)
