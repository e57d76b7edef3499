"""The page of a study: title, conventions, sections; written as HTML, Markdown, CSV, LaTeX."""

from dataclasses import dataclass
from pathlib import Path

from clickassay.core.text.escape import html
from clickassay.report.build import write_table_files
from clickassay.report.model import Section
from clickassay.report.writers.markdown import markdown_page
from clickassay.report.writers.page import downloads, html_page, write_text


@dataclass(frozen=True)
class StudyReport:
    """The content of the page."""

    eyebrow: str  # What kind of study it is, in a few words.
    # title, lead: Headline, and what stands below it.
    title: str
    lead: str
    # Pairs (convention, text): the definitions that the numbers depend on.
    conventions: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]  # Its sections, in order.
    command: str  # The command line that made it.


def write_study(report: StudyReport, folder: Path) -> None:
    """Write ``report.html``, ``report.md``, ``tables/*.csv`` and ``tables/*.tex`` into an existing folder."""
    tables = [table for section in report.sections for table in section.every_table]
    page = html_page("study.html.j2", mark=html, report=report, files=downloads(tables, ()))
    write_text(folder / "report.html", page)
    write_text(folder / "report.md", markdown_page("study.md.j2", report=report))
    write_table_files(folder / "tables", tables)
