"""What to do, in a sentence: the verdict, turned towards the metric that is in use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from clickassay.core.text import capital, count, listed, number
from clickassay.correlation.jackknife import HEAVY_TAIL
from clickassay.findings.run import Run
from clickassay.health.checks import HealthCheck
from clickassay.report.cells import caution_reason
from clickassay.report.verdict.claims import DEPENDS_ON_CLICK, Claim, Findings, Verdict
from clickassay.report.verdict.ranking import Ranking
from clickassay.report.verdict.sentences import claim_title, scope_text, verdict_sentence
from clickassay.report.verdict.words import (
    MOST_NAMES,
    all_spoken,
    few_spoken,
    interval_text,
    main_clause,
    needed_text,
    spoken,
)

Kind = Literal[
    "log_at_fault",
    "cannot_decide",
    "choose_click_metric",
    "switch",
    "keep",
    "baseline_better",
    "use",
    "no_metric_better",
]
"""What is advised; docs/reference/summary.md defines each."""


@dataclass(frozen=True)
class Decision:
    """What to do.

    Attributes
    ----------
    kind
        What is advised.
    sentence
        The advice, without a full stop: the title of the report.
    reason
        Why, in a sentence or two.
    subject
        The metric or baseline that the advice is about; None if it is about none.
    current
        The metric in use; None if it was not named.
    caution
        Why its tests may find too many differences, as a sentence; None if there is no sign of that.
    scope
        Which market, depth and judge it is about, and what other judges would decide, if not the same; ''
        where no session was kept.
    other_judges
        The sentence of each other judge whose decision is another.
    """

    kind: Kind
    sentence: str
    reason: str
    subject: str | None = None
    current: str | None = None
    caution: str | None = None
    scope: str = ""
    other_judges: Mapping[str, str] = field(default_factory=dict)

    @property
    def lead(self) -> str:
        """The reason, and the caution if there is one."""
        return " ".join(filter(None, (self.reason, self.caution)))


def decide_run(
    run: Run, found: Findings, health: Sequence[HealthCheck], current: str | None = None
) -> Decision:
    """Return the decision of a run by its headline sample, and what it would be by another judge."""
    own = decide(found.verdict, health, current)
    others = {judge: decide(verdict, health, current) for judge, verdict in found.other_judges.items()}
    differ = {
        judge: one.sentence
        for judge, one in others.items()
        if (one.kind, one.subject) != (own.kind, own.subject)
    }
    return replace(own, scope=scope_text(run, differ), other_judges=differ)


def decide(verdict: Verdict, health: Sequence[HealthCheck], current: str | None = None) -> Decision:
    """Return what the verdict and the health of the log amount to.

    Parameters
    ----------
    verdict
        What the tests allow to be said, for each click metric that counts.
    health
        The checks that fire, findings first.
    current
        The metric in use; None = unknown.
    """
    claim = verdict.claims[0]
    if health and health[0].is_finding:
        fault = health[0].sentence
        sentence = f"The log has a fault: {_middle(main_clause(fault))}"
        return Decision("log_at_fault", sentence, f"{fault} {health[0].remedy}", None, current)
    undecided = _undecided(claim)
    if undecided is not None:
        return Decision("cannot_decide", f"This log cannot decide: {undecided}", _most(claim), None, current)
    if current and current in claim.ranking.competitors:
        return _with_caution(_about(verdict, current), claim)
    found = _with_caution(_without_current(verdict, current), claim)
    if current is None:
        return found
    return replace(found, reason=f"{found.reason} {current}, which is in use, has no correlation here.")


def _with_caution(found: Decision, claim: Claim) -> Decision:
    """Warn where sessions are heavy-tailed: intervals of correlations are too short then."""
    ranking = claim.ranking
    subject = found.subject or ranking.highest
    others = (name for name in ranking.competitors if name != subject)
    known = (ranking.competitors[ranking.highest].estimate, *(ranking.lead(subject, name) for name in others))
    if all(one.caution != HEAVY_TAIL for one in known):
        return found
    return replace(found, caution=f"Take close calls with care: {HEAVY_TAIL}.")


def _middle(text: str) -> str:
    """Return a sentence for the middle of another one."""
    begins_plainly = text.startswith(("The ", "Of ", "One ", "Every "))
    return (text[0].lower() + text[1:] if begins_plainly else text).removesuffix(".")


def _undecided(claim: Claim) -> str | None:
    """Return why the tests of the headline click metric decide nothing; None if they do."""
    ranking = claim.ranking
    if claim.kind == "no_correlation":
        return ranking.reason if ranking.sample is None else f"there is no correlation ({ranking.reason})"
    if claim.kind == "not_tested":
        return "no correlation could be tested"
    if claim.kind == "nothing_predicts":
        return f"no metric can be shown to predict {ranking.click}"
    caution = ranking.competitors[ranking.highest].estimate.caution
    if caution is None or caution == HEAVY_TAIL:
        return None
    return f"its intervals are not reliable ({caution_reason(caution)})"


def _most(claim: Claim) -> str:
    """Return what would help, whatever it is that a log lacks."""
    if claim.kind != "no_correlation":
        return "More judged queries would make the intervals narrower."
    if claim.ranking.sample is None:
        return (
            "It takes sessions whose results all have a grade: the report counts what is left out, and why."
        )
    return "It takes several judged lists that differ in grades and in clicks."


def _without_current(verdict: Verdict, current: str | None) -> Decision:
    claim = verdict.claims[0]
    if verdict.kind == DEPENDS_ON_CLICK:
        reason = "No metric is among the best by every click metric that counts."
        return Decision("choose_click_metric", verdict_sentence(verdict), reason, None, current)
    if claim.kind in {"metric_best", "metric_tied"}:
        return _use(claim, current)
    if claim.kind == "baseline_best":
        baseline = claim.winning_baseline or claim.ranking.highest
        reason = _value_and_next(claim.ranking, baseline)
        return Decision("baseline_better", claim_title(claim), reason, baseline, current)
    parts = (_nearest(claim.ranking), _below(claim.ranking), _needed(claim.ranking, claim.subject))
    reason = " ".join(filter(None, parts))
    return Decision("no_metric_better", claim_title(claim), reason, claim.subject, current)


def _use(claim: Claim, current: str | None) -> Decision:
    if claim.kind == "metric_best":
        sentence = f"Use {claim.subject}: it predicts clicks significantly better than all others"
        reason = _value_and_next(claim.ranking, claim.ranking.highest)
        return Decision("use", sentence, reason, claim.subject, current)
    names = claim.rivals
    level = listed(names) if len(names) <= MOST_NAMES else f"{len(names)} other metrics"
    than = "the baselines" if claim.ranking.baselines else "noise would"
    sentence = f"Use {claim.subject}: it predicts clicks significantly better than {than}"
    are = "is" if len(names) == 1 else "are"
    reason = f"{capital(level)} {are} not significantly worse than {claim.subject}."
    return Decision("use", sentence, reason, claim.subject, current)


def _value_and_next(ranking: Ranking, name: str) -> str:
    """Return the value of a metric or baseline, and that of the highest other metric or baseline below it."""
    own = ranking.competitors[name]
    text = f"Its correlation with {ranking.click} is {number(own.value)} ({interval_text(own.estimate)})"
    following = list(ranking.competitors)[list(ranking.competitors).index(name) + 1 :]
    if not following:
        return f"{text}."
    after = ranking.competitors[following[0]]
    return f"{text}; the next, {spoken(after.name)}, has {number(after.value)}."


def _nearest(ranking: Ranking) -> str:
    """Return what the highest is not significantly above."""
    highest, *others = ranking.among_best or ("",)
    if not others:
        return ""
    return (
        f"{capital(spoken(highest))} comes first, but not significantly before {few_spoken(tuple(others))}."
    )


def _below(ranking: Ranking) -> str:
    """Return which metrics predict clicks significantly worse than the highest: those to leave, if in use."""
    below = tuple(name for name in ranking.metrics if name not in ranking.among_best)
    if not below:
        return ""
    verb = "predicts" if len(below) == 1 else "predict"
    return f"{capital(few_spoken(below))} {verb} clicks significantly worse."


def _needed(ranking: Ranking, subject: str | None) -> str:
    """Return how many judged queries would show a difference between a metric and the nearest other one."""
    if subject is None:
        return ""
    leads = {name: ranking.lead(subject, name) for name in ranking.competitors if name != subject}
    open_ones = {name: needed_text(one) for name, one in leads.items() if not one.is_significant}
    name = next((name for name, text in open_ones.items() if text), None)
    if name is None:
        return ""
    return (
        f"To show a difference between {subject} and {spoken(name)} would take {open_ones[name]} judged "
        f"queries; there are {count(leads[name].n_queries)}."
    )


# ---- a metric in use ------------------------------------------------------------------------------


def _about(verdict: Verdict, current: str) -> Decision:
    rankings = [claim.ranking for claim in verdict.claims if current in claim.ranking.competitors]
    better = [_above(ranking, current, ranking.metrics) for ranking in rankings]
    everywhere = [name for name in better[0] if all(name in names for names in better)]
    if everywhere:
        return _switch(rankings[0], everywhere, current)
    if any(better):
        return _choose(rankings, better, current)
    baselines = _above(rankings[0], current, rankings[0].baselines)
    if baselines:
        sentence = (
            f"{capital(spoken(baselines[0]))} alone predicts clicks significantly better than {current}"
        )
        reason = f"No other metric is significantly better than {current}."
        return Decision("baseline_better", sentence, reason, baselines[0], current)
    return _keep(rankings, current)


def _above(ranking: Ranking, current: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return those that are significantly above the metric in use, highest first."""
    return tuple(name for name in names if name != current and ranking.lead(name, current).is_ahead)


