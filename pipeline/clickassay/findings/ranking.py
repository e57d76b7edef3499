"""Metrics and baselines by how well they predict a click metric, and the tests between them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from string import ascii_lowercase
from typing import Any, Literal

import numpy as np

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import SampleKey
from clickassay.core.text.words import count, listed
from clickassay.correlation.uncertainty.intervals import (
    ALPHA,
    MIN_QUERIES,
    Spread,
    difference_interval,
    holm,
    together_confidence,
)
from clickassay.findings.estimates import Estimate, estimate
from clickassay.findings.run import Run, in_order
from clickassay.metrics.catalogue import BASELINES

REACH = 100
"""More than so many times the judged queries of a run are out of reach: it cannot tell how many exactly."""

ROOM_FOR_NOISE = 0.05
"""Below this reliability the highest possible correlation is not given: too little is left to divide by."""

ONE_MOMENT, SIDE_BY_SIDE = 2.0, 0.5
"""Below both, lists changed at one moment: the ways in which they changed over time (one release has 1.1 to
1.4, three 2.8 or more), and the part of a metric's spread that is within a period."""

WITHIN_QUERIES: Literal["correlation within queries"] = "correlation within queries"
Quantity = Literal["correlation", "correlation of differences", "correlation within queries"]
"""Metrics are ranked by correlation with clicks: over all queries, of differences, or within queries."""

Question = Literal["rankings", "queries"]
"""Of two lists for a query, does a metric prefer the one that users prefer; or does it tell lists that users
like from others, over all queries?"""


@dataclass(frozen=True)
class Lead:
    """How much one metric is ahead of another, and whether that is significant."""

    estimate: Estimate  # The difference, with its interval.
    p_adjusted: float | None = None  # Adjusted p-value of no difference; None when it was not tested.
    # p_value, error, degrees: What families are made of: the p-value before adjustment, the standard error of
    # the difference, and the degrees of freedom of its square; None when it was not tested.
    p_value: float | None = None
    error: float | None = None
    degrees: float | None = None
    # Judged queries that detect such a difference with a power of 80%; None when no number does.
    queries_needed: float | None = None
    n_queries: int = 0  # Judged queries of the run.
    # Ends of the interval that holds for all pairs of the family at once; None where there is none.
    together: tuple[float | None, float | None] = (None, None)
    # partial, partial_p_value: The partial correlation of the metric with clicks, the baseline held, of such
    # a pair within queries, and its p-value; None for others.
    partial: Estimate | None = None
    partial_p_value: float | None = None

    @property
    def value(self) -> float | None:
        """The difference."""
        return self.estimate.value

    @property
    def is_within_reach(self) -> bool:
        """Whether the queries needed to show the difference are at most `REACH` times the judged ones."""
        return self.queries_needed is not None and self.queries_needed <= REACH * self.n_queries

    @property
    def is_significant(self) -> bool:
        """Whether the two are significantly different."""
        return self.p_adjusted is not None and self.p_adjusted < ALPHA

    @property
    def is_ahead(self) -> bool:
        """Whether the first is significantly better than the second."""
        return self.is_significant and self.value is not None and self.value > 0


@dataclass(frozen=True)
class Shared:
    """What was taken out of a correlation within queries, and how its lists changed over time."""

    periods: int  # Periods taken out; 0 = none.
    folds: int  # Folds of users taken out; 0 = none.
    moments: float | None  # In how many ways lists changed over time, 1 or more; None: times are not known.
    # The part of the metric's spread within queries that is within a period, 0..1; None where not known.
    side_by_side: float | None

    @property
    def is_one_change(self) -> bool:
        """Whether lists changed only at one moment, so that all else that changed then looks like them."""
        if self.moments is None or self.side_by_side is None:
            return False
        return self.moments < ONE_MOMENT and self.side_by_side < SIDE_BY_SIDE


