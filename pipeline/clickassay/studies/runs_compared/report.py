"""The page of a comparison of two runs: tables, pictures and sentences as data, and its files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.errors import SettingsError
from clickassay.core.files import output
from clickassay.core.provenance import versions
from clickassay.core.records import SAMPLE_COLUMNS, SampleKey
from clickassay.core.text.escape import html
from clickassay.core.text.words import capital, listed, number, signed, visible
from clickassay.findings.estimates import Estimate
from clickassay.metrics.catalogue import METRICS
from clickassay.metrics.clicks import CLICKS
from clickassay.metrics.names import parse
from clickassay.report.charts.lines import LEGEND, ChangedNumber, changed_numbers
from clickassay.report.model import Figure, Section
from clickassay.report.tables import (
    Cell,
    Fields,
    ReportTable,
    Row,
    Share,
    ShownColumn,
    Spelled,
    field,
    p_cell,
    p_value,
    shown_table,
)
from clickassay.report.writers.page import downloads, html_page, markdown_page, write_table_files, write_text
from clickassay.studies.runs_compared import numbers as compared
from clickassay.studies.runs_compared import words
from clickassay.studies.runs_compared.compare import RunComparison
from clickassay.studies.runs_compared.read import SAME

HOME = "clickassay.studies.runs_compared"
"""The package that has the templates."""

OURS = 'content="clickassay diff"'
"""What the head of a page says, by which `--force` knows it as one of ours."""


MOST_DRAWN = 30
"""Rows of a picture."""


HOW_TESTED = (
    "A change is significant if its p-value, adjusted for all numbers of its kind, is below 0.05. Each "
    "interval is for its own change alone, so a grey line can exclude A."
)
MOST_IN_VIEW = 12
"""Rows of a table in view: the clearest changes."""


# ---- the page -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ComparisonReport:
    """The content of the page."""

    # title, lead: What changed significantly, and what did not.
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
    numbers = comparison.numbers
    places = numbers.select(SAMPLE_COLUMNS).unique().sort(SAMPLE_COLUMNS)
    samples = tuple(SampleKey(*row) for row in places.iter_rows())
    # pictures show the sample and click metric that are the largest in run B of those compared
    key = (*(one for one in comparison.samples if one in samples), *samples, SampleKey(EVERY, 1, EVERY))[0]
    known = numbers["click_metric"].drop_nulls().unique().sort().to_list()
    click = (*(name for name in comparison.clicks if name in known), *known, "")[0]
    sections = (
        asked_section(comparison),
        means_section(numbers, key),
        within_section(numbers, key, click),
        correlations_section(numbers, key, click),
        order_section(comparison),
        closed_forms_section(numbers),
    )
    folders = ("not saved" if folder == Path() else folder for folder in (comparison.a, comparison.b))
    runs = tuple(
        (f"Run {letter}: {name}", visible(folder, limit=400))
        for letter, name, folder in zip("AB", comparison.names, folders, strict=True)
    )
    title, lead = words.title_and_lead(comparison)
    told, typed = tuple(words.sentences(comparison)), visible(command, limit=10_000)
    return ComparisonReport(title, lead, samples, runs, told, sections, typed)


def comparison_html(report: ComparisonReport) -> str:
    """Return the page, self-contained."""
    files = downloads(report.tables, report.samples)
    return html_page("comparison.html.j2", home=HOME, mark=html, report=report, files=files)


def comparison_markdown(report: ComparisonReport) -> str:
    """Return the same words and numbers as Markdown."""
    return markdown_page("comparison.md.j2", home=HOME, report=report)


def check_comparison_place(out: Path, found_in: Sequence[Path], *, force: bool) -> None:
    """Check, before computing, that a page or folder is free and outside runs; else OutputError."""
    output.check_apart(out, *found_in)
    if is_page(out):
        output.check_free_file(out, force=force, ours=OURS)
    else:
        output.check_free(out, force=force)


def write_comparison(report: ComparisonReport, out: Path, *, force: bool) -> Path:
    """Write a page, whole or not at all, and return it: a file if `out` ends in ``.html``, else a folder.

    A folder has ``report.html``, ``report.md``, ``tables/`` and ``settings.json``. Raises OutputError if
    something is there already, or it cannot be written.
    """
    if is_page(out):
        with output.published_file(out, force=force, ours=OURS) as file:
            write_text(file, comparison_html(report))
        return out
    with output.published_folder(out, force=force) as folder:
        write_text(folder / "report.html", comparison_html(report))
        write_text(folder / "report.md", comparison_markdown(report))
        write_table_files(folder / "tables", report.tables)
        info = {"command": report.command, "runs": dict(report.runs), "versions": versions()}
        output.write_json(folder / output.SETTINGS_FILE, info)
    return out / "report.html"


def is_page(out: Path) -> bool:
    """Return whether a place is one file, and not a folder."""
    return out.suffix.lower() == ".html"


# ---- what was asked differently -----------------------------------------------------------------------


def asked_section(comparison: RunComparison) -> Section:
    """Return inputs, settings and versions that differ, and the sizes of the samples."""
    differ = [entry for entry in comparison.entries if entry.status != SAME]
    same = [entry.name for entry in comparison.entries if entry.status == SAME]
    resized = comparison.sizes.filter(pl.col("a").ne_missing(pl.col("b")))
    overlap = (
        f"{capital(SampleKey.of(row).label)}: {row['queries_both']:,} queries are in both runs (A has "
        f"{row['queries_a']:,}, B {row['queries_b']:,})."
        for row in comparison.overlap.iter_rows(named=True)
    )
    reading = (
        f"{capital(words.things(differ))} changed."
        if differ
        else "Inputs, settings and versions are the same.",
        *([f"Inputs that are the same: {listed(same)}."] if same and differ else []),
        *(["Queries, configurations, sessions and coverage are the same."] if resized.is_empty() else []),
        *filter(None, [words.uneven_words(comparison.sizes, comparison.names)]),
        *overlap,
    )
    entries = tuple(
        Row(entry.kind, visible(entry.name), (entry.status, entry.a or "", entry.b or "")) for entry in differ
    )
    tables = (
        ReportTable(
            "asked_differently", "Inputs, settings and versions that differ", "Name", ("", "Run A", "Run B"),
            entries, group_head="What", explained=False,
        ),
        shown_table(
            "sizes", "Size and coverage that changed", resized,
            ShownColumn("Quantity", lambda row: row["quantity"].removeprefix("n_").replace("_", " ")),
            (_size("Run A", "a"), _size("Run B", "b"), ShownColumn("Change", _resized)),
            group=_sample, data=comparison.sizes, explained=False,
        ),
    )  # fmt: skip
    return Section("asked", "What was asked differently", reading, tables=tables)


def _sample(row: Fields) -> str:
    return SampleKey.of(row).label


def _size(head: str, run: str) -> ShownColumn:
    def cell(row: Fields) -> Cell:
        if row["quantity"] == "coverage":
            return Share(row[run])
        return None if row[run] is None else int(row[run])

    return ShownColumn(head, cell)


def _resized(row: Fields) -> Cell:
    change = row["change"]
    if change is None:
        return None
    is_share = row["quantity"] == "coverage"
    return Spelled(f"{signed(100 * change, 1)} points" if is_share else signed(change, 0), change)


# ---- numbers ------------------------------------------------------------------------------------------


def means_section(numbers: pl.DataFrame, key: SampleKey) -> Section:
    """Return the means of metrics and of click metrics."""
    metrics, clicks = (
        numbers.filter(family=family) for family in (compared.MEANS_OF_METRICS, compared.MEANS_OF_CLICKS)
    )
    both = pl.concat([metrics, clicks])
    others = [
        name
        for column in ("editorial_metric", "click_metric")
        for name in key.rows(both)[column].drop_nulls()
        if not is_share(name)
    ]
    scales = f" On other scales, and in the tables only: {listed(map(visible, others))}." if others else ""
    reading = (
        "Means over the sessions show whether rankings scored better, and whether users clicked more.",
        f"{HOW_TESTED}{scales}",
    )
    tables = [
        numbers_table("means", "Means of metrics", metrics),
        numbers_table("click-means", "Means of click metrics", clicks),
    ]
    return _section("means", "Means of metrics and clicks", reading, tables, tuple(means_figures(both, key)))


def within_section(numbers: pl.DataFrame, key: SampleKey, click: str) -> Section:
    """Return the correlations within queries, with a picture of all markets together."""
    rows = numbers.filter(family=compared.WITHIN_QUERIES)
    together = replace(key, market=EVERY)
    shown = together if together.rows(rows).height else key
    reading = (
        "Of two rankings for a query, does a metric prefer the one that users prefer?",
        f"The picture shows those with {visible(click)}; the table has all.",
    )
    drawn = _changes(shown.rows(rows).filter(click_metric=click), "editorial_metric")
    title, axis = f"Within queries, with {visible(click)}, {shown.label}", "Correlation within queries"
    figures = tuple(_figure("within", title, f"{axis} with {visible(click)}", drawn, "within"))
    tables = [numbers_table("within", "Correlations within queries", rows)]
    return _section("within", "Comparing two rankings", reading, tables, figures)


def correlations_section(numbers: pl.DataFrame, key: SampleKey, click: str) -> Section:
    """Return the weighted correlations, and the classes of queries if they were compared."""
    reading = (
        "A correlation says how well a metric predicts clicks. It can fall while both rise.",
        f"The picture shows those with {visible(click)}; the table has all.",
    )
    weighted = numbers.filter(family=compared.WEIGHTED)
    tables = [numbers_table("correlations", "Weighted correlations", weighted)]
    by_class = numbers.filter(family=compared.BY_CLASS)
    if by_class.height:
        tables.append(numbers_table("correlations_by_class", "Correlations by class of queries", by_class))
    drawn = _changes(key.rows(weighted).filter(click_metric=click), "editorial_metric")
    axis = f"correlation with {visible(click)}"
    title = f"{capital(axis)}, {key.label}"
    figures = tuple(_figure("correlations", title, f"Weighted {axis}", drawn, "correlations"))
    return _section("prediction", "How well metrics predict clicks", reading, tables, figures)


def closed_forms_section(numbers: pl.DataFrame) -> Section:
    """Return the closed forms of the virtual rankers."""
    rows = numbers.filter(family=compared.CLOSED_FORMS)
    reading = "Correlation of differences between two rankings: would a metric choose the better one?"
    tables = [numbers_table("closed_forms", "Closed form of the virtual rankers", rows)]
    return _section("rankers", "Differences between two rankings", (reading,), tables)


def _section(
    name: str, title: str, reading: tuple[str, ...], tables: list[ReportTable], figures: tuple[Any, ...] = ()
) -> Section:
    in_view = [_beyond(table) for table in tables]
    said = (
        f"{table.title}: no significant change ({len(table.rows):,} compared)."
        for table, beyond in zip(tables, in_view, strict=True)
        if table.rows and not beyond.rows
    )
    return Section(
        name, title, (*reading, *said), figures, tuple(table for table in in_view if table.rows),
        legend=LEGEND if figures else (), folded=tuple(table for table in tables if table.rows),
        fold_words="All numbers",
    )  # fmt: skip


def _beyond(table: ReportTable) -> ReportTable:
    kept = pl.DataFrame() if table.data is None else table.data.filter(status=compared.BEYOND)
    title = f"{table.title}: significant changes, clearest first"
    shown = numbers_table(f"{table.name}_beyond", title, words.clearest(kept))
    return replace(shown, data=kept, most=MOST_IN_VIEW)


def numbers_table(name: str, title: str, rows: pl.DataFrame) -> ReportTable:
    """Return rows of `RunComparison.numbers` as a table."""

    def group(row: Fields) -> str:
        of_class = "" if row["split"] == EVERY else f", {visible(row['split'])} {visible(row['class'])}"
        return f"{_sample(row)}{of_class}"

    def metrics(row: Fields) -> str:
        names = (row["editorial_metric"], row["click_metric"])
        return " with ".join(visible(name) for name in names if name is not None)

    def change(row: Fields) -> Cell:
        if row["change"] is None:
            return None
        return Estimate(row["change"], row["ci_low"], row["ci_high"], caution=row["caution"])

    def adjusted(row: Fields) -> Cell:
        return None if row["p_adjusted"] is None else p_cell(row["p_adjusted"])

    def verdict(row: Fields) -> str:
        by = " (from intervals)" if row["tested_by"] == compared.INTERVALS else ""
        return f"{words.status_words(row)}{by}"

    return shown_table(
        name, title, rows, ShownColumn("Number", metrics),
        (
            _value("Run A", "a"), _value("Run B", "b"), ShownColumn("Change (95% CI)", change),
            ShownColumn("Adjusted p", adjusted),
            ShownColumn("Verdict", verdict),
        ),
        group=group, explained=False,
    )  # fmt: skip


def _value(head: str, run: str) -> ShownColumn:
    def cell(row: Fields) -> Cell:
        if row[run] is None:
            return Estimate(None, reason=visible(row["reason"] or "no value", limit=160))
        return Spelled(number(row[run], 4), row[run])

    return ShownColumn(head, cell)


# ---- the order of metrics -----------------------------------------------------------------------------


def order_section(comparison: RunComparison) -> Section:
    """Return comparisons of metrics that flipped, and click metrics with another highest metric."""
    highest = shown_table(
        "highest", "Click metrics with another best metric in the second run", comparison.highest,
        _name("Click metric", "click_metric"),
        (
            _name("Highest in A", "highest_a"), _correlation("its correlation in A", "correlation_a"),
            _name("Highest in B", "highest_b"), _correlation("its correlation in B", "correlation_b"),
            ShownColumn("Significant in both", lambda row: "yes" if row["significant"] else "no"),
        ),
        group=_sample, explained=False,
    )  # fmt: skip
    flips = shown_table(
        "flips", "Comparisons that flipped", comparison.flips,
        ShownColumn("Metrics", lambda row: f"{visible(row['metric_a'])} and {visible(row['metric_b'])}"),
        (
            _correlation("Difference in A", "difference_a"), p_value("adjusted p in A", "p_adjusted_a"),
            _correlation("Difference in B", "difference_b"), p_value("adjusted p in B", "p_adjusted_b"),
            field("What happened", "what"),
        ),
        group=lambda row: f"{_sample(row)}, {visible(row['click_metric'])}", explained=False, most=40,
    )  # fmt: skip
    if highest.rows or flips.rows:
        reading = (
            "Comparisons whose winner differs between the runs. A comparison that is significant in one run "
            "only is not evidence of a change: its p-value may have gone from 0.04 to 0.06."
        )
    else:
        reading = "No comparison of two metrics flipped, and the same metrics have the highest correlations."
    return Section("order", "The order of metrics", (reading,), tables=(highest, flips))


def _name(head: str, name: str) -> ShownColumn:
    return ShownColumn(head, lambda row: visible(row[name]))


def _correlation(head: str, name: str) -> ShownColumn:
    return ShownColumn(head, lambda row: None if row[name] is None else Spelled(number(row[name]), row[name]))


# ---- pictures -----------------------------------------------------------------------------------


def is_share(name: str) -> bool:
    """Return whether a metric lies in 0..1 by its definition: only such means fit one picture."""
    clicks = {metric.name: metric.high for metric in CLICKS}
    if name in clicks:
        return clicks[name] == 1
    try:
        return parse(name, METRICS).metric.high == 1
    except SettingsError:  # a column that this version does not know
        return False


def means_figures(rows: pl.DataFrame, key: SampleKey) -> Iterator[Figure]:
    """Yield a picture of the means of metrics of one sample, and one for click metrics."""
    for name, column, title in (
        ("means", "editorial_metric", "Means of metrics"),
        ("click-means", "click_metric", "Means of click metrics"),
    ):
        own = key.rows(rows).filter(pl.col(column).is_not_null())
        drawn = [row for row in _changes(own, column) if is_share(row.name)]
        yield from _figure(name, f"{title}, {key.label}", "Mean over the sessions", drawn, name)


def _changes(rows: pl.DataFrame, column: str) -> list[ChangedNumber]:
    changes = []
    for row in rows.drop_nulls(["a", "b"]).iter_rows(named=True):
        change = Estimate(row["change"], row["ci_low"], row["ci_high"])
        is_beyond, status = row["status"] == compared.BEYOND, words.status_words(row)
        changes.append(ChangedNumber(visible(row[column]), row["a"], row["b"], change, is_beyond, status))
    return changes


def _figure(name: str, title: str, axis: str, rows: Sequence[ChangedNumber], table: str) -> Iterator[Figure]:
    if not rows:
        return
    ordered = sorted(rows, key=lambda row: (-row.before, row.name))[:MOST_DRAWN]
    texts = (
        f"{row.name} from {number(row.before)} to {number(row.after)} ({row.verdict})" for row in ordered
    )
    drawing = changed_numbers(ordered, head="Metric", axis=axis)
    yield Figure(name, title, f"{title}, in run A and in run B: {', '.join(texts)}.", drawing, table)
