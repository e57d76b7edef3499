"""Records of a report before it is drawn: frozen numbers, tables, figures and sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import polars as pl
import polars.selectors as cs
from markupsafe import Markup

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.form import Table as Contract
from clickassay.core.contracts.patterns import PATTERNS
from clickassay.core.contracts.run import RUN_TABLES
from clickassay.core.errors import ReportError
from clickassay.core.privacy import MIN_USERS, QueryLabels, number_rare_classes
from clickassay.core.records import SampleKey
from clickassay.core.settings import Settings
from clickassay.core.text import listed, visible
from clickassay.findings.samples import kept_samples, largest_samples
from clickassay.metrics.catalogue import BASELINES
from clickassay.metrics.clicks import CLICK_METRICS
from clickassay.metrics.editorial import EDITORIAL_METRICS
from clickassay.report.cells import Estimate, Row, caution_remarks, missing_value_remarks, not_computed

OWN_SPLITS = (EVERY, "length", "navigational", "click_entropy", "frequency")
"""Splits whose classes are not values of an attribute that the user gave, but for yes and no."""

ROWS_SHOWN = 120
"""Rows of one table on the page and in LaTeX; the CSV files hold all of them."""

SAMPLES_SHOWN = 8
"""Samples that the page draws; the CSV files hold all of them."""

COMPETING = ("correlations", "comparisons", "differences", "difference_comparisons")
"""Tables in which baselines compete with the other metrics."""

NO_VARIANCE_LEFT = "no variance of clicks is left after noise correction"
NO_BOUND = "the noise correction has no finite bound"
ABOVE_ONE = "a noise-corrected value beyond 1 is no correlation: too few sessions"


@dataclass(frozen=True)
class Table:
    """One table: the rows of the page, and those of its CSV file.

    Attributes
    ----------
    name
        File stem, also the id on the page.
    title, name_head, heads
        Title, head of the name column, heads of the cells.
    rows
        All rows; the first `most` are shown.
    spanners
        Heads over several columns: (text, index of the first column, number of columns).
    notes
        Remarks under the table.
    data
        The rows of the CSV file, mostly more than are shown; None: those of the table itself.
    for_papers
        Whether the table is also written as LaTeX.
    group_head
        Head of the column of groups.
    explained
        Whether its texts link to the glossary of the page.
    most
        Largest number of rows that are shown.
    """

    name: str
    title: str
    name_head: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    spanners: tuple[tuple[str, int, int], ...] = ()
    notes: tuple[str, ...] = ()
    data: pl.DataFrame | None = None
    for_papers: bool = True
    group_head: str = "Sample"
    explained: bool = True
    most: int = ROWS_SHOWN

    @property
    def shown(self) -> tuple[Row, ...]:
        """The rows that fit the page."""
        return self.rows[: self.most]

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes, cautions about intervals, reasons of missing values, and whether rows are left out."""
        cut = len(self.rows) - len(self.shown)
        left = (f"The first {self.most} of {len(self.rows)} rows; all are in the CSV file.",) if cut else ()
        return (*self.notes, *caution_remarks(self.shown), *missing_value_remarks(self.shown), *left)


@dataclass(frozen=True)
class Drawing:
    """One drawn picture, and the numbers behind it.

    Attributes
    ----------
    svg
        The whole ``<svg>`` element; a mark's ``aria-label`` has the texts of the row that it stands for.
    titles
        Heads of the columns of `rows` that a mark shows when it is pointed at, by column.
    rows
        The rows of data.
    """

    svg: Markup
    titles: Mapping[str, str]
    rows: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Figure:
    """One picture with a title, its text alternative, and the name of the table that has its numbers.

    `narrow` is the same for a phone, where the drawing would be too small.
    """

    name: str
    title: str
    alt: str
    drawing: Drawing
    table: str
    narrow: Drawing | None = None


@dataclass(frozen=True)
class Section:
    """One part of the report.

    Attributes
    ----------
    name
        Id on the page.
    title
        Heading.
    reading
        Sentences that say what the numbers mean; the first is the main one.
    figures, tables
        Pictures and tables in view.
    legend
        Marks of the pictures and their meanings: (style class, text).
    folded
        Tables behind a line to click.
    fold_words
        Text of that line.
    folded_reading, folded_figures
        Sentences and pictures behind that line.
    unreliable
        Why the whole section is one folded line; None where it is in view.
    """

    name: str
    title: str
    reading: tuple[str, ...]
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()
    folded: tuple[Table, ...] = ()
    fold_words: str = "The numbers"
    folded_reading: tuple[str, ...] = ()
    folded_figures: tuple[Figure, ...] = ()
    unreliable: str | None = None

    @property
    def every_table(self) -> tuple[Table, ...]:
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