@dataclass(frozen=True)
class Competitor:
    """A metric or a baseline with a value."""

    name: str  # Name of the metric.
    estimate: Estimate  # Its correlation.
    null: float = 0.0  # The correlation if clicks ignored the grades.
    p_adjusted: float | None = None  # Adjusted p-value of no more than that; None when it was not tested.
    # Ends of the interval that holds for all metrics and baselines at once; None where there is none.
    together: tuple[float | None, float | None] = (None, None)
    shared: Shared | None = None  # Of a correlation within queries.

    @property
    def is_baseline(self) -> bool:
        """Whether it is a baseline."""
        return self.name in BASELINES

    @property
    def value(self) -> float:
        """The correlation, which a competitor has."""
        return self.estimate.value or 0.0

    @property
    def is_above_nothing(self) -> bool:
        """Whether it is significantly above what clicks that ignore the grades would give."""
        return self.p_adjusted is not None and self.p_adjusted < ALPHA and self.value > self.null

    @property
    def is_below_nothing(self) -> bool:
        """Whether it is significantly worse than that: clicks fall as it rises."""
        return self.p_adjusted is not None and self.p_adjusted < ALPHA and self.value < self.null


@dataclass(frozen=True)
class Ranking:
    """The metrics and the baselines of one sample by how well they predict one click metric."""

    quantity: Quantity  # What they are ranked by.
    click: str  # The click metric.
    sample: SampleKey | None  # Market, depth and judge; None where no session was kept.
    # Metrics and baselines with a value by name, highest first; none if no metric has one.
    competitors: Mapping[str, Competitor] = field(default_factory=dict)
    # How much one is ahead of another, for each pair of the run's tests.
    pairs: Mapping[tuple[str, str], Lead] = field(default_factory=dict)
    n_queries: int = 0  # Judged queries behind the values.
    reason: str | None = None  # Why there is no competitor; None when there is one.

    @cached_property
    def values(self) -> dict[str, Estimate]:
        """The estimates by name, highest first."""
        return {name: one.estimate for name, one in self.competitors.items()}

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that are no baselines, highest first."""
        return tuple(name for name, one in self.competitors.items() if not one.is_baseline)

    @cached_property
    def baselines(self) -> tuple[str, ...]:
        """The baselines, highest first."""
        return tuple(name for name, one in self.competitors.items() if one.is_baseline)

    @property
    def highest(self) -> str:
        """The metric or baseline with the highest value."""
        return next(iter(self.competitors))

    @property
    def best(self) -> str:
        """The metric with the highest value, baselines aside."""
        return self.metrics[0]

    @property
    def top(self) -> Estimate:
        """The estimate of the best metric."""
        return self.values[self.best]

    @property
    def others(self) -> tuple[str, ...]:
        """All but the best metric, highest first."""
        return tuple(name for name in self.competitors if name not in self.metrics[:1])

    @cached_property
    def leads(self) -> dict[str, Lead]:
        """How much the best metric is ahead of each other one."""
        return {name: self.lead(self.best, name) for name in self.others}

    @property
    def largest_lead(self) -> tuple[tuple[str, str], Lead] | None:
        """The largest significant difference, as the better and the worse metric and the lead."""
        significant = {pair: lead for pair, lead in self.pairs.items() if lead.is_significant}
        if not significant:
            return None
        (first, second), lead = max(significant.items(), key=lambda one: abs(one[1].value or 0.0))
        return ((first, second), lead) if lead.is_ahead else ((second, first), swap_sides(lead))

    @cached_property
    def ahead(self) -> frozenset[tuple[str, str]]:
        """The pairs of which the first is significantly better than the second."""
        significant = [
            (pair, lead) for pair, lead in self.pairs.items() if lead.is_significant and lead.value
        ]
        return frozenset(pair if lead.is_ahead else pair[::-1] for pair, lead in significant)

    def lead(self, first: str, second: str) -> Lead:
        """Return how much `first` is ahead of `second`; without a test if the run made none."""
        if (first, second) in self.pairs:
            return self.pairs[first, second]
        if (second, first) in self.pairs:
            return swap_sides(self.pairs[second, first])
        return Lead(Estimate(self.competitors[first].value - self.competitors[second].value))

    def not_above(self, first: str, others: tuple[str, ...]) -> tuple[str, ...]:
        """Return the others that `first` is not significantly above."""
        return tuple(name for name in others if name != first and (first, name) not in self.ahead)

    def above(self, first: str, others: tuple[str, ...]) -> tuple[str, ...]:
        """Return the others that are significantly better than `first`, highest first."""
        return tuple(name for name in others if (name, first) in self.ahead)

    def untested(self, first: str) -> tuple[str, ...]:
        """Return the metrics and baselines whose difference from `first` was not tested."""
        rest = (name for name in self.competitors if name != first)
        return tuple(name for name in rest if self.lead(first, name).p_adjusted is None)

    @property
    def tied(self) -> tuple[str, ...]:
        """All that were tested and are not significantly different from the best metric."""
        return tuple(
            name
            for name, lead in self.leads.items()
            if lead.p_adjusted is not None and not lead.is_significant
        )

    def partials(self, baseline: str, names: Iterable[str]) -> dict[str, tuple[Estimate, float]]:
        """Return what metrics add to a baseline, with Holm's p-values; none where it cannot be told."""
        leads = {name: self.lead(name, baseline) for name in names}
        known = {
            name: (lead.partial, _number(lead.partial_p_value))
            for name, lead in leads.items()
            if lead.partial is not None and lead.n_queries >= MIN_QUERIES
            if not ((shared := self.competitors[name].shared) and shared.is_one_change)
        }
        adjusted = holm(np.array([p for _, p in known.values()]))
        return {name: (one, float(p)) for (name, (one, _)), p in zip(known.items(), adjusted, strict=True)}

    def adding(self, baseline: str, names: Iterable[str]) -> str | None:
        """Return which of some metrics significantly adds most to a baseline; None where none is known to."""
        added = {name: one.value for name, (one, p) in self.partials(baseline, names).items() if p < ALPHA}
        positive = {name: value for name, value in added.items() if value is not None and value > 0}
        return max(positive, key=lambda name: positive[name], default=None)

    @cached_property
    def proven(self) -> tuple[str, ...]:
        """Metrics that are significantly above nothing and above each baseline, highest first."""
        return tuple(
            name
            for name in self.metrics
            if self.competitors[name].is_above_nothing and not self.not_above(name, self.baselines)
        )

    @property
    def unbeaten(self) -> tuple[str, ...]:
        """Baselines that no metric is significantly above, highest first."""
        return tuple(
            baseline
            for baseline in self.baselines
            if not any((name, baseline) in self.ahead for name in self.metrics)
        )

    @cached_property
    def among_best(self) -> tuple[str, ...]:
        """All that are significantly below none, highest first; () where nothing is above nothing.

        Multiple comparisons with the best (Hsu 1981), Holm over all pairs.
        """
        names = tuple(self.competitors)
        if not any(one.is_above_nothing for one in self.competitors.values()):
            return ()
        return tuple(name for name in names if not self.above(name, names))

    def against(self, reference: str) -> dict[str, Lead]:
        """Return how much each other one is ahead of a reference, tested and bounded as one family.

        p-values are Holm's over these; `together` holds for all of them at once (Bonferroni, with
        Satterthwaite's own degrees of freedom). What was not tested has neither.
        """
        leads = {name: self.lead(name, reference) for name in self.competitors if name != reference}
        columns = [[_number(getattr(one, name)) for one in leads.values()] for name in _OF_FAMILY]
        values, p_values, errors, degrees = (np.array(column, np.float64) for column in columns)
        spread = Spread(errors, degrees, 0)
        bounds = difference_interval(values, spread, together_confidence(p_values))
        adjusted, low, high = (
            [None if math.isnan(value) else float(value) for value in of] for of in (holm(p_values), *bounds)
        )
        return {
            name: replace(lead, p_adjusted=p, together=(below, above))
            for (name, lead), p, below, above in zip(leads.items(), adjusted, low, high, strict=True)
        }


