"""Which offline metrics differ significantly in how well they predict clicks; the same within queries."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from clickassay.core.contracts.correlation import COMPARISONS
from clickassay.core.contracts.form import Table as Contract
from clickassay.core.text.words import MINUS, count, number, plural, signed, span
from clickassay.correlation.uncertainty.intervals import ALPHA
from clickassay.findings import ranking as rankings
from clickassay.findings.draw import Findings
from clickassay.findings.estimates import Estimate
from clickassay.findings.run import Run
from clickassay.metrics.catalogue import BASELINES
from clickassay.report import tables
from clickassay.report.charts.marks import IntervalHeads, common_domain, intervals
from clickassay.report.model import Figure, Section, headline_suffix, noise_corrected
from clickassay.report.verdict import sentences

LEAD_LEGEND = (("dot", "significantly different"), ("ring", "not significantly different"))
TOGETHER = IntervalHeads("Difference; lines: simultaneous 95% CIs", reach="Simultaneous 95% CI")
LETTERS_NOTE = "Metrics that share a letter are not significantly different from each other."
NEEDED_NOTE = (
    "Queries needed: judged queries that detect the difference with 80% power, in a test at 0.05 divided "
    "by the pairs of the family (Bonferroni). The smallest number is for the far end of the interval, "
    "the largest for its near end; an interval that contains 0 has no largest number. Out of reach: more "
    "than 100 times the queries of this run."
)
FAMILY = (
    "Two metrics are significantly different when the adjusted p-value (Holm) is below 0.05. This keeps the "
    "probability of any false alarm at 5% among all pairs of one market, depth, judge and click metric, "
    "baselines included. Each interval is for one pair alone: it may exclude 0 although the pair is not "
    "significantly different."
)


def comparisons_section(run: Run, findings: Findings) -> Section:
    """Compare the offline metrics, for the headline click metric of the headline sample."""
    title, ranking = "Which metric predicts clicks", findings.correlation.ranking
    rows = _headline_pairs(run, "comparisons")
    table = pairs_table(run, COMPARISONS, "comparisons", f"Differences of correlations with {run.click}")
    if rows.is_empty():
        return Section("comparisons", title, ("Fewer than two metrics have a value.",), tables=(table,))
    figures: tuple[Figure, ...] = ()
    if ranking.leads:
        best = ranking.best
        leads = {name: Estimate(one.value, *one.together) for name, one in ranking.leads.items()}
        domain = common_domain([*leads.values(), Estimate(0.0)])
        hollow = (*ranking.tied, *ranking.untested(best))
        values = ", ".join(
            f"{name} {signed(one.value or 0.0)} ({span(one.low, one.high)})" for name, one in leads.items()
        )
        drawing = intervals(ranking.others, leads, TOGETHER, domain=domain, hollow=hollow)
        heading = f"How much better {best} is than each metric and baseline"
        figures = (Figure("leads", heading, f"{best} minus: {values}.", drawing, "comparisons"),)
    reading = (*sentences.first_finding(findings.correlation).reading, *_reading(run, rows, ranking))
    return Section(
        "comparisons", title, reading, figures, legend=LEAD_LEGEND if figures else (),
        tables=_letters_table(run, rows, ranking), folded=(table,), fold_words="Every pair",
    )  # fmt: skip


def _headline_pairs(run: Run, name: str) -> pl.DataFrame:
    """Return the rows of a table of pairs with the headline click metric, in the headline sample."""
    rows = run.competing(name)
    own = rows.head(0) if run.headline is None else run.headline.rows(rows)
    return own.filter(click_metric=run.click)


def pairs_table(run: Run, contract: Contract, name: str, title: str) -> tables.ReportTable:
    """Return every pair of metrics, baselines included: they belong to the family of tests."""
    rows = _headline_pairs(run, contract.name)
    place = {metric: at for at, metric in enumerate((*run.editorial, *BASELINES))}
    ordered = sorted(
        rows.iter_rows(named=True),
        key=lambda row: (place.get(row["metric_a"], 99), place.get(row["metric_b"], 99)),
    )
    return tables.shown_table(
        name, f"{title}{headline_suffix(run)}", ordered,
        tables.ShownColumn("Pair", lambda row: f"{row['metric_a']} {MINUS} {row['metric_b']}"),
        (
            tables.with_interval("Difference", "difference"), tables.p_value("p-value", "p_value"),
            tables.p_value("Adjusted p", "p_adjusted"),
            tables.ShownColumn("Significant", lambda row: sentences.significance_text(row["p_adjusted"])),
            tables.ShownColumn("Queries needed", lambda row: _queries_cell(rankings.lead_from_row(row))),
        ),
        notes=(NEEDED_NOTE,) if rows.height else (), data=contract.canonical(run.competing(contract.name)),
    )  # fmt: skip


def _queries_cell(lead: rankings.Lead) -> tables.Cell:
    return sentences.queries_needed_cell(lead, "no difference to detect" if lead.value == 0 else "not tested")


def _reading(run: Run, rows: pl.DataFrame, ranking: rankings.Ranking) -> tuple[str, ...]:
    tested = rows["p_adjusted"].drop_nulls()
    where = run.headline.label if run.headline else ""
    if tested.is_empty():
        return (f"No pair of metrics can be compared at {where}: no difference has an interval.",)
    significant, untested = int((tested < ALPHA).sum()), rows.height - len(tested)
    text = f"At {where}, the difference is significant for {significant} of {plural(len(tested), 'pair')}"
    texts = [text + (f"; {plural(untested, 'pair')} could not be tested." if untested else ".")]
    if ranking.largest_lead is not None:
        (better, worse), lead = ranking.largest_lead
        more = ", the largest of these differences" if significant > 1 else ""
        texts.append(
            f"{better} predicts {ranking.click} better than {worse} by {number(lead.value)} "
            f"({sentences.test_text(lead)}){more}.{sentences.caution_sentence(lead.estimate)}"
        )
    tied = {name: ranking.leads[name] for name in ranking.tied}
    within = {name: one.queries_needed or 0.0 for name, one in tied.items() if one.is_within_reach}
    if within:  # how many judged queries would show a difference between the best metric and those tied
        fewest, most = min(within, key=lambda name: within[name]), max(within, key=lambda name: within[name])
        more = "" if most == fewest else f" or {sentences.needed_text(tied[most])} (for {most})"
        texts.append(
            f"To show a difference between {ranking.best} and the metrics that are not significantly "
            f"different from it would take {sentences.needed_text(tied[fewest])} judged queries "
            f"(for {fewest}){more}; there are {count(tied[fewest].n_queries)}. This number gives 80% power."
        )
    return (*texts, FAMILY)


def _letters_table(run: Run, rows: pl.DataFrame, ranking: rankings.Ranking) -> tuple[tables.ReportTable, ...]:
    """Return the metrics from best to worst; two that share a letter are not significantly different."""
    if not ranking.leads or rows["p_adjusted"].drop_nulls().is_empty():
        return ()
    different = rows.filter(pl.col("p_adjusted") < ALPHA).select("metric_a", "metric_b").rows()
    by_metric = rankings.letters(rankings.groups(tuple(ranking.values), different))
    lines = []
    for name, value in ranking.values.items():
        lead = ranking.leads.get(name)
        more: tuple[tables.Cell, ...] = (None, None, None)
        if lead is not None:
            more = (lead.estimate, tables.p_cell(lead.p_adjusted), _queries_cell(lead))
        lines.append(tables.Row("", name, (value, by_metric[name], *more)))
    return (
        tables.ReportTable(
            "letters", f"Metrics by their correlation with {run.click}{headline_suffix(run)}", "Metric",
            ("Correlation", "Shared letters", f"{ranking.best} minus it", "Adjusted p", "Queries needed"),
            tuple(lines), notes=(LETTERS_NOTE,),
        ),
    )  # fmt: skip


def _picked(row: Mapping[str, Any]) -> tables.Share:
    ends = (row["correlation"], row["ci_low"], row["ci_high"])
    return tables.Share(*(None if one is None else rankings.prefers_the_same(one) for one in ends))


WITHIN = (
    tables.ShownColumn("Picks the ranking users prefer", _picked),
    tables.with_interval("Correlation", "correlation"),
    tables.ShownColumn("Noise-corrected", noise_corrected),
)


def within_section(run: Run, findings: Findings) -> Section:
    """Show by their correlation within queries, over all markets together, which lists metrics prefer."""
    claim, ranking = findings.within, findings.within.ranking
    is_sum = run.headline_place not in {None, run.headline}
    rows: dict[str, Mapping[str, Any]] = {}
    where = ""
    if ranking.sample is not None:
        values = rankings.values_of(run, ranking.quantity, ranking.sample, run.click)
        rows = {row["editorial_metric"]: row for row in values}
        where = f" at {ranking.sample.label}{', all markets together' if is_sum else ''}"
    table = tables.shown_table(
        "within", f"Correlation within queries with {run.click}{where}",
        [rows[name] for name in ranking.competitors], tables.field("Metric", "editorial_metric"), WITHIN,
        data=run.competing("within"),
    )  # fmt: skip
    figures: tuple[Figure, ...] = ()
    if ranking.competitors:
        title, estimates = f"Correlation within queries with {ranking.click}", ranking.values
        domain = common_domain(list(estimates.values()))
        heads = IntervalHeads("Correlation within queries")
        drawing = intervals(tuple(estimates), estimates, heads, domain=domain)
        texts = ", ".join(f"{name} {number(one.value)}" for name, one in estimates.items())
        figures = (Figure("within", title, f"{title}: {texts}.", drawing, "within"),)
    reading = sentences.within_finding(claim, is_sum=is_sum).reading
    return Section("within", "Comparing two rankings of the same query", reading, figures, tables=(table,))
