"""Correlations of click and editorial metrics: Table 2 and Table 3."""

import re
from collections.abc import Mapping, Sequence

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import SampleKey
from clickassay.core.text.words import capital, number
from clickassay.findings.estimates import Estimate, not_computed
from clickassay.findings.run import Run
from clickassay.report.cells import Row
from clickassay.report.charts.marks import heat_map
from clickassay.report.model import (
    Figure,
    ReportTable,
    Section,
    by_pair,
    group_heading,
    noise_corrected,
    other_samples,
    other_samples_table,
    shown_samples,
    title_suffix,
)

NO_CORRELATIONS = "There is no correlation to show: no sample has configurations to compare."
HEAT_LEGEND = (("cell-up", "positive"), ("cell-down", "negative"), ("bold", "highest in its row"))
QCTR_NOTE = (
    "QCTR comes last: Chapelle et al. (2009) found its correlations slightly negative and left it out of "
    "their tables."
)
NOISE_CORRECTED_NOTE = (
    "Clicks in few sessions are noisy, and this noise lowers every correlation. Here it is removed: these "
    "are estimates of what the same configurations would show with infinitely many sessions. As estimates, "
    "they may be above 1."
)
_BINARY = ("AP", "RR")
_VARIANT = re.compile(r"^(AP|RR)\(rel=(\d+)\)$")


def correlations_section(run: Run) -> Section:
    """Table 2: every click metric against every editorial metric, per sample."""
    known = {sample: by_pair(run.correlations(sample)) for sample in shown_samples(run)}
    drawn = {sample: cells for sample, cells in known.items() if cells}
    pictured = list(drawn.items())[: None if run.settings.full else 1]
    figures = tuple(_heat_figure(run, place, *one) for place, one in enumerate(pictured))
    table = ReportTable(
        "table2_correlations",
        "Table 2. Weighted correlation, with 95 % interval",
        "Click metric",
        run.editorial,
        tuple(row for sample, cells in drawn.items() for row in _metric_rows(run, sample, cells)),
        data=run.frames["correlations"].filter(split=EVERY),
    )
    return Section(
        "correlations",
        "Which metric correlates with which click metric",
        _correlations_reading(run) if drawn else (NO_CORRELATIONS,),
        figures,
        legend=HEAT_LEGEND if figures else (),
        folded=(table, _noise_corrected_table(run, tuple(drawn))),
    )


def _noise_corrected_table(run: Run, samples: Sequence[SampleKey]) -> ReportTable:
    """Return the noise-corrected correlations; the CSV of Table 2 holds them too."""
    rows = []
    for sample in samples:
        cells = {
            (row["click_metric"], row["editorial_metric"]): noise_corrected(row)
            for row in run.correlations(sample).iter_rows(named=True)
        }
        rows += _metric_rows(run, sample, cells)
    return ReportTable(
        "table2_noise_corrected",
        "Table 2, noise-corrected (as with infinitely many sessions), with 95 % interval",
        "Click metric",
        run.editorial,
        tuple(rows),
        notes=(NOISE_CORRECTED_NOTE,) if rows else (),
    )


def _metric_rows(run: Run, sample: SampleKey, cells: Mapping[tuple[str, str], Estimate]) -> list[Row]:
    return [
        Row(sample.label, click, tuple(cells.get((click, name), not_computed()) for name in run.editorial))
        for click in _present(run.clicks, cells, 0)
    ]


def _heat_figure(
    run: Run, place: int, sample: SampleKey, cells: Mapping[tuple[str, str], Estimate]
) -> Figure:
    return Figure(
        f"correlations-{place}",
        capital(sample.label),
        _heat_map_text(run, sample, cells),
        heat_map(cells, _present(run.clicks, cells, 0), _present(run.editorial, cells, 1)),
        "table2_correlations",
    )


def _present(names: Sequence[str], cells: Mapping[tuple[str, str], Estimate], side: int) -> tuple[str, ...]:
    there = {pair[side] for pair in cells}
    return tuple(name for name in names if name in there)