def rank(run: Run, sample: SampleKey, click: str | None = None) -> Ranking:
    """Rank by the overall correlation with a click metric; None = the headline one."""
    return _rank(run, "correlation", sample, click or run.click)


def rank_differences(run: Run, sample: SampleKey, click: str | None = None) -> Ranking:
    """Rank by the correlation of differences between two rankings (closed form of Algorithm 3)."""
    return _rank(run, "correlation of differences", sample, click or run.click)


def rank_within(run: Run, place: SampleKey, click: str | None = None) -> Ranking:
    """Rank by the correlation within queries, of a market or of all markets together."""
    return _rank(run, WITHIN_QUERIES, place, click or run.click)


_TABLES: Mapping[Quantity, tuple[str, str, str]] = {
    "correlation": ("correlations", "correlation", "comparisons"),
    "correlation of differences": ("differences", "exact", "difference_comparisons"),
    "correlation within queries": ("within", "correlation", "within_comparisons"),
}
"""The tables of the values that metrics are ranked by, their columns, and the tables of their differences."""


def values_of(run: Run, quantity: Quantity, sample: SampleKey, click: str) -> list[dict[str, Any]]:
    """Return the rows of the values that metrics are ranked by, in ``correlation``."""
    table, column, _ = _TABLES[quantity]
    return [{**row, "correlation": row[column]} for row in run.rows_about(table, sample, click)]