def _switch(ranking: Ranking, better: Sequence[str], current: str) -> Decision:
    best = better[0]
    level = ranking.not_above(best, ranking.baselines)
    sentence = f"Switch to {best}: it predicts clicks significantly better than {current}"
    others = tuple(name for name in better if name != best)
    reason = f"So {'does' if len(others) == 1 else 'do'} {few_spoken(others)}." if others else ""
    if level:
        reason += f" {best} is not significantly better than {all_spoken(level, 'or')} alone."
    return Decision("switch", sentence, reason.strip(), best, current)


def _choose(rankings: Sequence[Ranking], better: Sequence[tuple[str, ...]], current: str) -> Decision:
    each = (
        f"{few_spoken(names, 'or') if names else 'nothing'} by {ranking.click}"
        for ranking, names in zip(rankings, better, strict=True)
    )
    sentence = f"Whether to leave {current} depends on the click metric"
    reason = f"Significantly better than {current}: {', '.join(each)}."
    return Decision("choose_click_metric", sentence, reason, None, current)


def _keep(rankings: Sequence[Ranking], current: str) -> Decision:
    clicks = listed(ranking.click for ranking in rankings)
    sentence = f"Keep {current}: nothing here predicts clicks significantly better"
    level = rankings[0].not_above(current, rankings[0].baselines)
    reason = f"No metric or baseline is significantly above {current} by {clicks}."
    if level:
        reason += f" Nor is {current} significantly above {all_spoken(level, 'or')} alone."
    if not rankings[0].competitors[current].is_above_nothing:
        reason += f" {current} itself cannot be shown to predict {rankings[0].click}."
    return Decision("keep", sentence, reason, current, current)
