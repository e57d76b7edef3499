"""Two virtual rankers (Algorithm 3 of Chapelle et al. 2009): Table 6, simulated and in closed form."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from clickassay.core.contracts.correlation import DIFFERENCE_COMPARISONS
from clickassay.core.records import SampleKey
from clickassay.core.text.words import count, listed, number, plural, sentence, visible
from clickassay.findings.claims import Claim
from clickassay.findings.draw import Findings, nothing_kept_reason
from clickassay.findings.estimates import Estimate, estimate, not_computed
from clickassay.findings.run import Run, in_order
from clickassay.report.cells import Row, Share
from clickassay.report.charts.marks import IntervalHeads, common_domain, intervals
from clickassay.report.model import (
    Figure,
    ReportTable,
    Section,
    by_pair,
    noise_corrected,
    shown_samples,
    title_suffix,
)
from clickassay.report.sections.correlation.comparisons import pairs_table
from clickassay.report.sections.correlation.ranker_draws import draw_histograms, draws_figures, draws_table
from clickassay.report.verdict.sentences import second_finding
from clickassay.report.verdict.words import interval_text

EXACT_HEADS = ("Closed form", "Monte Carlo", "Its standard error", "Noise-corrected", "Sign agreement")
_MAX_ERRORS = 2.0
"""Standard errors within which a simulated value should lie about 95 times in 100."""


def differences_section(run: Run, findings: Findings) -> Section:
    """Table 6: the closed form with its interval, the simulation, noise correction, sign agreement."""
    own = run.headline_rows("differences")
    tables = (
        ReportTable(
            "table6_differences",
            f"Table 6. Differences of two virtual rankers{title_suffix(run, *run.headline_samples)}",
            "Editorial metric",
            EXACT_HEADS,
            _exact_rows(run, own),
            data=run.frames["differences"],
            group_head="Click metric",
            notes=_beyond_one(own),
        ),
        ReportTable(
            "table6_samples",
            f"Closed form with {run.click}",
            "Sample",
            run.editorial,
            _sample_rows(run),
        ),
        pairs_table(
            run,
            DIFFERENCE_COMPARISONS,
            "table6_comparisons",
            f"Differences between metrics in the closed form with {run.click}",
        ),
    )
    known = own.filter(pl.col("exact").is_not_null())
    histograms = draw_histograms(run, findings.correlation.ranking)
    figures = (*_figures(run, known), *(draws_figures(histograms) if run.settings.full else ()))
    return Section(
        "differences",
        "Choosing between two rankings",
        _reading(run, own, known, findings.differences),
        figures,
        legend=_legend(run) if figures else (),
        folded=(*tables, draws_table(run, histograms)),
    )


def _beyond_one(own: pl.DataFrame) -> tuple[str, ...]:
    beyond = own.filter(pl.col("noise_corrected").abs() > 1).height
    if not beyond:
        return ()
    return (
        f"{plural(beyond, 'noise-corrected value')} beyond 1: there, the log has too few sessions to "
        "separate the noise of clicks from real differences.",
    )


def _legend(run: Run) -> tuple[tuple[str, str], ...]:
    iterations = count(run.settings.iterations)
    return (
        ("dot", "closed form, with 95 % interval"),
        ("diamond", f"{iterations} random iterations"),
        *((("bar-on", "the darker, the more of these iterations lie there"),) if run.settings.full else ()),
    )


def _exact_rows(run: Run, own: pl.DataFrame) -> tuple[Row, ...]:
    return tuple(
        Row(
            row["click_metric"],
            row["editorial_metric"],
            (
                estimate(row, "exact"),
                _value(row, "monte_carlo"),
                _value(row, "monte_carlo_se"),
                noise_corrected(row),
                Share(row["sign_agreement"]),
            ),
        )
        for row in _ordered(run, own)
    )


def _value(row: Mapping[str, Any], column: str) -> Estimate:
    reason = None if row[column] is not None else visible(row["reason"] or "no value", limit=160)
    return Estimate(row[column], reason=reason)


def _ordered(run: Run, frame: pl.DataFrame) -> list[dict[str, Any]]:
    known = run.frames["differences"]["editorial_metric"].unique().to_list()
    place = {name: at for at, name in enumerate(in_order(known, run.editorial))}
    clicks = {name: at for at, name in enumerate(run.clicks)}
    return sorted(
        frame.iter_rows(named=True),
        key=lambda row: (clicks.get(row["click_metric"], 99), place.get(row["editorial_metric"], 99)),
    )


def _sample_rows(run: Run) -> tuple[Row, ...]:
    def row(sample: SampleKey) -> Row:
        found = by_pair(sample.rows(run.frames["differences"]), "exact")
        cells = tuple(found.get((run.click, name), not_computed()) for name in run.editorial)
        return Row("", sample.label, cells)

    return tuple(row(sample) for sample in shown_samples(run))


def _figures(run: Run, known: pl.DataFrame) -> tuple[Figure, ...]:
    rows = _ordered(run, known)
    domain = common_domain([estimate(row, "exact") for row in rows], known["monte_carlo"].to_list())
    return tuple(
        _figure(place, click, [row for row in rows if row["click_metric"] == click], domain)
        for place, click in enumerate(_headline_first(run, _drawn_clicks(run, known)))
    )


def _drawn_clicks(run: Run, known: pl.DataFrame) -> list[str]:
    there = set(known["click_metric"])
    return [name for name in run.clicks if name in there]


def _headline_first(run: Run, clicks: Sequence[str]) -> list[str]:
    return sorted(in_order(clicks, run.clicks), key=lambda click: click != run.click)


def _figure(place: int, click: str, rows: Sequence[Mapping[str, Any]], domain: tuple[float, float]) -> Figure:
    estimates = {row["editorial_metric"]: estimate(row, "exact") for row in rows}
    runs = {row["editorial_metric"]: row["monte_carlo"] for row in rows}
    values = ", ".join(f"{name} {number(one.value)}" for name, one in estimates.items())
    texts = IntervalHeads(f"Correlation of differences in {click}")
    drawing = intervals(tuple(estimates), estimates, texts, domain=domain, diamonds=runs)
    return Figure(
        f"differences-{place}",
        click,
        f"Differences in {click}, closed form: {values}.",
        drawing,
        "table6_differences",
    )


def _reading(run: Run, own: pl.DataFrame, known: pl.DataFrame, claim: Claim) -> tuple[str, ...]:
    if known.is_empty():
        none = nothing_kept_reason(run) if run.headline is None else "nothing was computed"
        why = listed(sorted(map(visible, own["reason"].drop_nulls().unique()))) or none
        return (sentence(f"There is nothing to show: {why}"),)
    subject = known.filter(click_metric=run.click, editorial_metric=claim.subject or "")
    noise = (_noise_corrected_sentence(claim.subject, row) for row in subject.iter_rows(named=True))
    return (*second_finding(claim).reading, *noise, _simulation_sentence(run, known))


def _noise_corrected_sentence(name: str | None, row: Mapping[str, Any]) -> str:
    corrected = noise_corrected(row)
    if corrected.value is None or abs(corrected.value) > 1 or not corrected.has_interval:
        return (
            f"How much higher the correlation of {name} would be with infinitely many sessions cannot be "
            "estimated: the log has too few sessions to separate the noise of clicks from real differences."
        )
    return (
        f"With infinitely many sessions, the correlation of {name} would be {number(corrected.value)} "
        f"({interval_text(corrected)}; as an estimate, it may be above 1)."
    )


def _simulation_sentence(run: Run, known: pl.DataFrame) -> str:
    both = known.filter(pl.col("monte_carlo").is_not_null(), pl.col("monte_carlo_se") > 0)
    near = both.filter(
        (pl.col("monte_carlo") - pl.col("exact")).abs() <= _MAX_ERRORS * pl.col("monte_carlo_se")
    ).height
    iterations = count(run.settings.iterations)
    return (
        f"Algorithm 3 with {iterations} random iterations estimates the closed form: its value lies within "
        f"two standard errors of it in {near} of {plural(both.height, 'case')}. All cases share the same "
        "draws, so their errors are correlated."
    )
