"""The first screen's picture: every metric and baseline, what noise would give, and what can be reached."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.text.words import capital, number, percent, sentence
from clickassay.correlation.estimates import Level
from clickassay.correlation.uncertainty.multiplicity import ALPHA
from clickassay.findings.estimates import Estimate
from clickassay.findings.ranking import Competitor, Ranking, highest_possible
from clickassay.findings.run import Run
from clickassay.metrics.catalogue import BASELINES
from clickassay.report.cells import Row
from clickassay.report.charts.overview import Bar, Overview, Status
from clickassay.report.glossary import terms
from clickassay.report.model import Figure, ReportTable
from clickassay.report.sections.correlation.baselines import baseline_values
from clickassay.report.sections.log.data import data_line
from clickassay.report.sections.log.health import health_line
from clickassay.report.sections.log.unjudged import RULES, filled_share
from clickassay.report.verdict.words import BASELINE_MEANINGS, spoken

FIRST_GRADE = BASELINES[1]


def caveats(run: Run) -> tuple[str, ...]:
    """Return what the findings do not show, a caveat each."""
    first = None if run.headline is None else baseline_values(run, run.headline)[FIRST_GRADE].value
    baseline = (
        "" if first is None else f"; the grade of the first result alone has a correlation of {number(first)}"
    )
    return (
        "Correlation is not validity. A metric that correlates with clicks need not measure whether users "
        "found what they wanted; both may depend on something that has nothing to do with quality.",
        "Position bias. Users click results near the top more often, whatever these results are, and the "
        "click metrics reward clicks near the top. Metrics that give the top much weight agree with them for "
        f"this reason too{baseline}.",
        sentence(f"Coverage. {_covered(run)}"),
        sentence(f"SS uses the grades itself{_null_of_ss(run)}"),
        "Intervals come from leaving out queries. They cover neither errors of the judges nor change over "
        "time. Each holds for its own number only, unless it is said to hold for all at once; whether two "
        "metrics are significantly different is adjusted for the number of pairs.",
    )


def _covered(run: Run) -> str:
    rest = "fully judged queries are rarely like the rest, and this report says nothing about the rest"
    if run.headline is None:
        return f"No session is fully judged; {rest}"
    row = run.headline.rows(run.frames["statistics"]).row(0, named=True)
    filled = filled_share(run, run.headline)
    if filled is None:
        return f"At {run.headline.label}, {percent(row['coverage'])} of the sessions are fully judged; {rest}"
    rule = RULES[run.settings.unjudged]
    return (
        f"At {run.headline.label}, {percent(row['coverage'])} of the sessions have a grade for every result; "
        f"{percent(filled)} of these grades are not judgments but filled in ({rule})"
    )


def _null_of_ss(run: Run) -> str:
    known = pl.col("null_correlation").is_not_null()
    rows = run.headline_rows("correlations").filter(known, click_metric="SS", split=EVERY)
    null = dict(rows.select("editorial_metric", "null_correlation").iter_rows())
    if not null:
        return ", so it correlates with editorial metrics even if clicks ignore relevance"
    highest = max(null, key=lambda name: null[name])
    return (
        f": if clicks ignored the grades, its correlation with {highest} would still be "
        f"{number(null[highest])}"
    )


LEGEND = {
    Status.BEST: ("dot", "among the best: the highest is not significantly above it"),
    Status.BELOW: ("dot-quiet", "significantly below the highest"),
    Status.NOISE: ("ring-quiet", "not significantly different from what noise would give"),
    Status.NEGATIVE: ("dot-warm", "significantly below what noise would give: clicks fall as it rises"),
}

_LEVELS = {
    "metric": pl.String, "mean": pl.Float64, "low": pl.Float64, "high": pl.Float64, "caution": pl.String,
}  # fmt: skip


def overview(run: Run, ranking: Ranking, current: str | None = None) -> Overview:
    """Return the picture of a ranking."""
    bars = [_bar(ranking, one, _simultaneous(run, ranking), current) for one in ranking.competitors.values()]
    axis = (
        f"Correlation with {ranking.click}.",
        "The lines are intervals that hold for all rows at once (95 %).",
    )
    return Overview(bars, axis, highest_possible(run, ranking))


def overview_legend(drawn: Overview | None) -> tuple[tuple[str, str], ...]:
    """Return the marks that the picture has."""
    there = set() if drawn is None else {bar.status for bar in drawn.bars}
    return tuple(LEGEND[status] for status in Status if status in there)


def overview_figure(ranking: Ranking, drawn: Overview | None) -> tuple[Figure, ...]:
    """Return the picture with its text; none without a value."""
    if drawn is None:
        return ()
    texts = (f"{bar.label} {number(bar.found.value)} ({bar.status})" for bar in drawn.bars)
    alt = f"Correlation with {ranking.click}, highest first: {', '.join(texts)}."
    title = f"How well each predicts clicks ({ranking.click})"
    return (Figure("overview", title, alt, drawn.draw(), "letters", drawn.draw_narrow()),)


def levels_table(run: Run, levels: Mapping[str, Level]) -> ReportTable:
    """Return the table of the means of metrics and click metrics."""
    return ReportTable(
        "levels",
        "Means over the sessions",
        "Metric",
        ("Mean",),
        tuple(
            Row("clicks" if name in run.clicks else "grades", name, (_mean(one),))
            for name, one in levels.items()
        ),
        data=pl.DataFrame([{"metric": name, **asdict(one)} for name, one in levels.items()], schema=_LEVELS),
        group_head="Of",
        for_papers=False,
    )


def _mean(level: Level) -> Estimate:
    if math.isnan(level.low):
        return Estimate(level.mean, caution=level.caution)
    return Estimate(level.mean, level.low, level.high, caution=level.caution)


def facts(run: Run) -> tuple[tuple[str, str], ...]:
    """Return what else a reader needs on the first screen: what is measured where, on how much, how sound."""
    health = ("Health", health_line(run))
    if run.headline is None:
        return (("Data", data_line(run)), health)
    meanings = {term.name: term.meaning for term in terms()}
    clicks = " ".join(filter(None, (f"{run.click}.", meanings.get(run.click))))
    return (
        ("Clicks measured by", clicks),
        ("Data", data_line(run)),
        health,
    )


def _simultaneous(run: Run, ranking: Ranking) -> dict[str, tuple[float | None, float | None]]:
    if ranking.sample is None:
        return {}
    rows = ranking.sample.rows(run.competing("correlations")).filter(split=EVERY, click_metric=ranking.click)
    ends = rows.select("editorial_metric", "simultaneous_low", "simultaneous_high")
    return {name: (low, high) for name, low, high in ends.iter_rows()}


def _bar(
    ranking: Ranking,
    one: Competitor,
    ends: dict[str, tuple[float | None, float | None]],
    current: str | None,
) -> Bar:
    low, high = ends.get(one.name, (None, None))
    return Bar(_label(one, current), Estimate(one.value, low, high), _status(ranking, one))


def _label(one: Competitor, current: str | None) -> str:
    name = f"{BASELINE_MEANINGS[one.name]} alone" if one.name in BASELINE_MEANINGS else one.name
    return f"{name} (in use)" if one.name == current else name


def _status(ranking: Ranking, one: Competitor) -> Status:
    if one.p_adjusted is None or one.p_adjusted >= ALPHA:
        return Status.NOISE
    if not one.is_above_nothing:
        return Status.NEGATIVE
    return Status.BEST if one.name in ranking.among_best else Status.BELOW


def scale_sentences(run: Run, ranking: Ranking) -> Iterator[str]:
    """Say what a value is to be compared with: noise, and the most that these clicks allow."""
    if not ranking.competitors:
        return
    top = ranking.competitors[ranking.highest]
    nothing = number(top.null, 2) if top.null else "0"
    ceiling = highest_possible(run, ranking)
    text = f"If clicks ignored the grades, the value would be {nothing}"
    if ceiling is None:
        yield f"{text}; the log has too few sessions to say how much could be reached."
        return
    share = f"{percent(top.value / ceiling, 0)} of that" if top.value < ceiling else "that"
    reached = f" {capital(spoken(top.name))} reaches {share}." if top.is_above_nothing else ""
    yield (
        f"{text}; as clicks are noisy, even a metric that knew the true {ranking.click} of every list would "
        f"reach about {number(ceiling, 2)}.{reached}"
    )
