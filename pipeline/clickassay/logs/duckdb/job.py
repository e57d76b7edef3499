"""First half of a run on DuckDB: logs to a pattern table or to the batches of a store."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from duckdb import DuckDBPyRelation

from clickassay.core.errors import EngineError
from clickassay.core.files.output import is_disk_full
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.settings import Settings
from clickassay.inputs.tables import files_named, unreadable, watched
from clickassay.logs.duckdb.engine import DuckDBEngine
from clickassay.logs.duckdb.read import LogReader
from clickassay.logs.log import LocalHalf, Log
from clickassay.logs.outcomes import Outcomes
from clickassay.logs.sql.batches import SqlBatchProcessor
from clickassay.logs.sql.sessioniser import sql_pattern_table
from clickassay.patterns.folders.table_folder import write_patterns


def write_duckdb_patterns(
    log: Log[LocalHalf],
    settings: Settings,
    folder: Path,
    *,
    judged_queries: pl.DataFrame | None = None,
    outcomes: Outcomes | None = None,
    info: dict[str, Any],
    progress: Progress = silent,
) -> None:
    """Write the pattern table of a log on DuckDB; it need not fit into memory.

    log: in canonical types.
    settings: of the pattern table; threads and memory limit.
    folder: empty folder for the table, and for spilled rows.
    judged_queries: queries to keep; None = all.
    outcomes: outcomes of searches; None where none are counted.
    info: settings and versions of the table; inputs are added.
    """
    watch = watched(log.searches, log.clicks, progress=progress)
    with watch as inputs, duckdb_engine(log, settings, folder) as engine:
        reader = LogReader(engine)
        table = sql_pattern_table(
            engine, reader.rows_of(log.searches), reader.rows_of(log.clicks), settings, judged_queries,
            log=log, outcomes=outcomes, info={**info, "inputs": inputs}, progress=progress,
        )  # fmt: skip
        progress(Event("writing"))
        write_patterns(table, folder)


@contextmanager
def duckdb_engine(log: Log[LocalHalf], settings: Settings, work: Path | None) -> Iterator[DuckDBEngine]:
    """Yield an engine with a folder of its own in `work`; errors name the file of the log that is broken."""
    with (
        _broken_file_named(log),
        files_named(log.searches, log.clicks),
        tempfile.TemporaryDirectory(prefix=".spill.", dir=work) as spill,
    ):
        engine = DuckDBEngine(
            folder=Path(spill), threads=settings.threads, memory_limit=settings.memory_limit_bytes
        )
        try:
            yield engine
        finally:
            engine.close()


@contextmanager
def _broken_file_named(log: Log[LocalHalf]) -> Iterator[None]:
    """Name the file in an error of DuckDB's if one cannot be read, as `files_named` does in Polars'."""
    try:
        yield
    except EngineError as error:
        met = error.__cause__
        is_other = isinstance(met, duckdb.OutOfMemoryException) or is_disk_full(met)
        if is_other or not isinstance(met, duckdb.Error):
            raise
        named = unreadable((log.searches, log.clicks))
        if named is None:
            raise
        raise named from error


def duckdb_batches(
    engine: DuckDBEngine,
    settings: Settings,
    judged_queries: pl.DataFrame | None,
    progress: Progress,
    outcomes: Outcomes | None = None,
) -> SqlBatchProcessor[LocalHalf, DuckDBPyRelation]:
    """Return what processes the batches of a store on DuckDB."""
    reader = LogReader(engine)
    return SqlBatchProcessor(
        engine, reader.rows_of, reader.rows_in, settings, judged_queries, progress, outcomes
    )
