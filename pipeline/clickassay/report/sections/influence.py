"""Influential queries: whether a correlation depends mostly on a few of them."""

import polars as pl

from clickassay.core.text.words import number, percent, plural, sentence, visible
from clickassay.findings.draw import Findings
from clickassay.findings.estimates import Estimate
from clickassay.findings.influence import N_INFLUENTIAL, depends_mostly, influence_rows, influential_share
from clickassay.findings.ranking import Ranking
from clickassay.findings.run import Run
from clickassay.report import tables
from clickassay.report.model import Section, by_pair, headline_suffix

HEADS = (
    "All queries",
    f"Without the {N_INFLUENTIAL} queries that raise it most",
    f"Without the {N_INFLUENTIAL} queries that lower it most",
    f"Share of squared error due to the {N_INFLUENTIAL} most influential",
    "More than by chance, and more than half",
)

SELECTED = (
    "Removing the queries that raise a correlation most always lowers it; the drop does not show that it "
    "rests on them."
)

Chance = tuple[float, float] | None
"""Share of the most influential queries if chance alone decides: its mean, and its 95% quantile."""


def influence_section(run: Run, claims: Findings) -> Section:
    """Return the correlations without their most influential queries, and these queries."""
    ranking, where = claims.correlation.ranking, headline_suffix(run)
    overall = {} if run.headline is None else by_pair(run.correlations(run.headline))
    lines = []
    for name in run.editorial:
        if (run.click, name) in overall:
            raised, lowered, part = _cells(influence_rows(run, name))
            mostly = "unknown"
            if part.value is not None:
                mostly = "yes" if depends_mostly(part.value, claims.chance) else "no"
            lines.append(tables.Row("", name, (overall[run.click, name], raised, lowered, part, mostly)))
    table = tables.ReportTable(
        "influence", f"Correlation with {run.click} without the most influential queries{where}",
        "Offline metric", HEADS, tuple(lines), data=run.labels.relabel(run.frames["influence"]),
    )  # fmt: skip
    shown = [table]
    if ranking.values:
        title = f"Most influential queries in the correlation of {ranking.best} with {run.click}{where}"
        shown.append(_table(run, "influence_queries", title, influence_rows(run, ranking.best)))
    within = claims.within.ranking
    if within.values and within.sample is not None:
        own = within.sample.rows(run.frames["within_influence"])
        own = own.filter(click_metric=within.click, editorial_metric=within.best)
        title = f"Most influential queries in the correlation of {within.best} within queries"
        rows = own.with_columns(market="query_market")  # users are counted by market
        shown.append(_table(run, "within_influence_queries", title, rows))
    reading = _reading(run, ranking, claims.chance)
    title = "Does the correlation depend on a few queries?"
    return Section("influence", title, reading, folded=tuple(shown))


def _table(run: Run, name: str, title: str, rows: pl.DataFrame) -> tables.ReportTable:
    def reason(row: tables.Fields) -> str | None:
        return None if row["without"] is not None else "no correlation is left"

    return tables.shown_table(
        name, title, run.labels.relabel(rows).sort("side", "rank", descending=[True, False]),
        tables.ShownColumn("Query", lambda row: visible(row["query"])),
        (
            tables.field("Sessions", "n_sessions"), tables.value("Correlation without it", "without", reason),
            tables.share("Share of the squared error", "error_share"),
        ),
        group=lambda row: f"{row['side']} it", notes=(run.labels.rule,) if rows.height else (), data=None,
        group_head="Effect",
    )  # fmt: skip


def _cells(rows: pl.DataFrame) -> tuple[Estimate, Estimate, tables.Share]:
    """Return the correlation without queries that raise it, and without those that lower it; their share."""

    def without(side: str) -> Estimate:
        last = rows.filter(side=side).sort("rank").tail(1)["without_these"].to_list()
        left = last[0] if last else None
        why = None if left is not None else "no such query, or no correlation is left"
        return Estimate(left, reason=why)

    return without("raises"), without("lowers"), tables.Share(influential_share(rows))


def _reading(run: Run, ranking: Ranking, chance: Chance) -> tuple[str, ...]:
    if run.headline is None or not ranking.values:
        return ("There is no correlation to show.",)
    rows = influence_rows(run, ranking.best)
    raised, _, part = _cells(rows)
    if part.value is None or raised.value is None:
        return (f"The influence of queries on the correlation of {ranking.best} could not be computed.",)
    queries = run.correlations(run.headline).select(pl.col("n_queries").max()).item()
    raising, influential = (min(N_INFLUENTIAL, own.height) for own in (rows.filter(side="raises"), rows))
    text = (
        f"Without the {raising} of {plural(queries, 'query', 'queries')} that raise it most, the "
        f"correlation of {ranking.best} with {run.click} would be {number(raised.value)} instead of "
        f"{number(ranking.top.value)}. The {influential} most influential account for "
        f"{percent(part.value)} of its squared error"
    )
    verdict = ": it depends mostly on a few queries" if depends_mostly(part.value, chance) else ""
    texts = (sentence(text + verdict), SELECTED)
    if chance is None:
        return texts
    return (
        *texts,
        f"With sessions spread over queries as here, the {N_INFLUENTIAL} most influential would account "
        f"for {percent(chance[0])} on average, and for more than {percent(chance[1])} in one case of 20, "
        f"if queries differed only by sessions and chance.",
    )
