"""Write a report: one HTML file that needs nothing else, Markdown, CSV and LaTeX tables."""

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from clickassay.errors import ReportError
from clickassay.report import findings, page
from clickassay.report.caveats import caveats
from clickassay.report.escape import markdown
from clickassay.report.findings import Finding
from clickassay.report.glossary import linked, terms
from clickassay.report.model import Run, SampleKey, Section, Table, read_run
from clickassay.report.sections.beside import beside_section
from clickassay.report.sections.classes import classes_section, frequency_section
from clickassay.report.sections.collapses import collapses_section
from clickassay.report.sections.comparisons import comparisons_section
from clickassay.report.sections.conventions import conventions_section
from clickassay.report.sections.correlations import correlations_section, good_section
from clickassay.report.sections.data import data_line, funnel_section, statistics_section
from clickassay.report.sections.differences import differences_section
from clickassay.report.sections.influence import influence_section
from clickassay.report.sections.judges import judges_sections
from clickassay.report.sections.next_judgments import next_judgments_section
from clickassay.report.sections.provenance import command, provenance_section
from clickassay.report.sections.readers import readers_section
from clickassay.report.sections.unjudged import unjudged_sections
from clickassay.report.sections.yardsticks import yardsticks_section
from clickassay.report.tables import csv_text, html_table, latex_table, markdown_table

_OPTIONS: Mapping[str, Any] = MappingProxyType(
    {
        "loader": PackageLoader("clickassay.report"),
        "undefined": StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
    }
)


@dataclass(frozen=True)
class Report:
    """Everything that a template says."""

    title: str
    scope: str
    findings: tuple[Finding, ...]
    data: str
    caveats: tuple[str, ...]
    sections: tuple[Section, ...]
    command: str
    rule: str
    shown: tuple[SampleKey, ...]


def build_report(tables: Mapping[str, pl.DataFrame], info: Mapping[str, Any]) -> Report:
    """Turn a run's tables into sentences, tables and pictures, without writing anything."""
    run = read_run(tables, info)
    ranking = None if run.headline is None else findings.rank(run, run.headline)
    sections = (
        statistics_section(run),
        funnel_section(run),
        correlations_section(run),
        comparisons_section(run, ranking),
        good_section(run),
        classes_section(run),
        frequency_section(run),
        collapses_section(run),
        differences_section(run, ranking),
        yardsticks_section(run),
        influence_section(run),
        *judges_sections(run),
        readers_section(run),
        *unjudged_sections(run),
        conventions_section(run),
        next_judgments_section(run),
        *_beside(run),
        provenance_section(run),
    )
    three = (
        findings.first_finding(run, ranking),
        findings.second_finding(run, ranking),
        findings.third_finding(run, ranking),
    )
    return Report(
        findings.title(run, ranking), findings.scope(run), three, data_line(run),
        caveats(run), sections, command(run), run.names.rule, run.shown,
    )  # fmt: skip


def _beside(run: Run) -> tuple[Section, ...]:
    name = run.settings.get("beside")
    return () if name is None else (beside_section(run, name),)


def write_report(
    tables: Mapping[str, pl.DataFrame], info: Mapping[str, Any], folder: Path
) -> tuple[str, ...]:
    """Write ``report.html``, ``report.md``, ``tables/*.csv`` and ``tables/*.tex`` into `folder`.

    Parameters
    ----------
    tables
        The frames of `contracts.RUN_TABLES` by name.
    info
        The content of ``settings.json``: settings, inputs, versions, command, seed,
        skipped_attributes, has_navigational, notes.
    folder
        An existing folder. Files of these names in it are replaced.

    Returns
    -------
    The three main findings, a few sentences each, without control characters.

    Raises
    ------
    ReportError
        If a table is missing, or the folder is missing or cannot be written.
    ContractError
        If a table has not the form of its contract.
    """
    if not folder.is_dir():
        raise ReportError(f"no folder {folder} to write the report to: name a folder that exists")
    report = build_report(tables, info)
    try:
        write_text(folder / "report.html", html_report(report))
        write_text(folder / "report.md", markdown_report(report))
        (folder / "tables").mkdir(exist_ok=True)
        for table in [table for section in report.sections for table in section.every_table]:
            write_table_files(folder / "tables", table)
    except OSError as error:
        raise ReportError(f"cannot write the report to {folder}: {error}") from error
    return tuple(finding.text for finding in report.findings)


def write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8 with the line ends that it has."""
    path.write_bytes(text.encode("utf-8"))


def write_table_files(folder: Path, table: Table) -> None:
    """Write a table as CSV, and as LaTeX where a page can hold it."""
    write_text(folder / f"{table.name}.csv", csv_text(table))
    if table.for_papers:
        write_text(folder / f"{table.name}.tex", latex_table(table))


def markdown_report(report: Report) -> str:
    """Return the report as Markdown: the same words and tables, no pictures."""
    return markdown_page("report.md.j2", report=report)


def markdown_page(template: str, **content: object) -> str:
    """Fill a template of Markdown; every value is escaped."""
    # autoescape speaks HTML; for Markdown `finalize` does its work: every expression passes there
    environment = Environment(autoescape=False, finalize=_marked_down, **_OPTIONS)  # noqa: S701
    environment.globals["pipe_table"] = _pipe_table
    return environment.get_template(template).render(**content).strip() + "\n"


def _marked_down(value: object) -> object:
    return value if isinstance(value, Markup) else markdown(value)


def html_report(report: Report) -> str:
    """Return the report as one HTML file: works offline, forbids any network, shows without script."""
    return html_page(
        "report.html.j2",
        mark=linked,
        report=report,
        terms=terms(),
        files=page.downloads(report.sections, report.shown),
    )


def html_page(template: str, *, mark: Callable[[str], Markup], **content: object) -> str:
    """Fill a template of HTML with the script and the style of every page; `mark` escapes prose."""
    environment = Environment(autoescape=True, **_OPTIONS)
    environment.globals.update(html_table=html_table)
    environment.filters["tied"] = _tied
    environment.filters["linked"] = lambda text: mark(_tied(text))
    script = page.script()
    style = _source("report.css")
    return environment.get_template(template).render(
        script=Markup(script),  # noqa: S704 - our own file
        style=Markup(style),  # noqa: S704 - our own file
        script_hash=_digest(script),
        style_hash=_digest(style),
        **content,
    )


def _digest(text: str) -> str:
    """Return the hash by which the content security policy knows an inline script or style sheet."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _source(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


def _tied(text: str) -> str:
    """Keep a number and its per cent sign on one line."""
    return text.replace(" %", "\u00a0%")


def _pipe_table(table: Table) -> Markup:
    return Markup(markdown_table(table))  # noqa: S704 - its cells are escaped
