"""Data files as lazy frames: the only place that opens them for Polars."""

from collections.abc import Sequence
from glob import escape
from pathlib import Path

import polars as pl

from clickassay.core.errors import InputError
from clickassay.core.tables import scan_parquet
from clickassay.inputs.files import READ_ERRORS, refuse_encrypted, unreadable_file
from clickassay.inputs.text.lines import check_table


def scan(files: Sequence[Path], format_: str, schema: pl.Schema | None = None) -> pl.LazyFrame:
    """Return the rows of files of one format and schema, unread.

    Parameters
    ----------
    files
        Names are taken as they are, whatever signs of a glob they hold.
    format_
        A value of `files.FORMATS`.
    schema
        Of JSON lines: columns and types. None = of all rows of the first file.
    """
    if format_ == "parquet":
        return scan_parquet(files)
    if format_ == "json":
        # scan_ndjson reads every path as a pattern; the others have an option
        paths = [Path(escape(str(file))) for file in files]
        return pl.scan_ndjson(paths, schema=schema, infer_schema_length=None)
    separator = "\t" if format_ == "tsv" else ","
    return pl.scan_csv(
        list(files), separator=separator, infer_schema=False, glob=False, with_column_names=_without_blanks
    )


def _without_blanks(names: list[str]) -> list[str]:
    return [name.strip() for name in names]


def schema_of(what: str, file: Path, format_: str) -> pl.Schema:
    """Return columns and types of a file, by all rows of JSON lines: what the last row has counts too.

    Raises
    ------
    InputError
        If it is empty or cannot be read.
    """
    try:
        if file.stat().st_size == 0:
            raise InputError(f"{what}: {file} is empty (0 bytes); remove it or write it again")
        if format_ == "parquet":
            refuse_encrypted(what, file)
        else:
            check_table(what, file, format_)
        return scan([file], format_).collect_schema()
    except READ_ERRORS as error:
        raise unreadable_file(what, file, error) from error
