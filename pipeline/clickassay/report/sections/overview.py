"""The first screen's pictures: how much better each metric is than the metric in use, or than a baseline."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.text.words import capital, number, percent, sentence, signed, visible
from clickassay.correlation.estimates import Level
from clickassay.correlation.uncertainty.intervals import MIN_QUERIES
from clickassay.findings.draw import Findings
from clickassay.findings.estimates import Estimate
from clickassay.findings.ranking import WITHIN_QUERIES, Lead, Quantity, Ranking
from clickassay.findings.run import Run
from clickassay.metrics.catalogue import BASELINES
from clickassay.report.charts.overview import Bar, Overview, Status
from clickassay.report.glossary import terms
from clickassay.report.model import Drawing, Figure, Section
from clickassay.report.sections.correlations import baseline_values
from clickassay.report.sections.log import RULES, data_line, filled_share, health_line
from clickassay.report.tables import ReportTable, Row
from clickassay.report.verdict.sentences import (
    BASELINE_MEANINGS,
    clicks_of,
    is_of_rankings,
    named_rankings,
    shown_value,
    spoken,
    told_apart,
)

FIRST_GRADE = BASELINES[1]


def caveats(run: Run) -> tuple[str, ...]:
    """Return what the findings do not show, a caveat each."""
    first = None if run.headline is None else baseline_values(run, run.headline)[FIRST_GRADE].value
    baseline = "" if first is None else f"; the top result's grade has a correlation of {number(first)}"
    known = pl.col("null_correlation").is_not_null()
    rows = run.headline_rows("correlations").filter(known, click_metric="SS", split=EVERY)
    null = dict(rows.select("editorial_metric", "null_correlation").iter_rows())
    of_ss = ", so it correlates with offline metrics even if clicks ignore relevance"
    if null:
        highest = max(null, key=lambda name: null[name])
        value = number(null[highest])
        of_ss = f": if clicks ignored the grades, its correlation with {highest} would still be {value}"
    rest = "fully judged queries are rarely representative; this report does not cover the others"
    covered = f"No session is fully judged; {rest}"
    if run.headline is not None:
        row = run.headline.rows(run.frames["statistics"]).row(0, named=True)
        where, filled = (
            f"At {run.headline.label}, {percent(row['coverage'])}",
            filled_share(run, run.headline),
        )
        covered = f"{where} of the sessions are fully judged; {rest}"
        if filled is not None:
            covered = (
                f"{where} of the sessions have a grade for every result; {percent(filled)} of these grades "
                f"are not judgments but filled in ({RULES[run.settings.unjudged]})"
            )
    return (
        "Correlation is not validity. A metric that correlates with clicks need not measure whether users "
        "found what they wanted; both may depend on something other than quality.",
        "Position bias. Users click top results more often, whatever their quality, and click metrics "
        f"reward clicks near the top. This alone favours metrics that weight the top heavily{baseline}.",
        sentence(f"Coverage. {covered}"),
        sentence(f"SS uses the grades itself{of_ss}"),
        "Intervals cover the sampling of queries, not grading errors. Only correlations within queries "
        "exclude effects shared by periods or users. An interval is for one number alone unless called "
        "simultaneous. Tests of two metrics are adjusted for the number of pairs.",
    )


_MARKS = {
    Status.BETTER: "dot",
    Status.OPEN: "ring",
    Status.SAME: "dot-quiet",
    Status.WORSE: "dot-warm",
    Status.REFERENCE: "dot-ink",
}

_LEVELS = {
    "metric": pl.String, "mean": pl.Float64, "low": pl.Float64, "high": pl.Float64, "caution": pl.String,
}  # fmt: skip


def overview(run: Run, ranking: Ranking, beside: Sequence[Ranking] = ()) -> Overview:
    """Return how much each is ahead of the metric in use, else a baseline; `beside`: columns of signals."""
    current = run.current if run.current in ranking.competitors else None
    if current is None:
        reference = next(iter(ranking.baselines), ranking.best)
        leads = {name: ranking.lead(name, reference) for name in ranking.competitors if name != reference}
    else:
        reference, leads = current, ranking.against(current)
    columns = (ranking, *beside)
    bars = []
    for one in ranking.competitors.values():
        lead = leads.get(one.name) or Lead(Estimate(0.0))
        low, high = lead.together
        # "no better than the metric in use by the margin" is asked of each by itself, as *keep* is
        most = lead.estimate.high if reference == run.current else high
        status = Status.OPEN if most is None or most >= run.settings.margin else Status.SAME
        if one.name == reference:
            status = Status.REFERENCE
        elif lead.is_significant:
            status = Status.BETTER if lead.is_ahead else Status.WORSE
        name = BASELINE_MEANINGS.get(one.name, one.name)
        is_current = one.name == run.current
        texts = tuple(shown_value(column, one.name) for column in columns)
        label = f"{name} (your metric)" if is_current else name
        bars.append(Bar(label, Estimate(lead.value, low, high), status, texts, one.is_baseline, is_current))
    heads = tuple(told_apart(column.click for column in columns).values())
    return Overview(
        bars, spoken(reference), run.settings.margin, heads if is_of_rankings(ranking) else ("correlation",)
    )


def second_overview(run: Run, findings: Findings) -> Overview | None:
    """Return the picture of the question that does not decide; None where too few queries answer it."""
    ranking = _second(findings)
    return overview(run, ranking) if ranking.competitors and ranking.n_queries >= MIN_QUERIES else None


def _second(findings: Findings) -> Ranking:
    by_question = {"rankings": findings.correlation, "queries": findings.within}
    return by_question[findings.verdict.question].ranking


def overview_legend(drawn: Sequence[Overview]) -> tuple[tuple[str, str], ...]:
    """Return the marks that the pictures have."""
    if not drawn:
        return ()
    there = {bar.status for one in drawn for bar in one.bars}
    band = ("band", f"too small to matter (\u00b1{drawn[0].margin:g})")
    marks = ((_MARKS[one], one.value) for one in Status if one in there)
    return (*marks, band) if drawn[0].margin else tuple(marks)


def overview_figures(run: Run, findings: Findings, drawn: Overview | None) -> tuple[Figure, ...]:
    """Return the picture of the signal that decides, and one for each other signal that was named."""
    if drawn is None:
        return ()
    first, *rest = named_rankings(findings)
    figures = [_figure("overview", first, drawn, drawn.draw())]
    for place, ranking in enumerate(rest, 2):
        own = overview(run, ranking)
        figures.append(_figure(f"overview_{place}", ranking, own, own.draw()))
    if rest:
        figures = [
            replace(one, title=f"{one.title.rstrip('?')}, on {signal}?")
            for one, signal in zip(
                figures, (clicks_of(ranking.click) for ranking in (first, *rest)), strict=True
            )
        ]
    return tuple(figures)


def second_figure(findings: Findings, drawn: Overview | None) -> tuple[Figure, ...]:
    """Return the small picture with its text; none where it is not drawn."""
    if drawn is None:
        return ()
    ranking = _second(findings)
    title = f"Secondary: {_TITLES[ranking.quantity][0].lower()}{_TITLES[ranking.quantity][1:]}"
    return (replace(_figure("second", ranking, drawn, drawn.draw_small()), title=title),)


_TITLES: Mapping[Quantity, str] = {
    "correlation within queries": "How well does each metric predict which ranking users prefer?",
    "correlation of differences": "How well does each metric predict which ranking users prefer?",
    "correlation": "Which metric finds badly served queries?",
}


def _figure(name: str, ranking: Ranking, drawn: Overview, drawing: Drawing) -> Figure:
    texts = []
    for bar in drawn.bars:
        ahead = f", difference {signed(bar.difference.value or 0.0)}"
        words = bar.status + ("" if bar.status is Status.REFERENCE else ahead)
        texts.append(f"{bar.label} {bar.texts[0]} ({words})")
    what = "Picks the ranking users prefer" if is_of_rankings(ranking) else "Correlation over all queries"
    alt = f"{what}, on {clicks_of(ranking.click)}, highest first: {', '.join(texts)}."
    table = "within" if ranking.quantity == WITHIN_QUERIES else "letters"
    return Figure(name, _TITLES[ranking.quantity], alt, drawing, table, drawn.draw_narrow())


def levels_section(run: Run, levels: Mapping[str, Level]) -> Section:
    """Show the means of metrics and click metrics."""
    where = "" if run.headline is None else f" at {run.headline.label}"
    text = f"Means of offline metrics and click metrics over the sessions{where}."
    rows = []
    for name, one in levels.items():
        low, high = (None, None) if math.isnan(one.low) else (one.low, one.high)
        mean = Estimate(one.mean, low, high, caution=one.caution)
        rows.append(Row("clicks" if name in run.clicks else "grades", name, (mean,)))
    data = pl.DataFrame([{"metric": name, **asdict(one)} for name, one in levels.items()], schema=_LEVELS)
    table = ReportTable(
        "levels", "Means over the sessions", "Metric", ("Mean",), tuple(rows), data=data, group_head="Of",
        for_papers=False,
    )  # fmt: skip
    return Section("means", "Means", (text,), tables=(table,))


def days_text(first: date, last: date) -> str:
    """Return a period in which month and year stand once where they are the same."""
    start = f"{first.day} {first:%b %Y}"
    if first == last:
        return start
    if first.year == last.year:
        start = f"{first.day}" if first.month == last.month else f"{first.day} {first:%b}"
    return f"{start}\u2013{last.day} {last:%b %Y}"


def about(run: Run) -> str:
    """Return what the page is: the name that the user gave it, the days of the log, and the tool."""
    days = run.days
    period = None if days is None else days_text(*days)
    title = run.settings.title
    name = "Offline metrics against clicks" if title is None else visible(title)
    return " · ".join(filter(None, (name, period, "clickassay")))


def facts(run: Run, findings: Findings) -> tuple[tuple[str, str], ...]:
    """Return what else a reader needs on the first screen: what is measured where, on how much, how sound."""
    health = ("Data checks", health_line(run))
    if run.headline is None:
        return (("Data", data_line(run)), health)
    meanings = {term.name: term.meaning for term in terms()}
    meanings |= dict.fromkeys(run.outcomes, "Mean of an outcome over all sessions; 0 without it.")
    if run.click in run.settings.ratings:
        key = {"market": run.headline.market, "depth": run.headline.depth}
        rows = run.tables["funnel"].filter(source="ratings", reason=run.click, **key)
        share = pl.col("rows").filter(step="rated").sum() / pl.col("rows").sum()
        meanings[run.click] = (
            f"Mean of a rating over the sessions that have one ({percent(rows.select(share).item())})."
        )
    clicks = " ".join(filter(None, (f"{run.click}.", meanings.get(run.click))))
    return (
        ("Users measured by" if run.click in run.outcomes else "Clicks", clicks),
        *guardrails(run, findings),
        ("Data", data_line(run)),
        health,
    )


def guardrails(run: Run, findings: Findings) -> Iterator[tuple[str, str]]:
    """Say which metric is highest on each further signal, and its values for those the decision is about."""
    about = dict.fromkeys(name for name in (findings.decision.subject, run.current) if name is not None)
    for one in findings.evidence:
        if one.is_named or not one.ranking.competitors:
            continue
        marks = {run.current: " (your metric)", findings.decision.subject: " (advised)"}
        highest = one.ranking.highest
        parts = [f"highest {spoken(highest)} {shown_value(one.ranking, highest)}"]
        parts += [
            f"{spoken(name)}{marks.get(name, '')} {shown_value(one.ranking, name)}"
            for name in about
            if name != highest
        ]
        yield capital(clicks_of(one.click)), "; ".join(parts)
