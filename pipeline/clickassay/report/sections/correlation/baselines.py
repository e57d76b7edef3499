"""Baselines: simple metrics next to the best one, and SS if clicks ignored the grades."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import SAMPLE_COLUMNS, SampleKey
from clickassay.core.text.words import capital, listed, number
from clickassay.correlation.uncertainty.intervals import ALPHA
from clickassay.findings.estimates import Estimate, estimate, not_computed
from clickassay.findings.ranking import Lead, Ranking, rank, rank_within
from clickassay.findings.run import Run
from clickassay.metrics.catalogue import BASELINES
from clickassay.report.cells import Cell, Row, p_cell
from clickassay.report.model import ReportTable, Section, by_pair, shown_samples
from clickassay.report.verdict.words import BASELINE_MEANINGS, adds_text, caution_sentence, test_text

ORDER_BLIND = BASELINES[0]
BASELINE_HEADS = (
    *(capital(BASELINE_MEANINGS[name]) for name in BASELINES),
    "Best metric",
    "Its name",
    "Above the mean grade by",
    "Adjusted p",
)


def baselines_section(run: Run) -> Section:
    """Compare the best metric with the baselines, and SS with its value if clicks ignored the grades."""
    plain = run.of_baselines("correlations").filter(split=EVERY)
    shown = [sample for sample in shown_samples(run) if sample.rows(plain).height]
    ss = run.frames["correlations"].filter(split=EVERY, click_metric="SS")
    nulls = tuple(row for sample in shown_samples(run) for row in _null_rows(run, sample, sample.rows(ss)))
    tables = (
        ReportTable(
            "baselines",
            f"Correlation of the baselines with {run.click}, and of the best metric",
            "Sample",
            BASELINE_HEADS,
            tuple(Row("", sample.label, _baseline_cells(run, sample)) for sample in shown),
            data=plain,
        ),
        ReportTable(
            "ss_null",
            "Correlation of SS: observed, and if clicks ignored the grades",
            "SS",
            run.editorial,
            nulls,
            data=ss.select(
                *SAMPLE_COLUMNS, "click_metric", "editorial_metric", "correlation", "null_correlation"
            ),
        ),
    )
    return Section("baselines", "Baselines: what would correlate anyway", _reading(run, shown), tables=tables)


def _baseline_cells(run: Run, sample: SampleKey) -> tuple[Cell, ...]:
    values = baseline_values(run, sample).values()
    ranking = rank(run, sample)
    if not ranking.values:
        return (*values, not_computed(), None, not_computed(), None)
    added = _lead(ranking, ORDER_BLIND)
    return (*values, ranking.top, ranking.best, added.estimate, p_cell(added.p_adjusted))


def baseline_values(run: Run, sample: SampleKey) -> dict[str, Estimate]:
    """Return the correlations of the baselines with the headline click metric, by name."""
    plain = by_pair(sample.rows(run.of_baselines("correlations")).filter(split=EVERY))
    return {name: plain.get((run.click, name), not_computed()) for name in BASELINES}


def _lead(ranking: Ranking, baseline: str) -> Lead:
    """Return how much higher than a baseline the best metric correlates with the headline click metric."""
    return ranking.leads.get(baseline, Lead(Estimate(None, reason="not compared")))


def _null_rows(run: Run, sample: SampleKey, rows: pl.DataFrame) -> tuple[Row, ...]:
    by_metric: dict[str, dict[str, Any]] = {
        row["editorial_metric"]: row for row in rows.iter_rows(named=True)
    }
    if not by_metric:
        return ()
    observed = tuple(estimate(by_metric.get(name)) for name in run.editorial)
    null = tuple(_null(by_metric.get(name)) for name in run.editorial)
    lines = {"observed": observed, "if clicks ignored grades": null}
    return tuple(Row(sample.label, name, cells) for name, cells in lines.items())


def _null(row: dict[str, Any] | None) -> Estimate:
    value = None if row is None else row["null_correlation"]
    return not_computed() if value is None else Estimate(value)


def _reading(run: Run, shown: Sequence[SampleKey]) -> tuple[str, ...]:
    if run.headline is None or run.headline not in shown:
        return ("There is nothing to compare with: no configuration was kept.",)
    return (*_baseline_sentences(run, run.headline), _null_text(run, run.headline))


def _baseline_sentences(run: Run, sample: SampleKey) -> tuple[str, ...]:
    """Return the values of the baselines, whether the best metric is above them, and what metrics add."""
    baselines = baseline_values(run, sample).items()
    values = listed(f"{BASELINE_MEANINGS[name]} {number(one.value)}" for name, one in baselines)
    text = f"Correlation with {run.click} at {sample.label}: {values}."
    ranking = rank(run, sample)
    if not ranking.values:
        return (text,)
    best = ranking.best
    text += f" The best metric, {best}, has {number(ranking.top.value)}. {_verdict(ranking)}"
    return (text, *_order_sentence(_lead(ranking, ORDER_BLIND), best), *_within_queries(run))


def _within_queries(run: Run) -> tuple[str, ...]:
    """Return what metrics add to each baseline within queries."""
    if run.headline_place is None:
        return ()
    ranking = rank_within(run, run.headline_place)
    texts = [text for name in ranking.baselines if (text := adds_text(ranking, name))]
    return (f"Within queries: {' '.join(texts)}",) if texts else ()


def _verdict(ranking: Ranking) -> str:
    not_beaten = [f"the {BASELINE_MEANINGS[name]}" for name in BASELINES if not _lead(ranking, name).is_ahead]
    if not_beaten:
        return f"It is not significantly above {listed(not_beaten, 'or')}."
    return f"It is significantly above all of them (adjusted p < {ALPHA})."


def _order_sentence(added: Lead, best: str) -> tuple[str, ...]:
    """Return how far the best metric is above one that ignores the order of results."""
    if added.value is None:
        return ()
    return (
        f"The mean grade ignores the order of results; the correlation of {best} is higher by "
        f"{number(added.value)} ({test_text(added)}).{caution_sentence(added.estimate)}",
    )


def _null_text(run: Run, sample: SampleKey) -> str:
    """Return how high the correlations of SS would be if clicks ignored the grades."""
    text = (
        "SS is 1 if a clicked result has a good grade. So it correlates with editorial metrics even if "
        "clicks ignore the grades; for the other click metrics, this correlation would be 0."
    )
    known = [pl.col(name).is_not_null() for name in ("correlation", "null_correlation")]
    ss = sample.rows(run.frames["correlations"]).filter(*known, split=EVERY, click_metric="SS")
    if ss.is_empty():
        return text
    top = ss.sort("correlation", "editorial_metric", descending=True).row(0, named=True)
    return (
        f"{text} That of {top['editorial_metric']} is {number(top['correlation'])}; if clicks ignored the "
        f"grades it would be {number(top['null_correlation'])}. So SS compares no metrics."
    )
