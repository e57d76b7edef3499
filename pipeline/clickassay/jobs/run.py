"""`run` and `report` from start to end: read, analyse, write the run folder."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.run import LAYOUT, RUN_TABLES
from clickassay.core.errors import PatternError, SettingsError
from clickassay.core.files.output import SETTINGS_FILE, check_apart, check_free, published_folder, write_json
from clickassay.core.files.scratch import with_scratch
from clickassay.core.files.tables import write_database, write_table, writing_tables
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.provenance import plain_settings, versions
from clickassay.core.settings import NAMED_SETTINGS, Settings, log_settings
from clickassay.correlation.classes import left_out_columns
from clickassay.findings.draw import Findings, draw_findings
from clickassay.findings.run import Run, largest_samples, run_of
from clickassay.findings.tables import with_findings
from clickassay.health.checks import HealthCheck, checks_with, fired, well_text
from clickassay.inputs.normalise import normalise_query
from clickassay.inputs.staging.sources import Source
from clickassay.jobs.analyse import Frames, analyse_tables, with_log_settings
from clickassay.jobs.click_models import run_models
from clickassay.jobs.health import HEALTH_FILE
from clickassay.jobs.inputs import Inputs, open_log, with_judgments
from clickassay.jobs.patterns import log_table, opened_table
from clickassay.judgments.next_to_judge import no_correlation, without_judgments
from clickassay.judgments.prepare import Judgments
from clickassay.judgments.relevance import check_click_judge
from clickassay.metrics.catalogue import report_measures
from clickassay.metrics.clicks import counted_clicks, named_click
from clickassay.patterns.funnel import check_log
from clickassay.patterns.lists import log_lists
from clickassay.patterns.places import DATABASE, Place, place_of
from clickassay.patterns.table import PatternTable, StagedTable


@dataclass(frozen=True)
class FoundRun:
    """The result of a run before it is saved."""

    run: Run  # Its tables, settings and inputs.
    findings: Findings  # What was found.
    # Where judgments are too few for any correlation: lines on the reason and on what to judge; else empty.
    undecided: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunSummary:
    """The result of a run."""

    content: Mapping[str, Any]  # The content of ``summary.json``.
    # Where judgments are too few for any correlation: lines on the reason and on what to judge; else empty.
    undecided: tuple[str, ...]
    # health, well: What is wrong with the log and its judgments; and a clause to say where nothing is.
    health: tuple[HealthCheck, ...] = ()
    well: str = ""
    undrawn: str = ""  # Why there are no pictures; empty where there are.
    found: FoundRun | None = field(default=None, compare=False, repr=False)  # What was written.


@with_scratch("out")
def make_report(  # noqa: PLR0913 - as `make_run`
    patterns: Path | PatternTable,
    judgments: Source | None,
    queries: Source | None,
    out: Path,
    settings: Settings,
    *,
    scores: Source | None = None,
    command: str = "",
    force: bool = False,
    progress: Progress = silent,
) -> RunSummary:
    """Turn a stored pattern table and judgments into a run folder; return its summary."""
    check_apart(out, patterns, judgments, queries, scores)
    check_free(out, force=force)
    table, inputs = open_report(patterns, judgments, queries, settings, progress, scores=scores)
    with published_folder(out, force=force) as folder:
        made = run(inputs, settings, table=table, progress=progress)
        return save(made, folder, command=command, progress=progress)


def open_report(
    patterns: Path | PatternTable,
    judgments: Source | None,
    queries: Source | None,
    settings: Settings,
    progress: Progress = silent,
    *,
    scores: Source | None = None,
) -> tuple[StagedTable, Inputs]:
    """Open a pattern table, in its folder or in memory, and the judgments of a report.

    Raises SettingsError if there are no judgments, or a metric, click model or check is unknown;
    PatternError, StoreError, InputError if the table or an input cannot be read.
    """
    _check_names(settings, scored=scores is not None)
    if judgments is None:
        raise SettingsError(_NO_JUDGMENTS)
    if isinstance(patterns, PatternTable):
        table = patterns.staged()
    else:
        table = opened_table(patterns)
        if place_of(patterns) is Place.PATTERN_TABLE:  # its log was checked when it was made
            _check_info(table, patterns)
        else:
            check_log(table.funnel, settings.max_rejected)
    return table, with_judgments(Inputs(), judgments, queries, settings, progress, scores=scores)


_NO_JUDGMENTS = "a run needs judgments: name their file, or give them as a frame"


def _check_names(settings: Settings, *, scored: bool) -> None:
    """Refuse misspelt metrics and click models before anything slow is done.

    With scores, the metric in use may be one of them, whose names are read later.
    """
    report_measures(settings.model_copy(update={"current": None}) if scored else settings)
    counted_clicks(settings)
    run_models(settings)
    if settings.click_judge is not None:
        check_click_judge(settings.click_judge)
    checks_with(settings.health_limit)


def _check_info(table: StagedTable, folder: Path) -> None:
    """Refuse a pattern table whose settings.json lacks entries, e.g. as it was changed by hand."""
    info = table.info
    whole = isinstance(info.get("stored_depth"), int) and isinstance(info.get("inputs"), dict)
    used = info.get("settings")
    if not whole or not isinstance(used, dict) or not used.keys() >= set(NAMED_SETTINGS):
        raise PatternError(
            f"pattern table {folder} is broken: its settings.json lacks what `clickassay patterns` wrote; "
            "make it again"
        )


@with_scratch("out")
def make_run(  # noqa: PLR0913 - the whole job has this many inputs
    searches: Source,
    clicks: Source | None,
    judgments: Source | None,
    queries: Source | None,
    out: Path,
    settings: Settings,
    *,
    scores: Source | None = None,
    outcomes: Source | None = None,
    command: str = "",
    force: bool = False,
    progress: Progress = silent,
) -> RunSummary:
    """Turn logs and judgments into a run folder; return its summary."""
    check_apart(out, searches, clicks, judgments, queries, scores, outcomes)
    check_free(out, force=force)
    inputs = open_inputs(
        searches, clicks, judgments, queries, settings, progress, scores=scores, outcomes=outcomes
    )
    with published_folder(out, force=force) as folder:
        made = run(inputs, settings, work=folder, progress=progress)
        return save(made, folder, command=command, progress=progress)


def open_inputs(
    searches: Source,
    clicks: Source | None,
    judgments: Source | None,
    queries: Source | None,
    settings: Settings,
    progress: Progress = silent,
    *,
    scores: Source | None = None,
    outcomes: Source | None = None,
) -> Inputs:
    """Open all inputs of a run; misspelt names in settings are refused before anything slow is done.

    Raises SettingsError if there are no judgments, or a metric, click model or check is unknown; InputError
    if an input cannot be read.
    """
    _check_names(settings, scored=scores is not None)
    if judgments is None:
        raise SettingsError(_NO_JUDGMENTS)
    log = open_log(searches, clicks, settings, outcomes=outcomes, progress=progress)
    if (
        log.log is not None and "action" not in log.log.clicks.columns
    ):  # else actions are known once it is read
        given = () if log.outcomes is None else log.outcomes.rows["name"].drop_nulls().unique()
        known = (*map(normalise_query, given), *settings.outcome)
        for name in settings.click_metric:
            named_click(name, {*settings.signal} - {"auto", "none"}, known)
    return with_judgments(log, judgments, queries, settings, progress, scores=scores)


def run(
    inputs: Inputs,
    settings: Settings,
    *,
    table: StagedTable | None = None,
    work: Path | None = None,
    progress: Progress = silent,
) -> FoundRun:
    """Compute all tables of a run; nothing is written.

    Parameters
    ----------
    inputs
        Judgments, attributes of queries if there are any, and a log unless its pattern table is given.
    table
        The pattern table of a log; None = it is made of the log.
    work
        Folder for temporary files of the engine; None = the system's.
    """
    if table is None:
        table = log_table(inputs, settings, work=work, progress=progress)
    settings = with_log_settings(table, settings)
    frames, graded = analyse_tables(table, inputs, settings, progress)
    analysed = run_of(frames, _info(table, inputs, settings))
    findings = draw_findings(analysed, np.random.default_rng(0))
    undecided = _undecided(table, graded, settings, frames)
    return FoundRun(with_findings(analysed, findings), findings, undecided)


def save(found: FoundRun, folder: Path, *, command: str = "", progress: Progress = silent) -> RunSummary:
    """Write a run into an empty folder: its tables, its record and its report; return its summary."""
    made = replace(found.run, info={**found.run.info, "command": command})
    progress(Event("writing tables"))
    write_tables(made, folder)
    write_json(folder / HEALTH_FILE, made.tables["health"].to_dicts())
    progress(Event("drawing the report"))
    from clickassay.report.build import summary_content, write_report  # noqa: PLC0415 - charts take a second
    from clickassay.report.charts.artist import artist  # noqa: PLC0415 - as above

    report = write_report(made, found.findings, folder)
    content, well = summary_content(report), well_text(made.tables["health"])
    written = replace(found, run=made)
    return RunSummary(content, found.undecided, found.findings.health, well, artist().failure, written)


def write_tables(made: Run, folder: Path) -> None:
    """Write the tables of a run, each by itself and all in a database, and its record."""
    with writing_tables():
        for contract in RUN_TABLES:
            write_table(made.tables[contract.name], folder / f"{contract.name}.parquet")
        write_database([table.name for table in RUN_TABLES], folder, folder / DATABASE)
        write_json(folder / SETTINGS_FILE, made.info)


def _undecided(table: StagedTable, graded: Judgments, settings: Settings, frames: Frames) -> tuple[str, ...]:
    if not no_correlation(frames):
        return ()
    is_misread = any(one.is_finding for one in fired(frames["health"]))
    judge = next((sample.judge for sample in largest_samples(frames["statistics"])), EVERY)
    return without_judgments(log_lists(table), graded, settings, frames, judge=judge, is_misread=is_misread)


def _info(table: StagedTable, inputs: Inputs, settings: Settings) -> dict[str, Any]:
    attributes = None if inputs.queries is None else inputs.queries.rows
    return {
        "layout": LAYOUT,
        "settings": {**plain_settings(settings), **log_settings(table.info["settings"])},
        "stored_depth": table.stored_depth,
        "inputs": {**table.info["inputs"], **inputs.identities},
        "versions": versions(),
        "command": "",
        "seed": settings.seed,
        "has_navigational": attributes is not None and "navigational" in attributes.columns,
        "skipped_attributes": [] if attributes is None else list(left_out_columns(attributes)),
        "outcome_values": table.info.get("outcome_values", {}),
        "notes": [],
    }
