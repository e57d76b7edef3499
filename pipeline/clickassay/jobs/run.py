"""`run` and `report` from start to end: read, analyse, write the run folder."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.run import LAYOUT, RUN_TABLES
from clickassay.core.errors import PatternError
from clickassay.core.output import SETTINGS_FILE, check_apart, check_free, published_folder, write_json
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.provenance import plain_settings, versions
from clickassay.core.settings import Settings
from clickassay.core.tables import write_database, write_table, writing_tables
from clickassay.correlation.classes import left_out_columns
from clickassay.findings.samples import largest_samples
from clickassay.health.checks import HealthCheck, checks_with, fired, well_text
from clickassay.inputs.columns import JUDGMENTS, QUERIES
from clickassay.inputs.tables import Input, collected, files_named, read_input, watched
from clickassay.inputs.types import UTC
from clickassay.jobs.analyse import LOG_SETTINGS, Frames, analyse_tables, query_attributes, with_log_settings
from clickassay.jobs.click_models import run_models
from clickassay.jobs.health import HEALTH_FILE, examples_of
from clickassay.jobs.patterns import log_to_table, opened_table
from clickassay.judgments.prepare import check_labels, prepare_judgments
from clickassay.judgments.too_few import no_correlation, without_judgments
from clickassay.metrics.catalogue import report_measures
from clickassay.metrics.clicks import counted_clicks
from clickassay.patterns.funnel import check_log
from clickassay.patterns.lists import log_lists
from clickassay.patterns.places import DATABASE, Place, place_of
from clickassay.patterns.table import StagedTable


@dataclass(frozen=True)
class RunSummary:
    """The result of a run.

    Attributes
    ----------
    content
        That of ``summary.json``.
    undecided
        Where judgments are too few for any correlation: lines on the reason and on what to judge; else empty.
    health, well
        What is wrong with the log and its judgments; and a clause to say where nothing is.
    undrawn
        Why there are no pictures; empty where there are.
    """

    content: Mapping[str, Any]
    undecided: tuple[str, ...]
    health: tuple[HealthCheck, ...] = ()
    well: str = ""
    undrawn: str = ""

    @property
    def is_finding(self) -> bool:
        """Whether a job should stop at this run."""
        return bool(self.undecided) or any(one.is_finding for one in self.health)


def make_report(
    patterns: Path,
    judgments: str,
    queries: str | None,
    out: Path,
    settings: Settings,
    *,
    command: str = "",
    force: bool = False,
    progress: Progress = silent,
) -> RunSummary:
    """Turn a stored pattern table and judgments into a run folder; return its summary."""
    check_apart(out, patterns, judgments, queries)
    check_free(out, force=force)
    _check_names(settings)
    table = opened_table(patterns)
    if place_of(patterns) is Place.PATTERN_TABLE:  # its log was checked when it was made
        _check_info(table, patterns)
    else:
        check_log(table.funnel, settings.max_rejected)
    with published_folder(out, force=force) as folder:
        return _write_run(table, judgments, queries, folder, settings, command, progress)


def _check_names(settings: Settings) -> None:
    """Refuse misspelt metrics and click models before anything slow is done."""
    report_measures(settings)
    counted_clicks(settings)
    run_models(settings)
    checks_with(settings.health_limit)


def _check_info(table: StagedTable, folder: Path) -> None:
    """Refuse a pattern table whose settings.json lacks entries, e.g. as it was changed by hand."""
    info = table.info
    whole = isinstance(info.get("stored_depth"), int) and isinstance(info.get("inputs"), dict)
    used = info.get("settings")
    if not whole or not isinstance(used, dict) or not used.keys() >= set(LOG_SETTINGS):
        raise PatternError(
            f"pattern table {folder} is broken: its settings.json lacks what `clickassay patterns` wrote; "
            "make it again"
        )


def make_run(  # noqa: PLR0913 - the whole job has this many inputs
    searches: str,
    clicks: str,
    judgments: str,
    queries: str | None,
    out: Path,
    settings: Settings,
    *,
    command: str = "",
    force: bool = False,
    progress: Progress = silent,
) -> RunSummary:
    """Turn logs and judgments into a run folder; return its summary."""
    check_apart(out, searches, clicks, judgments, queries)
    given = read_input("judgments", judgments, JUDGMENTS)  # what is wrong is refused before the work
    with files_named(given):
        check_labels("judgments", given.frame, settings)
    _check_names(settings)
    query_attributes(queries)
    with published_folder(out, force=force) as folder:
        table = log_to_table(searches, clicks, settings, judgments=judgments, work=folder, progress=progress)
        examples = examples_of(searches, clicks, table, settings)
        return _write_run(table, judgments, queries, folder, settings, command, progress, examples)


def _write_run(
    table: StagedTable,
    judgments: str,
    queries: str | None,
    folder: Path,
    settings: Settings,
    command: str,
    progress: Progress,
    examples: Mapping[str, str] | None = None,
) -> RunSummary:
    graded = read_input("judgments", judgments, JUDGMENTS)
    others = [] if queries is None else [read_input("queries", queries, QUERIES, keep_others=True)]
    with watched(graded, *others, progress=progress) as inputs:
        attributes = query_attributes(queries)
        frames = analyse_tables(table, graded, attributes, settings, progress, examples)
        undecided = _undecided(table, graded, settings, frames)
    info = _info(table, inputs, attributes, settings, command)
    progress(Event("writing tables"))
    with writing_tables():
        for contract in RUN_TABLES:
            write_table(frames[contract.name], folder / f"{contract.name}.parquet")
        write_database([table.name for table in RUN_TABLES], folder, folder / DATABASE)
        write_json(folder / SETTINGS_FILE, info)
        write_json(folder / HEALTH_FILE, frames["health"].to_dicts())
    progress(Event("drawing the report"))
    from clickassay.report.build import summary_content, write_report  # noqa: PLC0415 - charts take a second
    from clickassay.report.charts.artist import artist  # noqa: PLC0415 - as above

    wrong = fired(frames["health"])
    health = [one.as_entry() for one in wrong]
    report = write_report(frames, info, folder, health=health)
    content = summary_content(report, health)
    return RunSummary(content, undecided, wrong, well_text(frames["health"]), artist().failure)


def _undecided(table: StagedTable, judgments: Input, settings: Settings, frames: Frames) -> tuple[str, ...]:
    if not no_correlation(frames):
        return ()
    settings = with_log_settings(table, settings)
    by_market = "market" in judgments.columns
    graded = prepare_judgments(collected(judgments), pl.concat(table.queries), settings, by_market=by_market)
    is_misread = any(one.is_finding for one in fired(frames["health"]))
    judge = next((sample.judge for sample in largest_samples(frames["statistics"])), EVERY)
    return without_judgments(log_lists(table), graded, settings, frames, judge=judge, is_misread=is_misread)


def _info(
    table: StagedTable,
    inputs: Mapping[str, Any],
    attributes: pl.DataFrame | None,
    settings: Settings,
    command: str,
) -> dict[str, Any]:
    log_settings = {name: table.info["settings"][name] for name in LOG_SETTINGS}
    log_settings["clock"] = table.info["settings"].get("clock")  # older tables have none
    log_settings["time_zone"] = table.info["settings"].get("time_zone", UTC)
    return {
        "layout": LAYOUT,
        "settings": {**plain_settings(settings), **log_settings},
        "stored_depth": table.stored_depth,
        "inputs": {**table.info["inputs"], **inputs},
        "versions": versions(),
        "command": command,
        "seed": settings.seed,
        "has_navigational": attributes is not None and "navigational" in attributes.columns,
        "skipped_attributes": [] if attributes is None else list(left_out_columns(attributes)),
        "notes": [],
    }