def _rank(run: Run, quantity: Quantity, sample: SampleKey, click: str) -> Ranking:
    by_metric = {row["editorial_metric"]: row for row in values_of(run, quantity, sample, click)}
    ordered = [by_metric[name] for name in in_order(tuple(by_metric), (*run.editorial, *BASELINES))]
    known = sorted(
        (_competitor(row) for row in ordered if row["correlation"] is not None), key=lambda one: -one.value
    )
    if all(one.is_baseline for one in known):
        reasons = {estimate(row).reason or "no value" for row in ordered if row["correlation"] is None}
        why = listed(sorted(reasons)) or f"{click} was not computed"
        return Ranking(quantity, click, sample, reason=why)
    tests = run.rows_about(_TABLES[quantity][2], sample, click)
    leads = {(row["metric_a"], row["metric_b"]): lead_from_row(row) for row in tests}
    queries = max(row["n_queries"] or 0 for row in ordered)
    return Ranking(quantity, click, sample, {one.name: one for one in known}, leads, queries)


def _competitor(row: Mapping[str, Any]) -> Competitor:
    together = (row["simultaneous_low"], row["simultaneous_high"])
    null = row.get("null_correlation") or 0.0
    parts = ("periods", "user_folds", "moments", "side_by_side")
    shared = Shared(*(row[name] for name in parts)) if "moments" in row else None
    return Competitor(row["editorial_metric"], estimate(row), null, row["p_adjusted"], together, shared)


def lead_from_row(row: Mapping[str, Any]) -> Lead:
    """Return how much `metric_a` is ahead of `metric_b` in a row of `comparisons`."""
    ends = [row.get(f"partial{end}") for end in ("", "_low", "_high")]
    return Lead(
        estimate(row, "difference"),
        **{name: row.get(name) for name in ("p_adjusted", "p_value", "error", "degrees")},
        queries_needed=row["queries_needed"], n_queries=row["n_queries"],
        together=(row.get("simultaneous_low"), row.get("simultaneous_high")),
        partial=None if None in ends else Estimate(*ends), partial_p_value=row.get("partial_p_value"),
    )  # fmt: skip


def swap_sides(lead: Lead) -> Lead:
    """Return a lead with its two sides exchanged."""
    own, (low, high) = lead.estimate, lead.together
    estimate = replace(own, value=_minus(own.value), low=_minus(own.high), high=_minus(own.low))
    return replace(lead, estimate=estimate, together=(_minus(high), _minus(low)))


