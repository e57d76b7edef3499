"""Write a report: one HTML file that needs nothing else, Markdown, CSV and LaTeX tables."""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from clickassay.core.errors import ReportError
from clickassay.core.files.output import write_json
from clickassay.core.records import SampleKey
from clickassay.findings.draw import Findings
from clickassay.findings.run import Run
from clickassay.report.charts.overview import Overview
from clickassay.report.glossary import linked, once_a_section, terms
from clickassay.report.model import Figure, Section, ShownTests, briefly, folded_if_unreliable, shown_samples
from clickassay.report.sections import log
from clickassay.report.sections.classes import classes_section, frequency_section
from clickassay.report.sections.comparisons import comparisons_section, within_section
from clickassay.report.sections.context import command, conventions_section, provenance_section
from clickassay.report.sections.correlations import baselines_section, correlations_section, good_section
from clickassay.report.sections.influence import influence_section
from clickassay.report.sections.judges import judges_sections
from clickassay.report.sections.overview import (
    about,
    caveats,
    facts,
    levels_section,
    overview,
    overview_figures,
    overview_legend,
    second_figure,
    second_overview,
)
from clickassay.report.sections.rankers import differences_section
from clickassay.report.sections.signals import signals_sections
from clickassay.report.sections.users import (
    cascade_effects_section,
    examination_section,
    position_bias_sections,
)
from clickassay.report.tables import ReportTable
from clickassay.report.verdict import sentences
from clickassay.report.verdict.decision import Advice, advise_run
from clickassay.report.verdict.summary import SUMMARY_FILE, summary, summary_markdown
from clickassay.report.writers.page import downloads, html_page, markdown_page, write_table_files, write_text


@dataclass(frozen=True)
class Report:
    """The content of the page."""

    about: str  # What it is: name, days of the log, tool.
    # title, scope, reasons, next_step: The decision, which part of the log it is about, why, and what to do
    # now.
    title: str
    scope: str
    reasons: tuple[str, ...]
    next_step: str
    # overview, second: The picture of the first screen, and a small one of the other question; none without a
    # value.
    overview: tuple[Figure, ...]
    second: tuple[Figure, ...]
    legend: tuple[tuple[str, str], ...]  # Marks of both pictures and their meanings: (style class, text).
    scale: tuple[str, ...]  # What its values are to be compared with.
    facts: tuple[tuple[str, str], ...]  # Clicks, size and health of the log: name and text.
    findings: tuple[sentences.Finding, ...]  # The main findings, in words.
    caveats: tuple[str, ...]  # Limits of the report.
    # main, record: Sections in view, and folded sections, for the record.
    main: tuple[Section, ...]
    record: tuple[Section, ...]
    # command, rule: How the run was made; the rule by which queries are named.
    command: str
    rule: str
    shown: tuple[SampleKey, ...]  # The samples on the page.
    # claims, decision: What sentences and tables of the first screen are made of.
    claims: Findings
    decision: Advice
    picture: Overview | None  # What `overview` draws, for a picture of its own; None without it.
    # The first and the last day of the log; None where they are not known.
    days: tuple[date, date] | None = None
    tests: ShownTests = field(default_factory=ShownTests)  # The A/B tests of the log.
    full: bool = False  # Whether everything is unfolded.

    @property
    def sections(self) -> tuple[Section, ...]:
        """All sections, in their order on the page."""
        return self.main + self.record

    @property
    def tables(self) -> tuple[ReportTable, ...]:
        """All tables, in their order on the page."""
        return tuple(table for section in self.sections for table in section.every_table)


