"""Two virtual rankers (Algorithm 3 of Chapelle et al. 2009): Table 6, faithful and exact."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from pipeline.report.charts import common_domain, intervals
from pipeline.report.findings import nothing_kept
from pipeline.report.model import (
    HEADLINE_CLICK,
    Estimate,
    Figure,
    Row,
    Run,
    SampleKey,
    Section,
    Share,
    Table,
    by_pair,
    estimate,
    in_order,
)
from pipeline.report.words import count, listed, number, percent, plural, sentence, visible

EXACT_HEADS = ("Closed form", "Monte Carlo", "its standard error", "Noise-corrected", "Sign agreement")
_WITHIN = 2.0
"""Standard errors within which a random run should lie about 95 times in 100."""


def differences_section(run: Run) -> Section:
    """Table 6: intervals around the closed form, the random run, noise correction, sign agreement."""
    data = run.frames["differences"]
    own = data.head(0) if run.headline is None else run.headline.rows(data)
    tables = (
        Table(
            "table6_differences",
            f"Table 6. Differences of two virtual rankers{run.at(*run.own)}",
            "Editorial metric",
            EXACT_HEADS,
            _exact_rows(run, own),
            data=data,
            notes=_beyond_one(own),
        ),
        Table(
            "table6_samples",
            f"Closed form with {HEADLINE_CLICK}",
            "Sample",
            run.editorial,
            _sample_rows(run),
        ),
    )
    known = own.filter(pl.col("exact").is_not_null())
    figures = _figures(run, known)
    return Section(
        "differences",
        "Choosing between two rankings",
        _reading(run, own, known),
        figures,
        legend=_legend(run) if figures else (),
        folded=tables,
    )


def _beyond_one(own: pl.DataFrame) -> tuple[str, ...]:
    beyond = own.filter(pl.col("noise_corrected").abs() > 1).height
    if not beyond:
        return ()
    return (
        f"{plural(beyond, 'noise-corrected value')} beyond 1, not drawn: there the log has too few sessions "
        "to tell the noise of clicks from their differences.",
    )


def _legend(run: Run) -> tuple[tuple[str, str], ...]:
    iterations = count(int(run.settings.get("iterations", 1000)))
    return (
        ("dot", "closed form, with 95 % interval"),
        ("diamond", f"{iterations} random iterations"),
        ("ring", "closed form with the noise of clicks taken out"),
    )


def _exact_rows(run: Run, own: pl.DataFrame) -> tuple[Row, ...]:
    return tuple(
        Row(
            f"{row['click_metric']}",
            row["editorial_metric"],
            (
                estimate(row, "exact"),
                _plain(row, "monte_carlo"),
                _plain(row, "monte_carlo_se"),
                _plain(row, "noise_corrected"),
                Share(row["sign_agreement"]),
            ),
        )
        for row in _ordered(run, own)
    )


def _plain(row: Mapping[str, Any], column: str) -> Estimate:
    reasons = {"noise_corrected": "no variance of clicks is left after noise correction"}
    reason = row["reason"] or reasons.get(column, "no value")
    return Estimate(row[column], reason=None if row[column] is not None else visible(reason, limit=160))


def _ordered(run: Run, frame: pl.DataFrame) -> list[dict[str, Any]]:
    place = {name: at for at, name in enumerate(_editorial(run))}
    clicks = {name: at for at, name in enumerate(run.clicks)}
    return sorted(
        frame.iter_rows(named=True),
        key=lambda row: (clicks.get(row["click_metric"], 99), place.get(row["editorial_metric"], 99)),
    )


def _editorial(run: Run) -> tuple[str, ...]:
    found = run.frames["differences"]["editorial_metric"].unique().to_list()
    return in_order(found, run.editorial)


def _sample_rows(run: Run) -> tuple[Row, ...]:
    def row(sample: SampleKey) -> Row:
        found = by_pair(sample.rows(run.frames["differences"]), "exact")
        absent = Estimate(None, reason="not computed")
        return Row(
            "", sample.label, tuple(found.get((HEADLINE_CLICK, name), absent) for name in run.editorial)
        )

    return tuple(row(sample) for sample in run.shown)


def _figures(run: Run, known: pl.DataFrame) -> tuple[Figure, ...]:
    everything = [estimate(row, "exact") for row in known.iter_rows(named=True)]
    known = known.with_columns(pl.when(pl.col("noise_corrected").abs() <= 1).then("noise_corrected"))
    marks = [*known["monte_carlo"].to_list(), *known["noise_corrected"].to_list()]
    domain = common_domain(everything, marks)
    rows = _ordered(run, known)
    return tuple(
        _figure(place, click, [row for row in rows if row["click_metric"] == click], domain)
        for place, click in enumerate(in_order(known["click_metric"].unique().to_list(), run.clicks))
    )


def _figure(place: int, click: str, rows: Sequence[Mapping[str, Any]], domain: tuple[float, float]) -> Figure:
    names = [row["editorial_metric"] for row in rows]
    estimates = {row["editorial_metric"]: estimate(row, "exact") for row in rows}
    marks = {
        row["editorial_metric"]: {"monte_carlo": row["monte_carlo"], "corrected": row["noise_corrected"]}
        for row in rows
    }
    words = ", ".join(f"{name} {number(estimates[name].value)}" for name in names)
    spec = intervals(names, estimates, domain=domain, marks=marks)
    return Figure(f"differences-{place}", click, f"Differences in {click}, closed form: {words}.", spec)


def _reading(run: Run, own: pl.DataFrame, known: pl.DataFrame) -> tuple[str, ...]:
    if known.is_empty():
        reasons = sorted({visible(reason) for reason in own["reason"].drop_nulls().to_list()})
        why = (
            listed(reasons)
            if reasons
            else nothing_kept(run)
            if run.headline is None
            else "nothing was computed"
        )
        return (sentence(f"There is nothing to show: {why}"),)
    rows = _ordered(run, known.filter(click_metric=HEADLINE_CLICK)) or _ordered(run, known)
    best = max(rows, key=lambda row: float(row["exact"]))
    text = (
        f"{best['editorial_metric']} sees differences in {best['click_metric']} best: "
        f"{number(best['exact'])} in the closed form, so in the limit both prefer the same ranker in "
        f"{percent(best['sign_agreement'])} of the cases"
    )
    if best["noise_corrected"] is not None and abs(best["noise_corrected"]) <= 1:
        text += f"; with endless sessions the correlation would be {number(best['noise_corrected'])}"
    return (sentence(text), _agreement(run, known))


def _agreement(run: Run, known: pl.DataFrame) -> str:
    both = known.filter(pl.col("monte_carlo").is_not_null(), pl.col("monte_carlo_se") > 0)
    near = both.filter(
        (pl.col("monte_carlo") - pl.col("exact")).abs() <= _WITHIN * pl.col("monte_carlo_se")
    ).height
    iterations = count(int(run.settings.get("iterations", 1000)))
    return (
        f"Algorithm 3 with {iterations} random iterations estimates the closed form: it lies within two "
        f"standard errors of it in {near} of {plural(both.height, 'case')}. All cases share the same draws, "
        "so they tend to err together."
    )