@dataclass(frozen=True)
class Run:
    """The run's tables, and the samples that the report shows.

    Attributes
    ----------
    frames
        The tables of `contracts.run.RUN_TABLES` by name, without what concerns `metrics.catalogue.BASELINES`.
    baseline_frames
        Rows of `COMPETING` that concern these baselines.
    info
        The content of ``settings.json``.
    headline
        The sample of the headline, or None when no session was kept anywhere.
    shown
        Samples on the page, the headline first.
    n_samples
        All samples of the run.
    labels
        Names or digests of its queries.
    settings
        The settings of ``settings.json``.
    """

    frames: Mapping[str, pl.DataFrame]
    baseline_frames: Mapping[str, pl.DataFrame]
    info: Mapping[str, Any]
    headline: SampleKey | None
    shown: tuple[SampleKey, ...]
    n_samples: int
    labels: QueryLabels
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def headline_samples(self) -> tuple[SampleKey, ...]:
        """The headline sample, or none."""
        return () if self.headline is None else (self.headline,)

    @property
    def other_samples(self) -> tuple[SampleKey, ...]:
        """The shown samples but the headline one."""
        return tuple(sample for sample in self.shown if sample != self.headline)

    def group_heading(self, sample: SampleKey) -> str:
        """Heading over the rows of a sample; none for the headline sample, whose tables stand alone."""
        return "" if sample == self.headline else sample.label

    def title_suffix(self, *samples: SampleKey) -> str:
        """End of the title of a table of the headline sample alone, which names it; else ''."""
        return f", {samples[0].label}" if len(samples) == 1 and samples[0] == self.headline else ""

    def headline_rows(self, name: str) -> pl.DataFrame:
        """Rows of a table of the headline sample; no row when there is no such sample."""
        return self.frames[name].head(0) if self.headline is None else self.headline.rows(self.frames[name])

    def competing(self, name: str) -> pl.DataFrame:
        """Rows of a table of `COMPETING`, those that concern baselines included."""
        return pl.concat([self.frames[name], self.baseline_frames[name]])

    def correlations(self, sample: SampleKey, *, split: str = EVERY) -> pl.DataFrame:
        """Rows of `correlations` of one sample and split."""
        return sample.rows(self.frames["correlations"]).filter(split=split)

    @cached_property
    def editorial(self) -> tuple[str, ...]:
        """Editorial metrics of the run in the order of reports, variants last."""
        return in_order(self._names("editorial_metric"), EDITORIAL_METRICS)

    @cached_property
    def clicks(self) -> tuple[str, ...]:
        """Click metrics of the run in the order of reports, QCTR last."""
        return in_order(self._names("click_metric"), CLICK_METRICS)

    @property
    def full(self) -> bool:
        """Whether the page shows everything, unfolded."""
        return bool(self.settings.get("full"))

    @property
    def counted(self) -> tuple[str, ...]:
        """Click metrics that the verdict is about; the first is that of all headline numbers."""
        return tuple(self.settings.get("click_metric", Settings().click_metric))

    @property
    def click(self) -> str:
        """The headline click metric."""
        return self.counted[0]

    def _names(self, column: str) -> list[str]:
        columns = [self.frames[name][column] for name in ("correlations", "differences")]
        return pl.concat(columns).unique().to_list()

    @property
    def success_label(self) -> str:
        """The label of the lowest grade that counts as success for SS."""
        return self.grade_label(int(self.settings.get("success_grade", 2)))

    def grade_label(self, grade: int) -> str:
        """Return the scale's label of a grade, or ``grade 2`` where the scale has none of its own."""
        scale: Sequence[str] = self.settings.get("scale") or ()
        if len(scale) != int(self.settings.get("max_grade", len(scale) - 1)) + 1:
            scale = ()  # the labels of another scale than that of --max-grade
        labels = [visible(label) for label in scale]  # cut: two long ones may look alike
        is_known = 0 <= grade < len(labels) and labels.count(labels[grade]) == 1
        return labels[grade] if is_known else f"grade {grade}"