def build_report(run: Run, claims: Findings, tests: ShownTests | None = None) -> Report:
    """Turn a run, its findings and A/B tests (None = not shown) into sentences, tables and pictures."""
    tests = tests or ShownTests()
    ranking, health = claims.verdict.claims[0].ranking, (log.health_section(run),)
    decision = advise_run(run, claims)
    beside = sentences.named_rankings(claims)[1:]
    picture = overview(run, ranking, beside) if ranking.competitors else None
    second = second_overview(run, claims)
    title = "Is it the same for every click metric, market, depth and judge?"
    depends = Section("depends", title, sentences.third_finding(claims.depends).sentences)
    decisive = (  # what a reader decides by: each with its main picture, and all else folded
        *(health if claims.health else ()),
        comparisons_section(run, claims),
        within_section(run, claims),
        *((depends,) if claims.depends.varied else ()),
    )
    further = (
        *signals_sections(run, claims),
        *position_bias_sections(run),
        *judges_sections(run),
        folded_if_unreliable(classes_section(run)),
        folded_if_unreliable(frequency_section(run)),
        log.funnel_section(run),
        *log.unjudged_sections(run),
        log.next_judgments_section(run),
    )
    record = (  # the tables and figures of the paper, and how it was computed
        log.statistics_section(run),
        levels_section(run, claims.means),
        correlations_section(run),
        differences_section(run, claims),
        good_section(run),
        cascade_effects_section(run),
        baselines_section(run),
        influence_section(run, claims),
        examination_section(run),
        conventions_section(run),
        *(() if claims.health else health),
        provenance_section(run),
    )
    own = tests.sections
    main = (*map(briefly, decisive), *own, *map(briefly, further))
    return Report(
        about(run), decision.sentence, decision.scope, decision.paragraphs, decision.next_step,
        overview_figures(run, claims, picture), second_figure(claims, second),
        overview_legend([one for one in (picture, second) if one is not None]),
        tuple(sentences.scale_sentences(run, claims)), facts(run, claims),
        sentences.write_findings(claims), caveats(run), main, record,
        command(run), run.labels.rule, shown_samples(run), claims, decision, picture,
        days=run.days, tests=tests, full=run.settings.full,
    )  # fmt: skip


def write_report(run: Run, findings: Findings, folder: Path, tests: ShownTests | None = None) -> Report:
    """Write ``report.html``, ``report.md``, ``tables/*`` and ``summary.*`` into a folder; return it, cleaned.

    tests: as `build_report` takes them. Files of these names are replaced. Raises ReportError if the folder
      is missing or cannot be written.
    """
    if not folder.is_dir():
        raise ReportError(f"no folder {folder} to write the report to: name a folder that exists")
    report = build_report(run, findings, tests)
    try:
        write_text(folder / "report.html", html_report(report))
        write_text(folder / "report.md", markdown_report(report))
        write_table_files(folder / "tables", report.tables)
        # what fits a chat, a mail or another program
        write_json(folder / SUMMARY_FILE, summary_content(report), sort_keys=False)
        ranking = report.claims.verdict.claims[0].ranking
        write_text(
            folder / "summary.md",
            summary_markdown(report.decision, ranking, report.facts, report.tests.lines),
        )
        if report.picture is not None:  # else no metric has a correlation
            with suppress(ReportError):  # the page says so, and the command
                reasons = (*report.decision.main_reasons, report.scope)
                picture = report.picture.image(report.title, reasons)
                (folder / "summary.png").write_bytes(picture)
    except OSError as error:
        raise ReportError(f"cannot write the report to {folder}: {error}") from error
    return report


def summary_content(report: Report) -> dict[str, Any]:
    """Return the content of ``summary.json``; docs/reference/summary.md has its schema."""
    return summary(report.claims, report.decision, report.days, report.tests.entries)


def markdown_report(report: Report) -> str:
    """Return the report as Markdown: the same sentences and tables, no pictures."""
    return markdown_page("report.md.j2", report=report)


def html_report(report: Report) -> str:
    """Return the report as one HTML file: works offline, forbids any network, shows without script."""
    files = downloads(report.tables, report.shown, full=report.full)
    page = html_page("report.html.j2", mark=linked, report=report, terms=terms(), files=files)
    return once_a_section(page)
