"""What to do, in a sentence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from clickassay.core.text.words import capital, count, listed, number
from clickassay.correlation.uncertainty.jackknife import HEAVY_TAIL
from clickassay.findings.claims import DEPENDS_ON_CLICK, Claim, Verdict
from clickassay.findings.decision import Decision, Kind, in_all
from clickassay.findings.draw import Findings
from clickassay.findings.ranking import Ranking
from clickassay.findings.run import Run
from clickassay.health.checks import HealthCheck
from clickassay.report.cells import caution_reason
from clickassay.report.verdict.sentences import claim_title, scope_text, verdict_sentence
from clickassay.report.verdict.words import (
    MOST_NAMES,
    all_spoken,
    few_spoken,
    interval_text,
    needed_text,
    spoken,
)


@dataclass(frozen=True)
class Advice:
    """A decision in words.

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


def advise_run(run: Run, findings: Findings) -> Advice:
    """Return the decision of a run in words, and what it would be by other judges."""
    own = advise(findings.verdict, findings.decision, findings.health)
    others = {
        judge: advise(findings.other_judges[judge], other, findings.health).sentence
        for judge, other in findings.decision.other_judges.items()
    }
    return replace(own, scope=scope_text(run, others), other_judges=others)


def advise(verdict: Verdict, decision: Decision, health: Sequence[HealthCheck]) -> Advice:
    """Return a decision in words.

    Parameters
    ----------
    verdict, health
        What it is drawn from: see `findings.decision.decide`.
    """
    claim = verdict.claims[0]
    sentence, reason = _words(verdict, claim, decision, health)
    is_drawn = decision.kind not in {"log_at_fault", "cannot_decide"}
    if is_drawn and decision.current is not None and not decision.is_compared:
        reason = f"{reason} {decision.current}, which is in use, has no correlation here."
    caution = f"Take close calls with care: {HEAVY_TAIL}." if decision.is_heavy_tailed else None
    return Advice(decision.kind, sentence, reason, decision.subject, decision.current, caution)


def _words(
    verdict: Verdict, claim: Claim, decision: Decision, health: Sequence[HealthCheck]
) -> tuple[str, str]:
    """Return the advice and why."""
    if decision.kind == "log_at_fault":
        wrong = health[0]
        return f"The log has a fault: {wrong.fault}", f"{wrong.sentence} {wrong.remedy}"
    if decision.kind == "cannot_decide":
        return f"This log cannot decide: {_undecided(claim)}", _most(claim)
    if decision.is_compared:
        return _about(claim.ranking, decision)
    return _without_current(verdict, claim)


def _undecided(claim: Claim) -> str:
    """Return why the tests of the headline click metric decide nothing."""
    ranking = claim.ranking
    if claim.kind == "no_correlation":
        return (
            f"there is no correlation ({ranking.reason})" if ranking.sample else ranking.reason or "no value"
        )
    if claim.kind == "not_tested":
        return "no correlation could be tested"
    if claim.kind == "nothing_predicts":
        return f"no metric can be shown to predict {ranking.click}"
    caution = ranking.competitors[ranking.highest].estimate.caution
    return f"its intervals are not reliable ({caution_reason(caution)})"


def _most(claim: Claim) -> str:
    """Return what would help."""
    if claim.kind != "no_correlation":
        return "More judged queries would make the intervals narrower."
    if claim.ranking.sample is None:
        return (
            "It takes sessions whose results all have a grade: the report counts what is left out, and why."
        )
    return "It takes several judged lists that differ in grades and in clicks."


def _without_current(verdict: Verdict, claim: Claim) -> tuple[str, str]:
    ranking = claim.ranking
    if verdict.kind == DEPENDS_ON_CLICK:
        return verdict_sentence(verdict), "No metric is among the best by every click metric that counts."
    if claim.kind == "metric_best":
        sentence = f"Use {claim.subject}: it predicts clicks significantly better than all others"
        return sentence, _value_and_next(ranking, ranking.highest)
    if claim.kind == "metric_tied":
        return _use_tied(claim)
    if claim.kind == "baseline_best":
        return claim_title(claim), _value_and_next(ranking, claim.winning_baseline or ranking.highest)
    parts = (_nearest(ranking), _below(ranking), _needed(ranking, claim.subject))
    return claim_title(claim), " ".join(filter(None, parts))


def _use_tied(claim: Claim) -> tuple[str, str]:
    names = claim.rivals
    level = listed(names) if len(names) <= MOST_NAMES else f"{len(names)} other metrics"
    than = "the baselines" if claim.ranking.baselines else "noise would"
    are = "is" if len(names) == 1 else "are"
    return (
        f"Use {claim.subject}: it predicts clicks significantly better than {than}",
        f"{capital(level)} {are} not significantly worse than {claim.subject}.",
    )


def _value_and_next(ranking: Ranking, name: str) -> str:
    """Return the value of a metric or baseline, and of the next metric or baseline below it."""
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


def _about(ranking: Ranking, decision: Decision) -> tuple[str, str]:
    current, subject = decision.current or "", decision.subject or ""
    if decision.kind == "switch":
        return _switch(ranking, in_all(decision.better), current)
    if decision.kind == "choose_click_metric":
        each = (
            f"{few_spoken(names, 'or') if names else 'nothing'} by {click}"
            for click, names in decision.better.items()
        )
        sentence = f"Whether to leave {current} depends on the click metric"
        return sentence, f"Significantly better than {current}: {', '.join(each)}."
    if decision.kind == "baseline_better":
        return (
            f"{capital(spoken(subject))} alone predicts clicks significantly better than {current}",
            f"No other metric is significantly better than {current}.",
        )
    return _keep(ranking, tuple(decision.better), current)


def _switch(ranking: Ranking, better: Sequence[str], current: str) -> tuple[str, str]:
    best, *others = better
    level = ranking.not_above(best, ranking.baselines)
    reason = f"So {'does' if len(others) == 1 else 'do'} {few_spoken(tuple(others))}." if others else ""
    if level:
        reason += f" {best} is not significantly better than {all_spoken(level, 'or')} alone."
    return f"Switch to {best}: it predicts clicks significantly better than {current}", reason.strip()


def _keep(ranking: Ranking, clicks: Sequence[str], current: str) -> tuple[str, str]:
    level = ranking.not_above(current, ranking.baselines)
    reason = f"No metric or baseline is significantly above {current} by {listed(clicks)}."
    if level:
        reason += f" Nor is {current} significantly above {all_spoken(level, 'or')} alone."
    if not ranking.competitors[current].is_above_nothing:
        reason += f" {current} itself cannot be shown to predict {ranking.click}."
    return f"Keep {current}: nothing here predicts clicks significantly better", reason
