"""Signals of a run beside clicks: how they correlate, and which metric each of them prefers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from clickassay.core.contracts.findings import SIGNAL_CORRELATIONS
from clickassay.core.records import Sample, SampleKey
from clickassay.correlation.estimates import AcrossHalves, Halves, across_halves
from clickassay.findings.arrays import folds_of, graded_sample
from clickassay.findings.claims import Verdict
from clickassay.findings.decision import Challenge, Decision
from clickassay.findings.ranking import Lead, Ranking, deciding
from clickassay.findings.run import Run
from clickassay.metrics.clicks import SIGNAL_METRICS, signal_metric, signal_of

CLICK = "click"
"""The name of clicks among signals."""
ONE_HALF = "users of one half only"
NO_BOUND = "too little is left without the noise of single sessions"


def metric_of(run: Run, signal: str) -> str:
    """Return the click metric of a signal that stands beside the headline one: the same of other events."""
    base = run.click.partition("(")[0]
    base = base if base in SIGNAL_METRICS else "MeanRR"
    return base if signal == CLICK else signal_metric(base, signal)


def asked_of(run: Run, signal: str) -> str:
    """Return the click metric of a signal that a user named, else the one that stands beside the headline."""
    return next(
        (name for name in run.counted if (signal_of(name) or CLICK) == signal), metric_of(run, signal)
    )


@dataclass(frozen=True)
class SignalRanking:
    """A signal, and the metrics and baselines by how well they predict it."""

    # signal, ranking: Its name, and the ranking of the question that decides.
    signal: str
    ranking: Ranking
    # sessions, queries: Sessions of the headline sample with the signal, and queries with one of these.
    sessions: int
    queries: int
    # A metric that is significantly better than another by the signal, and worse by clicks; None without one.
    opposed: tuple[str, str] | None


def signal_rankings(run: Run) -> tuple[SignalRanking, ...]:
    """Return clicks and each other signal, ranked as the decision is; none of a run of clicks alone."""
    if run.headline is None or not run.signals:
        return ()
    decided = deciding(run, run.headline)
    rankings = {name: decided.rank(run, asked_of(run, name)) for name in (CLICK, *run.signals)}
    lists = run.headline.rows(run.tables["configurations"]).select("configuration_id", "query")
    own = run.tables["signals"].join(lists, on="configuration_id")
    clicked = run.tables["patterns"].filter(pl.col("click_mask") > 0).join(lists, on="configuration_id")
    clicked = clicked.with_columns(signal=pl.lit(CLICK)).select(own.columns)
    sums = pl.concat([own, clicked], how="vertical_relaxed").group_by("signal")
    counts = sums.agg(pl.col("sessions").sum(), pl.col("query").n_unique())
    counted = {name: (sessions, queries) for name, sessions, queries in counts.iter_rows()}
    return tuple(
        SignalRanking(name, ranking, *counted.get(name, (0, 0)), opposed(rankings[CLICK], ranking))
        for name, ranking in rankings.items()
    )


def opposed(clicks: Ranking, other: Ranking, first: Sequence[str | None] = ()) -> tuple[str, str] | None:
    """Return a metric, of `first` first, that is significantly better by one ranking and worse by clicks."""
    known = [name for name in other.competitors if name in clicks.competitors]
    ordered = [name for name in dict.fromkeys((*first, *known)) if name in known and name is not None]
    pairs = ((a, b) for a in ordered for b in ordered if (a, b) in other.ahead)
    return next(((a, b) for a, b in pairs if (b, a) in clicks.ahead), None)


@dataclass(frozen=True)
class Evidence:
    """What one click metric says of the metric in use and of the advised one, and its own best."""

    ranking: Ranking
    is_named: bool  # Whether the user named it, so that the decision needs its consent.
    # Its highest winner against the metric in use, or of all without one; None: there is none.
    best: str | None
    lead: Lead | None  # How much that is ahead of the metric in use; None where nothing is compared.
    advised: Lead | None  # How much the advised one is ahead of the metric in use.
    has_consent: bool  # Whether nothing is better here, or the advised one is and nothing is above it.

    @property
    def click(self) -> str:
        """The click metric."""
        return self.ranking.click

    @property
    def kind(self) -> Literal["supports", "opposes", "inconclusive"]:
        """What that is for what is advised."""
        if self.advised is not None and self.advised.is_ahead and self.has_consent:
            return "supports"
        is_worse = self.advised is not None and self.advised.is_significant and not self.advised.is_ahead
        return "opposes" if is_worse or not self.has_consent else "inconclusive"


def evidence(run: Run, verdict: Verdict, decision: Decision) -> tuple[Evidence, ...]:
    """Return what each named click metric and each further signal says, the one that decides first."""
    if run.headline is None or not verdict.claims[0].ranking.competitors:
        return ()
    decided, named = deciding(run, run.headline), dict.fromkeys(run.counted)
    others = [asked_of(run, one) for one in ((CLICK, *run.signals) if run.signals else ())]
    rankings = [decided.rank(run, click) for click in dict.fromkeys((*named, *others))]
    return tuple(_evidence(one, decision, is_named=one.click in named) for one in rankings if one.competitors)


def _evidence(ranking: Ranking, decision: Decision, *, is_named: bool) -> Evidence:
    current, subject = decision.current, decision.subject
    if current is None or current not in ranking.competitors:
        best = next(iter(ranking.among_best), None)
        consent = subject is None or not ranking.among_best or subject in ranking.among_best
        return Evidence(ranking, is_named, best, None, None, consent)
    challenge = Challenge(ranking, current, decision.margin)
    best = next(iter(challenge.winners), None)
    advised = None if subject is None else challenge.leads.get(subject)
    consent = challenge.agrees(subject or current)
    return Evidence(
        ranking, is_named, best, None if best is None else challenge.leads[best], advised, consent
    )


def signal_correlations(run: Run) -> pl.DataFrame:
    """Return the rows of `contracts.findings.SIGNAL_CORRELATIONS`: how signals correlate over lists."""
    keys = run.samples if run.signals else ()
    rows = [row for key in keys for row in _rows(run, key)]
    schema = {column.name: column.dtype for column in SIGNAL_CORRELATIONS.columns}
    return SIGNAL_CORRELATIONS.canonical(pl.DataFrame(rows, schema=schema))


def _rows(run: Run, key: SampleKey) -> Iterator[dict[str, Any]]:
    names = (CLICK, *run.signals)
    found = None
    if len({fold % 2 for fold in folds_of(run)}) > 1:
        found = _matched(graded_sample(run, key, folds=2).sample, [metric_of(run, name) for name in names])
    for a, one in enumerate(names):
        for b, other in enumerate(names[:a]):
            yield {**key.columns, "signal_a": other, "signal_b": one, **_values(found, b, a)}


@dataclass(frozen=True)
class _Matched:
    """Values, counts (lists, queries, sessions) and the share of sessions that is left out."""

    found: AcrossHalves
    counts: tuple[int, int, int]
    left_out: float


def _matched(sample: Sample, clicks: Sequence[str]) -> _Matched | None:
    """Correlate click metrics over the lists that both halves of the users were shown; None without any."""
    cells = sample.by_fold
    assert cells is not None  # noqa: S101 - the samples of a run have them
    both = np.flatnonzero(cells.rows[1:] == cells.rows[:-1])  # an even fold, and then the odd one
    if not len(both):
        return None
    columns = [sample.click_names.index(name) for name in clicks]
    even, odd = (cells.values[rows][:, columns] for rows in (both, both + 1))
    weights = cells.sessions[both] + cells.sessions[both + 1]
    queries = np.array(sample.queries if sample.units is None else sample.units)
    distinct, unit = np.unique(queries[sample.query_index[cells.rows[both]]], return_inverse=True)
    found = across_halves(Halves(even, odd, weights, unit))
    counts = (len(both), len(distinct), int(weights.sum()))
    return _Matched(found, counts, 1 - int(weights.sum()) / int(sample.sessions.sum()))


def _values(matched: _Matched | None, a: int, b: int) -> dict[str, Any]:
    if matched is None:
        return {"reason": ONE_HALF}
    found, counts = matched.found, matched.counts
    is_bounded = bool(np.isfinite(found.low[a, b]) and np.isfinite(found.values[a, b]))
    ends = {"correlation": found.values, "ci_low": found.low, "ci_high": found.high}
    return {
        **{name: float(of[a, b]) if is_bounded else None for name, of in ends.items()},
        **dict(zip(("n_configurations", "n_queries", "n_sessions"), counts, strict=True)),
        "left_out": matched.left_out,
        "reason": None if is_bounded else NO_BOUND,
    }
