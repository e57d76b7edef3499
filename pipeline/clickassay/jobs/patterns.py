"""From logs to a pattern table on the chosen engine, as a record or as a folder."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.core.errors import ClickassayError, RejectedRowsError, SettingsError
from clickassay.core.output import check_apart, published_folder
from clickassay.core.progress import Event, Progress, silent, steady
from clickassay.core.provenance import plain_settings, versions
from clickassay.core.settings import Settings
from clickassay.core.tables import writing_tables
from clickassay.inputs.columns import CLICKS, SEARCHES
from clickassay.inputs.paths import is_uri
from clickassay.inputs.tables import files_named, mixed_times, read_input, watched, with_unread
from clickassay.judgments.prepare import queries_to_keep
from clickassay.logs.log import LocalHalf, Log, checked_log
from clickassay.patterns.folder import opened_patterns, read_patterns, write_patterns
from clickassay.patterns.places import Place, place_of
from clickassay.patterns.store.store import PatternStore
from clickassay.patterns.table import PatternTable, StagedTable


def log_to_patterns(
    searches: str | Path,
    clicks: str | Path,
    settings: Settings,
    *,
    judgments: str | Path | None = None,
    progress: Progress = silent,
) -> PatternTable:
    """Turn a log into its pattern table in memory, as `log_to_table` does."""
    return log_to_table(searches, clicks, settings, judgments=judgments, progress=progress).collected()


def log_to_table(
    searches: str | Path,
    clicks: str | Path,
    settings: Settings,
    *,
    judgments: str | Path | None = None,
    work: Path | None = None,
    progress: Progress = silent,
) -> StagedTable:
    """Turn a log into its pattern table.

    Parameters
    ----------
    searches, clicks
        A file, folder or glob each, in the canonical form of method 2.
    settings
        Depth, idle limit and scope, folds, normalisation, threads, memory limit.
    judgments
        A file, folder or glob: with ``only_judged``, sessions of queries without any are counted only.
    work
        Folder for temporary files of the engine; None = the system's.
    """
    kept = queries_to_keep(judgments, settings)
    if settings.engine != "arrays":
        with tempfile.TemporaryDirectory(prefix=".spill.", dir=work) as folder:
            _write_in_sql(searches, clicks, settings, kept, Path(folder), progress)
            return read_patterns(Path(folder)).staged()
    return _on_arrays(searches, clicks, settings, kept, progress)


def _on_arrays(
    searches: str | Path,
    clicks: str | Path,
    settings: Settings,
    kept: pl.DataFrame | None,
    progress: Progress,
) -> StagedTable:
    from clickassay.logs.arrays.job import build_pattern_table  # noqa: PLC0415 - a stored table needs none

    log = read_log(searches, clicks, settings)
    halves = (log.searches, log.clicks)
    with watched(*halves, progress=progress) as inputs, files_named(*halves):
        mixed = mixed_times(*halves)
        table = build_pattern_table(log, settings, kept, progress=progress)
    info = {**_info(settings), "inputs": inputs, "mixed_times": mixed}
    return replace(table, info=info, judged_queries=kept)


def stored_patterns(place: Path) -> PatternTable:
    """Read a pattern table, as `opened_table` opens it."""
    return opened_table(place).collected()


def opened_table(place: Path) -> StagedTable:
    """Open a pattern table from its folder, from a store, or from the output of the SQL of `clickassay sql`.

    Raises
    ------
    PatternError, StoreError
        If the folder is none of these, or broken.
    """
    if place_of(place) is Place.STORE:
        return PatternStore(place).table().staged()
    return opened_patterns(place)


def _info(settings: Settings) -> dict[str, Any]:
    return {
        "stored_depth": settings.stored_depth,
        "settings": plain_settings(settings),
        "versions": versions(),
    }


def _write_in_sql(
    searches: str | Path,
    clicks: str | Path,
    settings: Settings,
    kept: pl.DataFrame | None,
    folder: Path,
    progress: Progress,
) -> None:
    """Write the pattern table of a log on an engine that leaves it in files: Spark or DuckDB."""
    if settings.engine == "spark":
        _write_on_spark(searches, clicks, settings, kept, folder, progress)
        return
    from clickassay.logs.duckdb.job import write_duckdb_patterns  # noqa: PLC0415 - not the default

    log = read_log(searches, clicks, settings)
    with writing_tables(), files_named(log.searches, log.clicks):
        info = {**_info(settings), "mixed_times": mixed_times(log.searches, log.clicks)}
        write_duckdb_patterns(
            log, settings, folder, judged_queries=kept, info=info, progress=steady(progress)
        )


def _write_on_spark(
    searches: str | Path,
    clicks: str | Path,
    settings: Settings,
    kept: pl.DataFrame | None,
    folder: Path,
    progress: Progress,
    *,
    then_to: str | None = None,
) -> None:
    from clickassay.logs.spark.job import write_spark_patterns  # noqa: PLC0415 - an extra

    with writing_tables(), _values_shown(searches, clicks, settings):
        write_spark_patterns(
            searches, clicks, settings, folder,
            judged_queries=kept, info=_info(settings), then_to=then_to, progress=steady(progress),
        )  # fmt: skip


@contextmanager
def _values_shown(searches: str | Path, clicks: str | Path, settings: Settings) -> Iterator[None]:
    """Add values that could not be read to an error of too many unusable rows, where files are in reach."""
    try:
        yield
    except RejectedRowsError as error:
        try:
            log = read_log(searches, clicks, settings)
        except ClickassayError:
            raise error from None
        raise with_unread(error, (log.searches, log.clicks)) from error


def read_log(searches: str | Path, clicks: str | Path, settings: Settings) -> Log[LocalHalf]:
    """Open the searches and the clicks of a log, with times of the settings' zone; only schemas are read.

    Raises
    ------
    InputError
        If a file is missing, cannot be read or lacks a column.
    """
    zone = settings.time_zone
    return checked_log(
        read_input("searches", searches, SEARCHES, time_zone=zone),
        read_input("clicks", clicks, CLICKS, time_zone=zone),
    )


def make_patterns(
    searches: str,
    clicks: str,
    out: Path | str,
    settings: Settings,
    *,
    judgments: str | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Path | str:
    """Turn logs into a pattern table folder: local, or on a file system of Spark (a path with a scheme)."""
    if isinstance(out, str) and is_uri(out):
        check_reachable(out, settings)
        kept = queries_to_keep(judgments, settings)
        with tempfile.TemporaryDirectory(prefix="clickassay-") as work:
            _write_on_spark(searches, clicks, settings, kept, Path(work), progress, then_to=out)
        return out
    out = Path(out)
    check_apart(out, searches, clicks)
    with published_folder(out, force=force) as folder:
        kept = queries_to_keep(judgments, settings)
        if settings.engine != "arrays":
            _write_in_sql(searches, clicks, settings, kept, folder, progress)
            return out
        table = _on_arrays(searches, clicks, settings, kept, progress)
        progress(Event("writing"))
        with writing_tables():
            write_patterns(table, folder)
    return out


def check_reachable(place: str | Path, settings: Settings) -> None:
    """Check that the engine can write to a path: one with a scheme needs Spark.

    Raises
    ------
    SettingsError
        If the path has a scheme and the engine is not Spark.
    """
    if is_uri(str(place)) and settings.engine != "spark":
        raise SettingsError(f"only Spark can write to {place}; add --engine spark, or give a local folder")
