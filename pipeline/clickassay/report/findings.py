"""The headline and the three main findings: sentences computed from the numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import SampleKey
from clickassay.core.text import MISSING, count, listed, number, percent, plural, sentence, span, visible
from clickassay.metrics.clicks import HEADLINE_CLICK
from clickassay.report.cells import Cell, Estimate, Spelled, caution_reason, p_text
from clickassay.report.model import Run, by_pair, estimate, in_order

MAX_QUERIES_NEEDED = 10_000_000
"""A larger number of needed queries is not reported: nobody could judge so many."""

ALPHA = 0.05
"""Two metrics are significantly different when the adjusted p-value of their difference is below this."""

N_INFLUENTIAL = 5
"""Most influential queries that are counted together, as in contracts.correlation.INFLUENCE."""

MAX_INFLUENTIAL_SHARE = 2 / 3
"""A correlation depends mostly on its influential queries above this share of its squared error; 0..1."""

NOT_COUNTED = ("SS", "QCTR")
"""Click metrics that the third finding does not count: SS uses the grades, QCTR counts every click."""


@dataclass(frozen=True)
class Finding:
    """One main finding: the number to remember, and its sentences with the uncertainty."""

    key: str
    text: str


@dataclass(frozen=True)
class Lead(Estimate):
    """How much one metric is ahead of another, and whether that is significant.

    Attributes
    ----------
    p_adjusted
        Adjusted p-value of no difference; None when it was not tested.
    queries_needed
        Judged queries that detect such a difference with a power of 80 %; None when no number does.
    n_queries
        Judged queries of the run.
    """

    p_adjusted: float | None = None
    queries_needed: float | None = None
    n_queries: int = 0

    @property
    def is_significant(self) -> bool:
        """Whether the two are significantly different."""
        return self.p_adjusted is not None and self.p_adjusted < ALPHA


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
        """Tested metrics that are not significantly different from the best."""
        not_significant = (name for name in self.others if not self.leads[name].is_significant)
        return tuple(name for name in not_significant if name not in self.untested)

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
    found = find_lead(pairs, best, other)
    if found is not None:
        return found
    return Lead((values[best].value or 0.0) - (values[other].value or 0.0))


def find_lead(pairs: pl.DataFrame, first: str, second: str) -> Lead | None:
    """Return how much `first` is ahead of `second` in rows of `comparisons`; None without such a row."""
    for row in pairs.iter_rows(named=True):
        if {row["metric_a"], row["metric_b"]} == {first, second}:
            found = lead_from_row(row)
            return found if row["metric_a"] == first else swap_sides(found)
    return None


def lead_from_row(row: Mapping[str, Any]) -> Lead:
    """Return how much `metric_a` is ahead of `metric_b` in a row of `comparisons`."""
    found = estimate(row, "difference")
    return Lead(
        found.value, found.low, found.high, found.reason, found.caution,
        p_adjusted=row["p_adjusted"], queries_needed=row["queries_needed"], n_queries=row["n_queries"],
    )  # fmt: skip


def swap_sides(found: Lead) -> Lead:
    """Return a lead with its two sides exchanged."""
    value, low, high = (None if end is None else -end for end in (found.value, found.high, found.low))
    return replace(found, value=value, low=low, high=high)


def nothing_kept_reason(run: Run) -> str:
    """Return that no session was kept, and why most were lost."""
    lost = run.frames["funnel"].filter(pl.col("source") == "sessions", pl.col("reason") != "")
    if lost.is_empty() or lost["rows"].sum() == 0:
        return "no session was kept: the log and the judgments have no configuration in common"
    most = lost.sort(["rows", "reason"], descending=[True, False]).row(0, named=True)
    return (
        f"no session was kept; most were lost because of: {visible(most['reason'])} ({count(most['rows'])})"
    )


def title(run: Run, ranking: Ranking | None) -> str:
    """Return the headline of the page: the first finding in short."""
    if run.headline is None or ranking is None or not ranking.values:
        return "Nothing can be said about metrics and clicks"
    if _is_not_above_zero(ranking.top):
        return "No offline metric can be shown to predict clicks"
    if ranking.tied:
        others = _names_or_count(ranking.tied)
        return f"{ranking.best} comes first, but is not significantly different from {others}"
    if ranking.untested or not ranking.others:
        return f"{ranking.best} has the highest correlation with clicks"
    return f"{ranking.best} predicts clicks best"


def _is_not_above_zero(found: Estimate) -> bool:
    return (found.value or 0.0) <= 0 or (found.low is not None and found.covers_zero)


def _names_or_count(names: Sequence[str], limit: int = 3) -> str:
    return listed(names) if len(names) <= limit else f"{len(names)} other metrics"


def first_finding(run: Run, ranking: Ranking | None) -> Finding:
    """Say which editorial metric correlates best with the headline click metric, and how far it is ahead."""
    if run.headline is None or ranking is None:
        return Finding(MISSING, sentence(f"There is no correlation to report: {nothing_kept_reason(run)}"))
    if not ranking.values:
        return Finding(MISSING, f"There is no correlation with {HEADLINE_CLICK} to report: {ranking.reason}.")
    top = ranking.top
    text = (
        f"{ranking.best} has the highest correlation with {HEADLINE_CLICK}, {number(top.value)} "
        f"({interval_text(top)})"
    )
    if _is_not_above_zero(top):
        return Finding(
            number(top.value), f"{text}, which is not significantly above zero.{caution_sentence(top)}"
        )
    share = influential_share(influence_rows(run, ranking.best)) or 0.0
    influence = [f"It depends mostly on {N_INFLUENTIAL} queries."] if share > MAX_INFLUENTIAL_SHARE else []
    sentences = [f"{text}.{caution_sentence(top)}", *influence, *_lead_sentences(ranking)]
    return Finding(number(top.value), " ".join(sentences))


def influence_rows(run: Run, metric: str) -> pl.DataFrame:
    """Return the rows of `influence` of a metric with the headline click metric, in the headline sample."""
    return run.headline_rows("influence").filter(click_metric=HEADLINE_CLICK, editorial_metric=metric)


def influential_share(rows: pl.DataFrame) -> float | None:
    """Return the share of a correlation's squared error due to its most influential queries; 0..1."""
    shares = rows["error_share"].drop_nulls().sort(descending=True).head(N_INFLUENTIAL)
    return float(shares.sum()) if len(shares) else None