def _heat_map_text(run: Run, sample: SampleKey, cells: Mapping[tuple[str, str], Estimate]) -> str:
    parts = [
        f"{click}: "
        + ", ".join(
            f"{name} {number(cells[click, name].value)}" for name in run.editorial if (click, name) in cells
        )
        for click in _present(run.clicks, cells, 0)
    ]
    return f"Heat map of correlations at {sample.label}. {'; '.join(parts)}."


def _correlations_reading(run: Run) -> tuple[str, ...]:
    shown = pl.col("click_metric").is_in(run.clicks)
    known = run.frames["correlations"].filter(pl.col("correlation").is_not_null(), shown, split=EVERY)
    if known.is_empty():
        return ("No correlation has a value; the reasons are under the table.", QCTR_NOTE)
    top = known.sort("correlation", descending=True, maintain_order=True).row(0, named=True)
    return (
        f"The highest of these correlations is {number(top['correlation'])}: {top['editorial_metric']} with "
        f"{top['click_metric']} at {SampleKey.of(top).label}. Rows share sessions and clicks: that a metric "
        "is highest in many of them is no evidence by itself.",
        QCTR_NOTE,
    )


def good_section(run: Run) -> Section:
    """Table 3: AP and RR, by the lowest grade that counts as relevant."""
    there = set(run.frames["correlations"]["editorial_metric"])
    families = _families([name for name in run.editorial if name in there])
    names = tuple(name for family in families for name in family)
    data = run.frames["correlations"].filter(pl.col("editorial_metric").is_in(names), split=EVERY)
    table_title = "Table 3. AP and RR by the lowest grade that counts as relevant"
    own = ReportTable(
        "table3_good",
        table_title + title_suffix(run, *run.headline_samples),
        "Click metric",
        names,
        _good_rows(run, run.headline_samples, names),
        data=data,
    )
    rest = ReportTable(
        "table3_samples", table_title, "Click metric", names, _good_rows(run, other_samples(run), names)
    )
    return Section(
        "good",
        "Does the relevance threshold matter?",
        (_good_reading(run, families),),
        tables=(own,),
        folded=other_samples_table(rest),
        fold_words="Other samples",
    )


def _good_rows(run: Run, samples: Sequence[SampleKey], names: Sequence[str]) -> tuple[Row, ...]:
    return tuple(
        Row(
            group_heading(run, sample),
            click,
            tuple(cells.get((click, name), not_computed()) for name in names),
        )
        for sample in samples
        if names and (cells := by_pair(run.correlations(sample)))
        for click in _present(run.clicks, cells, 0)
    )


def _families(editorial: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return AP and RR, each with its variants of another relevance threshold, the lowest last."""
    matches = filter(None, map(_VARIANT.match, editorial))
    variants = sorted((match[1], -int(match[2]), match[0]) for match in matches)
    families = ((base, *(name for other, _, name in variants if other == base)) for base in _BINARY)
    return tuple(family for family in families if len(family) > 1)


def _good_reading(run: Run, families: Sequence[tuple[str, ...]]) -> str:
    if not families:
        return (
            "There is nothing to show: the run has no variant of AP or RR with another relevance threshold."
        )
    cells = {} if run.headline is None else by_pair(run.correlations(run.headline))
    values = [
        [(name, cells.get((run.click, name), not_computed()).value) for name in each] for each in families
    ]
    known = [[f"{name} {number(value)}" for name, value in each if value is not None] for each in values]
    changes = [", ".join(texts) for texts in known if len(texts) > 1]
    if not changes or run.headline is None:
        return f"There is nothing to compare: AP and RR have no correlation with {run.click}."
    relevant = run.grade_label(run.settings.relevant_grade)
    return (
        f"Correlation with {run.click} at {run.headline.label}, by the lowest grade that counts as relevant: "
        f"{'; '.join(changes)}. AP and RR without a threshold take “{relevant}”."
    )