_OF_FAMILY = ("value", "p_value", "error", "degrees")


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _minus(number: float | None) -> float | None:
    return None if number is None else -number


def prefers_the_same(correlation: float) -> float:
    """Return the share 1/2 + asin(r)/pi of pairs that a metric orders as users do, if normal (method 8.2)."""
    return 0.5 + math.asin(max(-1.0, min(1.0, correlation))) / math.pi


def highest_possible(run: Run, ranking: Ranking) -> float | None:
    """Return the correlation of a metric that knew all click rates: the root of clicks' reliability."""
    if ranking.sample is None:
        return None
    rows = [
        row
        for row in values_of(run, ranking.quantity, ranking.sample, ranking.click)
        if row["noise_corrected_low"] is not None and row["noise_corrected"]
    ]
    if not rows:
        return None
    row = max(rows, key=lambda row: abs(row["correlation"]))
    root = row["correlation"] / row["noise_corrected"]
    return root if root * root >= ROOM_FOR_NOISE else None


# ---- which question decides: comparing two rankings, or telling queries apart; and by which lists ------


@dataclass(frozen=True)
class Deciding:
    """The question that decides, and the lists that answer it."""

    question: Question  # Comparing two rankings, or telling queries apart.
    sample: SampleKey  # Market, depth and judge; the market is ``all`` for all markets together.
    instead: str | None = None  # Why it is not the question that was asked; None where it is.

    def rank(self, run: Run, click: str | None = None) -> Ranking:
        """Rank metrics and baselines by what answers the question; None = the headline click metric."""
        by_question = {"rankings": rank_within, "queries": rank}
        return by_question[self.question](run, self.sample, click)


def deciding(run: Run, sample: SampleKey) -> Deciding:
    """Return the deciding question, of all markets together: rankings need `MIN_QUERIES` with two lists."""
    together = replace(sample, market=EVERY)
    return deciding_in(run, together if together in run.places else sample, sample)


def deciding_in(run: Run, place: SampleKey, sample: SampleKey) -> Deciding:
    """Return the same by the lists of a place alone; a sample answers where it cannot."""
    if run.settings.question == "queries":
        return Deciding("queries", sample)
    # with two judged lists or more
    queries = int(max(place.rows(run.tables["within"]).filter(split=EVERY)["n_queries"], default=0))
    if queries >= MIN_QUERIES:
        return Deciding("rankings", place)
    has = {0: "No query has", 1: "Only 1 query has"}.get(queries, f"Only {count(queries)} queries have")
    why = f"{has} two fully judged rankings, too few to compare rankings: use a longer log or an A/B test."
    return Deciding("queries", sample, why)


# ---- letters: two metrics that share one are not significantly different ----------------------------


Group = tuple[str, ...]


def groups(ordered: Sequence[str], different: Sequence[tuple[str, str]]) -> tuple[Group, ...]:
    """Return the largest sets of metrics, in order, of which no two are in `different`; they may overlap.

    From one set of all, each significantly different pair splits the sets that hold both, and sets within
    another are dropped (insert and absorb; Piepho 2004).
    """
    sets = [frozenset(ordered)]
    for a, b in different:
        split = {part for one in sets for part in ([one - {a}, one - {b}] if {a, b} <= one else [one])}
        sets = [one for one in split if not any(one < other for other in split)]
    places = sorted(sorted(ordered.index(name) for name in one) for one in sets)
    return tuple(tuple(ordered[place] for place in one) for one in places)


def letters(groups: Sequence[Group]) -> dict[str, str]:
    """Return the letters of each metric, one for each of its groups: ``a``, ``b`` ... ``z``, ``a2`` ..."""
    by_metric: dict[str, list[str]] = {}
    for place, group in enumerate(groups):
        turn = place // len(ascii_lowercase)
        letter = ascii_lowercase[place % len(ascii_lowercase)] + (str(turn + 1) if turn else "")
        for name in group:
            by_metric.setdefault(name, []).append(letter)
    return {name: " ".join(own) for name, own in by_metric.items()}