def _lead_sentences(ranking: Ranking) -> list[str]:
    if not ranking.others:
        return ["No other metric has a value."]
    texts = []
    clear = [name for name in ranking.others if name not in ranking.tied + ranking.untested]
    if clear:
        found = ranking.leads[clear[0]]
        next_one = "the next" if clear[0] == ranking.others[0] else "the next that is significantly different"
        ahead = f"It is {number(found.value)} above {clear[0]}, {next_one} ({interval_text(found)})."
        texts.append(ahead + caution_sentence(found))
    if ranking.tied:
        texts.append(sentence(f"It is not significantly different from {_tied_text(ranking)}"))
    elif not ranking.untested:
        texts.append("It is significantly above all others.")
    if ranking.untested:
        texts.append(f"Whether it differs from {listed(ranking.untested)} was not tested.")
    return texts


def _tied_text(ranking: Ranking) -> str:
    """List the tied metrics, and the judged queries needed to show a difference from the nearest."""
    nearest = ranking.leads[ranking.tied[0]]
    text = listed(ranking.tied)
    if nearest.queries_needed is None or nearest.queries_needed > MAX_QUERIES_NEEDED:
        return text
    needed = approximate_count(nearest.queries_needed)
    return (
        f"{text}; to show a difference from {ranking.tied[0]} would take about {needed} judged queries, "
        f"and there are {count(nearest.n_queries)}"
    )


def approximate_count(queries: float) -> str:
    """Return an estimated number of queries, rounded to two digits."""
    if queries > MAX_QUERIES_NEEDED:
        return f"over {count(MAX_QUERIES_NEEDED)}"
    return count(int(float(f"{queries:.2g}")))


def queries_needed_cell(queries: float | None, reason: str) -> Cell:
    """Return the cell of an estimated number of queries, or why there is none."""
    return Estimate(None, reason=reason) if queries is None else Spelled(approximate_count(queries), queries)


def significance_text(p_adjusted: float | None) -> str:
    """Return ``yes``, ``no`` or ``not tested``: whether two are significantly different."""
    if p_adjusted is None:
        return "not tested"
    return "yes" if p_adjusted < ALPHA else "no"


def caution_sentence(found: Estimate) -> str:
    """Return the caution of an interval as a sentence, with a space before; '' if there is none."""
    if found.caution is None:
        return ""
    if not found.has_interval:
        return f" It has no interval: {caution_reason(found.caution)}."
    return f" Do not rely on this interval: {found.caution}."


