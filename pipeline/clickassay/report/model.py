"""Records of a report before it is drawn: pictures and sections, and what its sections share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
from markupsafe import Markup

from clickassay.core.records import SampleKey
from clickassay.core.text.words import visible
from clickassay.findings.estimates import Estimate, caution_of, estimate, not_computed
from clickassay.findings.run import Run, largest_samples
from clickassay.report.tables import ReportTable, why_unreliable

MORE = "More on this: all sentences, pictures and tables"
"""Line behind which the rest of a section is folded."""

MOST_ROWS, MOST_FIGURES = 6, 3
"""Rows of a table and pictures in view: three pictures fit beside each other."""

SAMPLES_SHOWN = 8
"""Samples that the page draws; the CSV files hold all of them."""

NO_VARIANCE_LEFT = "no variance of clicks remains after the noise correction"
NO_BOUND = "the noise correction has no finite bound"
ABOVE_ONE = "a noise-corrected value beyond 1 is not a correlation: too few sessions"

ByPair = Mapping[tuple[str, str], Estimate]
"""Estimates by (click metric, offline metric)."""


@dataclass(frozen=True)
class Drawing:
    """One drawn picture, and the numbers behind it."""

    # The whole ``<svg>`` element; a mark's ``aria-label`` has the texts of the row that it stands for.
    svg: Markup
    # Heads of the columns of `rows` that a mark shows when it is pointed at, by column.
    titles: Mapping[str, str]
    rows: Sequence[Mapping[str, Any]]  # The rows of data.


@dataclass(frozen=True)
class Figure:
    """A picture: title, text, table of its numbers; `narrow` is for phones, where it would be too small."""

    name: str
    title: str
    alt: str
    drawing: Drawing
    table: str
    narrow: Drawing | None = None


@dataclass(frozen=True)
class Section:
    """One part of the report."""

    name: str  # Id on the page.
    title: str  # Heading.
    reading: tuple[str, ...]  # Sentences that say what the numbers mean; the first is the main one.
    figures: tuple[Figure, ...] = ()
    tables: tuple[ReportTable, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()  # Marks of the pictures and their meanings: (style class, text).
    folded: tuple[ReportTable, ...] = ()  # Tables behind a line to click.
    fold_words: str = "The numbers"  # Text of that line.
    folded_reading: tuple[str, ...] = ()
    folded_figures: tuple[Figure, ...] = ()
    unreliable: str | None = None  # Why the whole section is one folded line; None where it is in view.

    @property
    def every_table(self) -> tuple[ReportTable, ...]:
        """The tables in view and the folded ones."""
        return self.tables + self.folded

    @property
    def every_figure(self) -> tuple[Figure, ...]:
        """The pictures in view and the folded ones."""
        return self.figures + self.folded_figures

    @property
    def every_reading(self) -> tuple[str, ...]:
        """The sentences in view and the folded ones."""
        return self.reading + self.folded_reading

    @property
    def has_more(self) -> bool:
        """Whether anything is folded."""
        return bool(self.folded_reading or self.folded_figures or any(table.rows for table in self.folded))


def briefly(section: Section) -> Section:
    """Keep the main sentence and the first pictures of a section in view, or its first table."""
    kept = () if section.figures else tuple(replace(one, most=MOST_ROWS) for one in section.tables[:1])
    rest = section.tables[len(kept) :]
    return replace(
        section, reading=section.reading[:1], folded_reading=section.reading[1:],
        figures=section.figures[:MOST_FIGURES], folded_figures=section.figures[MOST_FIGURES:],
        tables=kept, folded=(*rest, *section.folded), fold_words=MORE,
    )  # fmt: skip


def folded_if_unreliable(section: Section) -> Section:
    """Fold a section to one line where no interval of its tables can be relied on, and say why."""
    return replace(section, unreliable=why_unreliable(section.every_table))


@dataclass(frozen=True)
class StudyReport:
    """The content of the page of a study."""

    eyebrow: str  # What kind of study it is, in a few words.
    title: str
    lead: str
    # Pairs (convention, text): the definitions that the numbers depend on.
    conventions: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]  # Its sections, in order.
    command: str  # The command line that made it.


@dataclass(frozen=True)
class ShownTests:
    """What a report says of the tests of its log."""

    lines: tuple[str, ...] = ()  # Of the first screen.
    sections: tuple[Section, ...] = ()  # One for each kind of tests that the log has.
    entries: tuple[Mapping[str, Any], ...] = ()  # Of ``summary.json``.


# ---- the samples and estimates of a run ---------------------------------------------------------


def shown_samples(run: Run) -> tuple[SampleKey, ...]:
    """Return the samples on the page, the headline first."""
    largest = largest_samples(run.tables["statistics"])[:SAMPLES_SHOWN]
    return (*run.headline_samples, *sorted(set(largest) - set(run.headline_samples)))


def other_samples(run: Run) -> tuple[SampleKey, ...]:
    """Return the shown samples but the headline one."""
    return tuple(sample for sample in shown_samples(run) if sample != run.headline)


def other_samples_table(table: ReportTable) -> tuple[ReportTable, ...]:
    """Return a table of the samples other than the headline one with that in its title; () if it is empty."""
    return (replace(table, title=f"{table.title}: other samples"),) if table.rows else ()


def group_heading(run: Run, sample: SampleKey) -> str:
    """Return the heading over the rows of a sample; none for the headline sample: its tables stand alone."""
    return "" if sample == run.headline else sample.label


def title_suffix(run: Run, *samples: SampleKey) -> str:
    """Return the end of the title of a table of the headline sample alone, which names it; else ''."""
    return f", {samples[0].label}" if len(samples) == 1 and samples[0] == run.headline else ""


def headline_suffix(run: Run) -> str:
    """Return the end of the title of a table of the headline sample."""
    return title_suffix(run, *run.headline_samples)


def noise_corrected(row: Mapping[str, Any]) -> Estimate:
    """Return the noise-corrected value of a row of `correlations` or `differences`.

    It estimates what infinitely many sessions would show. Without an interval it is not shown; beyond -1 or
    1 it has a caution, and the ends of its interval may lie there too.
    """
    value, low, high = (row[f"noise_corrected{end}"] for end in ("", "_low", "_high"))
    if value is None:
        return Estimate(None, reason=visible(row["reason"] or NO_VARIANCE_LEFT, limit=160))
    if low is None:  # a number without a bound is no estimate of anything; the files have it
        return Estimate(None, reason=NO_BOUND if row["ci_low"] is not None else caution_of(row) or NO_BOUND)
    return Estimate(value, low, high, caution=ABOVE_ONE if abs(value) > 1 else caution_of(row))


def by_pair(frame: pl.DataFrame, column: str = "correlation") -> dict[tuple[str, str], Estimate]:
    """Return the estimates of `frame` by (click metric, offline metric)."""
    return {
        (row["click_metric"], row["editorial_metric"]): estimate(row, column)
        for row in frame.iter_rows(named=True)
    }


def of_metrics(cells: ByPair, click: str, names: Sequence[str]) -> tuple[Estimate, ...]:
    """Return the estimates of offline metrics with a click metric, in their order."""
    return tuple(cells.get((click, name), not_computed()) for name in names)
