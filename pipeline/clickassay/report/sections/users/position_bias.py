"""Clicks free of position bias (IPS): which metric they prefer, the examination they rest on, their limit."""

from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.text.words import number, visible
from clickassay.findings.estimates import Estimate
from clickassay.findings.question import deciding
from clickassay.findings.ranking import Ranking
from clickassay.findings.run import Run
from clickassay.metrics.clicks import IPS
from clickassay.report.cells import Row
from clickassay.report.model import ReportTable, Section

TITLE = "Clicks free of position bias (IPS)"
MEANING = (
    "IPS counts a click as 1 / examination of its position, as the clicks of the other half of the users "
    "tell it from results that they saw at several positions. If examination depends on the position alone, "
    "IPS depends on which results a list shows, not on where they stand."
)
LIMIT = (
    "IPS tells which results are good, and cannot prefer one order of the same results: metrics that look at "
    "no order gain by it, so it is not part of the decision."
)
ERRORS = (
    "Relative to the first position, in all lists alike, whatever stands above; intervals of IPS contain its "
    "error."
)


def position_bias_sections(run: Run) -> tuple[Section, ...]:
    """Show what IPS prefers next to the headline click metric; no section where it was not asked for."""
    if run.tables["position_bias"].is_empty() or run.headline is None:
        return ()
    decided = deciding(run, run.headline)
    ranking, clicks = (decided.rank(run, click) for click in (IPS, run.click))
    return (
        Section(
            "position_bias",
            TITLE,
            (_first_sentence(ranking, clicks), MEANING, *(() if ranking.competitors else (LIMIT,))),
            tables=(_metrics(ranking, clicks),) if ranking.competitors else (),
            folded=(_positions(run),),
        ),
    )


def _first_sentence(ranking: Ranking, clicks: Ranking) -> str:
    if not ranking.competitors:
        return f"IPS has no value: {visible(ranking.reason or 'no metric has one', limit=300)}."
    best = ranking.highest
    text = f"{best} has the highest {ranking.quantity} with IPS, {number(ranking.competitors[best].value)}"
    if not clicks.competitors:
        return f"{text}."
    other = clicks.highest
    return f"{text}; with {clicks.click} {'it has too' if other == best else f'it is {other}'}."


def _metrics(ranking: Ranking, clicks: Ranking) -> ReportTable:
    names = list(dict.fromkeys((*ranking.competitors, *clicks.competitors)))
    none = Estimate(None, reason=visible(ranking.reason or "no value", limit=160))
    rows = tuple(
        Row("", visible(name), (ranking.values.get(name, none), clicks.values.get(name, none)))
        for name in names
    )
    title = f"{ranking.quantity.capitalize()} with IPS, and with {clicks.click}"
    return ReportTable("ips", title, "Metric", (IPS, clicks.click), rows, notes=(LIMIT,))


def _positions(run: Run) -> ReportTable:
    """Return the examination of each position, as either half of the users tells it."""
    own = run.tables["position_bias"]
    headline = run.headline
    chosen = own["market"][0] if headline is None or headline.market not in own["market"] else headline.market
    rows = own.filter(market=chosen)
    halves = rows["users"].unique().sort().to_list()
    by_place = rows.partition_by("position", as_dict=True, maintain_order=True)
    where = "" if chosen == EVERY else f", market {visible(chosen)}"
    return ReportTable(
        "position_bias",
        f"Examination of positions by users of even folds and of odd folds{where}",
        "Position",
        tuple(f"{half} folds" for half in halves),
        tuple(Row("", str(place), _cells(found, halves)) for (place,), found in sorted(by_place.items())),
        notes=(ERRORS,),
        data=own,
    )


def _cells(found: pl.DataFrame, halves: list[str]) -> tuple[Estimate, ...]:
    by_half = {row["users"]: row for row in found.iter_rows(named=True)}
    return tuple(_examination(by_half[half]) for half in halves)


def _examination(row: dict[str, Any]) -> Estimate:
    value, error = row["examination"], row["log_error"]
    if value is None or error is None:
        return Estimate(None, reason=visible(row["reason"] or "clicks do not tell", limit=160))
    if not error:  # the first position is 1 by definition
        return Estimate(value)
    spread = pl.Series([-1.96 * error, 1.96 * error]).exp() * value
    return Estimate(value, *spread)
