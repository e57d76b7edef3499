"""From logs to a pattern table on the chosen engine, as a record or as a folder."""

import tempfile
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.core.contracts.run import CONFIGURATIONS
from clickassay.core.errors import RejectedRowsError, SettingsError
from clickassay.core.files.output import check_apart, place_to_write, published_folder
from clickassay.core.files.scratch import with_scratch
from clickassay.core.files.tables import writing_tables
from clickassay.core.progress import Event, Progress, silent, steady
from clickassay.core.provenance import plain_settings, versions
from clickassay.core.settings import Settings
from clickassay.core.text.paths import is_uri, local_path
from clickassay.inputs.tables import files_named, mixed_times, watched, with_unread
from clickassay.jobs.health import Checked, log_findings
from clickassay.jobs.inputs import Inputs, Sources, open_log
from clickassay.judgments.prepare import queries_to_keep
from clickassay.logs.assignments import prepare_assignments
from clickassay.logs.outcomes import OutcomesOf, about, prepare_outcomes
from clickassay.metrics.catalogue import METRICS
from clickassay.metrics.clicks import CLICK_METRICS, IPS
from clickassay.patterns import table as tables
from clickassay.patterns.funnel import check_log
from clickassay.patterns.places import Place, place_of
from clickassay.patterns.store import PatternStore


@with_scratch()
def log_to_patterns(
    sources: Sources, settings: Settings, *, checked: Checked | None = None, progress: Progress = silent
) -> tables.PatternTable:
    """Turn a log into its pattern table in memory."""
    inputs = open_log(sources, settings, progress=progress)
    table = log_table(inputs, settings, progress=progress)
    if checked is not None:
        checked(log_findings(table, settings, inputs.log))
    return table.collected()


def log_table(
    inputs: Inputs, settings: Settings, *, work: Path | None = None, progress: Progress = silent
) -> tables.StagedTable:
    """Turn a log into its pattern table; `only_judged` counts sessions of queries without judgments only."""
    kept = queries_to_keep(inputs.judgments, settings)
    if settings.engine != "arrays":
        with tempfile.TemporaryDirectory(prefix=".spill.", dir=work) as folder:
            _write_in_sql(inputs, settings, kept, Path(folder), progress)
            return tables.read_patterns(Path(folder)).staged()
    return _on_arrays(inputs, settings, kept, progress)


def _on_arrays(
    inputs: Inputs, settings: Settings, kept: pl.DataFrame | None, progress: Progress
) -> tables.StagedTable:
    from clickassay.logs.arrays.job import counted_pattern_table  # noqa: PLC0415 - a stored table needs none

    log = inputs.log_here()
    halves = (log.searches, log.clicks)
    with watched(*halves, progress=progress) as identities:
        mixed = mixed_times(*halves)
        outcomes = outcomes_of(inputs, settings)(log)
        table = counted_pattern_table(
            log, settings, kept,
            outcomes=outcomes, assignments=prepare_assignments(inputs.assignments, log.searches, settings),
            progress=progress,
        )  # fmt: skip
        check_log(table.funnel, settings.max_rejected)
    info = {**_info(settings), "inputs": identities, "mixed_times": mixed}
    return replace(table, info={**info, **about(outcomes)}, judged_queries=kept)


def outcomes_of(inputs: Inputs, settings: Settings) -> OutcomesOf[Any]:
    """Return what prepares the outcomes of a job for its log."""
    taken = {name.lower() for name in (*CLICK_METRICS, IPS, *(metric.name for metric in METRICS))}
    taken |= {column.name for column in CONFIGURATIONS.columns} | {"abandoned", "reformulated"}
    return partial(prepare_outcomes, inputs.outcomes, settings=settings, taken=taken)


def stored_patterns(place: Path) -> tables.PatternTable:
    """Read a pattern table, as `opened_table` opens it."""
    return opened_table(place).collected()


def opened_table(place: Path) -> tables.StagedTable:
    """Open a pattern table from its folder or a store; PatternError, StoreError if it is neither."""
    if place_of(place) is Place.STORE:
        return PatternStore(place).table().staged()
    return tables.opened_patterns(place)


def _info(settings: Settings) -> dict[str, Any]:
    return {
        "stored_depth": settings.stored_depth,
        "settings": plain_settings(settings),
        "versions": versions(),
    }


def _write_in_sql(
    inputs: Inputs,
    settings: Settings,
    kept: pl.DataFrame | None,
    folder: Path,
    progress: Progress,
    *,
    then_to: str | None = None,
) -> None:
    """Write the pattern table of a log on an engine that leaves it in files: Spark or DuckDB."""
    if settings.engine == "spark":
        from clickassay.logs.spark.job import write_spark_patterns  # noqa: PLC0415 - an extra

        try:
            with writing_tables():
                write_spark_patterns(
                    inputs.searches, inputs.clicks, settings, folder,
                    judged_queries=kept, outcomes_of=outcomes_of(inputs, settings),
                    assignments_of=lambda log: prepare_assignments(
                        inputs.assignments, log.searches.listing, settings
                    ),
                    info=_info(settings), then_to=then_to, progress=steady(progress),
                )  # fmt: skip
        except RejectedRowsError as error:
            raise with_unread(error, inputs.halves_here) from error
        return
    from clickassay.logs.duckdb import write_duckdb_patterns  # noqa: PLC0415 - not the default

    log = inputs.log_here()
    with writing_tables(), files_named(log.searches, log.clicks):
        outcomes = outcomes_of(inputs, settings)(log)
        info = {**_info(settings), "mixed_times": mixed_times(log.searches, log.clicks)}
        write_duckdb_patterns(
            log, settings, folder,
            judged_queries=kept, outcomes=outcomes,
            assignments=prepare_assignments(inputs.assignments, log.searches, settings),
            info={**info, **about(outcomes)}, progress=steady(progress),
        )  # fmt: skip


@with_scratch("out")
def make_patterns(
    sources: Sources,
    out: Path | str,
    settings: Settings,
    *,
    force: bool = False,
    checked: Checked | None = None,
    progress: Progress = silent,
) -> Path | str:
    """Turn logs into a pattern table folder: local, or on a file system of Spark (a path with a scheme)."""
    out = reachable(out, settings)
    then_to = out if isinstance(out, str) else None
    place: AbstractContextManager[Path | str]
    if isinstance(out, str):
        place = tempfile.TemporaryDirectory(prefix="clickassay-")
    else:
        check_apart(out, *sources.given.values())
        place = published_folder(out, force=force)
    with place as folder:
        inputs = open_log(sources, settings, progress=progress)
        kept = queries_to_keep(inputs.judgments, settings)
        work = Path(folder)
        if then_to is not None or settings.engine != "arrays":
            _write_in_sql(inputs, settings, kept, work, progress, then_to=then_to)
            table = None if checked is None else tables.opened_patterns(work)
        else:
            table = _on_arrays(inputs, settings, kept, progress)
            progress(Event("writing"))
            with writing_tables():
                tables.write_patterns(table, work)
        if checked is not None and table is not None:
            checked(log_findings(table, settings, inputs.log))
    return out


def reachable(place: str | Path, settings: Settings) -> str | Path:
    """Return where the engine can write: an address for Spark (else SettingsError), or a path here."""
    if isinstance(place, str) and settings.engine == "spark" and is_uri(place):
        return place
    if is_uri(str(local_path(place))):
        raise SettingsError(f"only Spark can write to {place}; add --engine spark, or give a local folder")
    return place_to_write(place)
