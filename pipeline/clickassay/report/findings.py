"""The headline, the three findings, and what they do not show: sentences computed from the numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import SampleKey
from clickassay.core.text import MISSING, count, listed, number, percent, plural, sentence, span, visible
from clickassay.metrics.clicks import HEADLINE_CLICK
from clickassay.report.cells import Cell, Estimate, Spelled, p_words, why_none
from clickassay.report.model import Run, by_pair, estimate, in_order

MOST_QUERIES = 10_000_000
"""More queries than anyone could have judged."""

SURE = 0.05
"""Two metrics are told apart when the adjusted p-value of their difference is below this."""

HANDFUL = 5
"""Queries that are taken together, as contracts.correlation.INFLUENCE has them."""

MOST_SHARE = 2 / 3
"""A correlation hangs on a handful of queries when they make up more of its squared error than this."""

NOT_COUNTED = ("SS", "QCTR")
"""Click metrics that do not vote in the third finding: SS uses the grades, QCTR counts every click."""


@dataclass(frozen=True)
class Finding:
    """One main finding: the figure to remember, and what it says with its uncertainty."""

    key: str
    text: str


@dataclass(frozen=True)
class Lead(Estimate):
    """How much one metric is ahead of another, and whether that can be told from chance.

    Attributes
    ----------
    p_adjusted
        Adjusted p-value of no difference; None when it was not tested.
    needed
        Judged queries that would detect such a difference 4 times out of 5; None when there is none.
    queries
        Judged queries that are there.
    """

    p_adjusted: float | None = None
    needed: float | None = None
    queries: int = 0

    @property
    def is_sure(self) -> bool:
        """Whether the two can be told apart."""
        return self.p_adjusted is not None and self.p_adjusted < SURE


@dataclass(frozen=True)
class Ranking:
    """The editorial metrics of one sample by their correlation with one click metric.

    Attributes
    ----------
    values
        Estimates by metric, highest first; only metrics with a value.
    leads
        By other metric, how much the best is ahead of it.
    reason
        Why no metric has a value; None when one has.
    """

    values: Mapping[str, Estimate]
    leads: Mapping[str, Lead]
    reason: str | None = None

    @property
    def best(self) -> str:
        """The metric with the highest correlation."""
        return next(iter(self.values))

    @property
    def top(self) -> Estimate:
        """The estimate of the best metric."""
        return self.values[self.best]

    @property
    def others(self) -> tuple[str, ...]:
        """The other metrics, highest first."""
        return tuple(self.values)[1:]

    @property
    def tied(self) -> tuple[str, ...]:
        """Metrics that the data cannot tell from the best."""
        unsure = (name for name in self.others if not self.leads[name].is_sure)
        return tuple(name for name in unsure if name not in self.untested)

    @property
    def untested(self) -> tuple[str, ...]:
        """Metrics whose lead could not be tested."""
        return tuple(name for name in self.others if self.leads[name].p_adjusted is None)


def rank(run: Run, sample: SampleKey, click_metric: str = HEADLINE_CLICK) -> Ranking:
    """Rank the editorial metrics of one sample by their overall correlation with a click metric."""
    known, why = _known(run, run.correlations(sample).filter(click_metric=click_metric), "correlation")
    if not known:
        return Ranking({}, {}, why or f"{click_metric} was not computed")
    values = dict(sorted(known.items(), key=lambda item: -(item[1].value or 0.0)))
    best = next(iter(values))
    pairs = sample.rows(run.frames["comparisons"]).filter(click_metric=click_metric)
    leads = {other: _lead(pairs, best, other, values) for other in values if other != best}
    return Ranking(values, leads)


def _known(run: Run, rows: pl.DataFrame, column: str) -> tuple[dict[str, Estimate], str]:
    """Return the estimates that have a value, by editorial metric, and why others have none."""
    estimates = {editorial: found for (_, editorial), found in by_pair(rows, column).items()}
    ordered = {name: estimates[name] for name in run.editorial if name in estimates}
    reasons = {found.reason or "no value" for found in estimates.values() if found.value is None}
    return {name: one for name, one in ordered.items() if one.value is not None}, listed(sorted(reasons))


def _lead(pairs: pl.DataFrame, best: str, other: str, values: Mapping[str, Estimate]) -> Lead:
    found = lead(pairs, best, other)
    if found is not None:
        return found
    return Lead((values[best].value or 0.0) - (values[other].value or 0.0))


def lead(pairs: pl.DataFrame, first: str, second: str) -> Lead | None:
    """Return how much `first` is ahead of `second` in rows of `comparisons`; None when they are not there."""
    for row in pairs.iter_rows(named=True):
        if {row["metric_a"], row["metric_b"]} == {first, second}:
            found = lead_of(row)
            return found if row["metric_a"] == first else turned(found)
    return None


def lead_of(row: Mapping[str, Any]) -> Lead:
    """Return how much `metric_a` is ahead of `metric_b` in a row of `comparisons`."""
    found = estimate(row, "difference")
    return Lead(
        found.value, found.low, found.high, found.reason, found.caution,
        p_adjusted=row["p_adjusted"], needed=row["queries_needed"], queries=row["n_queries"],
    )  # fmt: skip


def turned(found: Lead) -> Lead:
    """Return a lead with its two sides exchanged."""
    value, low, high = (None if end is None else -end for end in (found.value, found.high, found.low))
    return replace(found, value=value, low=low, high=high)


def nothing_kept(run: Run) -> str:
    """Say that no session was kept, and where most were lost."""
    lost = run.frames["funnel"].filter(pl.col("source") == "sessions", pl.col("reason") != "")
    if lost.is_empty() or lost["rows"].sum() == 0:
        return "no session was kept: the log and the judgments have no configuration in common"
    most = lost.sort(["rows", "reason"], descending=[True, False]).row(0, named=True)
    return (
        f"no session was kept; most were lost because of: {visible(most['reason'])} ({count(most['rows'])})"
    )


def title(run: Run, ranking: Ranking | None) -> str:
    """Return the headline of the page: the first finding in a few words."""
    if run.headline is None or ranking is None or not ranking.values:
        return "Nothing can be said about metrics and clicks"
    if _at_most_zero(ranking.top):
        return "No offline metric can be said to predict clicks"
    if ranking.tied:
        return f"{ranking.best} comes first, but cannot be told apart from {_few(ranking.tied)}"
    if ranking.untested or not ranking.others:
        return f"{ranking.best} has the highest correlation with clicks"
    return f"{ranking.best} predicts clicks best"


def _at_most_zero(found: Estimate) -> bool:
    return (found.value or 0.0) <= 0 or (found.low is not None and found.covers_zero)


def _few(names: Sequence[str], most: int = 3) -> str:
    return listed(names) if len(names) <= most else f"{len(names)} other metrics"


def first_finding(run: Run, ranking: Ranking | None) -> Finding:
    """Which editorial metric goes with the headline click metric, by how much, and how sure."""
    if run.headline is None or ranking is None:
        return Finding(MISSING, sentence(f"There is no correlation to report: {nothing_kept(run)}"))
    if not ranking.values:
        return Finding(MISSING, f"There is no correlation with {HEADLINE_CLICK} to report: {ranking.reason}.")
    top = ranking.top
    text = (
        f"{ranking.best} has the highest correlation with {HEADLINE_CLICK}, {number(top.value)} "
        f"({interval_words(top)})"
    )
    if _at_most_zero(top):
        return Finding(number(top.value), f"{text}, which cannot be told from zero or less.{doubt(top)}")
    share = handful_share(influence_rows(run, ranking.best)) or 0.0
    hangs = [f"It hangs on {HANDFUL} queries."] if share > MOST_SHARE else []
    return Finding(number(top.value), " ".join([f"{text}.{doubt(top)}", *hangs, *_ahead(ranking)]))


def influence_rows(run: Run, metric: str) -> pl.DataFrame:
    """Return the rows of `influence` of a metric with the headline click metric, in the headline sample."""
    return run.own_rows("influence").filter(click_metric=HEADLINE_CLICK, editorial_metric=metric)


def handful_share(rows: pl.DataFrame) -> float | None:
    """Return the part of the squared error due to the handful of queries that move a correlation most."""
    shares = rows["error_share"].drop_nulls().sort(descending=True).head(HANDFUL)
    return float(shares.sum()) if len(shares) else None


def _ahead(ranking: Ranking) -> list[str]:
    if not ranking.others:
        return ["No other metric has a value."]
    texts = []
    clear = [name for name in ranking.others if name not in ranking.tied + ranking.untested]
    if clear:
        found = ranking.leads[clear[0]]
        after = "the next" if clear[0] == ranking.others[0] else "the next that can be told apart"
        ahead = f"It is {number(found.value)} above {clear[0]}, {after} ({interval_words(found)})."
        texts.append(ahead + doubt(found))
    if ranking.tied:
        texts.append(sentence(f"It cannot be told apart from {listed(ranking.tied)}{_needed(ranking)}"))
    elif not ranking.untested:
        texts.append("It is clearly above all others.")
    if ranking.untested:
        texts.append(f"Whether it differs from {listed(ranking.untested)} was not tested.")
    return texts


def _needed(ranking: Ranking) -> str:
    """Say how many judged queries would settle it with the nearest metric; nothing if none would."""
    nearest = ranking.leads[ranking.tied[0]]
    if nearest.needed is None or nearest.needed > MOST_QUERIES:
        return ""
    return (
        f"; to tell it from {ranking.tied[0]} would take about {rounded(nearest.needed)} judged queries, "
        f"and there are {count(nearest.queries)}"
    )


def rounded(needed: float) -> str:
    """Return a number of queries that was estimated, to two digits."""
    if needed > MOST_QUERIES:
        return f"over {count(MOST_QUERIES)}"
    return count(int(float(f"{needed:.2g}")))


def needed_cell(needed: float | None, reason: str) -> Cell:
    """Return the cell of a number of queries that was estimated, or why there is none."""
    return Estimate(None, reason=reason) if needed is None else Spelled(rounded(needed), needed)


def told_apart(p_adjusted: float | None) -> str:
    """Say in a word whether two differ significantly."""
    if p_adjusted is None:
        return "not tested"
    return "yes" if p_adjusted < SURE else "no"


def doubt(found: Estimate) -> str:
    """Return a sentence to add after an interval that is not to be relied on, with a space before; or ''."""
    if found.caution is None:
        return ""
    if not found.has_interval:
        return f" It has no interval: {why_none(found.caution)}."
    return f" Do not rely on this interval: {found.caution}."


def tested_words(found: Lead) -> str:
    """Return interval and adjusted p-value in words."""
    return f"{interval_words(found)}, adjusted p {p_words(found.p_adjusted)}"


def interval_words(found: Estimate) -> str:
    """Return the interval in words."""
    if found.low is None or found.high is None:
        return "no interval"
    return f"95 % interval {span(found.low, found.high)}"


def second_finding(run: Run, ranking: Ranking | None) -> Finding:
    """Whether the metric also sees which of two rankings gets the better clicks."""
    lead = "Choosing between two rankings cannot be judged"
    if run.headline is None:
        return Finding(MISSING, sentence(f"{lead}: {nothing_kept(run)}"))
    rows = run.headline.rows(run.frames["differences"]).filter(click_metric=HEADLINE_CLICK)
    known, why = _known(run, rows, "exact")
    if not known:
        return Finding(MISSING, sentence(f"{lead}: {why or 'nothing was computed'}"))
    best = max(known, key=lambda name: known[name].value or 0.0)
    sign = rows.filter(editorial_metric=best)["sign_agreement"][0]
    first = ranking.best if ranking is not None and ranking.values else best
    beside = f" ({first}: {number(known[first].value)})" if first != best and first in known else ""
    text = (
        f"Between two rankings of the same queries, differences in {best} correlate "
        f"{number(known[best].value)} ({interval_words(known[best])}) with differences in {HEADLINE_CLICK}, "
        f"the highest of all metrics{beside}.{doubt(known[best])} The two then name the same ranking as "
        f"better in {percent(sign)} of the cases (50 % is chance)."
    )
    return Finding(percent(sign), text)


def third_finding(run: Run, ranking: Ranking | None) -> Finding:
    """How far the first finding holds in the other samples and for the other click metrics."""
    if run.headline is None or ranking is None or not ranking.values:
        return Finding(MISSING, sentence(_coverage(run)))
    kept = leaders(run).filter(~pl.col("click_metric").is_in(NOT_COUNTED))
    won = kept.filter(editorial_metric=ranking.best).height
    rest = set(kept["editorial_metric"].to_list()) - {ranking.best}
    instead = f"; elsewhere {listed(in_order(tuple(rest), run.editorial), 'or')} leads" if rest else ""
    text = (
        f"{ranking.best} leads in {count(won)} of {plural(kept.height, 'combination')} of market, depth, "
        f"judge and click metric (without SS, which uses the grades itself, and QCTR){instead}"
    )
    return Finding(f"{count(won)} of {count(kept.height)}", sentence(text))


def leaders(run: Run) -> pl.DataFrame:
    """Return, per sample and click metric, the editorial metric with the highest overall correlation."""
    overall = run.frames["correlations"].filter(pl.col("split") == EVERY, pl.col("correlation").is_not_null())
    cell = ["market", "depth", "judge", "click_metric"]
    order = pl.col("editorial_metric").replace_strict(
        {name: place for place, name in enumerate(run.editorial)}, return_dtype=pl.Int64
    )
    ranked = overall.sort([pl.col("correlation"), order], descending=[True, False], maintain_order=True)
    return ranked.unique(cell, keep="first", maintain_order=True).sort(cell)


def _coverage(run: Run) -> str:
    statistics = run.frames["statistics"]
    if statistics.is_empty():
        return "the run has no statistics: no market, depth or judge was analysed"
    every = statistics.group_by("market").agg(pl.col("n_all_sessions").max())["n_all_sessions"].sum()
    kept = max(statistics["n_sessions"].to_list())
    share = f"at most {count(kept)} have" if kept else "none has"
    return f"of {plural(int(every), 'session')}, {share} a grade for every result down to the depth"


def scope(run: Run) -> str:
    """Say what the headline numbers are of, and why these."""
    if run.headline is None:
        return ""
    several = {
        "market": "the market with most sessions kept",
        "depth": "the smallest depth",
        "judge": "the first judge",
    }
    why = [text for name, text in several.items() if run.frames["statistics"][name].n_unique() > 1]
    because = f" ({listed(why)})" if why else ""
    return f"Headline numbers are of {run.headline.label}{because}, and of the click metric {HEADLINE_CLICK}."
