"""`run` and `report` from start to end: read, analyse, write the run folder."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.run import LAYOUT, RUN_TABLES, TABLES_OF_TESTS
from clickassay.core.errors import PatternError, SettingsError
from clickassay.core.files import output
from clickassay.core.files.scratch import scratch
from clickassay.core.files.tables import write_database, write_table, writing_tables
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.provenance import plain_settings, versions
from clickassay.core.settings import NAMED_SETTINGS, Settings, log_settings
from clickassay.correlation.classes import left_out_columns
from clickassay.findings.draw import Findings, draw_findings, with_findings
from clickassay.findings.run import Run, largest_samples, run_of
from clickassay.health.checks import checks_with, fired
from clickassay.inputs.normalise import normalise_query
from clickassay.jobs.analyse import analyse_tables, with_log_settings
from clickassay.jobs.click_models import run_models
from clickassay.jobs.experiments import with_tests
from clickassay.jobs.health import HEALTH_FILE
from clickassay.jobs.inputs import NO_JUDGMENTS, Inputs, Sources, open_log, with_judgments
from clickassay.jobs.patterns import log_table, opened_table
from clickassay.judgments.next_to_judge import no_correlation, without_judgments
from clickassay.judgments.relevance import check_click_judge
from clickassay.logs.assignments import check_controls
from clickassay.metrics.catalogue import report_measures
from clickassay.metrics.clicks import counted_clicks, named_click
from clickassay.patterns.funnel import check_log
from clickassay.patterns.lists import log_lists
from clickassay.patterns.places import DATABASE, Place, place_of
from clickassay.patterns.table import PatternTable, StagedTable


def make_run(
    sources: Sources,
    settings: Settings,
    *,
    patterns: Path | str | PatternTable | None = None,
    out: Path | str | None = None,
    force: bool = False,
    command: str = "",
    progress: Progress = silent,
) -> tuple[Run, Findings]:
    """Turn a log, or its pattern table, and judgments into a run; return it and what was found.

    patterns: a pattern table, or the folder or store that it lies in; then no log is needed.
    out: the folder to write it into, whole or not at all, as made by `command`; None = nothing is written.
    Raises SettingsError if there are no judgments, or a metric, click model, check or control is unknown;
    PatternError, StoreError, InputError if an input cannot be read; OutputError if `out` cannot be written.
    """
    place = None if out is None else output.place_to_write(out)
    with scratch(place):
        if place is not None:
            output.check_apart(place, patterns, *sources.given.values())
            output.check_free(place, force=force)
        inputs, table = open_inputs(sources, settings, patterns, progress)
        with nullcontext() if place is None else output.published_folder(place, force=force) as folder:
            if table is None:
                check_controls(inputs.assignments, inputs.searches, settings)
                table = log_table(inputs, settings, work=folder, progress=progress)
            settings = with_log_settings(table, settings)
            frames, graded = analyse_tables(table, inputs, settings, progress)
            attributes = None if inputs.queries is None else inputs.queries.rows
            info = {
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
            run = run_of(frames, info)
            findings = draw_findings(run, np.random.default_rng(0))
            run = with_tests(with_findings(run, findings), findings, table, progress)
            if no_correlation(run.tables):
                is_misread = any(one.is_finding for one in fired(run.tables["health"]))
                judge = next((sample.judge for sample in largest_samples(run.tables["statistics"])), EVERY)
                lines = without_judgments(
                    log_lists(table), graded, settings, run.tables, judge=judge, is_misread=is_misread
                )
                run = replace(run, undecided=lines)
            if folder is None or place is None:
                return run, findings
            run = write_run(replace(run, info={**run.info, "command": command}), findings, folder, progress)
    return replace(run, folder=place), findings


def open_inputs(
    sources: Sources,
    settings: Settings,
    patterns: Path | str | PatternTable | None = None,
    progress: Progress = silent,
) -> tuple[Inputs, StagedTable | None]:
    """Open all inputs of a run, and the pattern table if there is one; raises as `make_run` does.

    Misspelt metrics and click models are refused before anything slow is done. With scores, the metric in use
    may be one of them, whose names are read later.
    """
    is_scored = sources.scores is not None
    report_measures(settings.model_copy(update={"current": None}) if is_scored else settings)
    counted_clicks(settings)
    run_models(settings)
    if settings.click_judge is not None:
        check_click_judge(settings.click_judge)
    checks_with(settings.health_limit)
    if sources.judgments is None:
        raise SettingsError(NO_JUDGMENTS)
    if patterns is not None:
        table = patterns.staged() if isinstance(patterns, PatternTable) else _stored(Path(patterns), settings)
        return with_judgments(Inputs(), sources, settings, progress), table
    inputs = open_log(sources, settings, progress=progress)
    log = inputs.log
    if log is not None and "action" not in log.clicks.columns:  # else actions are known once it is read
        named = () if inputs.outcomes is None else inputs.outcomes.rows["name"].drop_nulls().unique()
        known = (*map(normalise_query, named), *settings.outcome)
        for name in settings.click_metric:
            named_click(name, {*settings.signal} - {"auto", "none"}, known)
    return with_judgments(inputs, sources, settings, progress), None


def _stored(place: Path, settings: Settings) -> StagedTable:
    """Open a pattern table; the log of a table of its own was checked when it was made."""
    table = opened_table(place)
    if place_of(place) is not Place.PATTERN_TABLE:
        check_log(table.funnel, settings.max_rejected)
        return table
    info = table.info
    whole = isinstance(info.get("stored_depth"), int) and isinstance(info.get("inputs"), dict)
    used = info.get("settings")
    if not whole or not isinstance(used, dict) or not used.keys() >= set(NAMED_SETTINGS):
        raise PatternError(
            f"pattern table {place} is broken: its settings.json is incomplete; "
            "build it again by `clickassay patterns`"
        )
    return table


def write_run(run: Run, findings: Findings, folder: Path, progress: Progress = silent) -> Run:
    """Write a run into an empty folder: tables, record, report; return it with why it has no pictures."""
    progress(Event("writing tables"))
    write_tables(run, folder)
    output.write_json(folder / HEALTH_FILE, run.tables["health"].to_dicts())
    progress(Event("drawing the report"))
    from clickassay.report.build import write_report  # noqa: PLC0415 - charts take a second
    from clickassay.report.charts.artist import artist  # noqa: PLC0415 - as above
    from clickassay.studies.experiments.shown import tests_of_run  # noqa: PLC0415 - as above

    write_report(run, findings, folder, tests_of_run(run, findings))
    return replace(run, undrawn=artist().failure)


def write_tables(run: Run, folder: Path) -> None:
    """Write the tables of a run, each by itself and all in a database, and its record."""
    with writing_tables():
        names = [table.name for table in RUN_TABLES]
        names += [table.name for table in TABLES_OF_TESTS if run.tables[table.name].height]
        for name in names:
            write_table(run.tables[name], folder / f"{name}.parquet")
        write_database(names, folder, folder / DATABASE)
        output.write_json(folder / output.SETTINGS_FILE, run.info)
