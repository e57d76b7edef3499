"""``run.duckdb``: the tables of a run as a database, for questions in SQL."""

from collections.abc import Mapping
from pathlib import Path

import duckdb
import polars as pl


def write_database(tables: Mapping[str, pl.DataFrame], file: Path) -> None:
    """Write every frame as a table of its name into a new DuckDB database.

    By one thread: several cost half as much again, save little time, and make a larger file. With one
    compression of text (numbers keep theirs): the search for the best one takes half of all the work, to
    halve the file.
    """
    settings: dict[str, str | bool | int | float | list[str]] = {"threads": "1", "force_compression": "fsst"}
    with duckdb.connect(str(file), config=settings) as connection:
        for name, frame in tables.items():
            connection.from_arrow(frame.to_arrow(compat_level=pl.CompatLevel.newest())).create(name)