def test_text(found: Lead) -> str:
    """Return interval and adjusted p-value, e.g. ``95 % interval 0.1 to 0.2, adjusted p 0.010``."""
    return f"{interval_text(found)}, adjusted p {p_text(found.p_adjusted)}"


def interval_text(found: Estimate) -> str:
    """Return the interval, e.g. ``95 % interval 0.100 to 0.200``, or ``no interval``."""
    if found.low is None or found.high is None:
        return "no interval"
    return f"95 % interval {span(found.low, found.high)}"


def second_finding(run: Run, ranking: Ranking | None) -> Finding:
    """Say how well differences in a metric between two rankings predict those in clicks."""
    missing = "The choice between two rankings cannot be evaluated"
    if run.headline is None:
        return Finding(MISSING, sentence(f"{missing}: {nothing_kept_reason(run)}"))
    rows = run.headline.rows(run.frames["differences"]).filter(click_metric=HEADLINE_CLICK)
    known, why = _known(run, rows, "exact")
    if not known:
        return Finding(MISSING, sentence(f"{missing}: {why or 'nothing was computed'}"))
    best = max(known, key=lambda name: known[name].value or 0.0)
    sign = rows.filter(editorial_metric=best)["sign_agreement"][0]
    first = ranking.best if ranking is not None and ranking.values else best
    compared = f" ({first}: {number(known[first].value)})" if first != best and first in known else ""
    text = (
        f"Between two rankings of the same queries, differences in {best} and in {HEADLINE_CLICK} have a "
        f"correlation of {number(known[best].value)} ({interval_text(known[best])}), the highest of all "
        f"metrics{compared}.{caution_sentence(known[best])} {best} and {HEADLINE_CLICK} then prefer the same "
        f"ranking in {percent(sign)} of the cases (50 % is chance)."
    )
    return Finding(percent(sign), text)


def third_finding(run: Run, ranking: Ranking | None) -> Finding:
    """Count the samples and click metrics for which the first finding holds."""
    if run.headline is None or ranking is None or not ranking.values:
        return Finding(MISSING, sentence(_coverage(run)))
    kept = leaders(run).filter(~pl.col("click_metric").is_in(NOT_COUNTED))
    won = kept.filter(editorial_metric=ranking.best).height
    rest = set(kept["editorial_metric"].to_list()) - {ranking.best}
    instead = f"; in the others, {listed(in_order(tuple(rest), run.editorial), 'or')} does" if rest else ""
    text = (
        f"{ranking.best} has the highest correlation in {count(won)} of {plural(kept.height, 'combination')} "
        "of market, depth, judge and click metric (SS, which uses the grades itself, and QCTR are not "
        f"counted){instead}"
    )
    return Finding(f"{count(won)} of {count(kept.height)}", sentence(text))


def leaders(run: Run) -> pl.DataFrame:
    """Return, per sample and click metric, the editorial metric with the highest overall correlation."""
    overall = run.frames["correlations"].filter(pl.col("split") == EVERY, pl.col("correlation").is_not_null())
    stratum = ["market", "depth", "judge", "click_metric"]
    order = pl.col("editorial_metric").replace_strict(
        {name: place for place, name in enumerate(run.editorial)}, return_dtype=pl.Int64
    )
    ranked = overall.sort([pl.col("correlation"), order], descending=[True, False], maintain_order=True)
    return ranked.unique(stratum, keep="first", maintain_order=True).sort(stratum)


def _coverage(run: Run) -> str:
    statistics = run.frames["statistics"]
    if statistics.is_empty():
        return "the run has no statistics: no market, depth or judge was analysed"
    every = statistics.group_by("market").agg(pl.col("n_all_sessions").max())["n_all_sessions"].sum()
    kept = max(statistics["n_sessions"].to_list())
    share = f"at most {count(kept)} have" if kept else "none has"
    return f"of {plural(int(every), 'session')}, {share} a grade for every result down to the depth"


def scope(run: Run) -> str:
    """Say which sample and click metric the headline numbers are for, and why these."""
    if run.headline is None:
        return ""
    several = {
        "market": "the market with the most sessions kept",
        "depth": "the smallest depth",
        "judge": "the first judge",
    }
    why = [text for name, text in several.items() if run.frames["statistics"][name].n_unique() > 1]
    because = f" ({listed(why)})" if why else ""
    return f"Headline numbers are for {run.headline.label}{because} and the click metric {HEADLINE_CLICK}."
