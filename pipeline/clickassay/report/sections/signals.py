"""Signals beside clicks: which metric each of them prefers, how they correlate, and what they can tell."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from clickassay.core.settings import OF_DWELL_TIMES
from clickassay.core.text.words import capital, count, listed, number, percent, plural, visible
from clickassay.correlation.uncertainty.intervals import MIN_QUERIES
from clickassay.findings.draw import Findings
from clickassay.findings.estimates import Estimate, estimate
from clickassay.findings.ranking import Lead, rank
from clickassay.findings.run import Run
from clickassay.findings.signals import CLICK, SignalRanking, signal_rankings
from clickassay.patterns.funnel import share_by_last_click, shows_both_ways
from clickassay.report.model import Section, by_pair
from clickassay.report.tables import Cell, ReportTable, Row, Share, Spelled, p_cell
from clickassay.report.verdict.sentences import clicks_of, signal_words, spoken

HEADS = (*("Sessions with it", "Share", "Best metric", "Its correlation", "Next", "Better by"), "Adjusted p")
NOTE = (
    "Ranked like the decision. Rare events give wide intervals: a difference that is significant on "
    "clicks but not on a rare signal is not a contradiction."
)
OTHERS = "others"
MEANINGS = {
    CLICK: "A click shows interest in a result, not that the result helped.",
    "satisfied": (
        "A satisfied click has a dwell time of {seconds} seconds or more; a short answer may satisfy "
        "sooner, and time on a slow page or in another tab counts too."
    ),
    OTHERS: (
        "Other actions depend on the result itself (in a shop its price) as much as on the ranking. "
        "Actions days later are not counted."
    ),
}
OUTCOMES_READING = (
    "An outcome is one number per session. Sessions without it count as 0, except for ratings, which "
    "average over rated sessions only. An abandoned session may have found its answer on the page; a "
    "reformulated one may ask for something new."
)
MOST_VALUES, HEAVY = 10, 0.25
"""An outcome has a caution if so many values, or lists, make up more than this part of it."""
LAST_CLICKS = (
    "{share} of the satisfied clicks are the last of their visit, so their dwell time is unknown. They "
    "count as {as_what} (--last-click)."
)
TOO_MANY = (
    " This is more than half of the signal, so it is shown both ways: “satisfied if followed” excludes "
    "these clicks."
)


def signals_sections(run: Run, findings: Findings) -> tuple[Section, ...]:
    """Say which metric each signal prefers; of a log of clicks alone only outcomes, if there are any."""
    rankings, outcomes = signal_rankings(run), _outcomes(run)
    if not rankings:
        alone = Section("signals", "Which outcome?", (OUTCOMES_READING,), tables=outcomes)
        return (alone,) if outcomes else ()
    rare = (
        f"{visible(one.signal)} has events in {plural(one.queries, 'query', 'queries')} only: its "
        f"intervals are unreliable."
        for one in rankings
        if one.queries < MIN_QUERIES
    )
    table = ReportTable(
        "signals", "Best metric on each signal", "Signal", HEADS,
        tuple(Row("", _called(one), _cells(run, one)) for one in rankings), notes=(NOTE, *rare),
    )  # fmt: skip
    names = [one.signal for one in rankings]
    others = [name for name in names if name not in (CLICK, *OF_DWELL_TIMES)]
    kinds = [CLICK, *(["satisfied"] if "satisfied" in names else []), *([OTHERS] if others else [])]
    seconds = f"{run.settings.satisfied_seconds:g}"
    meanings = (MEANINGS[kind].format(seconds=seconds) for kind in kinds)
    reading = (_first_sentence(rankings), *_agreement(findings, rankings), *_last_clicks(run), *meanings)
    folded = (_correlations(run, rankings), *outcomes)
    return (Section("signals", "Which signal?", reading, tables=(table,), folded=folded),)


def _outcomes(run: Run) -> tuple[ReportTable, ...]:
    """Return how outcomes of sessions go with the metric that clicks prefer."""
    if run.headline is None or not run.outcomes:
        return ()
    found = by_pair(run.correlations(run.headline))
    ranking = rank(run, run.headline)
    best = ranking.best if ranking.competitors else run.editorial[0]
    lists = run.headline_rows("configurations")
    own = run.tables["outcomes"].join(lists.select("configuration_id"), on="configuration_id")
    sessions, rows = int(lists["n_sessions"].sum()), []
    for name in run.outcomes:
        mine = own.filter(outcome=name)
        with_it, total = int(mine["sessions"].sum()), int(mine["total"].sum())
        counted = with_it if name in run.settings.ratings else sessions
        mean = total / 1000 / counted if counted else 0.0
        value = found.get((name, best)) or Estimate(None, reason="not computed")
        share = Share(with_it / sessions if sessions else None)
        rows.append(Row("", visible(name), (with_it, share, Spelled(number(mean), mean), value)))
    heads = ("Sessions with it", "Share", "Mean", f"Correlation with {best}")
    notes, spreads = [OUTCOMES_READING], run.info.get("outcome_values") or {}
    for (name,), mine in sorted(own.group_by("outcome")):
        if name in spreads:
            notes += _by_values(str(name), spreads[name])
            continue
        # the same of the lists with the largest totals, where single values are not kept
        by_list = mine.group_by("configuration_id").agg(pl.col("total").sum().cast(pl.Float64).abs())["total"]
        largest, whole = float(by_list.top_k(MOST_VALUES).sum()), float(by_list.sum())
        if whole and len(by_list) > MOST_VALUES and largest > HEAVY * whole:
            part = percent(largest / whole)
            notes.append(f"Of {visible(name)}, {MOST_VALUES} rankings contain {part}: a few values decide.")
    title, data = f"Outcomes of sessions, {run.headline.label}", run.tables["outcomes"]
    return (ReportTable("outcomes", title, "Outcome", heads, tuple(rows), notes=tuple(notes), data=data),)


def _by_values(name: str, spread: dict[str, float]) -> Iterator[str]:
    """Say that a few values make up most of an outcome, and its mean with the largest values cut."""
    mean, cut = number(spread["mean"]), number(spread["mean_cut"])
    searches = plural(int(spread["searches"]), "search", "searches")
    if mean != cut:
        yield (
            f"The mean of {visible(name)} over the {searches} that it is given for is {mean}; with values "
            f"cut at their 99.9% quantile, {number(spread['quantile'])}, it is {cut}."
        )
    if spread["searches"] > MOST_VALUES and spread["largest"] > HEAVY:
        share = percent(spread["largest"])
        yield f"Of {visible(name)}, the {MOST_VALUES} largest values make up {share}: a few values decide."


def _cells(run: Run, one: SignalRanking) -> tuple[Cell, ...]:
    sessions = int(run.headline_rows("statistics")["n_sessions"].sum())
    share = Share(one.sessions / sessions if sessions else None)
    ranking = one.ranking
    if not ranking.competitors:
        none = Estimate(None, reason=visible(ranking.reason or "no value", limit=160))
        return (one.sessions, share, none, none, none, none, none)
    best = ranking.best
    following = next((name for name in ranking.metrics if name != best), None)
    lead = (
        Lead(Estimate(None, reason="no other metric")) if following is None else ranking.lead(best, following)
    )
    return (one.sessions, share, best, ranking.top, following or "", lead.estimate, p_cell(lead.p_adjusted))


def _called(one: SignalRanking) -> str:
    return clicks_of(one.ranking.click)


def _first_sentence(rankings: Sequence[SignalRanking]) -> str:
    """Return which metric is the highest on each signal."""
    known = [one for one in rankings if one.ranking.competitors]
    if not known:
        return "No signal has a correlation with any metric, so none can be compared."
    highest = {_called(one): spoken(one.ranking.highest) for one in known}
    if len(set(highest.values())) == 1:
        name = capital(spoken(known[0].ranking.highest))
        return f"{name} has the highest correlation on {listed(highest)}."
    parts = (
        f"{name} on {listed(called for called, own in highest.items() if own == name)}"
        for name in dict.fromkeys(highest.values())
    )
    return f"The highest metric is {'; '.join(parts)}."


def _agreement(findings: Findings, rankings: Sequence[SignalRanking]) -> Iterator[str]:
    """Say which signals significantly prefer another metric than what is advised, and than clicks do."""
    subject, current = findings.decision.subject, findings.decision.current
    against = [one for one in findings.evidence if one.lead is not None and not one.has_consent]
    for one in against:
        rest = "" if subject in {None, one.best, current} else f" {spoken(subject or '')} is not."
        better = f"{spoken(one.best or '')} is significantly better than {current}"
        yield f"On {signal_words(one.click)}, {better}.{rest}"
    turned = [(ranked, *ranked.opposed) for ranked in rankings if ranked.opposed is not None]
    for ranked, better, worse in turned:
        yield (
            f"{capital(spoken(better))} is significantly better than {spoken(worse)} on {_called(ranked)}, "
            "and significantly worse on clicks. Which metric to use depends on what users should do."
        )
    if not against and not turned:
        yield "No signal significantly reverses the order of two metrics on clicks."


def _last_clicks(run: Run) -> tuple[str, ...]:
    """Return how many satisfied clicks nothing follows, and so rest on a convention."""
    rows = run.tables["funnel"].filter(source="dwell times")
    counts = dict(rows.group_by("step").agg(pl.col("rows").sum()).iter_rows())
    last = counts.get("last click", 0)
    if not last:
        return ()
    if run.settings.last_click == "unsatisfied":
        return (
            f"{count(last)} clicks are the last of their visit, so their dwell time is unknown. They "
            f"count as unsatisfied (--last-click).",
        )
    share = share_by_last_click(rows)
    text = LAST_CLICKS.format(share=percent(share), as_what=run.settings.last_click)
    return (text + (TOO_MANY if shows_both_ways(rows) else ""),)


def _correlations(run: Run, rankings: Sequence[SignalRanking]) -> ReportTable:
    """Return how signals correlate over lists, across two halves of the users."""
    own = run.headline_rows("signal_correlations")
    found: dict[frozenset[str], dict[str, Any]] = {
        frozenset((row["signal_a"], row["signal_b"])): row for row in own.iter_rows(named=True)
    }
    names, rows = [one.signal for one in rankings], []
    for one in names:
        cells: list[Cell] = []
        for other in names:
            row = found.get(frozenset((one, other)))
            cells.append("" if one == other else estimate(row))
        rows.append(Row("", visible(one), tuple(cells)))
    left = max(own["left_out"].drop_nulls(), default=0.0)
    note = (
        "Each value correlates the means of one half of the users with the means of the other, which "
        "removes noise that signals share. Estimates may exceed 1. "
        f"{percent(left)} of the sessions have rankings shown to one half only; they are excluded."
    )
    return ReportTable(
        "signal_correlations", "Correlation between signals over rankings", "Signal",
        tuple(map(visible, names)),
        tuple(rows), notes=(note,), data=run.tables["signal_correlations"],
    )  # fmt: skip
