"""First half of a run on Spark: logs to a pattern table, which is then written here."""

import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from clickassay.core.errors import EngineError, OutputError
from clickassay.core.files.output import SETTINGS_FILE
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.settings import Settings
from clickassay.core.text.paths import is_uri, without_patterns
from clickassay.inputs.columns import CLICKS, SEARCHES
from clickassay.inputs.sources.mapping import names_of
from clickassay.inputs.tables import mixed_times, watched
from clickassay.logs.assignments import Assignments
from clickassay.logs.batches import Window, is_within, window_spans
from clickassay.logs.chunks import FileChunk, rows_of_chunks, rows_of_file
from clickassay.logs.log import LocalHalf, Log, joined_log
from clickassay.logs.outcomes import Outcomes, OutcomesOf, about
from clickassay.logs.spark.engine import SparkEngine
from clickassay.logs.spark.functions import F
from clickassay.logs.spark.read import SparkHalf, read_for_spark
from clickassay.logs.spark.remote import RemoteFiles, SparkFolder
from clickassay.logs.spark.session import check_workers, is_local, spark_session
from clickassay.logs.sql.sessioniser import SqlBatchProcessor, sql_pattern_table
from clickassay.patterns.table import write_patterns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def window_rows(half: SparkHalf, chunks: Sequence[FileChunk], window: Window) -> "DataFrame":
    """Return the rows of a window in canonical types; files that lie wholly in it are read together."""
    known = rows_of_file if isinstance(half.listing, LocalHalf) else rows_of_chunks
    frames = []
    for span in window_spans(chunks, window, lambda file: known(file, chunks)):
        rows = half.opened(span.files, span.rows)
        if span.times is not None:
            condition = is_within(span.times, F.col("timestamp"), F.lit)
            rows = rows.where(F.coalesce(condition, F.lit(span.times[2])))
        frames.append(rows)
    return reduce(lambda one, other: one.unionByName(other), frames or [half.frame.limit(0)])


_PROBED_ROWS, _PROBED_FILES = 64, 16


def write_spark_patterns(  # noqa: PLR0913 - as `make_patterns`
    searches: LocalHalf | str,
    clicks: LocalHalf | str,
    settings: Settings,
    folder: Path,
    *,
    judged_queries: pl.DataFrame | None = None,
    outcomes_of: "OutcomesOf[SparkHalf] | None" = None,
    assignments_of: "Callable[[Log[SparkHalf]], Assignments | None] | None" = None,
    info: dict[str, Any],
    then_to: str | None = None,
    progress: Progress = silent,
) -> None:
    """Write the pattern table of a log on Spark; it need not fit the memory of this machine.

    searches, clicks: a half that lies here, a path with a scheme that Spark knows, or a table's name.
    folder: empty folder here for the table, and for staging unless settings name another.
    outcomes_of, assignments_of: prepare these; None where there are none.
    info, then_to: settings and versions; path with a scheme, to which the finished folder is copied.
    """
    log_bytes = bytes_here(searches, clicks)
    progress(Event("starting Spark"))
    with spark_engine(settings, folder, log_bytes) as engine:
        log = read_spark_log(engine, searches, clicks, settings)
        place = None if then_to is None else SparkFolder(engine.session, then_to)
        if place is not None and place.names():
            raise OutputError(
                f"{then_to} exists already and --force does not replace folders there; choose another --out"
            )
        versions = {**info["versions"], "spark": str(engine.session.version)}
        listings = (log.searches.listing, log.clicks.listing)
        here = [one for one in listings if isinstance(one, LocalHalf)]
        with watched(*here, progress=progress) as of_here:  # files of this machine that change are refused
            of_others = {one.what: one.fingerprint() for one in listings if isinstance(one, RemoteFiles)}
            inputs = {**of_here, **of_others}
            made = {**info, "inputs": inputs, "versions": versions, "mixed_times": mixed_times(*here)}
            outcomes = None if outcomes_of is None else outcomes_of(log)
            made |= about(outcomes)
            table = sql_pattern_table(
                engine, log.searches.frame, log.clicks.frame, settings, judged_queries,
                log=log, outcomes=outcomes,
                assignments=None if assignments_of is None else assignments_of(log),
                info=made, progress=progress,
            )  # fmt: skip
            progress(Event("writing"))
            write_patterns(table, folder)
        if place is not None:
            files = [file for file in folder.iterdir() if file.is_file()]
            for file in sorted(files, key=lambda file: (file.name == SETTINGS_FILE, file.name)):
                place.put(folder, file.name)


def bytes_here(*halves: LocalHalf | str) -> int | None:
    """Return the bytes of a log's files; None if a part of it is not on this machine."""
    here = [half for half in halves if isinstance(half, LocalHalf)]
    if len(here) < len(halves):
        return None
    return sum(file.stat().st_size for half in here for file in half.files)


@contextmanager
def spark_engine(settings: Settings, work: Path | None, log_bytes: int | None) -> Iterator[SparkEngine]:
    """Yield an engine with a staging folder of its own, which is removed afterwards, and with `work` here.

    log_bytes: of the log, if it lies here: `bytes_here`.
    """
    with (
        tempfile.TemporaryDirectory(prefix=".spill.", dir=work) as spill,
        spark_session(settings, log_bytes) as session,
        _staging(session, settings.spark_staging, Path(spill)) as staging,
    ):
        if not is_local(session):
            check_workers(session)
            probe, seen = f"{staging}/0000-probe", -1
            with suppress(Exception):
                session.range(0, _PROBED_ROWS, 1, _PROBED_FILES).write.parquet(probe)
                seen = session.read.parquet(without_patterns(probe)).count()
            if seen != _PROBED_ROWS:  # tables would lose rows silently
                raise EngineError(
                    f"Spark's workers do not share the folder {settings.spark_staging or staging}; name "
                    "a folder "
                    "that the driver and all workers reach, such as --spark-staging s3a://bucket/folder"
                )
        yield SparkEngine(session, staging, Path(spill) / "fetched")


@contextmanager
def _staging(session: "SparkSession", wanted: str | None, spill: Path) -> Iterator[str]:
    if wanted is None:
        yield f"file://{spill.resolve()}/staged"
        return
    place = wanted if is_uri(wanted) else f"file://{Path(wanted).resolve()}"
    place = f"{place.rstrip('/')}/clickassay-{uuid.uuid4().hex}"
    try:
        yield place
    finally:
        with suppress(Exception):  # Spark Connect cannot remove files: they stay, and the docs say so
            SparkFolder(session, place).remove()


def spark_batches(
    engine: SparkEngine,
    settings: Settings,
    judged_queries: pl.DataFrame | None,
    progress: Progress,
    outcomes: Outcomes | None = None,
    assignments: Assignments | None = None,
) -> "SqlBatchProcessor[SparkHalf, DataFrame]":
    """Return what processes the batches of a store on Spark."""
    return SqlBatchProcessor(
        engine, lambda half: half.frame, window_rows, settings, judged_queries, progress, outcomes,
        assignments,
    )  # fmt: skip


def read_spark_log(
    engine: SparkEngine, searches: LocalHalf | str, clicks: LocalHalf | str, settings: Settings
) -> Log[SparkHalf]:
    """Give Spark both halves of a log, opened if need be; InputError if one cannot be read."""
    session, zone = engine.session, settings.time_zone
    halves = (
        read_for_spark(session, what, half, wanted, engine.place, zone, names_of(what, settings.column))
        for what, half, wanted in (("searches", searches, SEARCHES), ("clicks", clicks, CLICKS))
    )
    return joined_log(*halves)
