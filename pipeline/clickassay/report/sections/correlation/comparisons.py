"""Which editorial metrics differ significantly in how well they predict clicks."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from clickassay.core.contracts.correlation import COMPARISONS
from clickassay.core.contracts.form import Table as Contract
from clickassay.core.text.words import MINUS, count, number, plural, signed, span
from clickassay.correlation.uncertainty.intervals import ALPHA
from clickassay.findings.draw import Findings
from clickassay.findings.estimates import Estimate, estimate
from clickassay.findings.ranking import Lead, Ranking, groups, lead_from_row, letters
from clickassay.findings.run import Run
from clickassay.metrics.catalogue import BASELINES
from clickassay.report.cells import Cell, Row, p_cell
from clickassay.report.charts.marks import IntervalHeads, common_domain, intervals
from clickassay.report.model import Figure, ReportTable, Section, title_suffix
from clickassay.report.verdict.sentences import first_finding
from clickassay.report.verdict.words import (
    caution_sentence,
    needed_text,
    queries_needed_cell,
    significance_text,
    test_text,
)

LEAD_LEGEND = (("dot", "significantly different"), ("ring", "not significantly different"))
TOGETHER = IntervalHeads(
    "Difference; lines hold for all pairs at once (95 %)", reach="Interval for all pairs at once"
)
HEADS = ("Difference", "p-value", "Adjusted p", "Significant", "Queries needed")
LETTERS_NOTE = "Metrics that share a letter are not significantly different from each other."
NEEDED_NOTE = (
    "Queries needed: this many judged queries detect such a difference 4 times out of 5 (power 80 %), in "
    "a test at 0.05 divided by the pairs of the family (Bonferroni). The fewest are for the far end of the "
    "interval, the most for its near end; where the interval contains 0 there is no most. Out of reach: more "
    "than 100 times the queries of this run."
)
FAMILY = (
    "Two metrics are significantly different when the adjusted p-value (Holm) is below 0.05. This keeps the "
    "probability of any false alarm at 5 % among all pairs of one market, depth, judge and click metric, "
    "baselines included. An interval holds for its own pair only: it may exclude 0 although the pair is not "
    "significantly different."
)


def comparisons_section(run: Run, findings: Findings) -> Section:
    """Compare the editorial metrics, for the headline click metric of the headline sample."""
    title, ranking = "Which metric predicts clicks", findings.correlation.ranking
    rows = headline_pairs(run, "comparisons")
    table = pairs_table(run, COMPARISONS, "comparisons", f"Differences of correlations with {run.click}")
    if rows.is_empty():
        return Section("comparisons", title, ("There are no two metrics to compare.",), tables=(table,))
    figures = _lead_figure(ranking)
    return Section(
        "comparisons",
        title,
        (*first_finding(findings.correlation).reading, *_reading(run, rows, ranking)),
        figures,
        legend=LEAD_LEGEND if figures else (),
        tables=_letters_table(run, rows, ranking),
        folded=(table,),
        fold_words="Every pair",
    )


def headline_pairs(run: Run, name: str) -> pl.DataFrame:
    """Return the rows of a table of pairs with the headline click metric, in the headline sample."""
    rows = run.competing(name)
    own = rows.head(0) if run.headline is None else run.headline.rows(rows)
    return own.filter(click_metric=run.click)


def pairs_table(run: Run, contract: Contract, name: str, title: str) -> ReportTable:
    """Return every pair of metrics, baselines included: they belong to the family of tests."""
    rows = headline_pairs(run, contract.name)
    return ReportTable(
        name,
        f"{title}{title_suffix(run, *run.headline_samples)}",
        "Pair",
        HEADS,
        tuple(_pair_row(row) for row in _pairs(run, rows)),
        notes=(NEEDED_NOTE,) if rows.height else (),
        data=contract.canonical(run.competing(contract.name)),
    )


def _pair_row(row: Mapping[str, Any]) -> Row:
    cells: tuple[Cell, ...] = (
        estimate(row, "difference"),
        p_cell(row["p_value"]),
        p_cell(row["p_adjusted"]),
        significance_text(row["p_adjusted"]),
        _queries_cell(lead_from_row(row)),
    )
    return Row("", f"{row['metric_a']} {MINUS} {row['metric_b']}", cells)


def _queries_cell(lead: Lead) -> Cell:
    return queries_needed_cell(lead, "no difference to detect" if lead.value == 0 else "not tested")


def _pairs(run: Run, rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Return rows of `comparisons` in the order of reports."""
    place = {name: at for at, name in enumerate((*run.editorial, *BASELINES))}
    return sorted(
        rows.iter_rows(named=True),
        key=lambda row: (place.get(row["metric_a"], 99), place.get(row["metric_b"], 99)),
    )


