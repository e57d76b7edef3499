"""Write a report: one HTML file that needs nothing else, Markdown, CSV and LaTeX tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.core.errors import ReportError
from clickassay.core.output import write_json
from clickassay.core.records import SampleKey
from clickassay.health.checks import fired
from clickassay.report.caveats import caveats
from clickassay.report.glossary import linked, terms
from clickassay.report.model import Run, Section, read_run
from clickassay.report.sections.context.conventions import conventions_section
from clickassay.report.sections.context.provenance import command, provenance_section
from clickassay.report.sections.context.published import published_section
from clickassay.report.sections.correlation.baselines import baselines_section
from clickassay.report.sections.correlation.classes import classes_section, frequency_section
from clickassay.report.sections.correlation.comparisons import comparisons_section
from clickassay.report.sections.correlation.correlations import correlations_section, good_section
from clickassay.report.sections.correlation.influence import influence_section
from clickassay.report.sections.correlation.rankers import differences_section
from clickassay.report.sections.log.data import data_line, funnel_section, statistics_section
from clickassay.report.sections.log.health import health_section
from clickassay.report.sections.log.judges import judges_sections
from clickassay.report.sections.log.next_to_judge import next_judgments_section
from clickassay.report.sections.log.unjudged import unjudged_sections
from clickassay.report.sections.users.cascade_effects import cascade_effects_section
from clickassay.report.sections.users.examination import examination_section
from clickassay.report.verdict.claims import Findings, draw_findings
from clickassay.report.verdict.sentences import Finding, scope, verdict_sentence, write_findings
from clickassay.report.verdict.summary import SUMMARY_FILE, summary
from clickassay.report.writers.csv import csv_text
from clickassay.report.writers.latex import latex_table
from clickassay.report.writers.markdown import markdown_page
from clickassay.report.writers.page import downloads, html_page, write_text


@dataclass(frozen=True)
class Report:
    """The content of the page, from headline to last section; `claims` are what the first two say."""

    title: str
    scope: str
    findings: tuple[Finding, ...]
    data: str
    caveats: tuple[str, ...]
    sections: tuple[Section, ...]
    command: str
    rule: str
    shown: tuple[SampleKey, ...]
    claims: Findings


def build_report(tables: Mapping[str, pl.DataFrame], info: Mapping[str, Any]) -> Report:
    """Turn a run's tables into sentences, tables and pictures, without writing anything."""
    run = read_run(tables, info)
    claims = draw_findings(run)
    ranking = claims.correlation.ranking
    health = health_section(run)
    is_well = not fired(run.frames["health"])
    sections = (
        *(() if is_well else (health,)),
        statistics_section(run),
        funnel_section(run),
        correlations_section(run),
        comparisons_section(run, ranking),
        good_section(run),
        classes_section(run),
        frequency_section(run),
        cascade_effects_section(run),
        differences_section(run, claims),
        baselines_section(run),
        influence_section(run),
        *judges_sections(run),
        examination_section(run),
        *unjudged_sections(run),
        conventions_section(run),
        next_judgments_section(run),
        *_published(run),
        *((health,) if is_well else ()),
        provenance_section(run),
    )
    return Report(
        verdict_sentence(claims.verdict), scope(run), write_findings(claims), data_line(run),
        caveats(run), sections, command(run), run.labels.rule, run.shown, claims,
    )  # fmt: skip


def _published(run: Run) -> tuple[Section, ...]:
    name = run.settings.get("published")
    return () if name is None else (published_section(run, name),)


def write_report(
    tables: Mapping[str, pl.DataFrame],
    info: Mapping[str, Any],
    folder: Path,
    *,
    health: Sequence[Mapping[str, Any]] = (),
) -> Report:
    """Write ``report.html``, ``report.md``, ``tables/*`` and ``summary.json`` into `folder`.

    Parameters
    ----------
    tables
        The frames of `contracts.run.RUN_TABLES` by name.
    info
        The content of ``settings.json``: settings, inputs, versions, command, seed,
        skipped_attributes, has_navigational, notes.
    folder
        An existing folder. Files of these names in it are replaced.
    health
        What the checks of the log found, for ``summary.json``: see `verdict.summary.summary`.

    Returns
    -------
    What was written; its sentences are without control characters.

    Raises
    ------
    ReportError
        If a table is missing, the folder is missing or cannot be written, or `health` has another form.
    ContractError
        If a table does not have the form of its contract.
    """
    if not folder.is_dir():
        raise ReportError(f"no folder {folder} to write the report to: name a folder that exists")
    report = build_report(tables, info)
    try:
        write_text(folder / "report.html", html_report(report))
        write_text(folder / "report.md", markdown_report(report))
        write_table_files(folder / "tables", report.sections)
        write_json(folder / SUMMARY_FILE, summary(report.claims, health), sort_keys=False)
    except OSError as error:
        raise ReportError(f"cannot write the report to {folder}: {error}") from error
    return report


def write_table_files(folder: Path, sections: tuple[Section, ...]) -> None:
    """Write every table as CSV, and as LaTeX where a page can hold it."""
    folder.mkdir(exist_ok=True)
    for table in (table for section in sections for table in section.every_table):
        write_text(folder / f"{table.name}.csv", csv_text(table))
        if table.for_papers:
            write_text(folder / f"{table.name}.tex", latex_table(table))


def markdown_report(report: Report) -> str:
    """Return the report as Markdown: the same sentences and tables, no pictures."""
    return markdown_page("report.md.j2", report=report)


def html_report(report: Report) -> str:
    """Return the report as one HTML file: works offline, forbids any network, shows without script."""
    return html_page(
        "report.html.j2",
        mark=linked,
        report=report,
        terms=terms(),
        files=downloads(report.sections, report.shown),
    )
