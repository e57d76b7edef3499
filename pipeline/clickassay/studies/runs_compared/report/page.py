"""The page of a comparison of two runs: built, and written as HTML and Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.files.output import (
    SETTINGS_FILE,
    check_apart,
    check_free,
    check_free_file,
    published_file,
    published_folder,
    write_json,
)
from clickassay.core.provenance import versions
from clickassay.core.records import SAMPLE_COLUMNS, SampleKey
from clickassay.core.text.escape import html
from clickassay.core.text.words import visible
from clickassay.report.model import Section
from clickassay.report.tables import ReportTable
from clickassay.report.writers.page import downloads, html_page, markdown_page, write_table_files, write_text
from clickassay.studies.runs_compared.compare import RunComparison
from clickassay.studies.runs_compared.report.sections import (
    asked_section,
    closed_forms_section,
    correlations_section,
    means_section,
    order_section,
    within_section,
)
from clickassay.studies.runs_compared.words import beyond_noise, decision_sentence, sentences

HOME = "clickassay.studies.runs_compared.report"
"""The package that has the templates."""

OURS = 'content="clickassay diff"'
"""What the head of a page says, by which `--force` knows it as one of ours."""


@dataclass(frozen=True)
class ComparisonReport:
    """The content of the page."""

    # title, lead: What changed beyond noise, and what did not.
    title: str
    lead: str
    samples: tuple[SampleKey, ...]  # The samples that are compared.
    runs: tuple[tuple[str, str], ...]  # Pairs (A or B, folder).
    sentences: tuple[str, ...]  # What changed, family by family.
    sections: tuple[Section, ...]  # Its sections, in order.
    command: str  # The command line that made it.

    @property
    def tables(self) -> tuple[ReportTable, ...]:
        """All tables, in their order on the page."""
        return tuple(table for section in self.sections for table in section.every_table)


def build_comparison(comparison: RunComparison, command: str) -> ComparisonReport:
    """Turn a comparison into sentences, tables and pictures, without writing anything."""
    keys = _samples(comparison.numbers)
    key, click = _headline(comparison, keys)
    numbers = comparison.numbers
    sections = (
        asked_section(comparison),
        means_section(numbers, key),
        within_section(numbers, key, click),
        correlations_section(numbers, key, click),
        order_section(comparison),
        closed_forms_section(numbers),
    )
    places = ("not saved" if folder == Path() else folder for folder in (comparison.a, comparison.b))
    folders = (visible(folder, limit=400) for folder in places)
    named = (f"Run {letter}: {name}" for letter, name in zip("AB", comparison.names, strict=True))
    runs = tuple(zip(named, folders, strict=True))
    title, rest = beyond_noise(comparison)
    return ComparisonReport(
        title,
        f"{decision_sentence(comparison)} {rest}".rstrip(),
        keys,
        runs,
        tuple(sentences(comparison)),
        sections,
        visible(command, limit=10_000),
    )


def _samples(numbers: pl.DataFrame) -> tuple[SampleKey, ...]:
    places = numbers.select(SAMPLE_COLUMNS).unique().sort(SAMPLE_COLUMNS)
    return tuple(SampleKey(*row) for row in places.iter_rows())


def _headline(comparison: RunComparison, keys: Sequence[SampleKey]) -> tuple[SampleKey, str]:
    """Return the sample and click metric that pictures show: the largest in run B of those compared."""
    keys = [key for key in comparison.samples if key in keys] or keys
    known = comparison.numbers["click_metric"].drop_nulls().unique().sort().to_list()
    clicks = [name for name in comparison.clicks if name in known] or known
    return (*keys, SampleKey(EVERY, 1, EVERY))[0], (*clicks, "")[0]


def comparison_html(report: ComparisonReport) -> str:
    """Return the page, self-contained."""
    files = downloads(report.tables, report.samples)
    return html_page("comparison.html.j2", home=HOME, mark=html, report=report, files=files)


def comparison_markdown(report: ComparisonReport) -> str:
    """Return the same words and numbers as Markdown."""
    return markdown_page("comparison.md.j2", home=HOME, report=report)


def check_comparison_place(out: Path, found_in: Sequence[Path], *, force: bool) -> None:
    """Check that a page or folder can be written, before anything is computed.

    Raises OutputError if something is there already, or it lies inside a run.
    """
    check_apart(out, *found_in)
    if is_page(out):
        check_free_file(out, force=force, ours=OURS)
    else:
        check_free(out, force=force)


def write_comparison(report: ComparisonReport, out: Path, *, force: bool) -> Path:
    """Write a page, whole or not at all: one file if `out` ends in ``.html``, else a folder.

    A folder has ``report.html``, ``report.md``, ``tables/`` and ``settings.json``.

    Returns the page.

    Raises OutputError if something is there already, or it cannot be written.
    """
    if is_page(out):
        with published_file(out, force=force, ours=OURS) as file:
            write_text(file, comparison_html(report))
        return out
    with published_folder(out, force=force) as folder:
        write_text(folder / "report.html", comparison_html(report))
        write_text(folder / "report.md", comparison_markdown(report))
        write_table_files(folder / "tables", report.tables)
        info = {"command": report.command, "runs": dict(report.runs), "versions": versions()}
        write_json(folder / SETTINGS_FILE, info)
    return out / "report.html"


def is_page(out: Path) -> bool:
    """Return whether a place is one file, and not a folder."""
    return out.suffix.lower() == ".html"