def _reading(run: Run, rows: pl.DataFrame, ranking: Ranking) -> tuple[str, ...]:
    tested = [row for row in _pairs(run, rows) if row["p_adjusted"] is not None]
    significant = [row for row in tested if row["p_adjusted"] < ALPHA]
    where = run.headline.label if run.headline else ""
    if not tested:
        return (f"No two metrics can be compared at {where}: no difference has a value with an interval.",)
    untested = rows.height - len(tested)
    pairs = plural(len(tested), "pair")
    text = f"At {where}, the difference is significant for {len(significant)} of {pairs}"
    text += f"; {count(untested)} more could not be tested." if untested else "."
    ties = _ties(ranking)
    return (text, *_largest_difference(ranking, len(significant)), *ties, FAMILY)


def _largest_difference(ranking: Ranking, n_significant: int) -> tuple[str, ...]:
    """Return a sentence on the largest significant difference."""
    largest = ranking.largest_lead
    if largest is None:
        return ()
    (better, worse), lead = largest
    more = ", the largest of these differences" if n_significant > 1 else ""
    return (
        f"{better} predicts {ranking.click} better than {worse} by {number(lead.value)} "
        f"({test_text(lead)}){more}.{caution_sentence(lead.estimate)}",
    )


def _ties(ranking: Ranking) -> tuple[str, ...]:
    """Return how many judged queries would show a difference between the best metric and those tied."""
    leads = {name: ranking.leads[name] for name in ranking.tied}
    within = {name: one.queries_needed or 0.0 for name, one in leads.items() if one.is_within_reach}
    if not within:
        return ()
    fewest, most = min(within, key=lambda name: within[name]), max(within, key=lambda name: within[name])
    text = (
        f"To show a difference between {ranking.best} and the metrics that are not significantly different "
    )
    text += f"from it would take {needed_text(leads[fewest])} judged queries (for {fewest})"
    if most != fewest:
        text += f" or {needed_text(leads[most])} (for {most})"
    text += (
        f"; there are {count(leads[fewest].n_queries)}. That many detect such a difference 4 times out of 5."
    )
    return (text,)


def _letters_table(run: Run, rows: pl.DataFrame, ranking: Ranking) -> tuple[ReportTable, ...]:
    """Return the metrics from best to worst; two that share a letter are not significantly different."""
    if not ranking.leads or rows["p_adjusted"].drop_nulls().is_empty():
        return ()
    significant = rows.filter(pl.col("p_adjusted") < ALPHA)
    different = significant.select("metric_a", "metric_b").rows()
    by_metric = letters(groups(tuple(ranking.values), different))
    table = ReportTable(
        "letters",
        f"Metrics by their correlation with {run.click}{title_suffix(run, *run.headline_samples)}",
        "Metric",
        ("Correlation", "Shared letters", f"{ranking.best} minus it", "Adjusted p", "Queries needed"),
        tuple(_letters_row(ranking, name, by_metric[name]) for name in ranking.values),
        notes=(LETTERS_NOTE,),
    )
    return (table,)


def _letters_row(ranking: Ranking, name: str, letters: str) -> Row:
    lead = ranking.leads.get(name)
    more: tuple[Cell, ...] = (None, None, None)
    if lead is not None:
        more = (lead.estimate, p_cell(lead.p_adjusted), _queries_cell(lead))
    return Row("", name, (ranking.values[name], letters, *more))


def _lead_figure(ranking: Ranking) -> tuple[Figure, ...]:
    if not ranking.leads:
        return ()
    best = ranking.best
    leads = {name: Estimate(one.value, *one.together) for name, one in ranking.leads.items()}
    domain = common_domain([*leads.values(), Estimate(0.0)])
    hollow = (*ranking.tied, *ranking.untested(best))
    values = ", ".join(
        f"{name} {signed(one.value or 0.0)} ({span(one.low, one.high)})" for name, one in leads.items()
    )
    return (
        Figure(
            "leads",
            f"How far {best} is ahead of each other metric and baseline",
            f"{best} minus: {values}.",
            intervals(ranking.others, leads, TOGETHER, domain=domain, hollow=hollow),
            "comparisons",
        ),
    )
