"""First half of a run: logs to a pattern table, on the embedded engine."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from clickassay import __version__
from clickassay.engines.duckdb import DuckDBEngine
from clickassay.errors import InputError, OutputError, SettingsError
from clickassay.inputs import (
    CLICKS,
    JUDGMENTS,
    READ_ERRORS,
    SEARCHES,
    Input,
    first_line,
    read_input,
    unreadable,
)
from clickassay.judgments import judged_queries
from clickassay.log_run import Log, build_pattern_table, checked_log
from clickassay.paths import is_uri
from clickassay.patterns import PatternTable, read_patterns, write_patterns
from clickassay.progress import Progress, silent, steady
from clickassay.publish import check_apart, is_disk_full, published_folder
from clickassay.settings import Settings

_LIBRARIES = ("duckdb", "polars", "pyarrow", "numpy", "scipy", "vl-convert-python", "itables")


def log_to_patterns(
    searches: str | Path,
    clicks: str | Path,
    settings: Settings,
    *,
    judgments: str | Path | None = None,
    work: Path | None = None,
    progress: Progress = silent,
) -> PatternTable:
    """Turn a log into its pattern table, on the embedded engine.

    Parameters
    ----------
    searches, clicks
        A file, folder or glob each, in the canonical form of contract 2.
    settings
        Depth, idle limit and scope, folds, normalisation, threads, memory limit.
    judgments
        A file, folder or glob: with ``only_judged``, sessions of queries without any are counted only.
    work
        Where the engine may spill; a temporary folder when None.
    """
    kept = queries_to_keep(judgments, settings)
    if settings.engine == "spark":
        with tempfile.TemporaryDirectory(prefix=".spill.", dir=work) as folder:
            _write_on_spark(searches, clicks, settings, kept, Path(folder), progress)
            return read_patterns(Path(folder))
    log = read_log(searches, clicks)
    with files_named(log.searches, log.clicks), engine_for(settings, work) as engine:
        table = build_pattern_table(engine, log, settings, kept, progress=progress)
    inputs = {"searches": log.searches.fingerprint(), "clicks": log.clicks.fingerprint()}
    return replace(table, info={**_info(settings), "inputs": inputs}, judged_queries=kept)


def _info(settings: Settings) -> dict[str, Any]:
    return {
        "stored_depth": settings.stored_depth,
        "settings": plain_settings(settings),
        "versions": versions(),
    }


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
    from clickassay.run_spark import write_spark_patterns  # noqa: PLC0415 - an extra

    with writing_tables():
        write_spark_patterns(
            searches, clicks, settings, folder,
            judged_queries=kept, info=_info(settings), then_to=then_to, progress=steady(progress),
        )  # fmt: skip


def read_log(searches: str | Path, clicks: str | Path) -> Log:
    """Open both halves of a log; nothing is read but schemas.

    Raises
    ------
    InputError
        If a file is missing, cannot be read or lacks a column.
    """
    return checked_log(read_input("searches", searches, SEARCHES), read_input("clicks", clicks, CLICKS))


@contextmanager
def engine_for(settings: Settings, work: Path | None) -> Iterator[DuckDBEngine]:
    """Yield the embedded engine, which spills into `work`."""
    with tempfile.TemporaryDirectory(prefix=".spill.", dir=work) as spill:
        engine = DuckDBEngine(spill=Path(spill), threads=settings.threads, memory_limit=settings.memory_limit)
        try:
            yield engine
        finally:
            engine.close()


@contextmanager
def files_named(*tables: Input) -> Iterator[None]:
    """Name the file behind an error of reading: the engine meets it among all files of an input."""
    try:
        yield
    except (InputError, *READ_ERRORS) as error:
        met = error.__cause__ if isinstance(error, InputError) else error
        named = unreadable(tables) if isinstance(met, READ_ERRORS) and not is_disk_full(met) else None
        if named is None:
            raise
        raise named from error


def queries_to_keep(judgments: str | Path | None, settings: Settings) -> pl.DataFrame | None:
    """Return the queries with judgments (market, null = every market; query) if only they are to be kept.

    Raises
    ------
    SettingsError
        If only they are to be kept and there are no judgments.
    """
    if not settings.only_judged:
        return None
    if judgments is None:
        raise SettingsError("--only-judged needs to know which queries are judged: give --judgments")
    table = read_input("judgments", judgments, JUDGMENTS)
    return judged_queries(collected(table), by_market="market" in table.columns)


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
    """Turn logs into a stored pattern table folder: here, or where Spark reaches (a path with a scheme)."""
    if isinstance(out, str) and is_uri(out):
        refuse_elsewhere(out, settings)
        kept = queries_to_keep(judgments, settings)
        with tempfile.TemporaryDirectory(prefix="clickassay-") as work:
            _write_on_spark(searches, clicks, settings, kept, Path(work), progress, then_to=out)
        return out
    out = Path(out)
    check_apart(out, searches, clicks)
    with published_folder(out, force=force) as folder:
        if settings.engine == "spark":
            kept = queries_to_keep(judgments, settings)
            _write_on_spark(searches, clicks, settings, kept, folder, progress)
            return out
        table = log_to_patterns(
            searches, clicks, settings, judgments=judgments, work=folder, progress=progress
        )
        progress("writing", None)
        with writing_tables():
            write_patterns(table, folder)
    return out


def refuse_elsewhere(place: str | Path, settings: Settings) -> None:
    """Refuse a path with a scheme to an engine that knows no file systems but this machine's.

    Raises
    ------
    SettingsError
        If it is one.
    """
    if is_uri(str(place)) and settings.engine != "spark":
        raise SettingsError(
            f"{place} lies where only Spark reaches; add --engine spark, or give a folder here"
        )


def collected(table: Input) -> pl.DataFrame:
    """Read a small input whole.

    Raises
    ------
    InputError
        If a file of it breaks off or is not what its schema says.
    """
    with files_named(table):
        return table.frame.collect()


@contextmanager
def writing_tables() -> Iterator[None]:
    """Say what keeps tables from being written; `published_folder` does so for errors of the system."""
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


def plain_settings(settings: Settings) -> dict[str, Any]:
    """Return settings as JSON can hold them."""
    return settings.model_dump(mode="json")


def versions() -> dict[str, str]:
    """Return the versions of clickassay and of the libraries that decide its numbers."""
    return {"clickassay": __version__, **{name: _version(name) for name in _LIBRARIES}}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