def read_run(tables: Mapping[str, pl.DataFrame], info: Mapping[str, Any]) -> Run:
    """Put the tables into their contracts' form and choose the samples to show.

    Raises
    ------
    ReportError
        If a table of `contracts.run.RUN_TABLES` is missing.
    ContractError
        If a table does not have the form of its contract.
    """
    missing = [table.name for table in RUN_TABLES if table.name not in tables]
    if missing:
        expected = listed(table.name for table in RUN_TABLES)
        raise ReportError(f"no table {listed(missing)} to report; a run has {expected}: run it again")
    whole = {table.name: _canonical_frame(table, tables[table.name]) for table in RUN_TABLES}
    frames = {name: frame.filter(~_concerns_baseline(frame)) for name, frame in whole.items()}
    of_baselines = {name: whole[name].filter(_concerns_baseline(whole[name])) for name in COMPETING}
    settings = MappingProxyType(dict(info.get("settings") or {}))
    min_users = int(settings.get("min_users", MIN_USERS))
    frames["correlations"] = number_rare_classes(frames["correlations"], OWN_SPLITS, min_users)
    statistics = frames["statistics"]
    kept = kept_samples(statistics)
    headline, shown = kept[:1], largest_samples(statistics)[:SAMPLES_SHOWN]
    return Run(
        MappingProxyType(frames),
        MappingProxyType(of_baselines),
        info,
        next(iter(headline), None),
        (*headline, *sorted(set(shown) - set(headline))),
        statistics.height,
        QueryLabels(frames["queries"], min_users),
        settings,
    )


def _canonical_frame(contract: Contract, frame: pl.DataFrame) -> pl.DataFrame:
    # The pattern table may have millions of rows and is only summed here: its order is no matter.
    if contract is PATTERNS:
        contract.canonical(frame.head(0))
        return frame
    return contract.canonical(frame).with_columns(cs.float().fill_nan(None))


def _concerns_baseline(frame: pl.DataFrame) -> pl.Expr:
    names = [name for name in ("editorial_metric", "metric_a", "metric_b") if name in frame.columns]
    return pl.any_horizontal(pl.lit(False), *(pl.col(name).is_in(BASELINES) for name in names))


def in_order(found: Sequence[str], order: Sequence[str]) -> tuple[str, ...]:
    """Return the `found` names in the given order, unknown ones after them by name."""
    known = [name for name in order if name in found]
    return (*known, *sorted(set(found) - set(order)))


def estimate(
    row: Mapping[str, Any] | None, column: str = "correlation", *, reason: str | None = None
) -> Estimate:
    """Return the value of `column` in a row of a contract's table, with interval, reason and caution.

    `reason` is why there is no value where the table does not say it.
    """
    if row is None:
        return not_computed()
    value = row[column]
    if value is None:
        return Estimate(None, reason=visible(reason or row.get("reason") or "no value", limit=160))
    return Estimate(value, row["ci_low"], row["ci_high"], caution=_caution(row))


def noise_corrected(row: Mapping[str, Any]) -> Estimate:
    """Return the noise-corrected value of a row of `correlations` or `differences`.

    It estimates what infinitely many sessions would show. Without an interval it is not shown; beyond -1 or
    1 it has a caution, and the ends of its interval may lie there too.
    """
    value, low, high = (row[f"noise_corrected{end}"] for end in ("", "_low", "_high"))
    if value is None:
        return Estimate(None, reason=visible(row["reason"] or NO_VARIANCE_LEFT, limit=160))
    if low is None:  # a number without a bound is no estimate of anything; the files have it
        return Estimate(None, reason=NO_BOUND if row["ci_low"] is not None else _caution(row) or NO_BOUND)
    return Estimate(value, low, high, caution=ABOVE_ONE if abs(value) > 1 else _caution(row))


def _caution(row: Mapping[str, Any]) -> str | None:
    return None if row.get("caution") is None else visible(row["caution"], limit=160)


def by_pair(frame: pl.DataFrame, column: str = "correlation") -> dict[tuple[str, str], Estimate]:
    """Return the estimates of `frame` by (click metric, editorial metric)."""
    return {
        (row["click_metric"], row["editorial_metric"]): estimate(row, column)
        for row in frame.iter_rows(named=True)
    }


def other_samples_table(table: Table) -> tuple[Table, ...]:
    """Return a table of the samples other than the headline one with that in its title; () if it is empty."""
    return (replace(table, title=f"{table.title}: other samples"),) if table.rows else ()
