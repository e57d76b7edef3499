"""What would show up anyway: plain baselines, and SS when clicks ignore the grades."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import SAMPLE_COLUMNS, SampleKey
from clickassay.core.text import capital, listed, number
from clickassay.metrics.catalogue import BASELINES
from clickassay.metrics.clicks import HEADLINE_CLICK
from clickassay.report.cells import Cell, Estimate, Row, absent, p_cell
from clickassay.report.findings import SURE, Lead, doubt, lead, rank, tested_words
from clickassay.report.model import Run, Section, Table, by_pair, estimate

MEANINGS = {
    "MeanGrade": "mean grade",
    "MeanGrade@1": "grade of the first result",
    "P@1": "relevance of the first result",
}
ORDER_BLIND = BASELINES[0]
BASELINE_HEADS = (
    *(capital(MEANINGS[name]) for name in BASELINES),
    "Best metric",
    "Which",
    "It adds to the mean grade",
    "Adjusted p",
)
LEFT_NOTE = "What is left has no interval: the value for clicks that ignore the grades is taken as known."


def yardsticks_section(run: Run) -> Section:
    """Plain baselines beside the best metric, what order adds, and SS when clicks ignore the grades."""
    plain = run.plain["correlations"].filter(split=EVERY)
    shown = [sample for sample in run.shown if sample.rows(plain).height]
    ss = run.frames["correlations"].filter(split=EVERY, click_metric="SS")
    nulls = tuple(row for sample in run.shown for row in _null_rows(run, sample, sample.rows(ss)))
    tables = (
        Table(
            "baselines",
            f"Correlation of {HEADLINE_CLICK} with plain baselines, and what the best metric adds",
            "Sample",
            BASELINE_HEADS,
            tuple(Row("", sample.label, _baseline_cells(run, sample)) for sample in shown),
            data=plain,
        ),
        Table(
            "ss_null",
            "Correlation of SS: observed, if clicks ignored the grades, and what is left",
            "SS",
            run.editorial,
            nulls,
            notes=(LEFT_NOTE,) if nulls else (),
            data=ss.select(
                *SAMPLE_COLUMNS,
                *("click_metric", "editorial_metric", "correlation", "null_correlation"),
                above_null=pl.col("correlation") - pl.col("null_correlation"),
            ),
        ),
    )
    return Section("yardsticks", "What would show up anyway", _reading(run, shown), tables=tables)


def _baseline_cells(run: Run, sample: SampleKey) -> tuple[Cell, ...]:
    found = baseline_values(run, sample).values()
    ranking = rank(run, sample)
    if not ranking.values:
        return (*found, absent(), None, absent(), None)
    added = gain(run, sample, ranking.best)
    return (*found, ranking.top, ranking.best, added, p_cell(added.p_adjusted))


def baseline_values(run: Run, sample: SampleKey) -> dict[str, Estimate]:
    """Return the correlations of the baselines with the headline click metric, by name."""
    plain = by_pair(sample.rows(run.plain["correlations"]).filter(split=EVERY))
    return {name: plain.get((HEADLINE_CLICK, name), absent()) for name in BASELINES}


def gain(run: Run, sample: SampleKey, metric: str, baseline: str = ORDER_BLIND) -> Lead:
    """Return how much better than a baseline a metric predicts the headline click metric."""
    rows = sample.rows(run.plain["comparisons"]).filter(click_metric=HEADLINE_CLICK)
    return lead(rows, metric, baseline) or Lead(None, reason="not compared")


def _null_rows(run: Run, sample: SampleKey, rows: pl.DataFrame) -> tuple[Row, ...]:
    by_metric: dict[str, dict[str, Any]] = {
        row["editorial_metric"]: row for row in rows.iter_rows(named=True)
    }
    if not by_metric:
        return ()
    observed = tuple(estimate(by_metric.get(name)) for name in run.editorial)
    null = tuple(_null(by_metric.get(name)) for name in run.editorial)
    left = tuple(
        absent() if a.value is None or b.value is None else Estimate(a.value - b.value)
        for a, b in zip(observed, null, strict=True)
    )
    told = {"observed": observed, "clicks ignore grades": null, "left above it": left}
    return tuple(Row(sample.label, name, cells) for name, cells in told.items())


def _null(row: dict[str, Any] | None) -> Estimate:
    value = None if row is None else row["null_correlation"]
    return absent() if value is None else Estimate(value)


def _reading(run: Run, shown: Sequence[SampleKey]) -> tuple[str, ...]:
    if run.headline is None or run.headline not in shown:
        return ("There is nothing to compare with: no configuration was kept.",)
    return (*_plain(run, run.headline), _null_words(run, run.headline))


def _plain(run: Run, sample: SampleKey) -> tuple[str, ...]:
    """Say what the baselines reach, whether the best metric is above them, and what order adds."""
    found = baseline_values(run, sample).items()
    told = listed(f"{MEANINGS[name]} {number(one.value)}" for name, one in found)
    text = f"Correlation with {HEADLINE_CLICK} at {sample.label}: {told}."
    ranking = rank(run, sample)
    if not ranking.values:
        return (text,)
    best = ranking.best
    text += f" The best metric, {best}, has {number(ranking.top.value)}. {_verdict(run, sample, best)}"
    return (text, *_order(gain(run, sample, best), best))


def _verdict(run: Run, sample: SampleKey, best: str) -> str:
    leads = {name: gain(run, sample, best, name) for name in BASELINES}
    not_beaten = [
        f"the {MEANINGS[name]}"
        for name, one in leads.items()
        if one.value is None or one.value <= 0 or not one.is_sure
    ]
    if not_beaten:
        return f"It cannot be told to be above {listed(not_beaten, 'or')}."
    return f"It is above them all (adjusted p < {SURE})."


def _order(added: Lead, best: str) -> tuple[str, ...]:
    """Say what a metric that knows the order of results adds to one that does not."""
    if added.value is None:
        return ()
    return (
        f"The mean grade knows no order of results; {best} adds {number(added.value)} to it "
        f"({tested_words(added)}).{doubt(added)}",
    )


def _null_words(run: Run, sample: SampleKey) -> str:
    """Say how much of the correlations of SS would be there if clicks ignored the grades."""
    text = (
        "SS asks whether a clicked result has a good grade. So it goes with editorial metrics even if clicks "
        "ignore the grades; for the other click metrics that is 0."
    )
    known = [pl.col(name).is_not_null() for name in ("correlation", "null_correlation")]
    ss = sample.rows(run.frames["correlations"]).filter(*known, split=EVERY, click_metric="SS")
    if ss.is_empty():
        return text
    ss = ss.with_columns(above=pl.col("correlation") - pl.col("null_correlation"))
    ss = ss.sort("correlation", "editorial_metric", descending=True)
    top = ss.row(0, named=True)
    most = ss.sort("above", descending=True, maintain_order=True).row(0, named=True)
    return (
        f"{text} {top['editorial_metric']} goes best with SS, {number(top['correlation'])}; with clicks that "
        f"ignore the grades it would be {number(top['null_correlation'])}. {_furthest(most)}"
    )


def _furthest(row: Mapping[str, Any]) -> str:
    if row["above"] <= 0:
        return "No metric is above that value."
    return f"{row['editorial_metric']} is furthest above that value, by {number(row['above'])}."
