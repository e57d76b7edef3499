"""Clicks free of position bias (IPS): their correlations, the examination they rest on, their limit."""

from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.text.words import visible
from clickassay.findings.estimates import Estimate, estimate, not_computed
from clickassay.findings.run import Run
from clickassay.metrics.catalogue import BASELINES
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
    "IPS has no value within queries, no rank and no part in the decision: users who stop at a good "
    "result look further down a list whose first ones are bad; IPS counts their clicks there for more, and "
    "prefers the worse order of the same results."
)
ERRORS = (
    "Relative to the first position, in all lists alike, whatever stands above; intervals of IPS contain its "
    "error."
)


def position_bias_sections(run: Run) -> tuple[Section, ...]:
    """Show correlations with IPS next to the headline click metric; no section where it was not asked for."""
    if run.tables["position_bias"].is_empty() or run.headline is None:
        return ()
    every = run.headline.rows(run.competing("correlations")).filter(split=EVERY)
    of_ips, of_clicks = (
        {row["editorial_metric"]: estimate(row) for row in every.filter(click_metric=click).to_dicts()}
        for click in (IPS, run.click)
    )
    rows = tuple(
        Row("", visible(name), (of_ips[name], of_clicks.get(name, not_computed())))
        for name in dict.fromkeys((*run.editorial, *BASELINES))
        if name in of_ips
    )
    title = f"Correlation over all queries with IPS, and with {run.click}"
    table = ReportTable("ips", title, "Metric", (IPS, run.click), rows)
    if any(one.value is not None for one in of_ips.values()):
        return (
            Section("position_bias", TITLE, (LIMIT, MEANING), tables=(table,), folded=(_positions(run),)),
        )
    why = next((one.reason for one in of_ips.values()), None) or "it was not computed"
    return (
        Section(
            "position_bias", TITLE, (f"IPS has no value: {why}.", MEANING, LIMIT), folded=(_positions(run),)
        ),
    )


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
